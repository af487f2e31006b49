"""The command `history`: what an assistant has in its conversation."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand


class CmdHistory(AssistantCommand):
    """
    Start an assistant's conversation anew.

    Usage:
      history reset [<name>]

    What was said so far is forgotten, what is under way is dropped, and an
    emergency stop is cleared. You need her lock `control`.
    """

    key = "history"
    aliases = ("aihistory",)
    locks = "cmd:perm(Builder)"

    def func(self) -> None:
        """Find the word and do it."""
        word, name = self.word_and_rest()
        if word != "reset":
            self.msg("Usage: history reset [<name>]")
            return
        script = self.pick_controlled(name, "history reset")
        if script is not None:
            self.show(operations.reset_history(script, by=self.caller.key))
