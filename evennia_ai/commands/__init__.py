"""Commands for people. Add `AssistantCmdSet` to the character command set."""

from evennia_ai.commands.assistant import CmdAssistant
from evennia_ai.commands.cmdset import AssistantCmdSet
from evennia_ai.commands.history import CmdHistory

__all__ = ["AssistantCmdSet", "CmdAssistant", "CmdHistory"]
