"""Decides whether caps have room for a call, and warns staff when they are nearly used up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from evennia_ai import audit
from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import Reservation, TotalsChange
from evennia_ai.budget.ledger.rows import Changes
from evennia_ai.core.safety import budget
from evennia_ai.core.safety.budget import BudgetAccount, CapStanding, Purpose, Total
from evennia_ai.core.safety.prices import answer_tokens_for
from evennia_ai.core.settings.budget import CAPS, BudgetConfig, BudgetSpan, Measure, Scope
from evennia_ai.errors import NoFreeSlotError
from evennia_ai.models import BudgetTotal

Totals = Mapping[BudgetAccount, Total]
# The position of each span among the accounts of one scope.
_POSITIONS = {span: position for position, span in enumerate(BudgetSpan)}


class Capped(NamedTuple):
    """A cap that applies to a call. Its total already includes the call.

    Attributes:
        last: units that must stay free for the last call of a turn.
        missing: units by which both together exceed the cap.
    """

    total: Total
    standing: CapStanding
    need: int
    last: int
    missing: int


def _excess(reservation: Reservation, caps: Iterable[Capped]) -> int:
    """Tokens by which the answer must be shortened to fit, at most those it can spare."""
    spare = reservation.estimate.spare
    most = 0
    for cap in caps:
        if spare and cap.missing > 0:
            measure = cap.standing.cap.measure
            most = max(most, _as_tokens(reservation, measure, cap.missing))
    return min(most, spare) if most else 0


def _as_tokens(reservation: Reservation, measure: Measure, missing: int) -> int:
    """Answer tokens worth the missing units; 0 for a cap on calls, which they cannot change."""
    if measure is Measure.TOKENS:
        return missing
    price = reservation.estimate.price
    return answer_tokens_for(missing, price) if measure is Measure.COST else 0


def fit_to_caps(
    reservation: Reservation,
    totals: Totals,
    config: BudgetConfig,
    change: Callable[[Changes], Totals],
) -> Reservation:
    """The reservation, with an answer as long as the caps have room for.

    Args:
        totals: the totals, in which the call is already included.
        change: adds to totals in the database and returns their new values.

    Raises:
        LimitReachedError: a cap has no room for the call.
        NoFreeSlotError: the assistant has its maximum of calls in flight.
    """
    caps = list(_caps_of(reservation, totals, config))
    if tokens := _excess(reservation, caps):
        smaller = replace(reservation, estimate=reservation.estimate.without(tokens))
        cost = smaller.estimate.cost_nano - reservation.estimate.cost_nano
        # The totals already include the whole estimate, so the difference is taken back.
        back = TotalsChange(held_tokens=-tokens, held_cost_nano=cost)
        totals = change({back: reservation.accounts})
        reservation = smaller
        caps = list(_caps_of(reservation, totals, config))
    _judge_slots(reservation, totals, config)
    _judge(reservation, caps, config.warn_at)
    return reservation


def _judge(reservation: Reservation, caps: Iterable[Capped], warn_at: float) -> None:
    """Refuse the call, or note the caps that it nearly uses up."""
    # Collected first: a refused call must not mark any cap as warned of.
    near = []
    for total, standing, need, last, missing in caps:
        if missing > 0 and (hit := budget.exceeded(standing, need, last)):
            raise hit
        if not budget.is_near(standing, total, warn_at):
            continue
        # Without what the answer can spare, which few answers use: the first message of a day
        # would seem to use up a small cap.
        expected = replace(standing, used=standing.used - _spare(reservation, standing))
        if budget.is_near(expected, total, warn_at):
            near.append(expected)
    for standing in near:
        if _is_first(standing):
            reservation.warnings.append(budget.warning_text(standing))


def _spare(reservation: Reservation, standing: CapStanding) -> int:
    """The units of a cap that are reserved for the part of the answer that can be left out."""
    estimate = reservation.estimate
    if not estimate.spare or standing.cap.measure is Measure.CALLS:
        return 0
    if standing.cap.measure is Measure.TOKENS:
        return estimate.spare
    return estimate.cost_nano - estimate.without(estimate.spare).cost_nano


def _caps_of(reservation: Reservation, totals: Totals, config: BudgetConfig) -> Iterator[Capped]:
    """The caps that are set for the accounts of a call."""
    accounts = reservation.accounts
    # Accounts come in groups of one scope each, with one account for each span.
    for first in range(0, len(accounts), len(_POSITIONS)):
        for span, name, units in budget.caps_set(config.caps_of(accounts[first].scope)):
            account = accounts[first + _POSITIONS[span]]
            total = totals[account]
            standing = budget.standing_to(account, name, units, total)
            need, last = _units(reservation, CAPS[name].measure, units)
            missing = standing.used + last - standing.allowed
            yield Capped(total, standing, need, last, missing)


def _judge_slots(reservation: Reservation, totals: Totals, config: BudgetConfig) -> None:
    for account in reservation.accounts:
        if account.scope is Scope.ASSISTANT:
            total = totals[account]
            break
    else:
        return
    most = 0 if reservation.billing.is_share else config.calls_in_flight
    # ">" because the total includes this call. A last call is let through: it ends a turn.
    if most and total.open_calls > most and reservation.billing.purpose != Purpose.WRAP_UP:
        raise NoFreeSlotError(
            f"{reservation.billing.assistant} has {most} model calls under way, and may have no "
            "more at one time (EVENNIA_AI_BUDGET_CONFIG.calls_in_flight)"
        )


def _units(reservation: Reservation, measure: Measure, cap: int) -> tuple[int, int]:
    """The units of a cap that a call needs, and those to keep free for a last call."""
    estimate = reservation.estimate
    if measure is Measure.TOKENS:
        units = estimate.usage.total_tokens, estimate.last.total_tokens
    elif measure is Measure.COST:
        units = estimate.cost_nano, estimate.last_cost_nano
    # All shares together are one call, which the first of them has counted.
    elif reservation.billing.is_share:
        return 0, 0
    else:
        # Of a cap of one call nothing is kept free, or no call would ever be allowed.
        units = 1, int(cap > 1)
    return units if reservation.billing.purpose != Purpose.WRAP_UP else (units[0], 0)


def _is_first(standing: budget.CapStanding) -> bool:
    """True for the first caller in all server processes; marks the cap as warned of."""
    flag = f"warned_{standing.cap.measure}"
    unwarned = BudgetTotal.objects.filter(**place.row_of(standing.account), **{flag: False})
    # Test and set in one UPDATE: of two processes, only one changes the row.
    return bool(unwarned.update(**{flag: True}))


def record_warnings(reservation: Reservation) -> None:
    """Write the caps that are nearly used up to the audit log of the assistant, or of the game."""
    for text in reservation.warnings:
        audit.record("budget_near", reservation.billing.assistant or audit.GAME, text=text)


def unpriced_text(model: str, path: str) -> str:
    """The error text for a model without a price while costs are capped."""
    return (
        f"no price is set for the model {model!r}, and {path} limits costs. Write into "
        f"settings.py, in US dollars for a million tokens: EVENNIA_AI_PRICES = {{{model!r}: "
        "{'input': 0.15, 'output': 0.6}}, with the true numbers"
    )
