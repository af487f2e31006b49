"""Faults that the random walks found, each in its shortest form."""

from evennia_ai import operations
from evennia_ai.agent import compaction
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import lockout_of
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tools import load_modules
from tests.game import game_tools
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import says, whispers

LOOK = completion(None, ("look", {}))
TIDE = completion(None, ("tide", {"harbour": "Greyport"}))
HOIST = completion(None, ("hoist_flag", {}))
LONG = [{"role": "user", "content": f"{n}: {'about the sea ' * 40}"} for n in range(60)]
OLD = [{"role": "user", "content": f"earlier {number}"} for number in range(60)]


class TestFound(SafetyTest):
    def setUp(self) -> None:
        super().setUp()
        load_modules(["tests.game.game_tools"])
        game_tools.pending.clear()

    def test_a_grant_for_a_task_can_be_read_back(self) -> None:
        """A key that Evennia could not unpickle blocked her in every tick."""
        few = {"on_limit": {"mode": "auto_extend"}, "loop": {"max_tool_calls_per_context": 1}}
        self.set(safety_config=few)
        self.ask("whisper Ada = hello", LOOK, TIDE)
        noted = self.stored("current_tool_call")
        assert {"tool_calls": 1.0} == noted["bounds"]["grants"]
        assert [str] == [type(kind) for kind in noted["bounds"]["grants"]]
        self.restart()
        self.model.answer(says("Good day."))
        assert LimitKind.TOOL_CALLS in noted["bounds"]["grants"]

    def test_a_lockout_at_the_end_of_a_turn_sums_up_nothing(self) -> None:
        """A due summary is a model call too, and must not be made while locked."""
        self.set(max_consecutive_errors=1, safety_config={"cooling": {"mode": "lock"}})
        state.write(self.ada_script, conversation_history=OLD)
        self.ada_script.work.history = list(OLD)
        self.ask("whisper Ada = hello", completion(" "))
        lockout = lockout_of(self.ada_script)
        assert Cause.CONSECUTIVE_ERRORS is lockout.cause
        assert 1 == len(self.model.bodies)

    def test_a_second_summary_hides_the_first_from_no_stop(self) -> None:
        state.write(self.ada_script, conversation_history=LONG)
        self.ada_script.work.history = list(LONG)
        for _ in range(2):
            compaction.compact_conversation_history(self.ada_script)
        assert 1 == len(self.model.waiting)
        operations.stop(self.ada_script, "test")
        assert ([], 1) == (self.model.waiting, self.model.cancelled)

    def test_a_stop_says_nothing_of_the_tool_that_it_cuts_off(self) -> None:
        """The cancelled call must not count towards the tool's breaker."""
        self.ask("whisper Ada = hello", HOIST)
        (begun,) = game_tools.pending
        operations.stop(self.ada_script, "test")
        assert begun.called
        stats = self.ada_script.work.breakers.get_or_create("tool:hoist_flag").get_stats()
        assert 0 == stats["total_failures"]

    def test_a_turn_that_was_over_at_once_is_not_under_way(self) -> None:
        """A later stop must not claim to have cancelled its call."""
        self.ask("whisper Ada = hello", whispers("Good day."))
        assert self.ada_script.work.in_flight is None
        assert 0 == operations.stop(self.ada_script, "test").data.calls
