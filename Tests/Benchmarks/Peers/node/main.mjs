// Speaks the protocol of ../README.md, for the bare parser and for the receiver.

import { readFileSync } from "node:fs";
import { parse, Receiver } from "./receiver.mjs";

let read = 0;

function receiver(routes, limit) {
  const receiver = new Receiver("0123abcd", "th.1", limit);
  for (let number = 1; number < routes - 2; number++) receiver.onBucket(`bucket${number}`, () => {});
  receiver.onBucket("bucketName", (message) => {
    read += message.bucket.length + (message.object?.length ?? 0) + (message.scopeID?.length ?? 0);
  });
  receiver.onTopic("news", () => {});
  receiver.onDirectPush(() => {});
  return receiver;
}

/** A buffer of its own for each line, as from a transport. */
function lines(file) {
  const text = readFileSync(file, "latin1");
  return text.slice(0, text.endsWith("\n") ? -1 : undefined).split("\n").map((line) => Buffer.from(line, "latin1"));
}

function row(message, outcome) {
  if (message === null) return `-\t-\t-\t-\t-\t${outcome}`;
  const { kind, bucket = "-", object = "-", topic = "-", scope = "-", scopeID } = message;
  return `${kind}\t${bucket}\t${object}\t${topic}\t${scopeID ? `${scope}:${scopeID}` : scope}\t${outcome}`;
}

function check(payloads, routes) {
  const target = receiver(routes, 20);
  const rows = payloads.map((bytes) => row(parse(bytes), target.receive(bytes)));
  process.stdout.write(rows.join("\n") + "\n");
}

// Each program has its own loop, so that the compiler sees one kind of call in it.
const loops = {
  parse(payloads, count) {
    let parsed = 0;
    for (let number = 0; number < count; number++) if (JSON.parse(payloads[number]) !== null) parsed++;
    return parsed;
  },
  "parse-bytes"(payloads, count) {
    let parsed = 0;
    for (let number = 0; number < count; number++) if (JSON.parse(payloads[number].toString()) !== null) parsed++;
    return parsed;
  },
  receive(payloads, count, target) {
    let handled = 0;
    for (let number = 0; number < count; number++) if (target.receive(payloads[number]) === "handled") handled++;
    return handled;
  },
};

function time(what, payloads, routes, messages) {
  const loop = loops[what];
  const make = () => (what === "receive" ? receiver(routes, 1_000_000_000) : null);
  if (what === "parse") payloads = payloads.map((bytes) => bytes.toString());
  const passes = () => {
    read = 0;
    let [handled, nanoseconds] = [0, 0n];
    for (let left = messages; left > 0; left -= payloads.length) {
      const target = make();
      const start = process.hrtime.bigint();
      handled += loop(payloads, Math.min(left, payloads.length), target);
      nanoseconds += process.hrtime.bigint() - start;
    }
    return { messages, nanoseconds: Number(nanoseconds), handled, read };
  };
  passes();
  console.log(JSON.stringify(passes()));
}

const [what, verb, file, routes, messages] = process.argv.slice(2);
if (verb === "check") check(lines(file), Number(routes));
else if (verb === "time" && what in loops) time(what, lines(file), Number(routes), Number(messages));
else {
  console.error("usage: main.mjs parse|parse-bytes|receive check FILE ROUTES | time FILE ROUTES MESSAGES");
  process.exitCode = 64;
}
