"""Twisted's Deferreds, known by what they can do, and one of them shared by several callers.

This floor imports no framework.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from typing_extensions import TypeIs


class DeferredLike(Protocol):
    """A Deferred, as far as it is used here."""

    addCallback: Callable[..., Any]  # noqa: N815 - Twisted's names
    addErrback: Callable[..., Any]  # noqa: N815
    addCallbacks: Callable[..., Any]  # noqa: N815
    callback: Callable[[Any], None]
    errback: Callable[[Any], None]
    cancel: Callable[[], None]


def is_deferred(outcome: object) -> TypeIs[DeferredLike]:
    """True for a Deferred, of whatever kind."""
    return hasattr(outcome, "addCallbacks")


def deferred_class(deferred: object) -> Any:
    """The class of plain Deferreds, also when this is one of a special kind.

    The first ancestor that takes callbacks is the plain one; a special kind (a DeferredList, say)
    has a constructor of its own.
    """
    return next(kind for kind in reversed(type(deferred).__mro__) if hasattr(kind, "addCallbacks"))


def refuse_coroutine(outcome: object) -> None:
    """Refuse what only one can await.

    Raises:
        TypeError: it is a coroutine.
    """
    if inspect.iscoroutine(outcome):
        outcome.close()
        raise TypeError("a coroutine has one outcome for one; give Deferred.fromCoroutine(it)")


def error_of(problem: object) -> BaseException | None:
    """The exception itself, also when it comes wrapped in Twisted's Failure; None for none.

    A Failure is a BaseException, but no Exception.
    """
    wrapped = None if isinstance(problem, Exception) else getattr(problem, "value", None)
    error = wrapped if isinstance(wrapped, BaseException) else problem
    return error if isinstance(error, BaseException) else None


def is_cancellation(error: BaseException | None) -> bool:
    """True where the error only says that nobody wants the outcome any more.

    Twisted's and asyncio's cancellations bear the same name; what is no Exception at all
    (GeneratorExit, KeyboardInterrupt) ends the caller, not the service.
    """
    if error is None:
        return False
    is_named_so = any(kind.__name__ == "CancelledError" for kind in type(error).__mro__)
    return is_named_so or not isinstance(error, Exception)


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

    def land(self, copy: Callable[[], object]) -> None:
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
