
"use strict";
// Everything of a capture that is shown goes through textContent or fillText: as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

// MARK: Columns

const size = data.columns.time.length;
const column = (name, Type) => Type.from(data.columns[name]);
const time = new Float64Array(size), line = new Int32Array(size);
for (let i = 0, t = 0, l = 0; i < size; i++) {
  time[i] = t += data.columns.time[i];
  line[i] = l += data.columns.line[i];
}
const waited = column("waited", Float64Array);
const way = column("way", Int32Array), payload = column("payload", Int32Array);
const fields = {
  place: { values: column("place", Int32Array), names: data.places, title: "Bucket or topic" },
  lane: { values: column("lane", Int32Array), names: data.lanes, title: "Object, topic or kind" },
  route: { values: column("route", Int32Array), names: data.routes, title: "Route" },
  kind: { values: column("kind", Int32Array), names: data.kinds, title: "Kind" },
  outcome: { values: column("outcome", Int32Array), names: data.outcomes, title: "Outcome" },
};
const outcome = fields.outcome.values, reason = column("reason", Int32Array);
data.columns = null;
const first = 0, last = Math.max(1, size ? time[size - 1] : 1);
const span = Math.max(10, last - first);

// MARK: Looks

// Colours of Okabe and Ito, which people see apart who see few; each outcome has a letter and a shape as well.
const looks = {
  handled: ["H", "circle", "#009e73"], duplicate: ["D", "square", "#56b4e9"], looped: ["L", "octagon", "#d55e00"],
  paced: ["W", "bars", "#e69f00"], deadLettered: ["X", "diamond", "#cc79a7"], quarantined: ["Q", "diamond", "#aa4499"],
  superseded: ["S", "square", "#999999"], expired: ["E", "triangle", "#8c8c8c"], refused: ["R", "flag", "#0072b2"],
  unrouted: ["U", "ring", "#b8a800"], failed: ["F", "down", "#882255"], undecodable: ["?", "cross", "#6b6b6b"],
};
const order = Object.keys(looks);
const look = (number) => looks[data.outcomes[number]] || ["·", "circle", "#888888"];
const sorts = data.outcomes.map((name) => order.indexOf(name));
const isWaiting = (i) => data.outcomes[outcome[i]] === "paced";
const hasWaited = (i) => waited[i] >= 0 || isWaiting(i);
const isDull = (number) => ["handled", "duplicate", "superseded"].includes(data.outcomes[number]);
const isProblem = (i) => !isDull(outcome[i]) || hasWaited(i);

function shapePath(g, shape, x, y, r) {
  const points = (angles, scale = 1) => {
    angles.forEach((a, i) => {
      const [px, py] = [x + Math.cos(a) * r * scale, y + Math.sin(a) * r * scale];
      i ? g.lineTo(px, py) : g.moveTo(px, py);
    });
    g.closePath();
  };
  const even = (n, turn) => Array.from({ length: n }, (_, i) => turn + (i * 2 * Math.PI) / n);
  g.beginPath();
  if (shape === "square" || shape === "bars") g.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7);
  else if (shape === "diamond") points(even(4, 0), 1.15);
  else if (shape === "octagon") points(even(8, Math.PI / 8), 1.05);
  else if (shape === "triangle") points(even(3, -Math.PI / 2), 1.2);
  else if (shape === "down") points(even(3, Math.PI / 2), 1.2);
  else if (shape === "flag") points([-2.6, -0.55, 0.55, 2.6], 1.05);
  else if (shape === "cross") points(even(6, 0), 1.05);
  else g.arc(x, y, r, 0, 2 * Math.PI);
}

function glyph(g, number, x, y, r) {
  const [letter, shape, colour] = look(number);
  shapePath(g, shape, x, y, r);
  g.fillStyle = colour;
  if (shape === "ring") {
    g.lineWidth = 2.5; g.strokeStyle = colour; g.stroke();
  } else g.fill();
  if (shape === "bars") {
    g.fillStyle = ink.ground;
    g.fillRect(x - r * 0.85, y - r * 0.28, r * 1.7, 1.5);
    g.fillRect(x - r * 0.85, y + r * 0.3, r * 1.7, 1.5);
  } else if (r >= 6) {
    g.font = "bold " + Math.round(r * 1.3) + "px system-ui, sans-serif";
    g.textAlign = "center"; g.textBaseline = "middle";
    g.fillStyle = shape === "ring" ? ink.text : ["#882255", "#aa4499", "#0072b2", "#6b6b6b"].includes(colour) ? "#ffffff" : "#000000";
    g.fillText(letter, x, y + 0.5);
  }
}

