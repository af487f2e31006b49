"""What is typed after `assistant budget`."""

from __future__ import annotations

from typing import Any

from evennia_ai.commands.base import AssistantCommand
from evennia_ai.operations.budget import budget_of, raise_budget, refuse_game

GAME = "game"
GAME_PERMISSION = "Admin"
USAGE = "Usage: assistant budget [<name>], assistant budget <name> | game raise <cap> <amount>"


class BudgetWords(AssistantCommand):
    """The words about what was used, and about allowing more."""

    def _budget(self, rest: str) -> None:
        """`budget`, `budget ada`, `budget game`, `budget ada raise tokens_per_day 50000`."""
        words = rest.split()
        if "raise" in (word.casefold() for word in words[1:]):
            self._raise_budget(words)
            return
        if rest.casefold() == GAME:
            self.show(budget_of(None))
            return
        script = self.pick(rest)
        if script is not None:
            self.show(budget_of(script))

    def _raise_budget(self, words: list[str]) -> None:
        if len(words) < 4 or words[-3].casefold() != "raise":
            self.msg(USAGE)
            return
        name, cap, amount = " ".join(words[:-3]), words[-2].casefold(), words[-1]
        if name.casefold() == GAME:
            self._raise_for_game(cap, amount)
            return
        script = self.pick_controlled(name, "budget raise")
        if script is not None:
            self._show_raised(script, cap, amount)

    def _raise_for_game(self, cap: str, amount: str) -> None:
        if not self.caller.check_permstring(GAME_PERMISSION):
            self.show(refuse_game(self.caller.key, f"the permission {GAME_PERMISSION}"))
            return
        self._show_raised(None, cap, amount)

    def _show_raised(self, script: Any, cap: str, amount: str) -> None:
        self.show(raise_budget(script, cap, amount, self.caller.key))
