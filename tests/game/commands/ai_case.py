"""Test cases for staff commands: command lines typed as in the game."""

import evennia
from evennia.commands.cmdset import CmdSet
from evennia.utils.ansi import strip_ansi

from evennia_ai.commands.aiaudit import CmdAiAudit
from evennia_ai.commands.aiexec import CmdAiExec
from evennia_ai.commands.aigoal import CmdAiGoal
from evennia_ai.commands.aiinteract import CmdAiInteract
from evennia_ai.commands.aimemory import CmdAiMemory
from evennia_ai.commands.history import CmdHistory
from tests.game.support import GameTest, pump

COMMANDS = (CmdAiAudit, CmdAiExec, CmdAiGoal, CmdAiInteract, CmdAiMemory, CmdHistory)
REFUSED = "You may not control Ada: that needs its lock 'ai_control:false()'."
REFUSED_SETTINGS = f"{REFUSED[:-1]}, or a lock 'ai_configure' of its own."
REFUSED_MEMORY = f"{REFUSED[:-1]} and the rights of staff, or a lock 'ai_memory' of its own."
UNKNOWN = "There is no assistant named edda. There are: Ada."


class StaffCommandSet(CmdSet):
    key = "StaffCommandSet"

    def at_cmdset_creation(self) -> None:
        for command in COMMANDS:
            self.add(command())


class StaffCommandTest(GameTest):
    """Tom, a developer, and Mira, nobody special, type lines at the game's own command line."""

    cmdsets = (StaffCommandSet,)

    def typed(self, line: str) -> str:
        sent = evennia.SESSION_HANDLER.data_out
        sent.reset_mock()
        self.tom.execute_cmd(line, session=self.session)
        pump()
        return self.shown()

    def shown(self) -> str:
        """All text sent to clients since the last line."""
        calls = evennia.SESSION_HANDLER.data_out.call_args_list
        texts = [call.kwargs["text"] for call in calls if "text" in call.kwargs]
        plain = [text if isinstance(text, str) else text[0] for text in texts]
        return "\n".join(str(strip_ansi(str(text))) for text in plain).strip()

    def of_mira(self, line: str) -> list[str]:
        self.forget()
        self.type(self.mira, line)
        return self.mira.seen

    def lock_out(self) -> None:
        """Take control of Ada from Tom, who stays staff."""
        self.ada.locks.add("ai_control:false()")