let ink = {};
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "panel", "line", "text", "quiet", "accent", "bad", "warning"]) {
    ink[name] = style.getPropertyValue("--" + name).trim();
  }
}

// MARK: State

const state = {
  rows: data.places.length > 1 || data.lanes.length === 1 ? "place" : "lane", from: first - span * 0.02, to: last + span * 0.03,
  filters: { route: -1, kind: -1, place: -1 }, hidden: new Set(), onlyWaited: false, chosen: -1,
};
let visible = new Int32Array(0);  // the messages that the filters let through, by time
let rows = [];                    // { name, number, count, trouble }
let rowOf = new Int32Array(0);    // a field's number -> its row
const MOST_ROWS = 2000, ROW = 40, AXIS = 26, CELL = 15;
let GUTTER = 230;

function passes(i) {
  const f = state.filters;
  return (f.route < 0 || fields.route.values[i] === f.route) && (f.kind < 0 || fields.kind.values[i] === f.kind)
    && (f.place < 0 || fields.place.values[i] === f.place) && !state.hidden.has(outcome[i])
    && (!state.onlyWaited || hasWaited(i));
}

function refresh() {
  const kept = new Int32Array(size);
  let count = 0;
  for (let i = 0; i < size; i++) if (passes(i)) kept[count++] = i;
  visible = kept.subarray(0, count);
  const { values, names } = fields[state.rows];
  const counts = new Int32Array(names.length), trouble = new Int32Array(names.length);
  for (const i of visible) {
    counts[values[i]]++;
    if (isProblem(i)) trouble[values[i]]++;
  }
  const all = [];
  for (let n = 0; n < names.length; n++) if (counts[n]) all.push({ name: names[n], number: n, count: counts[n], trouble: trouble[n] });
  all.sort((a, b) => b.trouble - a.trouble || b.count - a.count || a.number - b.number);
  rowOf = new Int32Array(names.length).fill(-1);
  rows = all.slice(0, MOST_ROWS);
  const rest = all.slice(MOST_ROWS);
  rows.forEach((row, n) => { rowOf[row.number] = n; });
  if (rest.length) {
    for (const row of rest) rowOf[row.number] = rows.length;
    rows.push({ name: rest.length + " further rows", number: -1, count: rest.reduce((sum, row) => sum + row.count, 0), trouble: 0 });
  }
  $("count").textContent = number(count) + " of " + number(size) + " messages, in " + number(all.length)
    + (all.length === 1 ? " row" : " rows");
  if (state.chosen >= 0 && !passes(state.chosen)) state.chosen = -1;
  layout();
}

// MARK: Words

const number = (n) => n.toLocaleString("en-US");
function clock(ms, step = state.to - state.from) {
  if (step < 3000) return (ms / 1000).toFixed(step < 300 ? 3 : 2) + " s";
  if (last < 120000) return (ms / 1000).toFixed(step < 20000 ? 1 : 0) + " s";
  const s = Math.round(ms / 1000), pad = (n) => String(n).padStart(2, "0");
  return (s >= 3600 ? Math.floor(s / 3600) + ":" + pad(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ":" + pad(s % 60)
    + (step < 20000 ? "." + Math.floor((ms % 1000) / 100) : "");
}
const seconds = (ms) => (ms < 1000 ? Math.round(ms) + " ms" : (ms / 1000).toFixed(ms < 10000 ? 1 : 0) + " s");
const short = (n) => (n < 1000 ? String(n) : n < 10000 ? (n / 1000).toFixed(1) + "k" : Math.round(n / 1000) + "k");
const ended = (i) => data.outcomes[outcome[i]] + (data.reasons[reason[i]] ? " (" + data.reasons[reason[i]] + ")" : "");

// MARK: Drawing

const lanes = $("lanes"), overview = $("overview"), scroller = $("scroller");
let width = 0, height = 0, cells = [], queued = false;
const x = (t) => GUTTER + ((t - state.from) / (state.to - state.from)) * (width - GUTTER - 12);
const timeAt = (px) => state.from + ((px - GUTTER) / (width - GUTTER - 12)) * (state.to - state.from);

function fit(canvas, w, h) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
  canvas.style.height = h + "px";
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

function layout() {
  width = scroller.clientWidth;
  GUTTER = Math.min(260, Math.max(110, width * 0.2));
  const whole = AXIS + rows.length * ROW + 8;
  height = Math.min(whole, 560);
  // The canvas sticks to the top of what scrolls, and is only as high as what is seen.
  $("spacer").style.height = "0px";
  lanes.style.marginBottom = Math.max(0, whole - height) + "px";
  draw();
}

function draw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; drawOverview(); drawLanes(); });
}

