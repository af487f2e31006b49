"""Deferreds by duck typing, and one Deferred shared by several callers.

This layer imports no framework, so Twisted's classes are recognized by their methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from typing_extensions import TypeIs


class DeferredLike(Protocol):
    """The methods of a Deferred that are used here."""

    addCallback: Callable[..., Any]  # noqa: N815 - Twisted's names
    addErrback: Callable[..., Any]  # noqa: N815
    addCallbacks: Callable[..., Any]  # noqa: N815
    callback: Callable[[Any], None]
    errback: Callable[[Any], None]
    cancel: Callable[[], None]


def is_deferred(outcome: object) -> TypeIs[DeferredLike]:
    """True for a Deferred of any class."""
    return hasattr(outcome, "addCallbacks")


def deferred_class(deferred: object) -> Any:
    """Twisted's class Deferred, also for an instance of a subclass."""
    # A subclass such as DeferredList has another constructor. The base class is the most distant
    # ancestor with callbacks.
    return next(kind for kind in reversed(type(deferred).__mro__) if hasattr(kind, "addCallbacks"))


def refuse_coroutine(outcome: object) -> None:
    """Refuse a coroutine, which only one caller can await.

    Raises:
        TypeError: it is a coroutine.
    """
    if inspect.iscoroutine(outcome):
        outcome.close()
        raise TypeError("a coroutine has one outcome for one; give Deferred.fromCoroutine(it)")


def error_of(problem: object) -> BaseException | None:
    """The exception itself, also if it is wrapped in Twisted's Failure; None for anything else."""
    # A Failure is a BaseException, but not an Exception.
    wrapped = None if isinstance(problem, Exception) else getattr(problem, "value", None)
    error = wrapped if isinstance(wrapped, BaseException) else problem
    return error if isinstance(error, BaseException) else None


def is_cancellation(error: BaseException | None) -> bool:
    """True if the error is a cancellation, which says nothing about the service."""
    if error is None:
        return False
    # Twisted's and asyncio's classes have the same name. An error that is no Exception
    # (GeneratorExit, KeyboardInterrupt) ends the caller and is no failure of the service.
    is_named_so = any(kind.__name__ == "CancelledError" for kind in type(error).__mro__)
    return is_named_so or not isinstance(error, Exception)


class Flight:
    """A running call and its waiting callers.

    Args:
        when_unwanted: called when the last caller has cancelled, before `source` is cancelled.
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
        """A Deferred for one more caller; cancelling it does not affect the others."""
        waiter: DeferredLike = self._make_deferred(self._leave)
        self._waiters[waiter] = None
        return waiter

    def land(self, copy: Callable[[], object]) -> None:
        """Give each caller a copy of the result."""
        for waiter in self._leaving():
            waiter.callback(copy())

    def crash(self, failure: object) -> None:
        """Give each caller the failure."""
        for waiter in self._leaving():
            waiter.errback(failure)

    def _leaving(self) -> Iterator[DeferredLike]:
        # One by one, because a caller's callback may cancel the Deferred of another one.
        while self._waiters:
            waiter = next(iter(self._waiters))
            del self._waiters[waiter]
            yield waiter

    def _leave(self, waiter: DeferredLike) -> None:
        del self._waiters[waiter]
        if not self._waiters:
            self._when_unwanted(self)
            self._source.cancel()
