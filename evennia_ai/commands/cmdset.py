"""The command sets for characters and for accounts out of character."""

from __future__ import annotations

from evennia.commands.cmdset import CmdSet

from evennia_ai.commands import game_commands, name_clashes
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
# Commands that also work for an account without a character.
WITHOUT_BODY = (
    *(CmdAssistant, CmdHistory, CmdAiAudit, CmdAiExec),
    *(CmdAiGoal, CmdAiMemory, CmdAiInteract),
)


class AssistantCmdSet(CmdSet):
    """All commands about assistants, for the character command set."""

    key = "AssistantCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        # While `game_commands` inspects the sets of the game, ours stay empty.
        if game_commands.is_inspecting():
            return
        for command in (
            *name_clashes.create_commands(COMMANDS),
            *(kind() for kind in game_commands.commands()),
        ):
            self.add(command)


class AssistantAccountCmdSet(CmdSet):
    """Commands about assistants for accounts out of character.

    In character, the character's set has the same commands and takes precedence.
    """

    key = "AssistantAccountCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        if game_commands.is_inspecting():
            return
        for command in name_clashes.create_commands(COMMANDS):
            if isinstance(command, WITHOUT_BODY):
                self.add(command)
