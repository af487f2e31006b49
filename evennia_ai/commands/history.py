"""The command `history`: what an assistant has in its conversation."""

from __future__ import annotations

from typing import Any

from evennia_ai import operations
from evennia_ai.commands.staff_command import StaffCommand, number_of
from evennia_ai.operations import talk
from evennia_ai.operations.exports import save_history

MOST_SHOWN = 20
WORDS = ("show", "export", "reset")


class CmdHistory(StaffCommand):
    """
    See an AI assistant's conversation, keep it, or start it anew.

    Usage:
      history [<name>] [show [<page>]] - what is in it, the newest on page 1
      history <name> export            - write it into a file of the game
      history reset [<name>]           - start a new conversation

    At a reset what was said so far is forgotten, what is under way is dropped,
    and an emergency stop is cleared. Export and reset need her lock `control`.

    Examples:
      history ada show 2
      history reset ada
    """

    key = "history"
    aliases = ("aihistory",)
    how = "history [<name>] [show [<page>]], history <name> export, history reset [<name>]"

    def act(self) -> None:
        """Do what is typed."""
        script, rest = self.whose(self.line(), WORDS)
        if script is None:
            return
        word, _, more = rest.casefold().partition(" ")
        if word == "reset" and not more and self.may("reset history", script):
            self.show(operations.reset_history(script, by=str(self.caller.key)))
        elif word == "export" and not more and self.may("export history", script):
            self.show(save_history(script))
        elif word in ("", "show"):
            self._show(script, more.strip())
        elif word not in WORDS or more:
            self.show_how(f"history knows no {rest!r}.")

    def _show(self, script: Any, page: str) -> None:
        number = number_of(page) if page else 1
        if not number:
            self.show_how(f"{page!r} is no page; pages are numbers from 1 up.")
        elif self.may("show history", script):
            self._show_page(script, number)

    def _show_page(self, script: Any, page: int) -> None:
        found = talk.show_history(script, limit=MOST_SHOWN)
        pages = max(1, -(-found.data.get("count", 0) // MOST_SHOWN))
        if page > pages:
            self.show_how(f"There is no page {page} of {script.key}'s conversation, only {pages}.")
            return
        for _ in range(page - 1):
            found = talk.show_history(script, before=found.data["next"], limit=MOST_SHOWN)
        self.show_long(found.message)
