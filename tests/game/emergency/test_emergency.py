"""The emergency stop, and its effect on a turn under way."""

from functools import partial
from types import SimpleNamespace
from unittest import mock

from evennia.scripts.scripts import DefaultScript
from evennia.utils.create import create_script

from evennia_ai import operations
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.emergency import clear_emergency_stop, lockout_of, state_of, trigger_emergency_stop
from evennia_ai.runtime import services, state
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import GameTest, pump, whispers
from tests.llm.doubles import StubbornTransport


class TestToTheLetter(SafetyTest):
    """`trigger_emergency_stop` and `clear_emergency_stop`, on any object that has a `db`."""

    def _bare(self) -> SimpleNamespace:
        values = {"emergency_stop": False, "consecutive_errors": 5, "is_ticking": True}
        return SimpleNamespace(db=SimpleNamespace(**values))

    def test_a_bare_object_is_stopped(self) -> None:
        bare = self._bare()
        trigger_emergency_stop(bare, "test")
        assert bare.db.emergency_stop is True

    def test_a_bare_object_is_cleared(self) -> None:
        bare = self._bare()
        bare.db.emergency_stop = True
        success, message = clear_emergency_stop(bare)
        assert success is True
        assert message.startswith("Emergency stop cleared")
        assert (False, 0, False) == (
            bare.db.emergency_stop,
            bare.db.consecutive_errors,
            bare.db.is_ticking,
        )

    def test_what_is_not_stopped_cannot_be_cleared(self) -> None:
        bare = self._bare()
        assert (False, "Emergency stop is not active") == clear_emergency_stop(bare)
        assert 5 == bare.db.consecutive_errors

    def test_the_character_is_told(self) -> None:
        """Whoever watches through the assistant's eyes reads the reason."""
        messages: list[tuple[str, dict[str, str]]] = []
        bare = self._bare()
        bare.obj = SimpleNamespace(key="Ada", msg=messages.append)
        trigger_emergency_stop(bare, "too many errors")
        assert [("Emergency stop: too many errors", {"type": "ai_notice"})] == messages

    def test_the_scripts_own_methods_do_the_same(self) -> None:
        self.ada_script.trigger_emergency_stop("test")
        assert self.ada_script.db.emergency_stop is True
        success, _ = self.ada_script.clear_emergency_stop()
        assert success
        assert self.ada_script.db.emergency_stop is False

    def test_it_is_asked_first(self) -> None:
        self.ask("whisper Ada = hello")
        self.ada_script.trigger_emergency_stop("test")
        self.fire_timer()
        assert 1 == len(self.model.bodies)

    def test_staff_are_told_what_clears_it(self) -> None:
        self.ada_script.trigger_emergency_stop("test")
        (text,) = self.sent_to_staff()
        assert text.endswith("Ada is stopped: test. To let it go on: assistant emergency clear Ada")

    def test_it_lasts_over_a_restart(self) -> None:
        self.ada_script.trigger_emergency_stop("test")
        self.ada_script.work = None
        self.ada_script.at_start()
        self.type(self.tom, "whisper Ada = hello")
        assert [] == self.model.bodies
        assert ["Ada does not seem to hear you."] == self.tom.heard_from(self.ada)

    def test_the_log_has_it(self) -> None:
        """Even an object without a body gets an error in the log and an audit record."""
        with self.logged() as lines, self.audited() as records:
            trigger_emergency_stop(self._bare(), "too many errors", by="Tom")
        assert any("is stopped: too many errors." in line for line in lines)
        ((event, facts),) = records
        assert ("EmergencyStopTriggered", "stopped", "too many errors", "Tom") == (
            event,
            facts["cause"],
            facts["reason"],
            facts["by"],
        )

    def test_a_reason_is_one_line_of_text(self) -> None:
        """A program's reason can have line breaks, which would make lines in others' names."""
        forged = "so\nBrass is stopped\r\n[assistant] forged\u2028by nobody"
        whole = "so Brass is stopped [assistant] forged by nobody"
        for stop in (
            partial(self.ada_script.trigger_emergency_stop, forged),
            partial(operations.stop_all, [self.ada_script], forged),
        ):
            with self.logged() as lines:
                stop()
            assert [] == [line for line in lines if len(line.splitlines()) > 1]
            assert [] == [told for told in self.sent_to_staff() if len(told.splitlines()) > 1]
            assert whole == lockout_of(self.ada_script).reason
            clear_emergency_stop(self.ada_script)

    def test_a_reason_is_no_markup_for_who_watches_through_its_eyes(self) -> None:
        told: list[tuple[str, dict[str, str]]] = []
        bare = self._bare()
        bare.obj = SimpleNamespace(key="Ada", msg=told.append)
        trigger_emergency_stop(bare, "|lcquit|ltthere|le")
        assert "|lc" not in told[0][0]

    def test_the_clearing_is_recorded_too(self) -> None:
        bare = self._bare()
        trigger_emergency_stop(bare, "test", cause=Cause.LOOP)
        with self.audited() as records:
            clear_emergency_stop(bare, by="Mira")
            clear_emergency_stop(bare, by="Tom")
        assert [("EmergencyStopCleared", {"cause": "loop", "cleared_by": "Mira"})] == records

    def test_objects_of_other_kinds(self) -> None:
        plain = create_script(DefaultScript, key="plain")
        self.addCleanup(plain.delete)
        timed = self._bare()
        timed.clock = self.clock
        for script in (plain, mock.MagicMock(**{"obj.key": "Mock"}), timed):
            script.db.emergency_stop = False
            script.db.lockout = None
            trigger_emergency_stop(script, "test", cause=Cause.REPEAT)
            assert script.db.emergency_stop is True
            assert State.SAFETY_LOCKOUT is state_of(script)
            assert clear_emergency_stop(script)[0]
            assert State.WAITING_FOR_EVENT is state_of(script)
            assert lockout_of(script) is None

    def test_a_flag_that_somebody_set_by_hand_is_a_stop(self) -> None:
        """The cause is unknown then, but the stop holds and is cleared like any other."""
        self.ada_script.db.emergency_stop = True
        assert (State.STOPPED, None) == (state_of(self.ada_script), lockout_of(self.ada_script))
        assert operations.clear(self.ada_script).ok

    def test_status_tells_of_it(self) -> None:
        self.ada_script.trigger_emergency_stop("test")
        data = operations.status(self.ada_script).data
        assert (True, 0, 5) == (
            data.emergency_stop,
            data.consecutive_errors,
            data.max_consecutive_errors,
        )
        assert "stopped" == data.state
        at = self.clock.seconds()
        expected = {"cause": "stopped", "reason": "test", "at": at, "by": ""}
        assert expected == data.lockout

    def test_a_history_reset_clears_it(self) -> None:
        self.set(consecutive_errors=4)
        self.ada_script.trigger_emergency_stop("test")
        operations.reset_history(self.ada_script, by="Tom")
        assert (False, 0, {}) == tuple(
            state.read(self.ada_script, name)
            for name in ("emergency_stop", "consecutive_errors", "lockout")
        )


