"""A model call in the ledger: its billing, the estimate of its cost, and its end."""

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
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.turn.turn import TokenUsage

# A call counts as overdue this long after its deadline. See docs/decisions/0238.
GRACE_SECONDS = 300
# Suffix of the keys of shares, which do not count as calls.
SHARE = "/"
NOTHING = TokenUsage()
Row = tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class BillingContext:
    """The assistant and the player to whom a call is billed.

    Attributes:
        assistant: its name; "" for the game itself.
        person: id of the player who caused the call, such as "*#3"; "" for nobody.
        is_share: a further player's share of a call that is already counted as a call.
        is_bench: made on the test bench, which has a budget of its own.
    """

    assistant: str
    person: str = ""
    purpose: str = Purpose.TURN
    is_share: bool = False
    is_bench: bool = False

    @property
    def noted_purpose(self) -> str:
        """The purpose in the database, which also marks calls of the test bench."""
        return str(Purpose.BENCH if self.is_bench else self.purpose)


# A context variable, so that it reaches every call of an operation through all its awaits.
_IS_BENCH: ContextVar[bool] = ContextVar("evennia_ai_is_bench", default=False)


@contextmanager
def bench() -> Iterator[None]:
    """Bill every call that is begun inside the block to the test bench.

    Coroutines started inside keep this context after the block has ended.
    """
    token = _IS_BENCH.set(True)
    try:
        yield
    finally:
        _IS_BENCH.reset(token)


def with_bench(billing: BillingContext) -> BillingContext:
    """The billing of a call that is made now: unchanged, or the test bench inside `bench`."""
    if not _IS_BENCH.get():
        return billing
    return BillingContext("", "", billing.purpose, billing.is_share, is_bench=True)


def cost_cap_of(config: BudgetConfig) -> str:
    """The path of a cap on money that applies to a call that is made now, or ""."""
    return config.cost_cap_on_bench if _IS_BENCH.get() else config.cost_cap


@dataclass(frozen=True)
class CostEstimate:
    """The most that a call may use.

    Attributes:
        price: None: unknown.
        usage: tokens of its prompt, and the limit of its answer.
        least: the fewest answer tokens with which the call is useful; a cap may reduce the answer
            to that. None: it must not be reduced.
        model: "provider/model".
        last: the usage of a last call of the turn without tools, for which caps keep room.
    """

    usage: TokenUsage
    model: str = ""
    price: Price | None = None
    last: TokenUsage = NOTHING
    seconds: float = 60.0
    least: int | None = None

    @property
    def spare(self) -> int:
        """Tokens by which the answer may be shortened."""
        if self.least is None:
            return 0
        return max(0, self.usage.completion_tokens - self.least)

    def without(self, tokens: int) -> CostEstimate:
        """The estimate with an answer that is shorter by these tokens."""
        left = self.usage.completion_tokens - tokens
        return replace(self, usage=replace(self.usage, completion_tokens=left))

    @cached_property
    def cost_nano(self) -> int:
        """Nano-dollars of the call."""
        return cost_of(self.usage, self.price)

    @cached_property
    def last_cost_nano(self) -> int:
        """Nano-dollars of the last call."""
        return cost_of(self.last, self.price)


class TotalsChange(NamedTuple):
    """The amounts to add to every total that a call counts towards."""

    calls: int = 0
    open_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_nano: int = 0
    held_tokens: int = 0
    held_cost_nano: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reserved call. It is closed once: settled, released or cut off.

    Attributes:
        at: when it began, in seconds since 1970.
        warnings: texts for staff about caps that are nearly used up.
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
        """A reservation for a call that begins now; nothing is written yet."""
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
        """Time at which it is certainly over, in seconds since 1970."""
        return self.at + int(self.estimate.seconds) + GRACE_SECONDS

    @property
    def opening(self) -> TotalsChange:
        """The change to totals when it is reserved."""
        calls = int(not self.billing.is_share)
        return TotalsChange(
            calls=calls,
            open_calls=calls,
            held_tokens=self.estimate.usage.total_tokens,
            held_cost_nano=self.estimate.cost_nano,
        )

    def ended(
        self,
        state: CallState,
        usage: TokenUsage,
        now: float,
        noted_at: float,
        model: str = "",
        price: Price | None = None,
    ) -> Ending:
        """The end of the call with this usage.

        Args:
            noted_at: now, in monotonic seconds.
            model, price: of the model that answered, if it is not that of the estimate.
        """
        price = price if model else self.estimate.price
        cost = cost_of(usage, price)
        return Ending(self, state, usage, cost, now, noted_at, model, price is not None)

    def released(self, now: float, noted_at: float) -> Ending:
        """The end of the call if it was not sent: nothing counts."""
        return Ending(self, CallState.RELEASED, NOTHING, 0, now, noted_at)

    def as_row(self, ending: Ending | None = None) -> Row:
        """The row of the call, in the order of the model's fields."""
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
    """The end of a call, with the usage that counts.

    Attributes:
        at: seconds since 1970.
        noted_at: the same moment in monotonic seconds.
        model: the model that answered, if it is not that of the estimate.
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
        """The change to totals when it is written."""
        opening = self.reservation.opening
        return TotalsChange(
            calls=-opening.calls if self.state is CallState.RELEASED else 0,
            open_calls=-opening.open_calls,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_nano=self.cost_nano,
            held_tokens=-opening.held_tokens,
            held_cost_nano=-opening.held_cost_nano,
        )

    @property
    def late_change(self) -> TotalsChange:
        """The change if another process has closed the call as cut off, at its full estimate."""
        estimate, calls = self.reservation.estimate.usage, self.reservation.opening.calls
        return TotalsChange(
            calls=-calls if self.state is CallState.RELEASED else 0,
            prompt_tokens=self.usage.prompt_tokens - estimate.prompt_tokens,
            completion_tokens=self.usage.completion_tokens - estimate.completion_tokens,
            cost_nano=self.cost_nano - self.reservation.estimate.cost_nano,
        )
