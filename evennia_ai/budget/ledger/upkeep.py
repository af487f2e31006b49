"""Upkeep of the ledger: closes calls of processes that have ended, and deletes old rows."""

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

MARGIN_SECONDS = 60  # the clocks of two machines are assumed to differ by less
KEPT_DAYS = 90


def orphans(owner: str, now: float) -> Iterator[ModelCall]:
    """Open calls whose process has ended, or which are long overdue.

    Args:
        owner: id of this process, which is certainly running.
    """
    gone: dict[str, bool] = {owner: False}
    for call in ModelCall.objects.filter(state=CallState.OPEN):
        if call.owner not in gone:
            gone[call.owner] = is_gone(call.owner)
        if gone[call.owner] or call.due < now:
            yield call


def mark_cut_off(call: ModelCall, *, is_unused: bool = False) -> bool:
    """Close a call as cut off, or as released if it is unused; False if it was not open."""
    # The state is part of each UPDATE, so that of two processes only one closes the call.
    rows = ModelCall.objects.filter(key=call.key, state=CallState.OPEN)
    if is_unused:
        return bool(rows.update(state=CallState.RELEASED))
    return bool(
        rows.update(
            state=CallState.CUT_OFF,
            prompt_tokens=call.estimated_prompt_tokens,
            completion_tokens=call.estimated_completion_tokens,
            cost_nano=call.estimated_cost_nano,
        )
    )


def change_of(
    call: ModelCall, *, is_unused: bool = False
) -> tuple[tuple[BudgetAccount, ...], TotalsChange]:
    """The accounts of a call, and the change to their totals when it is closed so."""
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
    """The change to totals by an ending, even if another process has closed the call meanwhile.

    Args:
        waited: seconds since the call ended.
    """
    # The database is asked only if another process may have taken the call for overdue; the row of
    # an ordinary call need not be read.
    reservation = ending.reservation
    is_late = ending.at > reservation.due - 2 * MARGIN_SECONDS or waited > MARGIN_SECONDS
    # A reserve may be released days later, with the next call.
    if is_late or reservation.billing.purpose == Purpose.RESERVE:
        rows = ModelCall.objects.filter(key=reservation.key, state=CallState.CUT_OFF)
        if rows.update(state=ending.state.value):
            return ending.late_change
    return ending.change


def close(call: ModelCall, now: float = math.inf) -> bool:
    """Close a call of any game, inside a transaction; False if it was not open.

    Args:
        now: a reserve for a day that begins later was not used and counts nothing.
    """
    is_unused = call.purpose == Purpose.RESERVE and call.at // DAY * DAY > now
    is_closed = mark_cut_off(call, is_unused=is_unused)
    if is_closed:
        Totals(call.game).change(add_up([change_of(call, is_unused=is_unused)]))
    return is_closed


def close_orphan(call: ModelCall, now: float = math.inf) -> bool:
    """Close one call as `close` does, in a transaction of its own."""
    with together():
        return close(call, now)


def erase() -> None:
    """Delete this game's calls, totals and name; open calls count in the totals of all games.

    The game's number stays, so that this can be repeated; see `names.erase`.
    """
    calls = ModelCall.objects.filter(game=place.game())
    with together():
        # Before open calls are read: a transaction must begin with a write (see `rows`).
        calls.exclude(state=CallState.OPEN).delete()
        for call in calls:
            close(call)
        for table in place.TABLES:
            table.objects.filter(game=place.game()).delete()


def prune(now: float) -> None:
    """Delete calls and daily totals older than 90 days, and totals of minutes older than a day.

    Totals of months and of all time are kept.
    """
    oldest = now - KEPT_DAYS * DAY
    lengths = BudgetTotal.objects.alias(length=Length("period"))
    with together():
        ModelCall.objects.filter(at__lt=oldest).exclude(state=CallState.OPEN).delete()
        for span, before in ((BudgetSpan.MINUTE, now - DAY), (BudgetSpan.DAY, oldest)):
            period = period_of(span, before)
            # The length of a period's text tells its span; texts of one length sort by time.
            lengths.filter(length=len(period), period__lt=period).delete()
