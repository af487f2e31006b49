"""Control over an assistant, which the lock `ai_control` of its body decides alone."""

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.emergency import state_of, trigger_emergency_stop
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.emergency.stopping import SafetyTest

LACKS = "You may not control Ada: that needs its lock 'ai_control:id(999)'."


class ControlTest(SafetyTest):
    """Tom is a developer, Mira nobody special; both have the commands."""

    cmdsets = (AssistantCmdSet,)

    def keep_tom_out(self) -> None:
        """Let staff in general control Ada no longer."""
        self.ada.locks.add("ai_control:id(999)")


class TestEmergency(ControlTest):
    def test_a_new_assistant_is_under_builders(self) -> None:
        assert "ai_control:perm(Builder)" == self.ada.locks.get("ai_control")
        assert "control:perm(Admin)" == self.ada.locks.get("control")
        assert "tool_move:false()" == self.ada.locks.get("tool_move")

    def test_b9_who_has_no_right_is_refused_and_that_is_recorded(self) -> None:
        """This holds for a player, and for staff whom the lock keeps out."""
        self.keep_tom_out()
        trigger_emergency_stop(self.ada_script, "in circles", cause=Cause.REPEAT)
        for person in (self.tom, self.mira):
            for word in ("stop", "clear"):
                with self.audited() as records:
                    assert LACKS == self.read(person, f"assistant emergency {word} ada")
                expected = {"act": f"emergency {word}", "by": person.key, "via": "game"}
                assert [("control_refused", expected)] == records
        assert State.SAFETY_LOCKOUT is state_of(self.ada_script)

    def test_b9_who_has_the_right_may(self) -> None:
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        trigger_emergency_stop(self.ada_script, "in circles", cause=Cause.REPEAT)
        shown = self.read(self.mira, "assistant emergency clear ada")
        assert "Ada: Emergency stop cleared; the assistant goes on with its next beat." == shown
        assert State.WAITING_FOR_EVENT is state_of(self.ada_script)
        shown = self.read(self.mira, "assistant emergency stop ada")
        assert (
            "Ada is stopped. It stays stopped across restarts. To let it go on: assistant " in shown
        )
        assert "Mira" == self.stored("lockout")["by"]

    def test_b9_a_right_of_the_account_counts_too(self) -> None:
        """It holds for all characters of a player."""
        self.ada.locks.add(f"ai_control:pid({self.account2.id})")
        self.mira.account = self.account2
        assert "Ada is stopped." in self.read(self.mira, "assistant emergency stop ada")
        assert LACKS[:23] in self.read(self.tom, "assistant emergency clear ada")

    def test_a_superuser_passes(self) -> None:
        self.keep_tom_out()
        self.account.is_superuser = True
        self.tom.locks.cache_lock_bypass(self.tom)
        assert "Ada is stopped." in self.read(self.tom, "assistant emergency stop ada")

    def test_a_body_that_never_had_the_lock_is_under_staff(self) -> None:
        """Assistants of an older version of the package have no such lock."""
        self.ada.locks.remove("ai_control")
        self.ada.locks.remove("control")
        shown = self.read(self.mira, "assistant emergency stop ada")
        assert "You may not control Ada: that needs the rights of staff." == shown
        assert "Ada is stopped." in self.read(self.tom, "assistant emergency stop ada")

    def test_without_a_body_staff_may(self) -> None:
        self.ada_script.obj = None
        shown = self.read(self.mira, "assistant emergency stop ada")
        assert "You may not control Ada: that needs the rights of staff." == shown
        assert "Ada is stopped." in self.read(self.tom, "assistant emergency stop ada")
        assert "Emergency stop cleared" in self.read(self.tom, "assistant emergency clear ada")

    def test_no_assistant_has_a_say(self) -> None:
        """No assistant may, whatever its body's rights; a person who plays that body may."""
        brass_script, brass = self.make("Brass")
        brass.permissions.add("Developer")
        assert not operations.may_control(self.ada_script, brass, is_staff=True)
        assert not operations.may_control(brass_script, brass, is_staff=True)
        self.account.unpuppet_object(self.session)
        self.account.puppet_object(self.session, brass)
        assert operations.may_control(self.ada_script, brass, is_staff=True)

    def test_which_one_is_meant(self) -> None:
        """The only one, else the one in the room; else the command lists them."""
        assert "Ada is stopped." in self.read(self.tom, "assistant emergency stop")
        _, brass = self.make("Brass", location=self.room2)
        assert "Ada: Emergency stop cleared" in self.read(self.tom, "assistant emergency clear")
        brass.location = self.room1
        shown = self.read(self.tom, "assistant emergency stop")
        assert shown.startswith("Which assistant? There are: Ada, Brass.\nUsage: assistant emerg")


