"""Billing of paid embedding models: the cost of each request is reserved first.

Over a spending cap, without a free call, or during an emergency stop, searches return None and
indexing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.budget import ledger
from evennia_ai.budget.spending import warn_staff
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
# The longest that a request takes. The ledger counts reservations left open after that as spent.
SECONDS = 30.0
NOTHING = TokenUsage()


def is_held(script: Assistant) -> bool:
    """True if the assistant is stopped and its requests would leave this process."""
    is_sent = services.work().is_elsewhere or services.memory().sends
    return state.is_stopped(script) and bool(is_sent)


async def add(
    script: Assistant, service: MemoryService, items: Sequence[Item]
) -> list[bytes] | None:
    """Embed at most one batch of memories. Returns None if that failed.

    Raises:
        PoisonError: the batch crashed every worker that tried it.
    """
    work, run = services.work(), Fence.of(script).run
    seconds = max(SECONDS, work.patience)
    return await _with_payment(script, service, "", lambda: work.embed(run, items), seconds)


async def search(
    script: Assistant, service: MemoryService, query: MemoryQuery, person: str
) -> list[Hit] | None:
    """Search, charged to a person. Returns None if that failed."""
    return await _with_payment(script, service, person, lambda: service.search(query))


@dataclass(slots=True)
class _RequestPayment:
    """The payment for one request of an assistant, charged to a person."""

    script: Assistant
    model: str
    person: str
    reservation: ledger.Reservation | None = None
    seconds: float = SECONDS
    used: TokenUsage = NOTHING
    price: Price | None = None

    def reserve(self, tokens: int) -> None:
        """Reserve the cost. Called by the service just before the request.

        Raises:
            LimitReachedError: the cost would exceed a cap.
            NoFreeSlotError: the assistant has its maximum of calls in flight.
            ConfigurationError: costs are capped, but the model's price is unknown.
            NotBegunError: the assistant was stopped while the store was being opened.
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
        warn_staff(self.reservation)

    def release(self) -> None:
        """Release the reservation, because nothing was sent."""
        reservation, self.reservation = self.reservation, None
        if reservation is not None:
            ledger.store().release(reservation, self.script.clock.seconds())

    def close(self, *, is_answered: bool) -> None:
        """Settle the reservation. An interrupted request counts as spent, as it may be charged."""
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


async def _with_payment(
    script: Assistant,
    service: MemoryService,
    person: str,
    ask: Callable[[], Deferred[T | None]],
    seconds: float = SECONDS,
) -> T | None:
    if is_held(script):
        return None
    payment, answered = _RequestPayment(script, service.model, person, seconds=seconds), None
    try:
        # `ask` reads `service.paid` before it returns, so setting it for this call is enough. It
        # is only called if the model is paid.
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
    # Before MemoryStoreError, its base class: indexing bisects the batch on this error.
    except PoisonError:
        raise
    except StaleEpochError:
        pass  # stopped, or the process is ending; the queue is in the table
    except MemoryStoreError as error:
        logger.log_warn(f"[assistant] {script.key}: no vectors were made: {error}")
    finally:
        payment.close(is_answered=answered is not None)
    return answered
