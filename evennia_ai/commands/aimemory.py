"""The command `aimemory`: what an assistant keeps, until she has a memory."""

from __future__ import annotations

from evennia_ai.commands.staff_command import StaffCommand
from evennia_ai.operations.notebook import show_notes

NOT_YET = (
    "{name} has no memory of her own yet; today she keeps this notebook, which she writes herself, "
    "and her conversation (history {name})."
)


class CmdAiMemory(StaffCommand):
    """
    See what an AI assistant keeps.

    Usage:
      aimemory [<name>]

    Memory proper is not there yet: this shows the notebook that she writes
    herself. What she noted in private talks with others is only counted.
    """

    key = "aimemory"
    auto_help = False
    how = "aimemory [<name>]"

    def act(self) -> None:
        """Show her notebook, and say what is not there yet."""
        script, rest = self.whose(self.line(), ())
        if script is None:
            return
        if rest:
            self.show_how(f"There is nothing more to type yet than the name: {rest}")
        elif self.may("show history", script):
            told = NOT_YET.format(name=script.key)
            self.show_long(f"{told}\n{show_notes(script, self.caller).message}")
