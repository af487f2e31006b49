"""A model call in the ledger: who is billed, the estimate of its cost, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from evennia_ai.budget.ledger import place
from evennia_ai.core.safety.budget import BudgetAccount, CallState, Purpose, accounts_of
from evennia_ai.core.safety.prices import Price, cost_of
from evennia_ai.core.turn.turn import TokenUsage

GRACE_SECONDS = 300
# At the end of the key of what is not a call of its own.
SHARE = "/"
NOTHING = TokenUsage()
Row = tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class BillingContext:
    """The assistant and the player that a call is counted to.

    Attributes:
        assistant: its name; "" for the game itself.
        person: the id of the player who caused it, such as "*#3"; "" for nobody.
        is_share: a part of a call that several caused, and that is counted as a call elsewhere.
        is_bench: it is made on the test bench, which has a purse of its own.
    """

    assistant: str
    person: str = ""
    purpose: str = Purpose.TURN
    is_share: bool = False
    is_bench: bool = False

    @property
    def noted_purpose(self) -> str:
        """The purpose as the database keeps it, by which a call is known to be the bench's."""
        return str(Purpose.BENCH if self.is_bench else self.purpose)


_IS_BENCH: ContextVar[bool] = ContextVar("evennia_ai_is_bench", default=False)


@contextmanager
def bench() -> Iterator[None]:
    """Let the test bench pay for every call of what is begun inside, whoever asks for it.

    What is awaited there goes on in it, also after the block has ended.
    """
    token = _IS_BENCH.set(True)
    try:
        yield
    finally:
        _IS_BENCH.reset(token)


def billed(billing: BillingContext) -> BillingContext:
    """Whoever pays for a call that is made now: as told, or the bench."""
    if not _IS_BENCH.get():
        return billing
    return BillingContext("", "", billing.purpose, billing.is_share, is_bench=True)


@dataclass(frozen=True)
class CostEstimate:
    """The most that a call may use up.

    Attributes:
        usage: tokens of its prompt, and the most that the answer may have.
        least: tokens of an answer with which the call is still of use; where a cap leaves room for
            no more than that, the estimate is made so small. None: all of them are wanted.
        model: "provider/model", for the record.
        price: None: nobody said what it costs.
        last: the same estimate of a last call without tools, for which room is kept.
        seconds: how long it takes at most.
    """

    usage: TokenUsage
    model: str = ""
    price: Price | None = None
    last: TokenUsage = NOTHING
    seconds: float = 60.0
    least: int | None = None

    @property
    def spare(self) -> int:
        """Tokens of the answer that may be left out."""
        if self.least is None:
            return 0
        return max(0, self.usage.completion_tokens - self.least)

    def without(self, tokens: int) -> CostEstimate:
        """The same with an answer that is so many tokens shorter."""
        used = self.usage
        shorter = TokenUsage(used.prompt_tokens, used.completion_tokens - tokens)
        return replace(self, usage=shorter)

    @cached_property
    def cost_nano(self) -> int:
        """Nano-dollars of the call."""
        return cost_of(self.usage, self.price)

    @cached_property
    def last_cost_nano(self) -> int:
        """Nano-dollars of a last call."""
        return cost_of(self.last, self.price)


class TotalsChange(NamedTuple):
    """The amounts added to every total that a call counts towards."""

    calls: int = 0
    open_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_nano: int = 0
    held_tokens: int = 0
    held_cost_nano: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that was let through; it is closed once, in one of three ways.

    Attributes:
        at, due: seconds since 1970: when it began, and when it is surely over.
        warnings: what staff should be told: caps that are nearly used up.
    """

    key: str
    owner: str
    billing: BillingContext
    estimate: CostEstimate
    at: int
    accounts: tuple[BudgetAccount, ...]
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def begin(
        cls, key: str, owner: str, billing: BillingContext, estimate: CostEstimate, now: float
    ) -> Reservation:
        """A call that begins now."""
        key = key + SHARE if billing.is_share else key
        accounts = accounts_of(
            billing.assistant,
            billing.person,
            now,
            is_bench=billing.is_bench,
            is_shared=place.is_shared(),
        )
        return cls(key, owner, billing, estimate, int(now), accounts)

    @property
    def due(self) -> int:
        """Seconds since 1970 at which it is surely over."""
        return self.at + int(self.estimate.seconds) + GRACE_SECONDS

    @property
    def opening(self) -> TotalsChange:
        """The change that holds it."""
        calls = int(not self.billing.is_share)
        return TotalsChange(
            calls=calls,
            open_calls=calls,
            held_tokens=self.estimate.usage.total_tokens,
            held_cost_nano=self.estimate.cost_nano,
        )

    def as_row(self, ending: Ending | None = None) -> Row:
        """The call as the database keeps it."""
        billing, estimate = self.billing, self.estimate.usage
        end = ending or Ending(self, CallState.OPEN, NOTHING, 0, self.at)
        return (
            self.key,
            self.owner,
            place.game(),
            self.at,
            self.due,
            billing.assistant[:255].casefold(),
            billing.person[:255],
            billing.noted_purpose,
            (end.model or self.estimate.model)[:255],
            str(end.state),
            estimate.prompt_tokens,
            estimate.completion_tokens,
            self.estimate.cost_nano,
            end.usage.prompt_tokens,
            end.usage.completion_tokens,
            end.cost_nano,
            end.is_priced,
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a call, and what it counts as.

    Attributes:
        at: when, in seconds since 1970.
        noted_at: the same on the clock of the server process.
        model: which model answered, where that is another than was asked first.
    """

    reservation: Reservation
    state: CallState
    usage: TokenUsage
    cost_nano: int
    at: float
    noted_at: float = 0.0
    model: str = ""
    is_priced: bool = True

    @property
    def change(self) -> TotalsChange:
        """The change that closes it."""
        held = self.reservation.opening
        return TotalsChange(
            calls=-held.calls if self.state is CallState.RELEASED else 0,
            open_calls=-held.open_calls,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_nano=self.cost_nano,
            held_tokens=-held.held_tokens,
            held_cost_nano=-held.held_cost_nano,
        )

    @property
    def late_change(self) -> TotalsChange:
        """The same where another server process took the call for cut off, and counted it so."""
        estimate, calls = self.reservation.estimate.usage, self.reservation.opening.calls
        return TotalsChange(
            calls=-calls if self.state is CallState.RELEASED else 0,
            prompt_tokens=self.usage.prompt_tokens - estimate.prompt_tokens,
            completion_tokens=self.usage.completion_tokens - estimate.completion_tokens,
            cost_nano=self.cost_nano - self.reservation.estimate.cost_nano,
        )
