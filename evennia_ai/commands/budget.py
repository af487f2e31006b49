"""The words `assistant budget`."""

from __future__ import annotations

from evennia_ai.commands.words import Word, WordCommand
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.budget import budget_of, raise_budget

GAME = "game"


class BudgetWords(WordCommand):
    """The words about what was used, and about allowing more."""

    def _budget(self, rest: str) -> None:
        """`budget`, `budget ada`, `budget game`, `budget ada raise tokens_per_day 50000`."""
        words = rest.split()
        if "raise" in (word.casefold() for word in words[1:]):
            self._raise_budget(words)
        elif not self.may("usage"):
            return
        elif rest.casefold() == GAME:
            self.show(budget_of(None))
        elif (script := self.pick(rest)) is not None:
            self.show(budget_of(script))

    def _raise_budget(self, words: list[str]) -> None:
        if len(words) < 4 or words[-3].casefold() != "raise":
            self.show_how()
            return
        name, cap, amount = " ".join(words[:-3]), words[-2].casefold(), words[-1]
        if name.casefold() == GAME:
            self._raise_for_game(cap, amount)
            return
        script = self.pick_for(name, "raise budget")
        if script is not None:
            self._show_raised(script, cap, amount)

    def _raise_for_game(self, cap: str, amount: str) -> None:
        if self.may("raise budget of the game"):
            self._show_raised(None, cap, amount)

    def _show_raised(self, script: AssistantScript | None, cap: str, amount: str) -> None:
        self.show(raise_budget(script, cap, amount, str(self.caller.key)))


WORDS = {
    "budget": Word(
        BudgetWords._budget,
        "assistant budget [<name>], assistant budget game, "
        "assistant budget <name> | game raise <cap> <amount>",
        "Tokens and money used, by whom, and of which caps. Raise allows more until the day or "
        "month of that cap ends.",
    ),
}
