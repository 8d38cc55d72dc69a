#!/usr/bin/env python3
"""Hands pushes to an agent over its Unix socket, and prints what became of each.

    python3 Samples/UnixSocket/push.py SOCKET PAYLOAD...
"""
import json
import socket
import sys


def push(path, payloads):
    """Sends payloads, and yields the answer to each in turn."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        answers = link.makefile(encoding="utf-8")
        for payload in payloads:
            try:
                link.sendall(json.dumps(payload).encode() + b"\n")
            except BrokenPipeError:
                pass  # the agent has refused this client, and the answer says why
            answer = answers.readline()
            if not answer:
                raise ConnectionError("the agent has closed the socket; send the payload again")
            yield json.loads(answer)


if __name__ == "__main__":
    for answer in push(sys.argv[1], map(json.loads, sys.argv[2:])):
        print(answer["outcome"], answer.get("reason", ""))
        # What was not taken, or had not ended when the agent stopped, is to be sent again.
        if answer["disposition"] == "retryLater":
            sys.exit("not handled: send it again")
