"""The stream that tells a page what has changed: Server-Sent Events from the game's thread.

An event names an assistant and has no other contents: the page then reloads its part by htmx, with
the visitor's own rights and masks. Evennia's proxy does not report that a visitor has left. So each
stream ends after a minute, and a page that is still open reconnects from its last mark.
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
# The shortest time between two events, and so between two reloads: of one assistant, and of all.
PAUSE_SECONDS, LONG_PAUSE_SECONDS = 0.5, 1.0
# RESET: the page's mark is older than the feed remembers, so it has to reload everything.
CHANGE, RESET = "change", "reset"
HEADERS = {
    b"content-type": b"text/event-stream; charset=utf-8",
    b"cache-control": b"no-store",
    b"x-accel-buffering": b"no",  # nginx would hold events back
    b"x-content-type-options": b"nosniff",
}


def child_name() -> str:
    """The path of the stream, derived from the workbench's own; a single segment."""
    return f"{web_config().path.strip('/').replace('/', '-')}-stream"


def address_of_stream(assistant: str = "") -> str:
    """The stream's address for a page that is rendered now, with the current mark.

    Args:
        assistant: the assistant that the page is about; "" for all.
    """
    parameters = {"assistant": assistant} if assistant else {}
    return f"{get_script_prefix()}{child_name()}?{urlencode({**parameters, 'after': FEED.mark})}"


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A page's request for a stream.

    Attributes:
        account: primary key of the visitor's account.
        assistant: the assistant to follow; "" for all.
        after: the mark of the last change that the page knows.
    """

    account: int
    assistant: str
    after: str


class PageStream:
    """The stream of one page.

    Changes that come in quick succession, or while the client does not read, are merged into one
    event, so that nothing piles up. It is a push producer of Twisted.
    """

    def __init__(self, request: Request, wanted: StreamQuery, streams: Streams) -> None:
        self.wanted, self._request, self._streams = wanted, request, streams
        self._clock = streams.clock
        self._pause = PAUSE_SECONDS if wanted.assistant else LONG_PAUSE_SECONDS
        self._pending: set[str] = set()
        self._event = CHANGE
        self._is_slow = self.is_over = False
        self._sent_at = -self._pause  # the first event is sent at once
        self._timers: dict[str, Any] = {}

    def begin(self) -> None:
        """Send what the page has missed, and start to listen."""
        request, feed = self._request, self._streams.feed
        for name, value in HEADERS.items():
            request.setHeader(name, value)
        # As a push producer it learns when the client stops reading.
        request.registerProducer(self, True)
        request.notifyFinish().addErrback(lambda _: self._end())
        feed.watchers.add(self.on_change)
        self._timers["end"] = self._clock.callLater(LIFETIME_SECONDS, self.close)
        self._timers["heartbeat"] = self._clock.callLater(HEARTBEAT_SECONDS, self._heartbeat)
        request.write(f"retry: {RETRY_MS}\n\n".encode())
        missed = feed.after(self.wanted.after)
        if missed is None:
            self._event = RESET
            self._pending.add(self.wanted.assistant)
        for change in missed or ():
            self._note(change)
        self._send_soon()

    def on_change(self, change: Change) -> None:
        """Take a change from the feed."""
        if self._note(change):
            self._send_soon()

    def _note(self, change: Change) -> bool:
        is_wanted = self.wanted.assistant in ("", change.assistant)
        if is_wanted:
            self._pending.add(change.assistant)
        return is_wanted

    def _send_soon(self) -> None:
        if not self._pending or self._is_slow or "send" in self._timers or self.is_over:
            return
        wait = self._sent_at + self._pause - self._clock.seconds()
        if wait > 0:
            self._timers["send"] = self._clock.callLater(wait, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._timers.pop("send", None)
        if self._is_slow or not self._pending:
            return
        self._sent_at = self._clock.seconds()
        data = dumps(sorted(self._pending))
        event = f"id: {self._streams.feed.mark}\nevent: {self._event}\ndata: {data}\n\n"
        self._pending.clear()
        self._event = CHANGE
        self._request.write(event.encode())

    def _heartbeat(self) -> None:
        """Keep proxies from closing an idle connection, and advance the page's mark."""
        if self._is_slow:
            self.drop()
            return
        self._timers["heartbeat"] = self._clock.callLater(HEARTBEAT_SECONDS, self._heartbeat)
        self._mark()

    def _mark(self) -> None:
        # A browser remembers an id without data, and fires no event. While changes are pending, the
        # mark must not move past them.
        mark = f"id: {self._streams.feed.mark}\n" if not self._pending else ""
        self._request.write(f":\n{mark}\n".encode())

    def close(self, *, retry_ms: int = RETRY_MS) -> None:
        """End the stream; the page reconnects, and gets what it missed meanwhile."""
        if self.is_over:
            return
        if self._is_slow:
            self.drop()
            return
        self._send()
        self._mark()
        if retry_ms != RETRY_MS:
            self._request.write(f"retry: {retry_ms}\n\n".encode())
        self._end()
        # First: Twisted logs an error if a request finishes while it has a producer.
        self._request.unregisterProducer()
        self._request.finish()

    def drop(self) -> None:
        """Cut off the connection of a client that does not read."""
        self._end()
        self._request.unregisterProducer()
        # A clean end would wait for ever until the client reads what was written.
        self._request.channel.forceAbortClient()

    def _end(self) -> None:
        self.is_over = True
        for call in self._timers.values():
            if call.active():
                call.cancel()
        self._timers.clear()
        self._streams.leave(self)

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Stop writing: the client does not read fast enough."""
        self._is_slow = True

    def resumeProducing(self) -> None:  # noqa: N802
        """Go on: the client reads again."""
        self._is_slow = False
        self._send_soon()

    def stopProducing(self) -> None:  # noqa: N802
        """Clean up: the connection is lost."""
        if not self.is_over:
            self._end()


class Streams:
    """All open streams.

    Args:
        clock: the reactor, or a test's clock.
    """

    def __init__(self, clock: Reactor, feed: Feed = FEED) -> None:
        self.clock, self.feed = clock, feed
        self._by_account: defaultdict[int, list[PageStream]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self._by_account.values()))

    def open(self, request: Request, wanted: StreamQuery) -> PageStream:
        """Open a stream; beyond an account's limit its oldest is closed."""
        mine = self._by_account[wanted.account]
        while len(mine) >= MOST_OF_AN_ACCOUNT:
            # If its page is still open, it reconnects late: at once, it would push out another one.
            mine[0].close(retry_ms=RETRY_LATER_MS)
        stream = PageStream(request, wanted, self)
        self._by_account[wanted.account].append(stream)
        stream.begin()
        return stream

    def leave(self, stream: PageStream) -> None:
        """Remove a stream that has ended."""
        self.feed.watchers.discard(stream.on_change)
        mine = self._by_account[stream.wanted.account]
        if stream in mine:
            mine.remove(stream)
        if not mine:
            del self._by_account[stream.wanted.account]
