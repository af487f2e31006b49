"""Raising a cap until its period ends, and taking that back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from evennia_ai import approvals
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.core.safety.budget import BudgetAccount, as_units, period_of, read_amount
from evennia_ai.core.settings.budget import CAPS, BudgetConfig, BudgetSpan, Scope
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.budget.caps import (
    amount_text,
    budget_settings,
    now_of,
    owner_name,
    scope_of,
)
from evennia_ai.operations.budget.players import configs_of_player
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result

_ZERO = re.compile(r"\$?0+(\.0*)?")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The owner of a cap: its name for people, and scope and key in the ledger."""

    name: str
    scope: Scope
    key: str
    script: AssistantScript | None = None


def raise_budget(
    script: AssistantScript | None, name: str, amount: str, by: str, *, is_bench: bool = False
) -> Result:
    """Add to a cap of an assistant, or with None of the whole game, until its period ends.

    Args:
        name: name of the cap, such as `tokens_per_day`.
        amount: tokens, US dollars or calls, as typed; "0" takes back all that was added.
        is_bench: with None: the cap is the test bench's.
    """
    scope, key = scope_of(script, is_bench=is_bench)
    return _raise(
        _Owner(owner_name(script, is_bench=is_bench), scope, key, script), name, amount, by
    )


def raise_player_budget(person: str, name: str, amount: str, by: str) -> Result:
    """Add to a cap of one player, who has it with all assistants together.

    Args:
        person: the player's id, such as "*#3".
        name, amount: as for `raise_budget`.
    """
    return _raise(_Owner(key_of(person), Scope.PLAYER, person), name, amount, by)


def _raise(owner: _Owner, name: str, amount: str, by: str) -> Result:
    if (cap := CAPS.get(name)) is None:
        return Result.invalid(f"There is no cap {name[:40]!r}; there are {', '.join(CAPS)}.")
    more = 0.0 if _ZERO.fullmatch(amount.strip()) else read_amount(cap.measure, amount)
    if more is None:
        condition = "it must be a number above 0, such as 50000 or 2.50"
        return Result.invalid(f"{amount[:40]!r} is not an amount; {condition}.")
    script = owner.script
    if owner.scope is Scope.PLAYER:
        script = next(iter(list_assistants()), None)
    account = BudgetAccount(owner.scope, owner.key, period_of(cap.span, now_of(script)))
    try:
        if not any(getattr(each.caps_of(owner.scope), name) for each in _configs(owner)):
            return Result.conflict(f"{owner.name} has no cap {name}: there is nothing to raise.")
        if not more:
            return _take_back(owner, account, name, by)
        ledger.raise_cap(ledger.Raise(account, name, more, by))
    except ConfigurationError as error:
        return Result.invalid(f"That was not done: {error}.")
    # Open questions about this cap have their answer by this.
    approvals.withdraw_moot()
    text = amount_text(cap, as_units(cap.measure, more))
    until = "for good" if cap.span is BudgetSpan.EVER else f"until the {cap.span} ends"
    return Result(True, f"{owner.name}: {name} is raised by {text}, {until}.")


def _configs(owner: _Owner) -> Iterable[BudgetConfig]:
    if owner.scope is Scope.PLAYER:
        return configs_of_player().values()
    return [ledger.config_for(budget_settings(owner.script))]


def _take_back(owner: _Owner, account: BudgetAccount, name: str, by: str) -> Result:
    cap = CAPS[name]
    units = ledger.take_back(account, name, by)
    if not units:
        return Result.conflict(f"{owner.name}: nothing was added to {name}; it is as it was set.")
    text = amount_text(cap, units)
    return Result(True, f"{owner.name}: {name} is as it was set; {text} that was added is gone.")
