"""The receiver on aiogram's dispatcher: a filter a route, the stages as outer middleware, as its documentation shows.

aiogram serves Telegram; what is taken from it is the way from an event to its handler. Events are its kind of model,
read from the payload's bytes by pydantic. The filters are coroutines, as filters that are not run in a thread each.
"""

import time
from typing import Any

from aiogram import BaseMiddleware, Dispatcher
from aiogram.dispatcher.event.bases import UNHANDLED
from aiogram.filters import Filter
from aiogram.types import TelegramObject
from pydantic import AliasChoices, Field, ValidationError

from receiver import Message, Rate, Seen, serves


def both(short: str, long: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(short, long))


class Push(TelegramObject):
    """A payload, with APNs' short keys or the long ones."""

    bucket_name: str | None = both("bi", "bucketID")
    object_id: str | None = both("oi", "objectID")
    topic_name: str | None = both("to", "topic")
    event: str | None = both("t", "type")
    sender: str | None = both("s", "sender")
    app: str | None = both("sa", "objectScopeAppID")
    scope: str | None = both("st", "objectScopeType")
    user_id: str | None = both("su", "objectScopeUserID")
    group_id: str | None = both("sg", "objectScopeGroupID")
    thing_id: str | None = both("sth", "objectScopeThingID")
    sent_at: int | str | None = both("w", "when")

    def message(self) -> Message:
        kind = "pushToApp" if self.bucket_name else "pushToUser" if self.topic_name else "directPush"
        ids = {"APP_AND_USER": self.user_id, "APP_AND_GROUP": self.group_id, "APP_AND_THING": self.thing_id}
        return Message(
            kind=kind,
            bucket=self.bucket_name,
            object=self.object_id if kind == "pushToApp" else None,
            topic=self.topic_name if kind == "pushToUser" else None,
            event=self.event,
            sender=self.sender,
            app=self.app,
            scope=self.scope,
            scope_id=ids.get(self.scope),
            when=None if self.sent_at is None else str(self.sent_at),
        )


def parse(payload: bytes) -> Push | None:
    try:
        return Push.model_validate_json(payload)
    except ValidationError:
        return None


class IsBucket(Filter):
    def __init__(self, name: str):
        self.name = name

    async def __call__(self, event: Push, message: Message) -> bool:
        return message.kind == "pushToApp" and message.bucket == self.name


class IsTopic(Filter):
    def __init__(self, name: str):
        self.name = name

    async def __call__(self, event: Push, message: Message) -> bool:
        return message.kind == "pushToUser" and message.topic == self.name


class IsDirectPush(Filter):
    async def __call__(self, event: Push, message: Message) -> bool:
        return message.kind == "directPush"


class Classify(BaseMiddleware):
    async def __call__(self, handler, event, data):
        data["message"] = event.message()
        return await handler(event, data)


class Deduplicate(BaseMiddleware):
    def __init__(self):
        self.seen = Seen()

    async def __call__(self, handler, event, data):
        now = time.monotonic()
        key, age = self.seen.key(data["message"], data["payload"])
        if self.seen.has(key, now):
            return "duplicate"
        outcome = await handler(event, data)
        if outcome in ("handled", "looped", "paced"):
            self.seen.remember(key, now + age)
        return outcome


class CutLoops(BaseMiddleware):
    def __init__(self, me: str):
        self.me = me

    async def __call__(self, handler, event, data):
        return "looped" if data["message"].sender == self.me else await handler(event, data)


class CheckScope(BaseMiddleware):
    def __init__(self, app: str):
        self.app = app

    async def __call__(self, handler, event, data):
        message = data["message"]
        if message.app not in (None, self.app) or not serves(message):
            return "refused"
        return await handler(event, data)


class LimitRate(BaseMiddleware):
    """An inner middleware: it runs when a route has taken the event, right before the route's handler."""

    def __init__(self, limit: int):
        self.rate = Rate(limit)

    async def __call__(self, handler, event, data):
        message = data["message"]
        # One handler object is made a route, and lives as long as it.
        if not self.rate.passes(id(data["handler"]), message, time.monotonic()):
            return "paced"
        await handler(event, data)
        return "handled"


class Receiver:
    def __init__(self, app: str, me: str, limit: int):
        self.dispatcher = Dispatcher()
        self.observer = self.dispatcher.message
        for stage in (Classify(), Deduplicate(), CutLoops(me), CheckScope(app)):
            self.observer.outer_middleware(stage)
        self.observer.middleware(LimitRate(limit))

    def on_bucket(self, name: str, handler):
        self.observer.register(handler, IsBucket(name))

    def on_topic(self, name: str, handler):
        self.observer.register(handler, IsTopic(name))

    def on_direct_push(self, handler):
        self.observer.register(handler, IsDirectPush())

    async def receive(self, payload: bytes) -> str:
        push = parse(payload)
        if push is None:
            return "undecodable"
        outcome = await self.dispatcher.propagate_event(update_type="message", event=push, payload=payload)
        return "unrouted" if outcome is UNHANDLED else outcome
