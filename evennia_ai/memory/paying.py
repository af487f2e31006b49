"""Payment for vectors: where an embedding model is charged for, each request is reserved first.

Over a cap nothing can be looked for, and what is to be read waits; so it is while an emergency stop
is active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.budget import ledger
from evennia_ai.core.safety.prices import Price, price_of
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, MemoryStoreError, StaleEpochError
from evennia_ai.memory_store.port import Hit, Item, MemoryQuery
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.workers.port import NotBegunError, PoisonError

T = TypeVar("T")
PURPOSE = "embedding"
SECONDS = 30.0
NOTHING = TokenUsage()


def is_held(script: Assistant) -> bool:
    """True where nothing is sent for an assistant: it is stopped, and the store is elsewhere."""
    is_sent = services.work().is_elsewhere or services.memory().sends
    return state.is_stopped(script) and bool(is_sent)


async def add(
    script: Assistant, service: MemoryService, items: Sequence[Item]
) -> list[bytes] | None:
    """Let vectors be made of memories, at most one portion. None: they were not.

    Raises:
        PoisonError: they ended every worker that was to make them.
    """
    work, run = services.work(), Fence.of(script).run
    seconds = max(SECONDS, work.patience)
    return await _paid(script, service, "", lambda: work.embed(run, items), seconds)


async def search(
    script: Assistant, service: MemoryService, sought: MemoryQuery, person: str
) -> list[Hit] | None:
    """Let the store look for something, in the name of a person. None: it could not look."""
    return await _paid(script, service, person, lambda: service.search(sought))


@dataclass(slots=True)
class _RequestPayment:
    """The payment for one request of an assistant, in the name of a person."""

    script: Assistant
    model: str
    person: str
    reservation: ledger.Reservation | None = None
    seconds: float = SECONDS
    used: TokenUsage = NOTHING
    price: Price | None = None

    def reserve(self, tokens: int) -> None:
        """Called by the service when the request is about to be made.

        Raises:
            LimitReachedError: there is no room for it under a cap.
            ConfigurationError: its price is not known, and costs are capped.
            NotBegunError: it was stopped while the store was made ready.
        """
        if is_held(self.script):
            raise NotBegunError
        self.used = TokenUsage(tokens)
        self.price = price_of(ledger.prices(), PURPOSE, self.model)
        self.reservation = ledger.store().reserve(
            ledger.BillingContext(self.script.key, self.person, PURPOSE),
            ledger.CostEstimate(
                self.used, f"{PURPOSE}/{self.model}", self.price, seconds=self.seconds
            ),
            state.budget_config(self.script),
            self.script.clock.seconds(),
        )
        for warning in self.reservation.warnings:
            logger.log_warn(f"[assistant] {self.script.key}: budget: {warning}")

    def release(self) -> None:
        """Give it back: nothing was sent."""
        reservation, self.reservation = self.reservation, None
        if reservation is not None:
            ledger.store().release(reservation, self.script.clock.seconds())

    def close(self, *, is_answered: bool) -> None:
        """Count it. What was broken off may have been charged for."""
        if self.reservation is None:
            return
        now = self.script.clock.seconds()
        if is_answered:
            ledger.store().settle(
                self.reservation,
                self.used,
                now,
                model=self.reservation.estimate.model,
                price=self.price,
            )
        else:
            ledger.store().cut_off(self.reservation, now)


async def _paid(
    script: Assistant,
    service: MemoryService,
    person: str,
    ask: Callable[[], Deferred[T | None]],
    seconds: float = SECONDS,
) -> T | None:
    if is_held(script):
        return None
    name = service.signature.rpartition("/")[0] or service.signature
    payment, answered = _RequestPayment(script, name, person, seconds=seconds), None
    try:
        # The service takes it at once, and calls it only where the request is charged for.
        service.paid = payment.reserve
        try:
            asking = ask()
        finally:
            service.paid = None
        answered = await asking
    except ConfigurationError as error:
        logger.log_warn(f"[assistant] {script.key}: nothing is paid for vectors: {error}")
    except NotBegunError:
        payment.release()
    # It is a MemoryStoreError too, and whoever indexes has to halve the portion.
    except PoisonError:
        raise
    except StaleEpochError:
        pass  # it was stopped, or this process ends; what waits is in the table
    except MemoryStoreError as error:
        logger.log_warn(f"[assistant] {script.key}: no vectors were made: {error}")
    finally:
        payment.close(is_answered=answered is not None)
    return answered
