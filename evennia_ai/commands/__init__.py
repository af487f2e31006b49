"""Commands for players and staff.

Add `AssistantCmdSet` to the character command set, and `AssistantAccountCmdSet` to the account's.
"""

from evennia_ai.commands.address import CmdAddress as CmdAddress
from evennia_ai.commands.address import say_to_assistant as say_to_assistant
from evennia_ai.commands.aiaudit import CmdAiAudit as CmdAiAudit
from evennia_ai.commands.aiexec import CmdAiExec as CmdAiExec
from evennia_ai.commands.aigoal import CmdAiGoal as CmdAiGoal
from evennia_ai.commands.aiinteract import CmdAiInteract as CmdAiInteract
from evennia_ai.commands.aimemory import CmdAiMemory as CmdAiMemory
from evennia_ai.commands.assistant import CmdAssistant as CmdAssistant
from evennia_ai.commands.cmdset import AssistantAccountCmdSet as AssistantAccountCmdSet
from evennia_ai.commands.cmdset import AssistantCmdSet as AssistantCmdSet
from evennia_ai.commands.history import CmdHistory as CmdHistory
from evennia_ai.commands.hush import CmdHush as CmdHush
from evennia_ai.commands.page import CmdPage as CmdPage
