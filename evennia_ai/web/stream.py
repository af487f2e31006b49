"""The stream that tells a page what is new: Server-Sent Events, from the game's own thread.

A stream names what changed and never its words; the page then asks for itself anew, with the rights
and the masks of whoever looks. Behind Evennia's proxy nobody tells that a page was left: so every
stream ends after a while, and a page that is still there comes back and goes on where it was.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from json import dumps
from typing import Any
from urllib.parse import urlencode

from django.urls import get_script_prefix
from twisted.web.server import Request

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.runtime.watching import FEED, Change, Feed, web_config

MOST_OF_AN_ACCOUNT = 4
LIFETIME_SECONDS, HEARTBEAT_SECONDS = 60.0, 15.0
RETRY_MS, RETRY_LATER_MS = 500, 15_000
# How often a page is told at most, and so asks for itself: of one assistant, and of all.
PAUSE_SECONDS, LONG_PAUSE_SECONDS = 0.5, 1.0
# Something is new; and: more is new than is known, so that all has to be looked at.
CHANGE, RESET = "change", "reset"
HEADERS = {
    b"content-type": b"text/event-stream; charset=utf-8",
    b"cache-control": b"no-store",
    b"x-accel-buffering": b"no",
    b"x-content-type-options": b"nosniff",
}


def child_name() -> str:
    """The first part of the stream's address, made of the workbench's own."""
    return f"{web_config().path.strip('/').replace('/', '-')}-stream"


def address_of_stream(assistant: str = "") -> str:
    """The address by which a page that is made now hears what comes after.

    Args:
        assistant: the one that the page is about; "" for all.
    """
    named = {"assistant": assistant} if assistant else {}
    return f"{get_script_prefix()}{child_name()}?{urlencode({**named, 'after': FEED.mark})}"


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """The request of a page.

    Attributes:
        account: the number of whoever looks.
        assistant: the one that is looked at; "": all.
        after: the mark of the last change that the page knows.
    """

    account: int
    assistant: str
    after: str


class PageStream:
    """One page that is told what is new.

    Changes that come too fast for the page, or while it does not read, become one. It is a push
    producer, as Twisted calls what is told when to pause.
    """

    def __init__(self, request: Request, wanted: StreamQuery, streams: Streams) -> None:
        self.wanted, self._request, self._streams = wanted, request, streams
        self._clock = streams.clock
        self._pause = PAUSE_SECONDS if wanted.assistant else LONG_PAUSE_SECONDS
        self._pending: set[str] = set()
        self._event = CHANGE
        self._is_slow = self.is_over = False
        self._told_at = -self._pause
        self._later: dict[str, Any] = {}

    def begin(self) -> None:
        """Tell what was missed, and listen."""
        request, feed = self._request, self._streams.feed
        for name, value in HEADERS.items():
            request.setHeader(name, value)
        request.registerProducer(self, True)
        request.notifyFinish().addErrback(lambda _: self._end())
        feed.watchers.add(self.hear)
        self._later["end"] = self._clock.callLater(LIFETIME_SECONDS, self.close)
        self._later["beat"] = self._clock.callLater(HEARTBEAT_SECONDS, self._beat)
        request.write(f"retry: {RETRY_MS}\n\n".encode())
        missed = feed.after(self.wanted.after)
        if missed is None:
            self._event = RESET
            self._pending.add(self.wanted.assistant)
        for change in missed or ():
            self._note(change)
        self._tell_soon()

    def hear(self, change: Change) -> None:
        """Something is new."""
        if self._note(change):
            self._tell_soon()

    def _note(self, change: Change) -> bool:
        is_wanted = self.wanted.assistant in ("", change.assistant)
        if is_wanted:
            self._pending.add(change.assistant)
        return is_wanted

    def _tell_soon(self) -> None:
        if not self._pending or self._is_slow or "tell" in self._later or self.is_over:
            return
        wait = self._told_at + self._pause - self._clock.seconds()
        if wait > 0:
            self._later["tell"] = self._clock.callLater(wait, self._tell)
        else:
            self._tell()

    def _tell(self) -> None:
        self._later.pop("tell", None)
        if self._is_slow or not self._pending:
            return
        self._told_at = self._clock.seconds()
        data = dumps(sorted(self._pending))
        told = f"id: {self._streams.feed.mark}\nevent: {self._event}\ndata: {data}\n\n"
        self._pending.clear()
        self._event = CHANGE
        self._request.write(told.encode())

    def _beat(self) -> None:
        """Keep what is between from closing it, and move the mark on where others changed."""
        if self._is_slow:
            self.drop()
            return
        self._later["beat"] = self._clock.callLater(HEARTBEAT_SECONDS, self._beat)
        self._mark()

    def _mark(self) -> None:
        # A mark without data is remembered by the browser, and tells the page nothing.
        mark = f"id: {self._streams.feed.mark}\n" if not self._pending else ""
        self._request.write(f":\n{mark}\n".encode())

    def close(self, *, retry_ms: int = RETRY_MS) -> None:
        """End it in order: the page comes back, and is told what it missed meanwhile."""
        if self.is_over:
            return
        if self._is_slow:
            self.drop()
            return
        self._tell()
        self._mark()
        if retry_ms != RETRY_MS:
            self._request.write(f"retry: {retry_ms}\n\n".encode())
        self._end()
        # First: Twisted logs an error where a request ends with its producer.
        self._request.unregisterProducer()
        self._request.finish()

    def drop(self) -> None:
        """Cut it off: whoever is there does not read."""
        self._end()
        self._request.unregisterProducer()
        # An end in order would wait until what was written is read, which nobody does.
        self._request.channel.forceAbortClient()

    def _end(self) -> None:
        self.is_over = True
        for call in self._later.values():
            if call.active():
                call.cancel()
        self._later.clear()
        self._streams.leave(self)

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Told that it is not read what was written: nothing more is written until it is."""
        self._is_slow = True

    def resumeProducing(self) -> None:  # noqa: N802
        """It is read again."""
        self._is_slow = False
        self._tell_soon()

    def stopProducing(self) -> None:  # noqa: N802
        """The connection is gone."""
        if not self.is_over:
            self._end()


class Streams:
    """All streams of the game.

    Args:
        clock: the reactor, or a test's clock.
    """

    def __init__(self, clock: Reactor, feed: Feed = FEED) -> None:
        self.clock, self.feed = clock, feed
        self._of: defaultdict[int, list[PageStream]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def open(self, request: Request, wanted: StreamQuery) -> PageStream:
        """Begin a stream. Of one account too many, the oldest ends: it may be a page long left."""
        mine = self._of[wanted.account]
        while len(mine) >= MOST_OF_AN_ACCOUNT:
            mine[0].close(retry_ms=RETRY_LATER_MS)
        stream = PageStream(request, wanted, self)
        self._of[wanted.account].append(stream)
        stream.begin()
        return stream

    def leave(self, stream: PageStream) -> None:
        """Forget a stream that ended."""
        self.feed.watchers.discard(stream.hear)
        mine = self._of[stream.wanted.account]
        if stream in mine:
            mine.remove(stream)
        if not mine:
            del self._of[stream.wanted.account]
