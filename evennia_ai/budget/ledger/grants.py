"""Raising a cap, until its day, month or minute ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db.models import F

from evennia_ai import audit
from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.names import OURS
from evennia_ai.budget.ledger.rows import together
from evennia_ai.core.safety.budget import BudgetAccount, account_of, as_units
from evennia_ai.core.safety.limits import MONEY
from evennia_ai.core.settings.budget import CAPS, Cap
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.models import BudgetTotal

# Far more than anybody grants, and far less than a 64-bit column overflows at.
MOST_UNITS = 10**16


@dataclass(frozen=True, slots=True)
class Raise:
    """More of a cap.

    Attributes:
        amount: in the cap's own unit: tokens, US dollars or calls.
        by: who allowed it.
    """

    account: BudgetAccount
    name: str
    amount: float
    by: str

    @property
    def cap(self) -> Cap:
        """The cap that is raised."""
        return CAPS[self.name]


def raise_cap(more: Raise) -> None:
    """Add to a cap. It is kept in the database, ends with the period, and is recorded.

    Raises:
        ConfigurationError: the amount is not a number above 0, or absurdly large; or another game
            has this one's name in a shared ledger.
        LedgerAwayError: a shared ledger does not answer.
    """
    units = as_units(more.cap.measure, more.amount) if math.isfinite(more.amount) else 0
    if not 0 < units <= MOST_UNITS:
        raise ConfigurationError(f"{more.amount:g} is not an amount that a cap can be raised by")
    suffix = "_nano" if more.cap.measure == "cost" else ""
    column = f"granted_{more.cap.measure}{suffix}"
    scope, key, period = more.account
    whose = {"game": place.game_of(scope), "scope": scope, "key": key, "period": period}
    # Before the write: another game of this name would get the grant.
    OURS.ensure(takes=True)
    with together():
        # No call may have made the row yet, and an update of no row would grant nothing.
        BudgetTotal.objects.bulk_create([BudgetTotal(**whose)], ignore_conflicts=True)
        BudgetTotal.objects.filter(**whose).update(**{column: F(column) + units})
    audit.record(
        "budget_raised", key or "game", cap=more.name, account=more.account.name,
        amount=more.amount, by=more.by,
    )  # fmt: skip


def grant(hit: LimitReachedError, amount: float, *, by: str) -> None:
    """Add to the cap that somebody reached what the checkpoint allowed.

    Raises:
        ConfigurationError: the amount is not a number above 0, or absurdly large.
    """
    raise_cap(Raise(account_of(hit), hit.kind.removeprefix(MONEY), amount, by))
