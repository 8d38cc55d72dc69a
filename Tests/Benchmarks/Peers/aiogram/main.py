"""Speaks the protocol of ../README.md for the receiver on aiogram's dispatcher."""

import asyncio
import json
import sys
from time import perf_counter_ns

from dispatcher import Receiver, parse

read = 0


async def ignore(event, message):
    pass


async def read_all(event, message):
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


def row(push, outcome):
    if push is None:
        return "-\t-\t-\t-\t-\t" + outcome
    message = push.message()
    scope = f"{message.scope}:{message.scope_id}" if message.scope_id else message.scope
    parts = (message.kind, message.bucket, message.object, message.topic, scope, outcome)
    return "\t".join(part or "-" for part in parts)


async def check(payloads, routes):
    target = receiver(routes, 20)
    print("\n".join([row(parse(payload), await target.receive(payload)) for payload in payloads]))


async def passes(payloads, routes, messages):
    global read
    read = handled = nanoseconds = 0
    left = messages
    while left > 0:
        part = payloads[:left]
        target = receiver(routes, 1_000_000_000)
        start = perf_counter_ns()
        for payload in part:
            if await target.receive(payload) == "handled":
                handled += 1
        nanoseconds += perf_counter_ns() - start
        left -= len(part)
    return {"messages": messages, "nanoseconds": nanoseconds, "handled": handled, "read": read}


async def main(what, verb, file, routes, messages="0"):
    with open(file, "rb") as lines:
        payloads = lines.read().removesuffix(b"\n").split(b"\n")
    if verb == "check":
        await check(payloads, int(routes))
    else:
        await passes(payloads, int(routes), int(messages))
        print(json.dumps(await passes(payloads, int(routes), int(messages))))


if len(sys.argv) < 5:
    sys.exit("usage: main.py receive check FILE ROUTES | time FILE ROUTES MESSAGES")
asyncio.run(main(*sys.argv[1:]))
