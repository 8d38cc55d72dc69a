"""Speaks the protocol of ../README.md, for the bare parser and for the receiver."""

import json
import sys
from time import perf_counter_ns

from receiver import Receiver, parse

read = 0


def ignore(message):
    pass


def read_all(message):
    global read
    read += len(message.bucket) + len(message.object or "") + len(message.scope_id or "")


def receiver(routes: int, limit: int) -> Receiver:
    receiver = Receiver("0123abcd", "th.1", limit)
    for number in range(1, routes - 2):
        receiver.on_bucket(f"bucket{number}", ignore)
    receiver.on_bucket("bucketName", read_all)
    receiver.on_topic("news", ignore)
    receiver.on_direct_push(ignore)
    return receiver


def row(message, outcome):
    if message is None:
        return "-\t-\t-\t-\t-\t" + outcome
    scope = f"{message.scope}:{message.scope_id}" if message.scope_id else message.scope
    parts = (message.kind, message.bucket, message.object, message.topic, scope, outcome)
    return "\t".join(part or "-" for part in parts)


def check(payloads, routes):
    target = receiver(routes, 20)
    print("\n".join(row(parse(payload), target.receive(payload)) for payload in payloads))


def parse_all(payloads, target):
    loads = json.loads
    for payload in payloads:
        loads(payload)
    return len(payloads)


def receive_all(payloads, target):
    receive = target.receive
    handled = 0
    for payload in payloads:
        if receive(payload) == "handled":
            handled += 1
    return handled


def time(what, payloads, routes, messages):
    loop = parse_all if what == "parse" else receive_all

    def make():
        return None if what == "parse" else receiver(routes, 1_000_000_000)

    def passes():
        global read
        read = handled = nanoseconds = 0
        left = messages
        while left > 0:
            part = payloads[:left]
            target = make()
            start = perf_counter_ns()
            handled += loop(part, target)
            nanoseconds += perf_counter_ns() - start
            left -= len(part)
        return {"messages": messages, "nanoseconds": nanoseconds, "handled": handled, "read": read}

    passes()
    print(json.dumps(passes()))


def main(what, verb, file, routes, messages="0"):
    with open(file, "rb") as lines:
        payloads = lines.read().removesuffix(b"\n").split(b"\n")
    if verb == "check":
        check(payloads, int(routes))
    else:
        time(what, payloads, int(routes), int(messages))


if len(sys.argv) < 5:
    sys.exit("usage: main.py parse|receive check FILE ROUTES | time FILE ROUTES MESSAGES")
main(*sys.argv[1:])
