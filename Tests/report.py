#!/usr/bin/env python3
"""Opens pages of `kiipush report` in headless Chromium, and uses them: click, filter, keys, dark, hostile, 100,000 messages.

    python3 Tests/report.py TOOL FOLDER

TOOL is the program kiipush; pages and screenshots are left in FOLDER. Chromium is driven over a pipe, so that nothing listens
on any port. Without Chromium it says so, and exits with 0: the tests of the tool hold what can be told without a browser.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import time

TEXTS = [
    "</script><script>document.title='RAN'</script>", "<img src=x onerror=\"document.title='RAN'\">", "<!--<script>",
    "{{script}}{{data}}", "'\"><svg onload=document.title='RAN'>", "javascript:document.title='RAN'", "\u202eevil", "__proto__",
]


class Browser:
    """Chromium on a pipe: commands go to its descriptor 3, answers and events come from its descriptor 4."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def descriptors():
            # Out of the way first, since the pipe's own may be the very ones.
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)
            for number in (3, 4):
                os.set_inheritable(number, True)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
             "--hide-scrollbars", f"--user-data-dir={folder}/profile", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.size(1280, 900)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.back, 1 << 20)
            if not part:
                raise SystemExit("report.py: Chromium has ended")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"report.py: {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def value(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"report.py: {expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, page):
        """Opens a page, and returns how many seconds passed until it was drawn."""
        self.events.clear()
        start = time.monotonic()
        self.send("Page.navigate", url="file://" + page)
        while not self.value("document.documentElement?.dataset.ready === 'yes'"):
            if time.monotonic() - start > 30:
                raise SystemExit(f"report.py: {page} was not ready within 30 seconds")
            time.sleep(0.01)
        self.frame()
        return time.monotonic() - start

    def frame(self):
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def press(self, key):
        code = {"n": 78, "Escape": 27, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40}[key]
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)
        self.frame()

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frame()

    def click_on(self, expression):
        box = self.value(f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
                         "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()")
        self.click(*box)

    def shoot(self, file):
        self.value("window.scrollTo(0, 0)")
        height = min(self.value("document.documentElement.scrollHeight"), 2400)
        self.size(1280, height)
        self.frame()
        picture = self.send("Page.captureScreenshot", format="png")["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(picture))
        self.size(1280, 900)
        self.frame()

    def troubles(self):
        """What the page complained about, and what it asked of a network."""
        found = []
        self.value("1")
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["exception"].get("description", "an exception"))
            if event["method"] == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
            if event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith(("file:///", "about:")) or url.split("?")[0].rsplit(".", 1)[-1] != "html":
                    found.append("it asked for " + url)
        return found

    def end(self):
        self.session = None
        self.send("Browser.close")
        self.process.wait(10)


def check(is_so, what):
    if not is_so:
        raise SystemExit("report.py: failed: " + what)
    print("  " + what)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def push(number, bucket, thing, sender="u-1"):
    when = 1_700_000_000_000 + number
    return {"origin": "EVENT", "bucketID": bucket, "type": "DATA_OBJECT_UPDATED", "when": when, "modifiedAt": when - 30,
            "objectID": thing, "sender": sender, "objectScopeAppID": "a", "objectScopeType": "APP"}


def many():
    """100,000 messages of an hour and a half, by a fixed rule."""
    for n in range(100_000):
        at = {"at": f"{n * 50 + n * n % 37}ms", "transport": "mqtt"}
        if n % 97 == 0:
            yield {**at, "raw": "{no"}
        elif n % 50 == 1 and n > 50:
            yield {**at, "payload": push(n - 1, f"b{(n - 1) % 41}", f"o-{(n - 1) % 397}")}
        elif n % 3 == 0:
            yield {**at, "payload": {"text": f"direct {n}"}}
        else:
            yield {**at, "payload": push(n, f"b{n % 41}", f"o-{n % 397}")}


def hostile():
    for n, text in enumerate(TEXTS):
        yield {"at": f"{n}s", "payload": push(n, text, text, sender=text)}
        yield {"at": f"{n}s", "payload": {"topic": text, "text": text, "objectScopeType": "APP", text: text}}
        yield {"at": f"{n}s", "payload": {text: text}}
        yield {"at": f"{n}s", "raw": text}


def details(browser):
    return browser.value("document.getElementById('details').textContent")


