"""Upkeep of the ledger: calls of processes that ended are closed, old rows dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator

from django.db.models.functions import Length

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.processes import is_gone
from evennia_ai.budget.ledger.reservations import SHARE, Ending, TotalsChange
from evennia_ai.budget.ledger.rows import Totals, add_up, together
from evennia_ai.core.safety.budget import (
    DAY,
    BudgetAccount,
    CallState,
    Purpose,
    accounts_of,
    period_of,
)
from evennia_ai.core.settings.budget import BudgetSpan
from evennia_ai.models import BudgetTotal, ModelCall

MARGIN_SECONDS = 60  # clocks of two machines differ by less


KEPT_DAYS = 90


def orphans(owner: str, now: float) -> Iterator[ModelCall]:
    """Open calls that nobody will close: their process has ended, or they are long overdue.

    Args:
        owner: the process that asks.
    """
    gone: dict[str, bool] = {owner: False}
    for call in ModelCall.objects.filter(state=CallState.OPEN):
        if call.owner not in gone:
            gone[call.owner] = is_gone(call.owner)
        if gone[call.owner] or call.due < now:
            yield call


def mark_cut_off(call: ModelCall, *, is_unused: bool = False) -> bool:
    """Close a call. Returns whether it was still open."""
    found = ModelCall.objects.filter(key=call.key, state=CallState.OPEN)
    if is_unused:
        return bool(found.update(state=CallState.RELEASED))
    return bool(
        found.update(
            state=CallState.CUT_OFF,
            prompt_tokens=call.estimated_prompt_tokens,
            completion_tokens=call.estimated_completion_tokens,
            cost_nano=call.estimated_cost_nano,
        )
    )


def change_of(
    call: ModelCall, *, is_unused: bool = False
) -> tuple[tuple[BudgetAccount, ...], TotalsChange]:
    """The accounts and the change of a call that is closed so."""
    tokens = call.estimated_prompt_tokens + call.estimated_completion_tokens
    change = TotalsChange(
        open_calls=0 if call.key.endswith(SHARE) else -1,
        held_tokens=-tokens,
        held_cost_nano=-call.estimated_cost_nano,
    )
    if not is_unused:
        change = change._replace(
            prompt_tokens=call.estimated_prompt_tokens,
            completion_tokens=call.estimated_completion_tokens,
            cost_nano=call.estimated_cost_nano,
        )
    accounts = accounts_of(
        call.assistant,
        call.person,
        call.at,
        is_bench=call.purpose == Purpose.BENCH,
        is_shared=bool(call.game),
    )
    return accounts, change


def change_by(ending: Ending, waited: float) -> TotalsChange:
    """The change by an ending; one that is written late may find its call closed by others.

    Args:
        waited: seconds since it was noted.
    """
    reservation = ending.reservation
    is_late = ending.at > reservation.due - 2 * MARGIN_SECONDS or waited > MARGIN_SECONDS
    # A reserve ends when the next call comes, be it days later.
    if is_late or reservation.billing.purpose == Purpose.RESERVE:
        found = ModelCall.objects.filter(key=reservation.key, state=CallState.CUT_OFF)
        if found.update(state=ending.state.value):
            return ending.late_change
    return ending.change


def close(call: ModelCall, now: float = math.inf) -> bool:
    """Close a call, of whatever game, within a transaction. Returns whether it was still open.

    Args:
        now: a reserve of a day that begins later was used by nobody, and counts nothing.
    """
    is_unused = call.purpose == Purpose.RESERVE and call.at // DAY * DAY > now
    is_closed = mark_cut_off(call, is_unused=is_unused)
    if is_closed:
        Totals(call.game).change(add_up([change_of(call, is_unused=is_unused)]))
    return is_closed


def close_orphan(call: ModelCall, now: float = math.inf) -> bool:
    """Close one call as `close` does, for good."""
    with together():
        return close(call, now)


def erase() -> None:
    """Delete this game's calls, totals and name; calls still open count in the sum of all games.

    The number of its own database stays for whoever does it again; see `names.erase`.
    """
    calls = ModelCall.objects.filter(game=place.game())
    with together():
        calls.exclude(state=CallState.OPEN).delete()  # a transaction begins with writing
        for call in calls:
            close(call)
        for table in place.TABLES:
            table.objects.filter(game=place.game()).delete()


def prune(now: float) -> None:
    """Drop calls and daily totals of more than 90 days ago, and the totals of minutes long past.

    Months and what was used in all are kept.
    """
    oldest = now - KEPT_DAYS * DAY
    lengths = BudgetTotal.objects.alias(length=Length("period"))
    with together():
        ModelCall.objects.filter(at__lt=oldest).exclude(state=CallState.OPEN).delete()
        for span, before in ((BudgetSpan.MINUTE, now - DAY), (BudgetSpan.DAY, oldest)):
            period = period_of(span, before)
            # Its length tells the span of a period, and those of one length sort as time goes.
            lengths.filter(length=len(period), period__lt=period).delete()
