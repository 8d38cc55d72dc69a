"""A receiver as one would write it for one agent in Python, with the standard library."""

import json
import time
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(slots=True)
class Message:
    kind: str
    bucket: str | None
    object: str | None
    topic: str | None
    event: str | None
    sender: str | None
    app: str | None
    scope: str | None
    scope_id: str | None
    when: str | None


SCOPE_IDS = {
    "APP_AND_USER": ("su", "objectScopeUserID"),
    "APP_AND_GROUP": ("sg", "objectScopeGroupID"),
    "APP_AND_THING": ("sth", "objectScopeThingID"),
}


def parse(payload: bytes) -> Message | None:
    """What a payload says, or None when it is no JSON object."""
    try:
        body = json.loads(payload)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    get = body.get
    bucket = get("bi") or get("bucketID")
    topic = get("to") or get("topic")
    kind = "pushToApp" if bucket else "pushToUser" if topic else "directPush"
    scope = get("st") or get("objectScopeType")
    names = SCOPE_IDS.get(scope)
    when = get("w") or get("when")
    return Message(
        kind=kind,
        bucket=bucket,
        object=(get("oi") or get("objectID")) if kind == "pushToApp" else None,
        topic=topic if kind == "pushToUser" else None,
        event=get("t") or get("type"),
        sender=get("s") or get("sender"),
        app=get("sa") or get("objectScopeAppID"),
        scope=scope,
        scope_id=(get(names[0]) or get(names[1])) if names else None,
        when=None if when is None else str(when),
    )


class Seen:
    """The last 20,000 messages of 10 minutes; 5 seconds for those that are known by their bytes alone."""

    def __init__(self):
        self._until = OrderedDict()

    def key(self, message: Message, payload: bytes):
        m = message
        if m.when is not None and m.kind == "pushToApp":
            return (m.app, m.scope, m.scope_id, m.bucket, m.object, m.event, m.when), 600.0
        if m.when is not None and m.kind == "pushToUser":
            return (m.app, m.scope, m.scope_id, m.topic, m.sender, m.when, payload), 600.0
        return payload, 5.0

    def has(self, key, now: float) -> bool:
        return now < self._until.get(key, 0.0)

    def remember(self, key, until: float):
        self._until[key] = until
        if len(self._until) > 20_000:
            self._until.popitem(last=False)


class Rate:
    """Messages of one object, or of one topic and sender, counted in windows of 10 seconds."""

    def __init__(self, limit: int):
        self._limit = limit
        self._counts = {}

    def passes(self, route: int, message: Message, now: float) -> bool:
        key = (route, message.bucket, message.object, message.topic, message.sender)
        entry = self._counts.get(key)
        if entry is not None and now < entry[0] + 10:
            entry[1] += 1
            return entry[1] <= self._limit
        if len(self._counts) >= 10_000:
            self._counts = {key: entry for key, entry in self._counts.items() if now < entry[0] + 10}
        self._counts[key] = [now, 1]
        return True


def serves(message: Message) -> bool:
    if message.scope is None or message.scope == "APP":
        return True
    return message.scope == "APP_AND_USER" and message.scope_id is not None


class Receiver:
    def __init__(self, app: str, me: str, limit: int):
        self._app = app
        self._me = me
        self._buckets = {}
        self._topics = {}
        self._direct = None
        self._routes = 0
        self._seen = Seen()
        self._rate = Rate(limit)

    def on_bucket(self, name: str, handler):
        self._buckets[name] = self._route(handler)

    def on_topic(self, name: str, handler):
        self._topics[name] = self._route(handler)

    def on_direct_push(self, handler):
        self._direct = self._route(handler)

    def _route(self, handler):
        self._routes += 1
        return self._routes, handler

    def receive(self, payload: bytes) -> str:
        message = parse(payload)
        if message is None:
            return "undecodable"
        if message.kind == "pushToApp":
            route = self._buckets.get(message.bucket)
        elif message.kind == "pushToUser":
            route = self._topics.get(message.topic)
        else:
            route = self._direct
        now = time.monotonic()
        key, age = self._seen.key(message, payload)
        if self._seen.has(key, now):
            return "duplicate"
        if message.sender == self._me:
            self._seen.remember(key, now + age)
            return "looped"
        if (message.app is not None and message.app != self._app) or not serves(message):
            return "refused"
        if route is None:
            return "unrouted"
        number, handler = route
        if self._rate.passes(number, message, now):
            handler(message)
            outcome = "handled"
        else:
            outcome = "paced"
        self._seen.remember(key, now + age)
        return outcome
