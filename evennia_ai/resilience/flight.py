"""One execution that several callers wait for, each with a Deferred of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from evennia_ai.resilience.deferreds import DeferredLike, deferred_class


class Flight:
    """An execution under way and those who wait for it.

    Args:
        source: the Deferred of the execution.
        scope: what the outcome is to be kept for.
        when_unwanted: called when the last who waited has cancelled, just before the execution is
            cancelled with it.
    """

    __slots__ = ("_make_deferred", "_source", "_waiters", "_when_unwanted", "scope")

    def __init__(
        self, source: DeferredLike, scope: str, when_unwanted: Callable[[Flight], object]
    ) -> None:
        self.scope = scope
        self._source = source
        self._make_deferred = deferred_class(source)
        self._when_unwanted = when_unwanted
        self._waiters: dict[DeferredLike, None] = {}

    def join(self) -> DeferredLike:
        """A Deferred for one more who waits; when it is cancelled nobody else notices."""
        waiter: DeferredLike = self._make_deferred(self._leave)
        self._waiters[waiter] = None
        return waiter

    def land(self, copy: Callable[[], Any]) -> None:
        """Give everybody a copy of the outcome."""
        for waiter in self._leaving():
            waiter.callback(copy())

    def crash(self, failure: object) -> None:
        """Give everybody the failure."""
        for waiter in self._leaving():
            waiter.errback(failure)

    def _leaving(self) -> Iterator[DeferredLike]:
        # One by one: whoever has the outcome may cancel another on the spot.
        while self._waiters:
            waiter = next(iter(self._waiters))
            del self._waiters[waiter]
            yield waiter

    def _leave(self, waiter: DeferredLike) -> None:
        del self._waiters[waiter]
        if not self._waiters:
            self._when_unwanted(self)
            self._source.cancel()
