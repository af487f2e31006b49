"""The command set."""

from __future__ import annotations

from evennia.commands.cmdset import CmdSet

from evennia_ai.commands.address import CmdAddress
from evennia_ai.commands.assistant import CmdAssistant
from evennia_ai.commands.history import CmdHistory
from evennia_ai.commands.hush import CmdHush
from evennia_ai.commands.page import CmdPage


class AssistantCmdSet(CmdSet):
    """Everything people can type about assistants."""

    key = "AssistantCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        self.add(CmdAssistant())
        self.add(CmdHistory())
        self.add(CmdHush())
        self.add(CmdPage())
        self.add(CmdAddress())