function start(t) {
  let low = 0, high = visible.length;
  while (low < high) { const middle = (low + high) >> 1; if (time[visible[middle]] < t) low = middle + 1; else high = middle; }
  return low;
}

function drawOverview() {
  const h = 46, g = fit(overview, overview.clientWidth, h), w = overview.clientWidth, bins = Math.max(1, Math.floor((w - GUTTER - 12) / 3));
  const good = new Int32Array(bins), bad = new Int32Array(bins);
  for (const i of visible) {
    const bin = Math.min(bins - 1, Math.floor(((time[i] - first) / span) * bins));
    if (isProblem(i)) bad[bin]++; else good[bin]++;
  }
  let most = 1;
  for (let b = 0; b < bins; b++) most = Math.max(most, good[b] + bad[b]);
  const scale = (n) => (n ? Math.max(2, (Math.sqrt(n / most)) * (h - 12)) : 0);
  for (let b = 0; b < bins; b++) {
    const whole = scale(good[b] + bad[b]), part = whole * (bad[b] / Math.max(1, good[b] + bad[b]));
    g.fillStyle = "#009e73"; g.fillRect(GUTTER + b * 3, h - 4 - whole, 2, whole - part);
    g.fillStyle = "#d55e00"; g.fillRect(GUTTER + b * 3, h - 4 - part, 2, part);
  }
  const at = (t) => GUTTER + ((t - first) / span) * bins * 3;
  const [a, b] = [Math.max(GUTTER, at(state.from)), Math.min(w - 8, at(state.to))];
  g.strokeStyle = ink.accent; g.lineWidth = 2; g.strokeRect(a, 2, Math.max(4, b - a), h - 4);
  g.fillStyle = ink.quiet; g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle"; g.textAlign = "left";
  g.fillText("all messages", 10, h / 2);
}

function drawAxis(g) {
  const wanted = (state.to - state.from) / Math.max(2, (width - GUTTER) / 110);
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5, 6048e5, 24192e5];
  const step = steps.find((s) => s >= wanted) || 31536e6;
  g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle"; g.textAlign = "center";
  for (let t = Math.ceil(Math.max(first, state.from) / step) * step; t <= state.to; t += step) {
    const px = x(t);
    if (px < GUTTER) continue;
    g.fillStyle = ink.line; g.fillRect(px, AXIS - 4, 1, height);
    g.fillStyle = ink.quiet;
    if (px < width - 24) g.fillText(clock(t), px, AXIS / 2 - 1);
  }
}

function cut(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) { const m = (low + high + 1) >> 1; if (g.measureText(text.slice(0, m) + "…").width <= room) low = m; else high = m - 1; }
  return text.slice(0, low) + "…";
}

