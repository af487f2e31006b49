"""A permit to make one guarded call; it reports the outcome to the breaker."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from evennia_ai.resilience.deferreds import is_deferred

T = TypeVar("T")


class Issuer(Protocol):
    """The issuer of permits, which gets their outcomes."""

    _generation: int

    def _succeeded(self, permit: Permit | None) -> None: ...

    def _failed(self, permit: Permit | None, problem: object) -> None: ...

    def _released(self, permit: Permit | None) -> None: ...


class Permit:
    """A permit for one call. Only the first report of its outcome counts.

    It belongs to the breaker's generation at that time: if the breaker has changed its state since,
    the outcome is ignored. As a context manager it reports how the block ended.
    """

    __slots__ = ("_generation", "_issuer")

    def __init__(self, issuer: Issuer, generation: int) -> None:
        self._issuer: Issuer | None = issuer
        self._generation = generation

    def success(self) -> None:
        """Report that the service answered."""
        # Cleared first, so that a second report has no effect.
        issuer, self._issuer = self._issuer, None
        if issuer is not None and issuer._generation == self._generation:
            issuer._succeeded(self)

    def failure(self, problem: object = None) -> None:
        """Report a failure; excluded errors and cancellations count as no outcome."""
        issuer, self._issuer = self._issuer, None
        if issuer is not None and issuer._generation == self._generation:
            issuer._failed(self, problem)

    def release(self) -> None:
        """Return the permit without an outcome."""
        # In any generation: removing a probe that is no longer known does nothing.
        issuer, self._issuer = self._issuer, None
        if issuer is not None:
            issuer._released(self)

    def follow(self, outcome: Any) -> Any:
        """Report the outcome of a Deferred or coroutine, and pass it on unchanged."""
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
