"""The command sets: for characters, and for accounts that play none."""

from __future__ import annotations

from evennia.commands.cmdset import CmdSet

from evennia_ai.commands import fitting, theirs
from evennia_ai.commands.address import CmdAddress
from evennia_ai.commands.aiaudit import CmdAiAudit
from evennia_ai.commands.aiexec import CmdAiExec
from evennia_ai.commands.aigoal import CmdAiGoal
from evennia_ai.commands.aiinteract import CmdAiInteract
from evennia_ai.commands.aimemory import CmdAiMemory
from evennia_ai.commands.assistant import CmdAssistant
from evennia_ai.commands.history import CmdHistory
from evennia_ai.commands.hush import CmdHush
from evennia_ai.commands.page import CmdPage

COMMANDS = (
    CmdAssistant,
    CmdHistory,
    CmdAiAudit,
    CmdAiExec,
    CmdAiGoal,
    CmdAiMemory,
    CmdAiInteract,
    CmdHush,
    CmdPage,
    CmdAddress,
)
# What makes sense without a body.
WITHOUT_BODY = (
    *(CmdAssistant, CmdHistory, CmdAiAudit, CmdAiExec),
    *(CmdAiGoal, CmdAiMemory, CmdAiInteract),
)


class AssistantCmdSet(CmdSet):
    """Everything people can type about assistants, beside what the game has itself."""

    key = "AssistantCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        if theirs.is_looking():
            return
        for command in (*fitting.fitted(COMMANDS), *(kind() for kind in theirs.commands())):
            self.add(command)


class AssistantAccountCmdSet(CmdSet):
    """Commands about assistants for people who are out of character.

    In character those of the character's set go before these, which do the same.
    """

    key = "AssistantAccountCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        if theirs.is_looking():
            return
        for command in fitting.fitted(COMMANDS):
            if isinstance(command, WITHOUT_BODY):
                self.add(command)