function drawLanes() {
  const g = fit(lanes, width, height), top = scroller.scrollTop;
  g.fillStyle = ink.ground; g.fillRect(0, 0, width, height);
  const firstRow = Math.floor(top / ROW), lastRow = Math.min(rows.length - 1, Math.ceil((top + height) / ROW));
  const y = (row) => AXIS + row * ROW - top;
  g.save(); g.beginPath(); g.rect(0, AXIS, width, height - AXIS); g.clip();
  for (let row = firstRow; row <= lastRow; row++) {
    if (row % 2) { g.fillStyle = ink.panel; g.fillRect(0, y(row), width, ROW); }
  }
  g.restore();
  drawAxis(g);
  g.save(); g.beginPath(); g.rect(GUTTER, AXIS, width - GUTTER, height - AXIS); g.clip();
  const values = fields[state.rows].values;
  drawBands(g, values, firstRow, lastRow, y);
  drawCells(g, values, firstRow, lastRow, y);
  g.restore();
  g.save(); g.beginPath(); g.rect(0, AXIS, GUTTER, height - AXIS); g.clip();
  g.textBaseline = "middle"; g.textAlign = "left";
  for (let row = firstRow; row <= lastRow; row++) {
    g.font = "13px system-ui, sans-serif"; g.fillStyle = ink.text;
    const count = short(rows[row].count), room = GUTTER - 22 - g.measureText(count).width - 12;
    g.fillText(cut(g, rows[row].name, room), 10, y(row) + ROW / 2);
    g.fillStyle = ink.quiet; g.textAlign = "right";
    g.fillText(count, GUTTER - 14, y(row) + ROW / 2); g.textAlign = "left";
  }
  g.restore();
  g.fillStyle = ink.line; g.fillRect(GUTTER - 6, 0, 1, height); g.fillRect(0, AXIS - 1, width, 1);
}

// What waited for its pace, from its arrival to its end.
function drawBands(g, values, firstRow, lastRow, y) {
  const open = rows.map(() => null);
  const flush = (row, band) => {
    if (!band || row < firstRow || row > lastRow) return;
    const a = Math.max(GUTTER - 4, x(band.from)), b = Math.min(width + 4, x(band.to));
    if (b < GUTTER || a > width) return;
    const h = y(row), w = Math.max(3, b - a);
    g.fillStyle = "#e69f0044"; g.fillRect(a, h + ROW - 8, w, 6);
    g.fillStyle = "#e69f00";
    for (let s = a - (a % 5); s < a + w; s += 5) g.fillRect(Math.max(a, s), h + ROW - 8, 2, 6);
    label(g, "waited", a, w, h + ROW - 5);
  };
  for (const i of visible) {
    if (!hasWaited(i)) continue;
    const row = rowOf[values[i]], to = isWaiting(i) ? last : time[i] + waited[i], band = open[row];
    if (band && time[i] <= band.to + 50) band.to = Math.max(band.to, to);
    else { flush(row, band); open[row] = { from: time[i], to }; }
  }
  for (let row = firstRow; row <= lastRow; row++) flush(row, open[row]);
}

function label(g, text, a, w, y) {
  if (w < 44) return;
  g.font = "bold 10px system-ui, sans-serif"; g.textAlign = "left"; g.textBaseline = "middle";
  const at = Math.max(a, GUTTER) + 4, room = g.measureText(text).width + 6;
  if (at + room > a + w) return;
  g.fillStyle = ink.ground; g.fillRect(at - 2, y - 6, room, 12);
  g.fillStyle = ink.text; g.fillText(text, at + 1, y + 0.5);
}

