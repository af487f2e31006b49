"""A permit: the right to make one guarded call, and the one place where its outcome is told."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from evennia_ai.resilience.deferreds import is_deferred

T = TypeVar("T")


class Issuer(Protocol):
    """The issuer of permits, which hears their outcomes."""

    _generation: int

    def _succeeded(self, permit: Permit | None) -> None: ...

    def _failed(self, permit: Permit | None, problem: object) -> None: ...

    def _released(self, permit: Permit | None) -> None: ...


class Permit:
    """The right to make one call. Its outcome is told once; later tellings change nothing.

    It belongs to the generation it was taken in: when the breaker changed its state in the
    meantime, what came of the call changes nothing either. As a context manager it tells by itself
    how the block ended.
    """

    __slots__ = ("_generation", "_issuer")

    def __init__(self, issuer: Issuer, generation: int) -> None:
        self._issuer: Issuer | None = issuer
        self._generation = generation

    def success(self) -> None:
        """The service answered."""
        issuer, self._issuer = self._issuer, None
        if issuer is not None and issuer._generation == self._generation:
            issuer._succeeded(self)

    def failure(self, problem: object = None) -> None:
        """The service failed, unless the error is of an excluded kind or a cancellation."""
        issuer, self._issuer = self._issuer, None
        if issuer is not None and issuer._generation == self._generation:
            issuer._failed(self, problem)

    def release(self) -> None:
        """The call was dropped, or told nothing of the service."""
        issuer, self._issuer = self._issuer, None
        if issuer is not None:
            issuer._released(self)

    def follow(self, outcome: Any) -> Any:
        """Tell what comes of a Deferred or coroutine, and give its outcome on as it is."""
        if is_deferred(outcome):
            return outcome.addCallbacks(self._pass_result, self._pass_failure)
        return self._await(outcome)

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.success()
        else:
            self.failure(error)

    def _pass_result(self, result: T) -> T:
        self.success()
        return result

    def _pass_failure(self, failure: T) -> T:
        self.failure(failure)
        return failure

    async def _await(self, outcome: Awaitable[T]) -> T:
        with self:
            return await outcome