class TestStopAll(ControlTest):
    def test_all_that_one_controls(self) -> None:
        """The others are left alone, and each refusal is shown and recorded."""
        brass_script, _ = self.make("Brass")
        self.keep_tom_out()
        with self.audited() as records:
            shown = self.read(self.tom, "assistant emergency stop ALL")
        assert (
            "One assistant is stopped, also across restarts. To let them go on: assistant " in shown
        )
        assert LACKS in shown
        assert (State.STOPPED, State.WAITING_FOR_EVENT) == (
            state_of(brass_script),
            state_of(self.ada_script),
        )
        refused = {"act": "emergency stop", "by": "Tom", "via": "game"}
        assert ("control_refused", refused) in records
        shown = self.read(self.tom, "assistant emergency stop all")
        assert "None of them was running; nothing was changed." in shown

    def test_all_others_of_ones_own(self) -> None:
        brass_script, _ = self.make("Brass")
        self.keep_tom_out()
        for line, before, answer, after in (
            ("emergency clear all", {"emergency_stop": True}, "One assistant is cleared", False),
            (
                "stop all",
                {"enabled": True},
                "One assistant is silent. To let them answer: assistant st",
                False,
            ),
            ("start all", {"enabled": False}, "One assistant is awake.", True),
        ):
            with self.subTest(line):
                (name, value), *_ = before.items()
                for script in (self.ada_script, brass_script):
                    state.write(script, **before)
                shown = self.read(self.tom, f"assistant {line}")
                assert answer in shown
                assert LACKS in shown
                values = [state.read(script, name) for script in (self.ada_script, brass_script)]
                assert [value, after] == values
                assert "nothing was changed." in self.read(self.tom, f"assistant {line}")

    def test_those_that_were_silenced_before_are_named(self) -> None:
        brass_script, _ = self.make("Brass")
        state.write(brass_script, enabled=False)
        self.read(self.tom, "assistant emergency stop all")
        assert (
            "2 assistants are cleared. Still silenced: Brass. To let one answer: assistant start "
        ) in self.read(self.tom, "assistant emergency clear all")

    def test_none(self) -> None:
        """A player is refused once, not for each assistant of the game."""
        brass_script, _ = self.make("Brass")
        with self.audited() as records:
            shown = self.read(self.mira, "assistant emergency stop all")
        assert "You may not control Ada: that needs its lock 'ai_control:perm(Builder)'." == shown
        assert ["control_refused"] == [event for event, _ in records]
        brass_script.delete()
        assert State.WAITING_FOR_EVENT is state_of(self.ada_script)
        self.ada_script.delete()
        shown = self.read(self.tom, "assistant emergency stop all")
        assert "There is no assistant yet." == shown


class TestOtherWords(ControlTest):
    def test_staff_need_the_lock(self) -> None:
        self.keep_tom_out()
        public = self.channel("Public").key
        for line, act in (
            ("assistant stop ada", "stop"),
            ("assistant start ada", "start"),
            (f"assistant channel ada {public} = trigger", "channel"),
            ("assistant account ada", "account"),
            ("history reset ada", "reset history"),
            ("assistant goal ada 7 = find the atlas", "goal"),
            ("assistant goal ada done 1", "goal"),
            ("assistant component ada set 500 mood = You are cross.", "configure"),
            ("assistant component ada off 500", "configure"),
            ("assistant template ada set cross = You are cross.", "configure"),
            ("assistant template ada apply cross", "configure"),
            ("assistant context ada tick_event set max_tokens 10", "configure"),
            ("assistant context ada tick_event reset", "configure"),
        ):
            with self.subTest(line), self.audited() as records:
                assert self.read(self.tom, line).startswith(LACKS.rstrip("."))
                facts = {"act": act, "by": "Tom", "via": "game"}
                assert [("control_refused", facts)] == records
        assert self.stored("enabled")
        assert {} == self.stored("channel_configs")

    def test_looking_needs_none(self) -> None:
        self.keep_tom_out()
        assert "Ada: awake" in self.read(self.tom, "assistant status ada")
        for line in ("goal", "prompt", "component", "template list", "context"):
            word, _, rest = line.partition(" ")
            shown = self.read(self.tom, f"assistant {word} ada {rest}".strip())
            assert "You may not" not in shown
        assert "You may not" not in self.read(self.tom, "assistant context ada tick_event")
        self.ask("whisper Ada = hello", completion(None, ("noop", {})))
        assert 1 == len(self.model.bodies)


class TestSeen(ControlTest):
    def test_the_overview_has_the_state_and_what_clears_it(self) -> None:
        trigger_emergency_stop(self.ada_script, "dig, 4 times", cause=Cause.REPEAT)
        shown = self.read(self.tom, "assistant")
        assert "locked repeat" in shown
        text = "Ada has locked itself: it kept repeating the same failed action. That was "
        assert (
            f"{text}1970-01-01 00:00 UTC. To let it go on: assistant emergency clear Ada\n" in shown
        )
        assert "    locked (repeat): dig, 4 times" in shown
        operations.stop(self.ada_script, "test")
        assert "Ada has been stopped since 1970-01-01 00:00 UTC: test. " in self.read(
            self.tom, "assistant"
        )

    def test_the_status_has_them_too(self) -> None:
        self.ada_script.db.emergency_stop = True
        shown = self.read(self.tom, "assistant status ada")
        assert "Ada: stopped. It stands in Room; " in shown
        assert "  stopped   Ada is stopped. To let it go on: assistant emergency clear Ada" in shown