// Messages that fall on one place are drawn as one cluster.
function drawCells(g, values, firstRow, lastRow, y) {
  const columns = Math.ceil((width - GUTTER) / CELL) + 1, rowsShown = lastRow - firstRow + 1, kinds = order.length + 1;
  if (rowsShown < 1) { cells = []; return; }
  const counts = new Int32Array(columns * rowsShown), parts = new Int32Array(columns * rowsShown * kinds);
  const sample = new Int32Array(columns * rowsShown);
  const begin = start(timeAt(GUTTER - CELL)), end = start(timeAt(width + CELL));
  // By time and not by pixels, so that a cluster stays the same when the picture moves.
  const unit = ((state.to - state.from) / (width - GUTTER - 12)) * CELL, origin = Math.floor(state.from / unit) * unit;
  for (let k = begin; k < end; k++) {
    const i = visible[k], row = rowOf[values[i]];
    if (row < firstRow || row > lastRow) continue;
    const c = Math.floor((time[i] - origin) / unit);
    if (c < 0 || c >= columns) continue;
    const cell = (row - firstRow) * columns + c;
    if (!counts[cell]++) sample[cell] = i;
    parts[cell * kinds + sorts[outcome[i]] + 1]++;
  }
  cells = [];
  for (let cell = 0; cell < counts.length; cell++) {
    const count = counts[cell];
    if (!count) continue;
    const row = firstRow + Math.floor(cell / columns), c = cell % columns, middle = y(row) + ROW / 2 + 1;
    const from = origin + c * unit;
    if (count === 1) {
      const px = x(time[sample[cell]]);
      glyph(g, outcome[sample[cell]], px, middle, 7);
      cells.push({ row, from, to: from + unit, count, x: px, message: sample[cell] });
    } else {
      const px = x(from), h = Math.min(ROW - 18, 16 + Math.log2(count) * 0.8);
      let at = middle - h / 2;
      for (let kind = 0; kind < kinds; kind++) {
        const part = parts[cell * kinds + kind];
        if (!part) continue;
        // A part that is there is seen, however small.
        const tall = Math.max(3, (h * part) / count);
        g.fillStyle = kind ? looks[order[kind - 1]][2] : "#888888";
        g.fillRect(px, at, CELL - 1, Math.min(tall, middle + h / 2 - at));
        if (tall >= 8 && kind > 1) {
          g.fillStyle = ["failed", "quarantined", "refused", "undecodable"].includes(order[kind - 1]) ? "#ffffff" : "#000000";
          g.font = "bold 9px system-ui, sans-serif"; g.textAlign = "center"; g.textBaseline = "middle";
          g.fillText(looks[order[kind - 1]][0], px + CELL / 2, at + tall / 2 + 0.5);
        }
        at += tall;
      }
      cells.push({ row, from, to: from + unit, count, x: px + CELL / 2, message: -1 });
    }
  }
  if (state.chosen >= 0) {
    const row = rowOf[values[state.chosen]];
    g.strokeStyle = ink.accent; g.lineWidth = 2.5;
    g.strokeRect(x(time[state.chosen]) - 11, y(row) + 4, 22, ROW - 8);
  }
}

// MARK: Details

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function pair(list, name, value) {
  if (value === null || value === undefined || value === "") return;
  list.append(element("dt", name), element("dd", value));
}

function choose(i, isScrolled) {
  state.chosen = i;
  const details = $("details");
  details.replaceChildren();
  if (i < 0) return draw();
  const shown = data.ways[way[i]];
  const title = element("h3");
  const mark = document.createElement("canvas");
  mark.style.width = mark.style.height = "20px"; mark.style.verticalAlign = "-4px";
  title.append(mark, " " + ended(i) + " — " + data.lanes[fields.lane.values[i]]);
  const facts = element("dl");
  pair(facts, "when", clock(time[i]) + (data.beginning ? ", " + new Date(Date.parse(data.beginning) + time[i]).toISOString() : ""));
  pair(facts, "where", data.source + ":" + line[i]);
  pair(facts, "kind", data.kinds[fields.kind.values[i]] + (shown && shown.certainty ? ", " + shown.certainty : ""));
  pair(facts, "route", data.routes[fields.route.values[i]]);
  if (shown) pair(facts, "outcome", ended(i) + ": " + shown.words);
  pair(facts, "loop guard", guardWords(i));
  if (shown) {
    pair(facts, "evidence", shown.evidence.join("; "));
    pair(facts, "conflicts", shown.conflicts.join("; "));
  }
  const buttons = element("p");
  const step = (text, by) => {
    const button = element("button", text);
    button.type = "button";
    button.addEventListener("click", () => go(by));
    buttons.append(button, " ");
  };
  step("← Earlier in this row", -1); step("Later in this row →", 1);
  details.append(title, facts);
  if (shown) details.append(element("h3", "The way through the receiver"), stages(shown));
  else details.append(element("p", "The way of this message was not kept: there were too many different ones. "
    + "Others with the same outcome have theirs.", "quiet"));
  if (shown && shown.rules.length) details.append(element("h3", data.rules + ": the rules"), rules(shown));
  if (payload[i] >= 0) details.append(element("h3", "Payload"), element("pre", data.payloads[payload[i]]));
  else if (!data.showsValues) details.append(element("p", "The payload is not shown; 'kiipush report --values' shows it.", "quiet"));
  details.append(buttons);
  readInk();
  glyph(fit(mark, 20, 20), outcome[i], 10, 10, 8);
  if (isScrolled) details.scrollIntoView({ block: "nearest" });
  draw();
}

