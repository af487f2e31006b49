"""Grants: raising a cap until its day, month or minute ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db.models import F

from evennia_ai import audit
from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.names import OWN_NAME
from evennia_ai.budget.ledger.rows import together, translated_errors
from evennia_ai.core.safety.budget import BudgetAccount, account_of, as_amount, as_units
from evennia_ai.core.safety.limits import MONEY
from evennia_ai.core.settings.budget import CAPS, Cap, Scope
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.models import BudgetTotal

# Far above any sensible grant, and far below the overflow of a 64-bit column.
MOST_UNITS = 10**16


@dataclass(frozen=True, slots=True)
class Raise:
    """An amount to add to a cap.

    Attributes:
        amount: in the cap's own unit: tokens, US dollars or calls.
    """

    account: BudgetAccount
    name: str
    amount: float
    by: str

    @property
    def cap(self) -> Cap:
        """The cap to raise."""
        return CAPS[self.name]


def raise_cap(more: Raise) -> None:
    """Raise a cap for the rest of its period, and write that to the audit log.

    Raises:
        ConfigurationError: the amount is not above 0, or absurdly large; or another game has this
            game's name in a shared ledger.
        LedgerAwayError: a shared ledger does not answer.
    """
    units = as_units(more.cap.measure, more.amount) if math.isfinite(more.amount) else 0
    if not 0 < units <= MOST_UNITS:
        raise ConfigurationError(f"{more.amount:g} is not an amount that a cap can be raised by")
    column, whose = _column(more.cap), place.row_of(more.account)
    # Checked before the write: another game of this name would get the grant.
    OWN_NAME.ensure(takes=True)
    with together():
        # If no call has created the row yet, the update alone would match nothing.
        BudgetTotal.objects.bulk_create([BudgetTotal(**whose)], ignore_conflicts=True)
        BudgetTotal.objects.filter(**whose).update(**{column: F(column) + units})
    _record("budget_raised", more.account, cap=more.name, amount=more.amount, by=more.by)


def take_back(account: BudgetAccount, name: str, by: str) -> int:
    """Take all grants of a cap's period back, and write that to the audit log.

    Returns:
        The units that were granted; 0 if none were.
    """
    cap, row = CAPS[name], place.row_of(account)
    column = _column(cap)
    OWN_NAME.ensure(takes=True)
    with translated_errors:
        granted = BudgetTotal.objects.filter(**row).values_list(column, flat=True).first() or 0
    if not granted:
        return 0
    with together():
        # What somebody adds meanwhile stays.
        BudgetTotal.objects.filter(**row).update(**{column: F(column) - granted})
    amount = as_amount(cap.measure, granted)
    _record("budget_taken_back", account, cap=name, amount=amount, by=by)
    return int(granted)


def _column(cap: Cap) -> str:
    return f"granted_{cap.measure}{'_nano' if cap.measure == 'cost' else ''}"


def _record(event: str, account: BudgetAccount, **details: str | float) -> None:
    # Only assistants have a log of their own; a player's caps belong to the game.
    subject = account.key if account.scope is Scope.ASSISTANT else audit.GAME
    audit.record(event, subject, account=account.name, **details)


def grant(hit: LimitReachedError, amount: float, *, by: str) -> None:
    """Raise the cap that was reached by the amount that a person granted."""
    raise_cap(Raise(account_of(hit), hit.kind.removeprefix(MONEY), amount, by))
