"""Commands for players and staff.

Add `AssistantCmdSet` to the character command set, and `AssistantAccountCmdSet` to the account's.
"""

from evennia_ai.commands.address import CmdAddress, say_to_assistant
from evennia_ai.commands.aiaudit import CmdAiAudit
from evennia_ai.commands.aiexec import CmdAiExec
from evennia_ai.commands.aigoal import CmdAiGoal
from evennia_ai.commands.aiinteract import CmdAiInteract
from evennia_ai.commands.aimemory import CmdAiMemory
from evennia_ai.commands.assistant import CmdAssistant
from evennia_ai.commands.cmdset import AssistantAccountCmdSet, AssistantCmdSet
from evennia_ai.commands.history import CmdHistory
from evennia_ai.commands.hush import CmdHush
from evennia_ai.commands.page import CmdPage

__all__ = [
    "AssistantAccountCmdSet",
    "AssistantCmdSet",
    "CmdAddress",
    "CmdAiAudit",
    "CmdAiExec",
    "CmdAiGoal",
    "CmdAiInteract",
    "CmdAiMemory",
    "CmdAssistant",
    "CmdHistory",
    "CmdHush",
    "CmdPage",
    "say_to_assistant",
]