function guardWords(i) {
  if (!hasWaited(i)) return "";
  return isWaiting(i) ? "waits, and still does when the capture ends" : "waited for " + seconds(waited[i]);
}

function stages(shown) {
  const list = element("ol");
  for (const stage of shown.stages) {
    const item = element("li", undefined, /^(pass|handled|stand-in)|, (certain|likely)/.test(stage.verdict) || stage.name === "route" ? "" : "stop");
    item.append(element("strong", stage.name), " " + stage.verdict);
    list.append(item);
  }
  const end = element("li");
  end.append(element("strong", "outcome"), " " + shown.words);
  list.append(end);
  return list;
}

function rules(shown) {
  const words = { taken: "takes it", missed: "does not fit", notTried: "not tried, since an earlier rule took it" };
  const table = element("table"), head = element("tr");
  for (const name of ["rule", "", "what it asks for, and what the message has"]) head.append(element("th", name));
  table.append(head);
  for (const rule of shown.rules) {
    const row = element("tr"), checks = element("td");
    for (const check of rule.checks) {
      const has = check.hidden ? "a value that --values shows" : check.actual === null ? "nothing" : check.actual;
      checks.append(element("div", (check.holds ? "✓ " : "✗ ") + check.name + (check.key ? " '" + check.key + "'" : "")
        + ": wants " + check.expected + ", has " + has));
    }
    row.append(element("td", rule.id), element("td", rule.nearMiss ? "near miss" : words[rule.standing]), checks);
    table.append(row);
  }
  return table;
}

function chooseMany(cell) {
  const values = fields[state.rows].values, found = [];
  for (let k = start(cell.from); k < visible.length && time[visible[k]] < cell.to; k++) {
    if (rowOf[values[visible[k]]] === cell.row) found.push(visible[k]);
  }
  state.chosen = -1;
  const details = $("details"), list = element("div", undefined, "list"), zoom = element("button", "Zoom to them");
  zoom.type = "button";
  zoom.addEventListener("click", () => show(cell.from - unit(), cell.to + unit()));
  const unit = () => (cell.to - cell.from) / 2;
  const buttons = element("p");
  buttons.append(zoom);
  details.replaceChildren(element("h3", number(cell.count) + " messages in " + seconds(cell.to - cell.from) + " — " + rows[cell.row].name), buttons);
  // Fine enough to tell its messages apart.
  const step = (cell.to - cell.from) * Math.min(1, 20 / found.length);
  for (const i of found.slice(0, 100)) {
    const button = element("button"), mark = element("span", look(outcome[i])[0] + "  " + ended(i), "how");
    button.type = "button";
    button.append(element("span", clock(time[i], step), "when"), mark, element("span", data.lanes[fields.lane.values[i]]));
    button.addEventListener("click", () => choose(i, true));
    list.append(button);
  }
  details.append(list);
  if (found.length > 100) details.append(element("p", "and " + number(found.length - 100) + " more", "quiet"));
  details.scrollIntoView({ block: "nearest" });
  draw();
}

// MARK: Moving

function show(from, to) {
  const least = 4, most = span * 1.2;
  const wide = Math.min(most, Math.max(least, to - from)), middle = (from + to) / 2;
  state.from = Math.max(first - span * 0.1, Math.min(last + span * 0.1 - wide, middle - wide / 2));
  state.to = state.from + wide;
  draw();
}
const zoomBy = (factor, at) => show(at - (at - state.from) * factor, at + (state.to - at) * factor);
const showAll = () => show(first - span * 0.02, last + span * 0.03);
const zoomStep = (factor) => zoomBy(factor, state.chosen >= 0 ? time[state.chosen] : (state.from + state.to) / 2);

function reveal(i) {
  if (time[i] < state.from || time[i] > state.to) {
    const half = (state.to - state.from) / 2;
    show(time[i] - half, time[i] + half);
  }
  const top = rowOf[fields[state.rows].values[i]] * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW + AXIS > scroller.scrollTop + height) scroller.scrollTop = top + ROW + AXIS - height;
}

