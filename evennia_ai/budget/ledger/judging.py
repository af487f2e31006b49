"""The judgement on a call: the room that caps leave for it, and the warnings for staff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from evennia_ai import audit
from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import Change, Reservation
from evennia_ai.core.safety import budget
from evennia_ai.core.safety.budget import BudgetAccount, CapStanding, Purpose, Total
from evennia_ai.core.safety.prices import answer_tokens_for
from evennia_ai.core.settings.budget import BudgetConfig, BudgetSpan, Measure, Scope
from evennia_ai.errors import NoFreeSlotError
from evennia_ai.models import BudgetTotal

Totals = Mapping[BudgetAccount, Total]
_PLACES = {span: place for place, span in enumerate(BudgetSpan)}


def excess(reservation: Reservation, totals: Totals, config: BudgetConfig) -> int:
    """Tokens by which an answer has to be shorter for its call to fit, no more than are to spare.

    Args:
        totals: with the call already counted in.
    """
    if not reservation.estimate.spare:
        return 0
    most = 0
    for _, standing in _all_set(reservation, totals, config):
        missing = standing.used + _units(reservation, standing)[1] - standing.allowed
        if missing > 0:
            most = max(most, _as_tokens(reservation, standing.cap.measure, missing))
    return min(most, reservation.estimate.spare)


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
    change: Callable[[Mapping[BudgetAccount, Change]], Totals],
) -> Reservation:
    """A call that is let through, with an answer as long as the caps leave room for.

    Args:
        totals: with the call already counted in.
        change: adds to them in the database, and returns what they are then.

    Raises:
        LimitReachedError, NoFreeSlotError: as `judge`.
    """
    if tokens := excess(reservation, totals, config):
        smaller = replace(reservation, estimate=reservation.estimate.without(tokens))
        cost = smaller.estimate.cost_nano - reservation.estimate.cost_nano
        back = Change(held_tokens=-tokens, held_cost_nano=cost)
        totals = change(dict.fromkeys(reservation.accounts, back))
        reservation = smaller
    judge(reservation, totals, config)
    return reservation


def judge(reservation: Reservation, totals: Totals, config: BudgetConfig) -> None:
    """Let a call pass or not, and note whose caps are nearly used up.

    Raises:
        LimitReachedError: a cap leaves no room for it.
        NoFreeSlotError: too many of the assistant's calls are under way.
    """
    near = []
    slots = next((each for each in reservation.accounts if each.scope is Scope.ASSISTANT), None)
    if slots is not None:
        _judge_slots(reservation, totals[slots], config)
    for total, standing in _all_set(reservation, totals, config):
        need, last = _units(reservation, standing)
        if hit := budget.exceeded(standing, need, last):
            raise hit
        if budget.is_near(standing, total, config.warn_at):
            near.append(standing)
    reservation.warnings.extend(
        budget.warning_text(standing) for standing in near if _is_first(standing)
    )


def _all_set(
    reservation: Reservation, totals: Totals, config: BudgetConfig
) -> Iterator[tuple[Total, CapStanding]]:
    """The standing of each account that a call counts towards to each cap that is set for it."""
    accounts = reservation.accounts
    for first in range(0, len(accounts), len(_PLACES)):  # those of one scope
        for span, name, amount in budget.caps_set(config.caps_of(accounts[first].scope)):
            account = accounts[first + _PLACES[span]]
            total = totals[account]
            yield total, budget.standing_to(account, name, amount, total)


def _judge_slots(reservation: Reservation, total: Total, config: BudgetConfig) -> None:
    most = 0 if reservation.billing.is_share else config.calls_in_flight
    if most and total.open_calls > most and reservation.billing.purpose != Purpose.WRAP_UP:
        raise NoFreeSlotError(
            f"{reservation.billing.assistant} has {most} model calls under way, and may have no "
            "more at one time (EVENNIA_AI_BUDGET_CONFIG.calls_in_flight)"
        )


def _units(reservation: Reservation, standing: budget.CapStanding) -> tuple[int, int]:
    """The units of a cap that a call needs, and those that have to stay free for a last one."""
    estimate, measure = reservation.estimate, standing.cap.measure
    if measure is Measure.TOKENS:
        units = estimate.usage.total_tokens, estimate.last.total_tokens
    elif measure is Measure.COST:
        units = estimate.cost_nano, estimate.last_cost_nano
    elif reservation.billing.is_share:
        return 0, 0
    else:
        units = 1, int(standing.configured > 1)
    return units if reservation.billing.purpose != Purpose.WRAP_UP else (units[0], 0)


def _is_first(standing: budget.CapStanding) -> bool:
    """True in the first of all server processes that tells of it."""
    scope, key, period = standing.account
    flag = f"warned_{standing.cap.measure}"
    of = {"game": place.game_of(scope), "scope": scope, "key": key, "period": period}
    found = BudgetTotal.objects.filter(**of, **{flag: False})
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
