"""The scripted model server's record of its calls, and waiting for more of them."""

import asyncio
from collections import deque
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any


@dataclass
class Call:
    """One request for an answer.

    Attributes:
        index: its number, from 1, since the server started or was reset.
        path: the path it was sent to.
        body: its JSON body, without headers.
        has_authorization: whether an Authorization header came with it; its value is not kept.
        behaviour: the kind of behaviour it was treated with.
        arrived_seconds: when it came, in seconds since the server started.
        is_answered: whether the whole answer was sent.
        is_abandoned: whether the client went away before that.
        prompt_tokens, completion_tokens: tokens read and written by the server's own count,
            whatever it reports.
    """

    index: int
    path: str
    body: Any
    has_authorization: bool
    behaviour: str
    arrived_seconds: float
    is_answered: bool = False
    is_abandoned: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """The tokens to be paid for."""
        return self.prompt_tokens + self.completion_tokens


class Ledger:
    """The calls of one server, oldest first; at most `keep` bodies are held."""

    def __init__(self, keep: int) -> None:
        self._calls: deque[Call] = deque(maxlen=keep)
        self._started = monotonic()
        self._changed = asyncio.Event()
        self.total = 0
        self.in_flight = 0
        self.in_flight_max = 0

    def open_call(self, path: str, body: Any, *, has_authorization: bool, behaviour: str) -> Call:
        """Note a call that has come."""
        self.total += 1
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        arrived = monotonic() - self._started
        call = Call(self.total, path, body, has_authorization, behaviour, arrived)
        self._calls.append(call)
        self._announce()
        return call

    def close_call(self, call: Call, *, is_answered: bool) -> None:
        """Note that a call is over, answered or abandoned."""
        self.in_flight -= 1
        call.is_answered = is_answered
        call.is_abandoned = not is_answered
        self._announce()

    def clear(self) -> None:
        """Forget the calls so far, but keep counting those in flight."""
        self._calls.clear()
        self.total = 0
        self.in_flight_max = self.in_flight

    async def wait_until(self, *, total: int, closed: int, timeout_seconds: float) -> None:
        """Return when that many calls came and that many are over, or when the time is up."""
        end = monotonic() + timeout_seconds
        while self.total < total or self.total - self.in_flight < closed:
            try:
                await asyncio.wait_for(self._changed.wait(), end - monotonic())
            except TimeoutError:
                return

    def describe(self) -> dict[str, Any]:
        """All counts and calls, as JSON can hold them."""
        return {
            "requests": [asdict(call) for call in self._calls],
            "total": self.total,
            "in_flight": self.in_flight,
            "in_flight_max": self.in_flight_max,
            "tokens": sum(call.tokens for call in self._calls),
        }

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