// The next message, in the chosen one's row where no test is given.
function go(by, test) {
  const values = fields[state.rows].values;
  if (!visible.length) return;
  let k = state.chosen < 0 ? (by > 0 ? start(state.from) - 1 : start(state.to)) : visible.indexOf(state.chosen);
  const row = state.chosen < 0 ? -1 : values[state.chosen];
  for (k += by; k >= 0 && k < visible.length; k += by) {
    const i = visible[k];
    if (test ? test(i) : row < 0 || values[i] === row) { choose(i); return reveal(i); }
  }
}

function goRow(by) {
  const values = fields[state.rows].values, at = state.chosen < 0 ? -1 : rowOf[values[state.chosen]];
  const row = Math.max(0, Math.min(rows.length - 1, at + by)), when = state.chosen < 0 ? state.from : time[state.chosen];
  let best = -1;
  for (const i of visible) {
    if (rowOf[values[i]] === row && (best < 0 || Math.abs(time[i] - when) < Math.abs(time[best] - when))) best = i;
  }
  if (best >= 0) { choose(best); reveal(best); }
}

lanes.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {
    ArrowRight: () => go(1), ArrowLeft: () => go(-1), ArrowDown: () => goRow(1), ArrowUp: () => goRow(-1),
    n: () => go(1, isProblem), p: () => go(-1, isProblem), "+": () => zoomStep(0.5), "=": () => zoomStep(0.5),
    "-": () => zoomStep(2), 0: showAll, Home: () => { state.chosen = -1; go(1, () => true); },
    Enter: () => { if (state.chosen < 0) go(1); else { choose(state.chosen, true); $("details").focus(); } },
    Escape: () => choose(-1),
  };
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act) { act(); event.preventDefault(); }
});
$("details").addEventListener("keydown", (event) => { if (event.key === "Escape") { choose(-1); lanes.focus(); } });

let drag = null;
const place = (event, canvas) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
function cellAt(px, py) {
  const row = Math.floor((py - AXIS + scroller.scrollTop) / ROW);
  let best = null;
  for (const cell of cells) {
    if (cell.row === row && Math.abs(cell.x - px) <= 11 && (!best || Math.abs(cell.x - px) < Math.abs(best.x - px))) best = cell;
  }
  return best;
}
lanes.addEventListener("pointerdown", (event) => {
  const [px] = place(event, lanes);
  drag = { px, from: state.from, to: state.to, moved: false };
  lanes.setPointerCapture(event.pointerId);
});
lanes.addEventListener("pointermove", (event) => {
  const [px, py] = place(event, lanes);
  if (!drag) { const row = rows[Math.floor((py - AXIS + scroller.scrollTop) / ROW)]; lanes.title = row && px < GUTTER ? row.name : ""; return; }
  if (Math.abs(px - drag.px) > 4) drag.moved = true;
  const by = ((drag.px - px) / (width - GUTTER - 12)) * (drag.to - drag.from);
  if (drag.moved) show(drag.from + by, drag.to + by);
});
lanes.addEventListener("pointerup", (event) => {
  const was = drag;
  drag = null;
  if (!was || was.moved) return;
  const cell = cellAt(...place(event, lanes));
  if (!cell) choose(-1); else if (cell.message >= 0) choose(cell.message, true); else chooseMany(cell);
});
lanes.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
  event.preventDefault();
  if (event.ctrlKey) zoomBy(Math.exp(event.deltaY * 0.004), timeAt(place(event, lanes)[0]));
  else { const by = ((event.deltaX || event.deltaY) / width) * (state.to - state.from); show(state.from + by, state.to + by); }
}, { passive: false });
overview.addEventListener("pointerdown", (event) => {
  const half = (state.to - state.from) / 2, at = first + ((place(event, overview)[0] - GUTTER) / (overview.clientWidth - GUTTER - 12)) * span;
  show(at - half, at + half);
});
scroller.addEventListener("scroll", draw);
window.addEventListener("resize", layout);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); drawLegend(); draw(); });

// MARK: Filters

function fillSelect(id, options, value) {
  const select = $(id);
  select.replaceChildren(...options.map(([name, text]) => {
    const option = element("option", text);
    option.value = String(name);
    return option;
  }));
  select.value = String(value);
}

