"""Twisted's Deferreds, known by what they can do: this floor imports no framework."""

from __future__ import annotations

import inspect
from typing import Any


def is_deferred(outcome: object) -> bool:
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
