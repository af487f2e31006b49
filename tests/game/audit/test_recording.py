"""The audit of an assistant, written in the transaction that stores its state."""

from typing import Any

from evennia_ai import audit, operations
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state, turns
from evennia_ai.tool_execution import execute_tool_call
from tests.core.samples import make_event
from tests.game.listening import HearingTest
from tests.game.support import pump, whispers

SECRET = "the key is under the mat"


class RecordTest(HearingTest):
    def recorded(self, *events: str) -> list[dict[str, Any]]:
        """The details of the recorded events, oldest first."""
        audit.flush()
        page = audit.application().page(self.ada_script.key, limit=500, events=events)
        return [entry.details for entry in reversed(page)]

    def agrees(self) -> None:
        audit.flush()
        newest = audit.of(self.ada_script)
        usage = state.read(self.ada_script, "usage")
        assert newest.usage == {name: usage[name] for name in newest.usage}
        assert newest.tick_count == usage["ticks"]
        metrics = state.read(self.ada_script, "metrics")
        assert newest.tool_stats == metrics["tool_calls"]
        assert newest.tool_errors == metrics["tool_errors"]
        log = state.read(self.ada_script, "execution_log")
        events = self.recorded("ToolExecuted")[-len(log) :]
        assert [item["tool_name"] for item in events] == [entry["tool"] for entry in log]


class TestTurns(RecordTest):
    def test_a_whisper_and_its_answer(self) -> None:
        """Only the length of words is recorded."""
        self.ask(f"whisper Ada = {SECRET}", whispers("I keep it to myself."))
        (call,) = self.recorded("ToolExecuted")
        (tick,) = self.recorded("TickCompleted")
        assert ("whisper", True, "(20 characters)") == (
            call["tool_name"],
            call["success"],
            call["parameters"]["message"],
        )
        assert (1, "whisper", "answered", 1) == tuple(
            tick[name] for name in ("tick_number", "action_taken", "outcome", "calls")
        )
        assert "mat" not in str(self.recorded())
        self.agrees()

    def test_a_turn_that_is_cut_off_is_counted(self) -> None:
        """It is recorded in the next reactor turn after the stop."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("whisper Ada = and now?")
        operations.stop(self.ada_script, "enough", by="Tom")
        self.clock.advance(0)
        assert ["answered", "cut off"] == [t["outcome"] for t in self.recorded("TickCompleted")]
        self.agrees()

    def test_a_call_by_hand_is_recorded_with_who_did_it(self) -> None:
        """It is no turn of hers."""
        event = make_event(source="say", sender_id=self.tom.dbref)
        call = ToolCall("hand", "say", {"message": "Hear, hear."})
        with audit.acting("Tom", "game"):
            execute_tool_call(self.ada_script, call, turns.by_hand(self.ada_script, event))
        (fact,) = self.recorded("ToolExecuted")
        assert ("Tom", "game", "by hand") == (fact["by"], fact["via"], fact["provider"])
        assert [] == self.recorded("TickCompleted")

    def test_a_failing_tool_is_told_of(self) -> None:
        self.ask(
            "say @Ada hello", completion(None, ("look", {"target": "Nobody"})), whispers("Hm.")
        )
        first = self.recorded("ToolExecuted")[0]
        assert (False, True) == (first["success"], "Nobody" in first["error"])
        self.agrees()


class TestSettings(RecordTest):
    def test_however_they_are_set(self) -> None:
        script = self.ada_script
        with audit.acting("Tom", "game"):
            state.write(script, tick_rate=10)
        script.db.persona = "A sailor."
        script.attributes.remove("persona")
        script.attributes.batch_add(("tick_rate", 12), ("llm_model", "small"))
        changes = [
            (item["key"], item["old_value"], item["new_value"])
            for item in self.recorded("ConfigurationChanged")[-5:]
        ]
        assert [
            ("tick_rate", 5, 10),
            ("persona", "", "A sailor."),
            ("persona", "A sailor.", ""),
            ("tick_rate", 10, 12),
            ("llm_model", "", "small"),
        ] == changes
        assert 12 == audit.of(script).settings["tick_rate"]

    def test_what_stays_the_same_is_not_told(self) -> None:
        """State that an assistant writes itself is not recorded either."""
        before = len(self.recorded())
        state.write(self.ada_script, tick_rate=5, usage={"calls": 1})
        assert before == len(self.recorded())

    def test_no_secret_is_kept(self) -> None:
        """A key is masked inside other settings, too."""
        state.write(self.ada_script, llm_extra_params={"api_key": "sk-123", "seed": 7})
        (change,) = self.recorded("ConfigurationChanged")[-1:]
        assert {"api_key": "***", "seed": 7} == change["new_value"]


class TestStops(RecordTest):
    def test_a_stop_and_its_end(self) -> None:
        operations.stop(self.ada_script, "a fire", by="Tom")
        stopped = audit.of(self.ada_script)
        assert (True, "a fire") == (stopped.is_stopped, stopped.lockout["reason"])
        operations.clear(self.ada_script, by="Mira")
        assert not audit.of(self.ada_script).is_stopped
        assert "Mira" == self.recorded("EmergencyStopCleared")[0]["cleared_by"]

    def test_goals(self) -> None:
        operations.add_goal(self.ada_script, "Find the atlas", 7)
        operations.add_goal(self.ada_script, "Sort the cards", 3)
        operations.close_goal(self.ada_script, 1, is_completed=True)
        newest = audit.of(self.ada_script)
        assert ["2"] == list(newest.goals)
        assert ["completed"] == [goal["status"] for goal in newest.completed_goals]

    def test_a_history_reset(self) -> None:
        """The turn under way is counted as well."""
        self.ask("whisper Ada = hello")
        operations.reset_history(self.ada_script, by="Tom")
        pump()
        self.clock.advance(0)
        assert 1 == len(self.recorded("HistoryReset"))
        self.agrees()