function fillFilters() {
  fillSelect("rows", [["place", "bucket or topic"], ["lane", "object"], ["route", "route"], ["outcome", "outcome"], ["kind", "kind"]], state.rows);
  for (const name of ["route", "kind", "place"]) {
    const { values, names } = fields[name], counts = new Int32Array(names.length);
    for (let i = 0; i < size; i++) counts[values[i]]++;
    const options = names.map((text, n) => [n, text + " (" + number(counts[n]) + ")", counts[n]]).filter((o) => o[2] > 0);
    options.sort((a, b) => b[2] - a[2]);
    fillSelect(name, [[-1, "all"], ...options.slice(0, 500)], state.filters[name]);
    $(name).addEventListener("change", () => { state.filters[name] = Number($(name).value); refresh(); });
  }
  $("rows").addEventListener("change", () => { state.rows = $("rows").value; scroller.scrollTop = 0; refresh(); });
}

function drawLegend() {
  const counts = new Int32Array(data.outcomes.length);
  for (let i = 0; i < size; i++) counts[outcome[i]]++;
  const shown = data.outcomes.map((name, n) => n).filter((n) => counts[n]).sort((a, b) => sorts[a] - sorts[b]);
  $("outcomes").replaceChildren(...shown.map((n) => {
    const button = element("button"), mark = document.createElement("canvas");
    button.type = "button";
    button.dataset.outcome = data.outcomes[n];
    button.setAttribute("aria-pressed", String(!state.hidden.has(n)));
    button.append(mark, data.outcomes[n] + " " + number(counts[n]));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(n)) state.hidden.add(n);
      button.setAttribute("aria-pressed", String(!state.hidden.has(n)));
      refresh();
    });
    glyph(fit(mark, 20, 20), n, 10, 10, 8);
    return button;
  }));
}

function clear() {
  Object.assign(state.filters, { route: -1, kind: -1, place: -1 });
  state.hidden.clear();
  state.onlyWaited = false;
  for (const name of ["route", "kind", "place"]) $(name).value = "-1";
  drawLegend();
  refresh();
}

function showOnly(what) {
  clear();
  if (what === "waited") state.onlyWaited = true;
  else data.outcomes.forEach((name, n) => { if (name !== what) state.hidden.add(n); });
  drawLegend();
  refresh();
  const found = Array.from(visible);
  if (found.length) {
    const room = Math.max(50, (time[found[found.length - 1]] - time[found[0]]) * 0.06);
    show(time[found[0]] - room, time[found[found.length - 1]] + room);
  }
  lanes.focus({ preventScroll: true });
  $("filters").scrollIntoView({ block: "start" });
}

function fillSummary() {
  document.title = "KiiPush report " + data.source;
  $("source").textContent = data.source;
  $("headline").textContent = data.headline;
  $("origin").textContent = (data.origin === "replayed"
    ? "The payloads went through a receiver on a virtual clock" + (data.rules ? " with the rules of " + data.rules : ", whose one route takes all")
      + "; handlers did nothing and succeeded."
    : "This is how an agent's messages ended, as 'kiipush tap' told it.")
    + (data.beginning ? " It begins " + data.beginning + "." : "");
  const marks = { bad: "✖ Act", warning: "▲ Check", note: "● Note", good: "✔ Good" };
  for (const finding of data.findings) {
    const item = element("li", undefined, finding.tone), text = element("div"), advice = element("span", finding.advice);
    text.append(element("strong", finding.what), advice);
    if (finding.command) text.append(element("code", finding.command));
    item.append(element("span", marks[finding.tone], "mark"), text);
    if (finding.shows) {
      const button = element("button", "Show them");
      button.type = "button";
      button.addEventListener("click", () => showOnly(finding.shows));
      item.append(button);
    }
    $("findings").append(item);
  }
}

$("in").addEventListener("click", () => zoomStep(0.5));
$("out").addEventListener("click", () => zoomStep(2));
$("all").addEventListener("click", showAll);
$("reset").addEventListener("click", () => { clear(); showAll(); });
readInk();
fillSummary();
fillFilters();
drawLegend();
refresh();
document.documentElement.dataset.ready = "yes";

