"""The judgement on a call: the room that caps leave for it, and the warnings for staff."""

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
_PLACES = {span: place for place, span in enumerate(BudgetSpan)}


class Capped(NamedTuple):
    """A cap that holds for a call, which is counted in already.

    Attributes:
        need: units that the call needs.
        last: those that have to stay free for a last one.
        missing: those for which there is no room.
    """

    total: Total
    standing: CapStanding
    need: int
    last: int
    missing: int


def _excess(reservation: Reservation, caps: Iterable[Capped]) -> int:
    """Tokens by which an answer has to be shorter to fit, no more than are to spare."""
    spare = reservation.estimate.spare
    most = 0
    for cap in caps:
        if spare and cap.missing > 0:
            measure = cap.standing.cap.measure
            most = max(most, _as_tokens(reservation, measure, cap.missing))
    return min(most, spare) if most else 0


def _as_tokens(reservation: Reservation, measure: Measure, missing: int) -> int:
    """Tokens of an answer that take so many units; no number of them changes how many calls."""
    if measure is Measure.TOKENS:
        return missing
    price = reservation.estimate.price
    return answer_tokens_for(missing, price) if measure is Measure.COST else 0


def fitted(
    reservation: Reservation,
    totals: Totals,
    config: BudgetConfig,
    change: Callable[[Changes], Totals],
) -> Reservation:
    """A call that is let through, with an answer as long as the caps leave room for.

    Args:
        totals: with the call already counted in.
        change: adds to them in the database, and returns what they are then.

    Raises:
        LimitReachedError: a cap leaves no room for it.
        NoFreeSlotError: too many of the assistant's calls are under way.
    """
    caps = list(_caps_of(reservation, totals, config))
    if tokens := _excess(reservation, caps):
        smaller = replace(reservation, estimate=reservation.estimate.without(tokens))
        cost = smaller.estimate.cost_nano - reservation.estimate.cost_nano
        # The totals were raised by the whole estimate already.
        back = TotalsChange(held_tokens=-tokens, held_cost_nano=cost)
        totals = change({back: reservation.accounts})
        reservation = smaller
        caps = list(_caps_of(reservation, totals, config))
    _judge_slots(reservation, totals, config)
    _judge(reservation, caps, config.warn_at)
    return reservation


def _judge(reservation: Reservation, caps: Iterable[Capped], warn_at: float) -> None:
    """Let a call pass or not, and note whose caps are nearly used up.

    Raises:
        LimitReachedError: a cap leaves no room for it.
    """
    near = []
    for total, standing, need, last, missing in caps:
        if missing > 0 and (hit := budget.exceeded(standing, need, last)):
            raise hit
        if budget.is_near(standing, total, warn_at):
            near.append(standing)
    for standing in near:
        if _is_first(standing):
            reservation.warnings.append(budget.warning_text(standing))


def _caps_of(reservation: Reservation, totals: Totals, config: BudgetConfig) -> Iterator[Capped]:
    """Each cap that is set for an account that a call counts towards."""
    accounts = reservation.accounts
    for first in range(0, len(accounts), len(_PLACES)):  # those of one scope
        for span, name, units in budget.caps_set(config.caps_of(accounts[first].scope)):
            account = accounts[first + _PLACES[span]]
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
    # Above and not at it, as this call is counted in already; a last word is let through.
    if most and total.open_calls > most and reservation.billing.purpose != Purpose.WRAP_UP:
        raise NoFreeSlotError(
            f"{reservation.billing.assistant} has {most} model calls under way, and may have no "
            "more at one time (EVENNIA_AI_BUDGET_CONFIG.calls_in_flight)"
        )


def _units(reservation: Reservation, measure: Measure, cap: int) -> tuple[int, int]:
    """The units of a cap that a call needs, and those that have to stay free for a last one."""
    estimate = reservation.estimate
    if measure is Measure.TOKENS:
        units = estimate.usage.total_tokens, estimate.last.total_tokens
    elif measure is Measure.COST:
        units = estimate.cost_nano, estimate.last_cost_nano
    # Parts are one call together, and the first of them was counted.
    elif reservation.billing.is_share:
        return 0, 0
    else:
        # With a cap of one call nothing is kept free, or no call would ever be let through.
        units = 1, int(cap > 1)
    return units if reservation.billing.purpose != Purpose.WRAP_UP else (units[0], 0)


def _is_first(standing: budget.CapStanding) -> bool:
    """True in the first of all server processes that tells of it."""
    scope, key, period = standing.account
    flag = f"warned_{standing.cap.measure}"
    of = {"game": place.game_of(scope), "scope": scope, "key": key, "period": period}
    found = BudgetTotal.objects.filter(**of, **{flag: False})
    # The condition is part of the update: of two processes only one changes the row.
    return bool(found.update(**{flag: True}))


def tell_near(reservation: Reservation, name: str) -> None:
    """Put on record which caps are nearly used up.

    Args:
        name: whose call it is.
    """
    for text in reservation.warnings:
        audit.record("budget_near", name, text=text)


def unpriced_text(model: str, path: str) -> str:
    """The error where costs are capped and one is not known.

    Args:
        path: of the cap.
    """
    return (
        f"nobody said what the model {model!r} costs, and {path} limits costs. Write into "
        f"settings.py, in US dollars for a million tokens: EVENNIA_AI_PRICES = {{{model!r}: "
        "{'input': 0.15, 'output': 0.6}}, with the true numbers"
    )