def use(browser, loop):
    print("loop: " + loop)
    browser.open(loop)
    check("bucket counter / c-1 had to wait" in browser.value("document.getElementById('findings').textContent"), "the loop is told")
    # Scripts reach the page's own constants by name.
    check(browser.value("cells.length > 10 && rows.length === 2"), "messages are drawn, in two rows")
    spot = browser.value("(() => { lanes.scrollIntoView({block: 'center'}); const b = lanes.getBoundingClientRect(), "
                         "c = cells.find((c) => c.message >= 0); return [b.left + c.x, b.top + AXIS + c.row * ROW + ROW / 2]; })()")
    browser.click(*spot)
    check("The way through the receiver" in details(browser) and "decode" in details(browser), "a click shows a message's way")
    check("LoopGuard" in details(browser) and "outcome" in details(browser), "with each stage, in explain's words")
    browser.value("lanes.focus()")
    browser.press("Escape")
    check(details(browser) == "", "Escape closes it")
    browser.press("ArrowRight")
    one = details(browser)
    browser.press("ArrowRight")
    check(one and details(browser) != one, "the right arrow goes from message to message")
    browser.press("n")
    check("waited for" in details(browser), "N goes to a problem")
    browser.press("ArrowDown")
    check("news" in details(browser), "the arrow down goes to the next row")
    browser.press("Enter")
    check(browser.value("document.activeElement.id") == "details", "Enter goes to the details")
    browser.press("Escape")
    check(browser.value("document.activeElement.id") == "lanes", "and Escape back")
    count = "document.getElementById('count').textContent"
    before = browser.value(count)
    browser.click_on("document.querySelector('#outcomes button[data-outcome=\"handled\"]')")
    check(browser.value(count) != before and browser.value("visible.length") == 1, "an outcome can be hidden")
    browser.click_on("document.getElementById('reset')")
    check(browser.value(count) == before, "and shown again")
    browser.click_on("document.querySelector('#findings button')")
    check(browser.value("visible.every((i) => hasWaited(i)) && visible.length > 1 "
                        "&& visible.length === Array.from(time.keys()).filter(hasWaited).length"), "'Show them' shows what waited alone")
    browser.click_on("document.getElementById('reset')")
    browser.value("(() => { const s = document.getElementById('route'); s.value = '0'; "
                  "s.dispatchEvent(new Event('change')); document.getElementById('kind').value; })()")
    check(browser.value("visible.every((i) => fields.route.values[i] === 0)"), "a route can be chosen")
    for width in (1280, 800, 400):
        browser.size(width, 900)
        browser.frame()
        check(browser.value("document.documentElement.scrollWidth <= window.innerWidth"), f"nothing scrolls sideways at {width} pixels")
    browser.size(1280, 900)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    tool, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("report.py: SKIPPED: there is no Chromium on PATH (Debian: apt-get install chromium), so no page was opened")
        return
    os.makedirs(folder, exist_ok=True)
    write(f"{folder}/hostile.jsonl", hostile())
    write(f"{folder}/many.jsonl", many())
    captures = {"loop": "Samples/Captures/loop.jsonl", "burst": "Samples/Captures/burst.jsonl",
                "hostile": f"{folder}/hostile.jsonl", "many": f"{folder}/many.jsonl"}
    for name, capture in captures.items():
        values = ["--values"] if name == "hostile" else []
        subprocess.run([tool, "report", capture, "-o", f"{folder}/{name}.html", *values], check=True)
    browser = Browser(chromium, folder)
    try:
        use(browser, f"{folder}/loop.html")
        check(not browser.troubles(), f"nothing is complained about {browser.troubles()}")
        for name in captures:
            page = f"{folder}/{name}.html"
            print(f"{name}: {page}")
            took = browser.open(page)
            if name == "many":
                check(took < 10, f"100,000 messages are open within ten seconds: {took:.2f} s")
                frame = browser.value("(() => { const s = performance.now(); for (let n = 0; n < 20; n++) { "
                                      "show(n * 1000, span - n * 1000); drawOverview(); drawLanes(); } return (performance.now() - s) / 20; })()")
                check(frame < 250, f"a picture of them takes {frame:.1f} ms")
                browser.value("showAll()")
            if name == "hostile":
                browser.value("(() => { for (let i = 0; i < size; i++) choose(i); for (const c of cells) chooseMany(c); "
                              "for (const name of Object.keys(fields)) { state.rows = name; refresh(); drawLanes(); } choose(0); })()")
                browser.frame()
                check(browser.value("document.title").startswith("KiiPush report "), "no payload runs")
                check(browser.value("document.scripts.length === 2 && !document.querySelector('img, svg, iframe, object, a')"),
                      "no payload is an element")
            else:
                browser.value("choose(Math.min(25, size - 1))")
            for scheme in ("light", "dark"):
                browser.scheme(scheme)
                browser.frame()
                browser.shoot(f"{folder}/{name}-{scheme}.png")
            check(not browser.troubles(), f"it asks no network for anything, and nothing is complained about {browser.troubles()}")
    finally:
        browser.end()


main()
