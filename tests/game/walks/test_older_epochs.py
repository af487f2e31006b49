"""A turn that was overtaken by a stop has no more effect."""

from collections.abc import Callable
from functools import partial

import pytest
from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.agent import compaction
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.errors import StaleEpochError
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.models import ModelCall
from evennia_ai.runtime import services, state, turns
from evennia_ai.tool_execution import ScriptCheckpoints
from evennia_ai.tools import load_modules
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import pump, says
from tests.game.walks import tools
from tests.game.walks.accounts import Listener

TOOLS = "tests.game.walks.tools"
CALL = ToolCall("c1", "say", {"message": "Hello."})


class TestKeeper(SafetyTest):
    def overtaken(self, act: Callable[[turns.Turn], object]) -> None:
        """Stop Ada during a turn, and let that turn go on."""
        self.type(self.tom, "whisper Ada = hello")
        stored = self.stored("pending_events")[0]
        turn = turns.begin(self.ada_script, Event.from_stored(stored))
        operations.stop(self.ada_script, "test")
        with pytest.raises(StaleEpochError):
            act(turn)
        assert self.stored("current_tool_call") is None

    def test_hole_d30_no_effect_begins_in_an_older_epoch(self) -> None:
        """Nor is its intent recorded, which would be ambiguous after the stop is cleared."""
        checkpoints = ScriptCheckpoints(self.ada_script)
        self.overtaken(lambda turn: checkpoints.before_effect(turn, CALL))

    def test_hole_d30_an_older_epoch_sets_nothing_down(self) -> None:
        """The next start would resume such a checkpoint."""
        self.overtaken(ScriptCheckpoints(self.ada_script).checkpoint)


class LastGasp(ScriptedModel):
    """A model that answers at the moment of its cancellation."""

    def _new_outcome(self) -> Deferred[bytes]:
        return Deferred(lambda held: held.callback(completion("They spoke of the sea.")))


class TestSummary(SafetyTest):
    def test_b11_a_summary_that_comes_with_the_stop_is_dropped(self) -> None:
        old = [{"role": "user", "content": f"{n}: {'about the sea ' * 40}"} for n in range(60)]
        state.write(self.ada_script, conversation_history=old)
        self.ada_script.work.history = list(old)
        services.pool().set_transport(services.endpoint(), LastGasp())
        compaction.compact_conversation_history(self.ada_script)
        operations.stop(self.ada_script, "test")
        pump()
        assert old == self.stored("conversation_history") == self.ada_script.work.history


class TestReply(SafetyTest):
    def test_b12_nothing_of_a_reply_follows_the_call_that_stops_her(self) -> None:
        """The first of three calls stops her."""
        load_modules([TOOLS])
        tools.WRONG.clear()
        calls = ("pull_the_cord", {}), ("look_it_up", {"number": 1}), ("say", {"message": "Done."})
        self.ask("whisper Ada = hello", completion(None, *calls))
        assert ([], 1) == (tools.WRONG, len(self.model.bodies))
        assert "Done." not in str(self.tom.seen)


class TestWords(SafetyTest):
    """Somebody stops her at the first word of her answer."""

    character_typeclass = Listener

    def test_hole_d30_a_dropped_turn_settles_nothing(self) -> None:
        """The stop has settled it: it is in the history once, and its call counts once."""
        stop = partial(operations.stop, reason="enough")
        Listener.on_hearing.append(stop)
        self.addCleanup(Listener.on_hearing.remove, stop)
        self.ask("say @ada hello", says("Good day."))
        pump()
        texts = [m["content"] for m in self.stored("conversation_history") if m["role"] == "user"]
        assert 1 == len(texts)
        assert "answered" not in self.steps()
        assert ({}, 0) == (
            self.ada_script.work.conversations.by_place,
            state.read(self.ada_script, "consecutive_errors"),
        )
        assert 1 == ModelCall.objects.count()
