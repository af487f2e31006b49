"""The test case of walks: two new assistants in a game in which nothing was spent yet."""

from django.test.utils import override_settings
from twisted.internet.task import Clock

from evennia_ai.budget import ledger
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.runtime import state
from evennia_ai.tools import load_modules
from tests.game.support import GameTest, pump
from tests.game.walks.accounts import Listener
from tests.game.walks.world import World

TOOLS = "tests.game.walks.tools"
NOON = 1_795_262_430.0


@override_settings(EVENNIA_AI_TOOL_MODULES=[TOOLS])
class WalkedCase(GameTest):
    """Tom may control Ada and Brass; Mira is nobody special."""

    character_typeclass = Listener

    def begin(self) -> World:
        """Make two new assistants and an empty ledger."""
        self.end_all()
        ledger.start_anew()
        BudgetTotal.objects.all().delete()
        ModelCall.objects.all().delete()
        load_modules([TOOLS])
        clock = Clock()
        clock.rightNow = NOON
        self.forget()
        scripts = [self.make(name)[0] for name in ("Ada", "Brass")]
        for script in scripts:
            script.clock = clock
            state.write(script, max_history=8, compact_preserve_window=2)
        scripts[1].tags.add("specialist")
        pump()
        return World(scripts, (self.tom, self.mira), clock, pump)
