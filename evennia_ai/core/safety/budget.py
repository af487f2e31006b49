"""Budget accounts: the totals by which model calls are counted and capped.

Each call counts towards the game, the assistant and the player who caused it, or the test bench,
each over four spans. Days and months are in UTC. Money is in whole nano-dollars.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind, path_of, per
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.safety.questions import LIMIT_PREFIX, ApprovalRequest
from evennia_ai.core.settings.budget import CAPS, BudgetSpan, Cap, Caps, Measure, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LimitReachedError

# Characters; the length of the database column.
MOST_KEY = 255
MINUTE, DAY = 60, 86_400
_SHOWN_NANO, _SHOWN_CENT = NANO // 10_000, NANO // 100
SCOPE_WORDS = {Scope.ALL_GAMES: "all games together", Scope.GAME: "the whole game"}
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")


class Purpose(StrEnum):
    """Purposes of a model call."""

    TURN = "turn"
    WRAP_UP = "wrap_up"
    ASSESSMENT = "assessment"
    SUMMARY = "summary"
    CHECK = "check"
    DELEGATION = "delegation"
    REMOTE = "remote"
    EMBEDDING = "embedding"
    IMPORTANCE = "importance"
    CONSOLIDATION = "consolidation"
    FACTS_AWAKE = "facts_awake"
    PROFILES = "profiles"
    REFLECTION = "reflection"
    PLANNING = "planning"
    RESERVE = "reserve"
    BENCH = "bench"


class CallState(StrEnum):
    """States of a model call: in flight, settled, never sent, or cut off."""

    OPEN = "open"
    SETTLED = "settled"
    RELEASED = "released"
    CUT_OFF = "cut_off"


class BudgetAccount(NamedTuple):
    """A total of calls: those of one scope in one period.

    Attributes:
        key: the assistant's name, or the player's id such as "*#3"; "" for the game, or for all
            games that share a ledger.
        period: "2026-11-21", "2026-11", "2026-11-21 13:05", or "" for all time.
    """

    scope: Scope
    key: str
    period: str

    @property
    def name(self) -> str:
        """The account in one line, as in `LimitReachedError.scope`."""
        return " ".join(part for part in self if part)


def period_of(span: BudgetSpan, now: float) -> str:
    """The period that contains a moment.

    Args:
        now: seconds since 1970.
    """
    return datetime.fromtimestamp(now, UTC).strftime(_FORMATS[span])


_FORMATS = {
    BudgetSpan.EVER: "",
    BudgetSpan.MONTH: "%Y-%m",
    BudgetSpan.DAY: "%Y-%m-%d",
    BudgetSpan.MINUTE: "%Y-%m-%d %H:%M",
}


def start_of(span: BudgetSpan, now: float, later: int = 0) -> float:
    """The start of the period that contains a moment, or of a later one, in seconds since 1970.

    Args:
        span: any but EVER.
        later: number of periods to skip.
    """
    if span is BudgetSpan.MONTH:
        day = datetime.fromtimestamp(now, UTC)
        year, month = divmod(day.year * 12 + day.month - 1 + later, 12)
        return datetime(year, month + 1, 1, tzinfo=UTC).timestamp()
    length = DAY if span is BudgetSpan.DAY else MINUTE
    return (now // length + later) * length


def resets_in_seconds(span: BudgetSpan, now: float) -> float | None:
    """Seconds until the current period ends; None if it never does."""
    return None if span is BudgetSpan.EVER else start_of(span, now, 1) - now


def accounts_of(
    assistant: str, person: str, at: float, *, is_bench: bool = False, is_shared: bool = False
) -> tuple[BudgetAccount, ...]:
    """The accounts that one call counts towards: one for each scope and span, in a fixed order.

    Args:
        assistant: its name in any case, or "" for the game itself.
        person: id of the player who caused the call, or "".
        is_bench: whether the call is made on the test bench.
        is_shared: whether several games share the ledger.
    """
    minute = int(at // MINUTE)
    keys = [(Scope.ALL_GAMES, ""), (Scope.GAME, "")] if is_shared else [(Scope.GAME, "")]
    if is_bench:
        keys.append((Scope.BENCH, ""))
    if assistant:
        keys.append((Scope.ASSISTANT, assistant[:MOST_KEY].casefold()))
    if person:
        keys.append((Scope.PLAYER, person[:MOST_KEY]))
    accounts: tuple[BudgetAccount, ...] = ()
    for scope, key in keys:
        accounts += _accounts(scope, key, minute)
    return accounts


@lru_cache(maxsize=1024)
def _accounts(scope: Scope, key: str, minute: int) -> tuple[BudgetAccount, ...]:
    """The accounts of one scope in a minute since 1970."""
    return tuple([BudgetAccount(scope, key, period) for period in _periods(minute)])


@lru_cache(maxsize=8)
def _periods(minute: int) -> tuple[str, ...]:
    """The period of each span that contains a minute since 1970."""
    return tuple(period_of(span, minute * MINUTE) for span in BudgetSpan)


def account_at(name: str, kind: LimitKind) -> BudgetAccount:
    """Parse the account from its name, as given by `BudgetAccount.name`.

    Args:
        kind: a money limit; its span tells which part of the name is the period.
    """
    scope, _, rest = name.partition(" ")
    key, period = rest, ""
    if LIMITS[kind].span != BudgetSpan.EVER:
        # The period of a minute contains a space, and a name may contain any number of them.
        words = rest.split(" ")
        length = 2 if kind == LimitKind.CALLS_PER_MINUTE else 1
        key, period = " ".join(words[:-length]), " ".join(words[-length:])
    return BudgetAccount(Scope(scope), key, period)


def parts_of(used: TokenUsage, shares: Mapping[str, float]) -> dict[str, TokenUsage]:
    """The usage of a call divided among those who caused it; the parts add up to the whole.

    Args:
        shares: each one's share, in any unit; not empty.
    """
    if len(shares) == 1:
        return dict.fromkeys(shares, used)
    # Sorted, so that the parts do not depend on the order of the shares.
    whole = sum(shares.values()) or 1.0
    first, *others = sorted(shares, key=lambda person: (-shares[person], person))
    fresh_tokens = used.prompt_tokens - used.cached_tokens - used.written_tokens
    parts = {}
    for person in others:
        share = shares[person]
        cached = int(used.cached_tokens * share / whole)
        written = int(used.written_tokens * share / whole)
        prompt = int(fresh_tokens * share / whole) + cached + written
        completion = int(used.completion_tokens * share / whole)
        parts[person] = TokenUsage(prompt, completion, cached, written)
    taken = sum(parts.values(), TokenUsage())
    # The largest share takes what rounding down left over, so that the parts add up.
    left = TokenUsage(
        used.prompt_tokens - taken.prompt_tokens,
        used.completion_tokens - taken.completion_tokens,
        used.cached_tokens - taken.cached_tokens,
        used.written_tokens - taken.written_tokens,
    )
    return {first: left, **parts}


def account_of(hit: LimitReachedError) -> BudgetAccount:
    """The account whose cap was reached."""
    return account_at(hit.scope, LimitKind(hit.kind))


def account_asked(asking: ApprovalRequest) -> BudgetAccount | None:
    """The account whose cap a question asks to raise; None if it is about something else."""
    kind = asking.kind.removeprefix(LIMIT_PREFIX)
    if asking.kind == kind or not kind.startswith(MONEY):
        return None
    return account_at(asking.key.removesuffix(f" {kind}"), LimitKind(kind))


@dataclass(slots=True)
class Total:
    """The usage of one account, including what is reserved for calls in flight.

    Attributes:
        cost_nano, held_cost_nano, granted_cost_nano: nano-dollars.
        granted_tokens, granted_cost_nano, granted_calls: extensions that people granted.
        warned_tokens, warned_cost: whether staff were told that a cap is nearly reached.
    """

    calls: int = 0
    open_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_nano: int = 0
    held_tokens: int = 0
    held_cost_nano: int = 0
    granted_tokens: int = 0
    granted_cost_nano: int = 0
    granted_calls: int = 0
    warned_tokens: bool = False
    warned_cost: bool = False

    def used(self, measure: Measure) -> int:
        """Tokens, nano-dollars or calls that count towards a cap: used and reserved."""
        if measure is Measure.CALLS:
            return self.calls
        if measure is Measure.COST:
            return self.cost_nano + self.held_cost_nano
        return self.prompt_tokens + self.completion_tokens + self.held_tokens

    def granted(self, measure: Measure) -> int:
        """The extension that people granted, in the unit of the measure."""
        if measure is Measure.CALLS:
            return self.granted_calls
        return self.granted_cost_nano if measure is Measure.COST else self.granted_tokens

    def is_warned(self, measure: Measure) -> bool:
        """True if staff were warned already; caps on calls are never warned of."""
        if measure is Measure.CALLS:
            return True
        return self.warned_cost if measure is Measure.COST else self.warned_tokens


@dataclass(frozen=True, slots=True)
class CapStanding:
    """The usage of one account against one of its caps, in whole tokens, nano-dollars or calls."""

    account: BudgetAccount
    name: str
    configured: int
    used: int
    granted: int

    @property
    def cap(self) -> Cap:
        """The row of the cap in the table of caps."""
        return CAPS[self.name]

    @property
    def allowed(self) -> int:
        """The cap with all grants; 0 for no limit."""
        return self.configured + self.granted if self.configured else 0


def standings(
    account: BudgetAccount, span: BudgetSpan, total: Total, caps: Caps
) -> Iterator[CapStanding]:
    """The standing of an account against each cap of its span."""
    for name, cap in CAPS.items():
        if cap.span is span:
            units = as_units(cap.measure, getattr(caps, name))
            yield standing_to(account, name, units, total)


@lru_cache(maxsize=256)
def caps_set(caps: Caps) -> tuple[tuple[BudgetSpan, str, int], ...]:
    """The caps of a scope that are set, by span; the others never stop or warn anybody."""
    amounts = [(cap, name, getattr(caps, name)) for name, cap in CAPS.items()]
    return tuple(
        (span, name, as_units(cap.measure, amount))
        for span in BudgetSpan
        for cap, name, amount in amounts
        if cap.span is span and amount
    )


def caps_in_words(caps: Caps) -> str:
    """The caps of a scope that are set, in words: "500,000 tokens a day, $0.50 a day"."""
    parts = []
    for _, name, units in caps_set(caps):
        cap = CAPS[name]
        limit, amount = LIMITS[cap.kind], as_amount(cap.measure, units)
        parts.append(f"{limit.amount(amount)} {per(limit.span)}")
    return ", ".join(parts) or "no cap"


def standing_to(account: BudgetAccount, name: str, units: int, total: Total) -> CapStanding:
    """The standing of an account against one cap, given in whole units."""
    measure = CAPS[name].measure
    return CapStanding(account, name, units, total.used(measure), total.granted(measure))


def as_units(measure: Measure, amount: float) -> int:
    """An amount as people write it (dollars) in the unit that is counted (nano-dollars)."""
    # As a Decimal, since a float this large would become infinite.
    return round(Decimal(amount) * NANO) if measure is Measure.COST else math.ceil(amount)


def as_amount(measure: Measure, units: int) -> float:
    """The inverse of `as_units`."""
    return units / NANO if measure is Measure.COST else units


def read_amount(measure: Measure, text: str) -> float | None:
    """Read a typed amount above 0; None if it is none, or can be read in two ways.

    Commas separate thousands: 0,50 is no amount, since it would count as 50, and neither is $1,500,
    which means a thousandth of that in other countries.
    """
    digits = text.strip().lstrip("$")
    has_commas = "," in digits
    is_clear = bool(_THOUSANDS.fullmatch(digits)) and (
        measure is not Measure.COST or digits.count(",") > 1 or "." in digits
    )
    try:
        amount = float(digits.replace(",", ""))
    except ValueError:
        return None
    is_amount = math.isfinite(amount) and amount > 0
    return amount if is_amount and (is_clear or not has_commas) else None


def exceeded(standing: CapStanding, need: int, reserve: int) -> LimitReachedError | None:
    """The error for a call that a cap leaves no room for; None if it may be made.

    Args:
        standing: with the call already counted.
        need: the part of it that is the call's own.
        reserve: what has to stay free for a closing call that tells how far the task came.
    """
    missing = standing.used + reserve - standing.allowed
    if not standing.configured or missing <= 0:
        return None
    measure = standing.cap.measure
    # A tenth of the cap, rounded up. Less than what is missing would be asked for again at once.
    amount = max(-(-standing.configured // 10), missing)
    if measure is Measure.COST:
        # To what `money` shows, so that a yes grants exactly what the question says.
        step = _SHOWN_NANO if amount < NANO else _SHOWN_CENT
        amount = -(-amount // step) * step
    return LimitReachedError(
        standing.cap.kind,
        used=as_amount(measure, standing.used - need),
        cap=as_amount(measure, standing.allowed),
        amount=as_amount(measure, amount),
        scope=standing.account.name,
    )


def is_near(standing: CapStanding, total: Total, warn_at: float) -> bool:
    """True if staff should be told that a cap is nearly used up."""
    if not standing.configured or not warn_at or standing.used < warn_at * standing.allowed:
        return False
    return not total.is_warned(standing.cap.measure)


def warning_text(standing: CapStanding) -> str:
    """The warning to staff that a cap is nearly used up."""
    measure, limit = standing.cap.measure, LIMITS[standing.cap.kind]
    used, allowed = (as_amount(measure, each) for each in (standing.used, standing.allowed))
    path = path_of(standing.cap.kind, standing.account.scope)
    return f"{standing.account.name}: {limit.used_of(used, allowed)} are used ({path})"
