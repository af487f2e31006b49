"""`check_audit`: differences between the record and the stored state."""

from typing import Any

from evennia.typeclasses.attributes import Attribute, AttributeHandler

from evennia_ai import audit, operations
from evennia_ai.approvals import store
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.safety.questions import ApprovalRequest, Question
from evennia_ai.core.turn.executions import OTHERS
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.audit import log
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump, says, whispers

LOOKS = completion("Let me see.", ("look", {}))


class CheckTest(GameTest):
    """Compares Ada's record with her state."""

    def rows(self, **options: Any) -> dict[str, tuple[Any, Any]]:
        """The differences by path: the record's value and the stored one."""
        rows = log.check_audit(self.ada_script, **options).data
        return {row["path"]: (row["record"], row["state"]) for row in rows}

    def agree(self) -> None:
        """Check that there are no differences, in memory and in the database."""
        self.clock.advance(0)
        audit.flush()
        for fresh in (False, True):
            assert {} == self.rows(fresh=fresh)

    def tamper(self, **values: Any) -> None:
        """Change stored values without the record."""
        for name, value in values.items():
            AttributeHandler.add(self.ada_script.attributes, name, value)


class TestAgree(CheckTest):
    """After every kind of event the record and the state agree."""

    def test_from_the_beginning(self) -> None:
        self.agree()
        result = log.check_audit(self.ada_script)
        assert (True, "The record of Ada agrees with what it stores.") == (
            result.ok,
            result.message,
        )

    def test_before_anything_is_told(self) -> None:
        """A record begins with the settings of that moment, and with nothing else."""
        result = operations.create_assistant("Finn", location=self.room1, persona="a fisher")
        script = result.data.script
        for fresh in (False, True):
            assert [] == log.check_audit(script, fresh=fresh).data
        AttributeHandler.add(script.attributes, "usage", {"calls": 3})
        rows = log.check_audit(script).data
        assert [("usage.calls", 0, 3)] == [tuple(row.values()) for row in rows]

    def test_a_talk(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("say @ada look around", LOOKS, says("A fine room."))
        self.ask("whisper Ada = hello?", ModelReplyError("no such model"))
        assert 3 == len(state.read(self.ada_script, "execution_log"))
        self.agree()

    def test_settings(self) -> None:
        db = self.ada_script.db
        db.persona = "a keeper"
        db.llm_max_tokens = 500
        db.max_context_tokens = 9000
        db.budget_config = {"assistant": {"tokens_per_day": 5}}
        db.llm_extra_params = {"api_key": "hunter2", "seed": 7, "stop": ["a", "b"]}
        db.system_prompt = "x" * 30_000
        db.trigger_permissions = ("Builder", "Admin")
        self.agree()
        state.write(self.ada_script, persona="a pirate", llm_max_tokens=None)
        self.ada_script.attributes.remove("budget_config")
        self.agree()
        text = str(audit.application().at("Ada", audit.application().version("Ada")).as_data())
        assert "hunter2" not in text

    def test_stops(self) -> None:
        self.ada_script.trigger_emergency_stop("the same again", cause=Cause.REPEAT)
        self.agree()
        operations.stop(self.ada_script, "x" * 5000, by="Tom")
        self.agree()
        operations.clear(self.ada_script, by="Tom")
        self.agree()

    def test_a_stop_in_the_middle_of_a_call(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "enough")
        pump()
        self.agree()

    def test_goals(self) -> None:
        for text in ("find  the lamp", "sweep", "x" * 400):
            operations.add_goal(self.ada_script, text, 7)
        self.agree()
        operations.close_goal(self.ada_script, 1, is_completed=True)
        operations.close_goal(self.ada_script, 2, is_completed=False)
        self.agree()

    def test_history(self) -> None:
        """A new conversation changes no recorded state."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        operations.reset_history(self.ada_script, by="Tom")
        self.agree()

    def test_a_short_log(self) -> None:
        for most in (1, 0, 5):
            state.write(self.ada_script, max_log_entries=most)
            self.ask("say @ada look around", LOOKS, says("A fine room."))
            self.agree()

    def test_many_tools(self) -> None:
        self.ada_script.db.max_log_entries = 3
        for number in range(4):
            self.ask("whisper Ada = go", completion(None, (f"tool_{number}", {})), whispers("No."))
        self.agree()


class TestDiffer(CheckTest):
    """Changes that bypass the record are found and named."""

    def differ(self, expected: dict[str, tuple[Any, Any]]) -> None:
        """Check that these are the only differences, in memory and in the database."""
        assert expected == self.rows()
        assert expected == self.rows(fresh=True)

    def test_a_setting(self) -> None:
        self.tamper(persona="a pirate")
        self.differ({"settings.persona": ("", "a pirate")})
        message = log.check_audit(self.ada_script).message
        assert 'Ada: 1 difference.\n  settings.persona: record "", state "a pirate"' == message

    def test_a_secret_setting(self) -> None:
        self.tamper(llm_extra_params={"api_key": "hunter2", "seed": 1})
        assert "hunter2" not in str(self.rows())
        assert ["settings.llm_extra_params"] == list(self.rows())

    def test_a_stop(self) -> None:
        self.tamper(emergency_stop=True)
        self.differ({"is_stopped": (False, True)})
        self.tamper(emergency_stop=False)
        operations.stop(self.ada_script, "enough", by="Tom")
        stored = state.read(self.ada_script, "lockout")
        self.tamper(lockout={**stored, "reason": "another"})
        assert ["lockout"] == list(self.rows())
        self.tamper(lockout={"cause": "unreadable"})
        self.differ({})

    def test_goals(self) -> None:
        operations.add_goal(self.ada_script, "find the lamp")
        operations.add_goal(self.ada_script, "sweep")
        stored = state.read(self.ada_script, "current_goals")
        first, second = stored["goals"]
        third = {**second, "id": 3, "status": "completed"}
        self.tamper(current_goals={**stored, "goals": [{**first, "priority": 9}, third]})
        sweep = {"description": "sweep", "priority": 5}
        lamp = {"description": "find the lamp"}
        self.differ(
            {
                "goals.1": ({**lamp, "priority": 5}, {**lamp, "priority": 9}),
                "goals.2": (sweep, None),
                "completed_goals.3": (None, "completed"),
            }
        )

    def test_a_question(self) -> None:
        """An answered question no longer counts as open."""
        asked = Question(ApprovalRequest("k", "tool.x", "may I?", "", "Ada"), number=3)
        answered = Question(
            ApprovalRequest("k", "tool.x", "may I?", "", "Ada"), number=4, choice="yes"
        )
        for question in (asked, answered):
            store.begin(self.ada_script, question)
        self.differ({"questions.3": (None, {"kind": "tool.x", "key": "k"})})

    def test_counts(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        usage, metrics = (dict(state.read(self.ada_script, n)) for n in ("usage", "metrics"))
        self.tamper(usage={**usage, "calls": 9, "ticks": 8})
        self.tamper(metrics={**metrics, "tool_calls": {"whisper": 2, "say": 1}})
        self.differ(
            {
                "usage.calls": (1, 9),
                "usage.ticks": (1, 8),
                "metrics.tool_calls": (1, 3),
                "metrics.tool_calls.say": (0, 1),
                "metrics.tool_calls.whisper": (1, 2),
            }
        )

    def test_tools_that_are_counted_together(self) -> None:
        """A rare tool counted under the name for all others is no difference."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        metrics = dict(state.read(self.ada_script, "metrics"))
        self.tamper(metrics={**metrics, "tool_calls": {OTHERS: 1}})
        self.differ({})

    def test_the_log(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        [entry] = state.read(self.ada_script, "execution_log")
        self.tamper(execution_log=[{**entry, "tick": 99}, {**entry, "duration_ms": 5}])
        rows = self.rows()
        assert ["execution_log.1", "execution_log.0"] == list(rows)
        assert (None, 99) == tuple(side["tick"] for side in rows["execution_log.0"])

    def test_what_only_the_database_has(self) -> None:
        """Another process changed the database behind this one's cache."""
        self.ada_script.db.persona = "a keeper"
        row = self.ada_script.attributes.get("persona", return_obj=True)
        Attribute.objects.filter(pk=row.pk).update(db_value="a pirate")
        assert {} == self.rows()
        assert {"settings.persona": ("a keeper", "a pirate")} == self.rows(fresh=True)
