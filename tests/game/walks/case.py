"""The test case of walks: two new assistants in a game in which nothing was spent yet."""

from django.test.utils import override_settings
from twisted.internet.task import Clock

from evennia_ai.assistant_script import AssistantScript
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

    def setUp(self) -> None:
        super().setUp()
        brass, _ = self.make("Brass")
        brass.tags.add("specialist")
        for script in (self.ada_script, brass):
            state.write(script, max_history=8, compact_preserve_window=2)
        self._brass = brass.pk
        self.begin_part()

    def begin(self) -> World:
        """Begin as in `setUp`, with two new assistants and an empty ledger."""
        self.take_back()
        load_modules([TOOLS])
        clock = Clock()
        clock.rightNow = NOON
        brass = AssistantScript.objects.get(pk=self._brass)
        brass.at_server_start()
        scripts = (self.ada_script, brass)
        for script in scripts:
            script.clock = clock
        pump()
        return World(scripts, (self.tom, self.mira), clock, pump)