class TestFence(GameTest):
    """The model is answering when something cancels the turn."""

    def setUp(self) -> None:
        """A model whose requests cannot be cancelled."""
        super().setUp()
        self.model = StubbornTransport()
        services.pool().set_transport(services.endpoint(), self.model)

    def _ends(self) -> dict[str, object]:
        return {
            "emergency stop": lambda: operations.stop(self.ada_script, "test"),
            "silenced": lambda: operations.set_enabled(self.ada_script, False),
            "history reset": lambda: operations.reset_history(self.ada_script),
            "paused": lambda: self.ada_script.pause(),
            "shutdown": lambda: self.ada_script.at_server_shutdown(),
        }

    def test_a_late_answer_lands_nowhere(self) -> None:
        for name, end in self._ends().items():
            with self.subTest(name):
                self._set_up_again()
                self.type(self.tom, "whisper Ada = hello")
                end()
                used = state.read(self.ada_script, "usage")
                self.model.answer(whispers("Too late."))
                assert "Too late." not in str(self.tom.heard_from(self.ada))
                assert [] == state.read(self.ada_script, "conversation_history")
                assert used == state.read(self.ada_script, "usage")
                assert not state.read(self.ada_script, "current_tool_call")
                assert (0 if name == "emergency stop" else 1) == len(self.waiting())

    def _set_up_again(self) -> None:
        self.ada_script.delete()
        self.ada.delete()
        self.ada_script, self.ada = self.make("Ada")
        self.model.waiting.clear()
        pump()
        self.forget()

    def test_a_clearing_asks_nothing_again(self) -> None:
        """A stop gives the request up; after clearing only new messages are answered."""
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        pump()
        assert 1 == len(self.model.bodies)
        self.type(self.tom, "whisper Ada = hello again")
        self.model.waiting[0].callback(whispers("Too late."))
        self.model.waiting[1].callback(whispers("In time."))
        pump()
        assert 'Ada whispers: "In time."' == self.tom.heard_from(self.ada)[-1]
        assert [] == self.waiting()

    def test_a_reset_asks_again_without_what_was_said(self) -> None:
        state.write(self.ada_script, conversation_history=[])
        self.ada_script.work.history = [{"role": "user", "content": "old"}]
        self.type(self.tom, "whisper Ada = hello")
        operations.reset_history(self.ada_script)
        pump()
        assert [3, 2] == [len(body["messages"]) for body in self.model.bodies]

    def test_she_is_not_left_ticking(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "test")
        assert not self.ada_script.work.is_ticking
        operations.clear(self.ada_script)
        self.type(self.tom, "whisper Ada = hello again")
        assert 2 == len(self.model.waiting)


class TestDropped(GameTest):
    """A model whose requests can be cancelled."""

    def test_a_stop_drops_the_call_in_flight(self) -> None:
        """The request is cancelled, so that no money is spent on it."""
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "test")
        assert (1, []) == (self.model.cancelled, self.model.waiting)

    def test_deleting_the_body_drops_it_too(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.ada.delete()
        pump()
        assert 1 == self.model.cancelled
        assert ("body", []) == (
            state.read(self.ada_script, "lockout")["cause"],
            state.read(self.ada_script, "pending_events"),
        )

    def test_deleting_her_before_her_beat_does_no_harm(self) -> None:
        self.tom.execute_cmd("whisper Ada = hello")
        self.ada.delete()
        pump()
        assert [] == self.model.bodies
