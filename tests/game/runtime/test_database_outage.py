"""A database that refuses writes: staff are told once, the log stays short, work resumes later."""

from typing import Any

from django.db import OperationalError, connection

from evennia_ai import operations
from evennia_ai.agent import outages
from evennia_ai.agent.outages import ALERT_INTERVAL_SECONDS, STAFF_LINE
from evennia_ai.messages import outgoing
from evennia_ai.operations.control import UNSTORED
from evennia_ai.operations.monitoring import health as monitoring
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import whispers

OVER = "The game's database works again."
STATE = "UPDATE typeclasses_attribute "


def full(execute: Any, sql: str, *rest: Any) -> Any:
    """Refuse every write of an assistant's state."""
    if sql.startswith(STATE):
        raise OperationalError("database or disk is full")
    return execute(sql, *rest)


def unwritable(execute: Any, sql: str, *rest: Any) -> Any:
    """Refuse every write."""
    if sql.startswith(("INSERT", "UPDATE", "DELETE")):
        raise OperationalError("database or disk is full")
    return execute(sql, *rest)


def nearly_full(execute: Any, sql: str, *rest: Any) -> Any:
    """Refuse new rows, as a disk does on which changed rows still fit."""
    if sql.startswith("INSERT"):
        raise OperationalError("database or disk is full")
    return execute(sql, *rest)


def held(execute: Any, sql: str, *rest: Any) -> Any:
    """Refuse every statement, as while another process holds the file for itself."""
    raise OperationalError("database is locked")


class TestFull(SafetyTest):
    """The disk becomes full while Ada's answer to Tom is under way and Mira waits."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(outages.start_anew)
        outages.start_anew()
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "whisper Ada = and me?")

    def beat(self, count: int) -> None:
        for _ in range(count):
            self.fire_timer()

    def told(self) -> list[str]:
        """Lines that staff were sent about the database."""
        return [line for line in self.sent_to_staff() if "game's database" in line]

    def test_staff_are_told_once_and_when_it_is_over(self) -> None:
        """Those who waited are answered afterwards, and the log has no traceback."""
        with self.logged() as lines, connection.execute_wrapper(full):
            self.model.answer(whispers("Hello."))
            self.beat(20)
        (text,) = self.told()
        assert STAFF_LINE in text
        assert "Ada: the game's database failed: database or disk is full" in text
        assert [True] == [STAFF_LINE in line for line in lines]
        self.beat(1)
        self.model_answers(whispers("And you.", "Mira"))
        assert [True, False] == [STAFF_LINE in line for line in self.told()]
        assert OVER in self.told()[-1]
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert "I was cut off" in operations.why(self.ada_script, number=1).message
        assert 'Ada whispers: "And you."' in self.mira.heard_from(self.ada)
        assert 1 == str(self.ada_script.work.history).count('"Hello."')

    def test_beats_without_work_do_not_end_it(self) -> None:
        """They write nothing, and would succeed on a full disk."""
        with connection.execute_wrapper(full):
            self.model.answer(whispers("Hello."))
            self.beat(2)
            self.ada_script.work.inbox = []
            self.beat(5)
            health = monitoring.health(with_reasons=True).data
        assert ("degraded", "failed") == (health.status, health.database)
        assert "the database is failed" in health.reasons
        assert [True] == [STAFF_LINE in line for line in self.told()]
        self.beat(1)
        assert OVER in self.told()[-1]
        assert "ok" == monitoring.health().data.status

    def test_rows_that_still_fit_do_not_end_it(self) -> None:
        with connection.execute_wrapper(full):
            self.model.answer(whispers("Hello."))
            self.beat(2)
            self.ada_script.work.inbox = []
        with connection.execute_wrapper(nearly_full):
            self.beat(5)
        assert [True] == [STAFF_LINE in line for line in self.told()]
        self.beat(1)
        assert OVER in self.told()[-1]

    def test_a_mute_that_could_not_be_stored_does_not_hold(self) -> None:
        """The command says that it went wrong."""
        for line in ("mute ada", "unmute ada"):
            self.assistant(line)
        with connection.execute_wrapper(full):
            shown = self.assistant("mute ada")
        assert "That went wrong: the game's database failed: database or disk is full." == shown
        shown = self.assistant("unmute ada")
        assert "You have not muted Ada." == shown

    def test_a_command_says_so_without_a_traceback(self) -> None:
        self.ada_script.db.enabled = True
        with connection.execute_wrapper(full):
            shown = self.assistant("stop ada")
        assert "That went wrong: the game's database failed: database or disk is full." == shown

    def test_one_that_lasts_is_told_again(self) -> None:
        """Staff hear of it even if the assistant that met it first has been deleted."""
        with connection.execute_wrapper(full):
            self.model.answer(whispers("Hello."))
            self.beat(2)
            outages._FAILED[-1] = outages._FAILED.pop(self.ada_script.pk)
            self.clock.advance(ALERT_INTERVAL_SECONDS)
            self.beat(2)
        assert [True, True] == [STAFF_LINE in line for line in self.told()]


class TestNothingCanBeWritten(SafetyTest):
    def test_who_gets_no_answer_is_told_once(self) -> None:
        """Not even the call can be reserved, nor the end of the turn be stored."""
        self.addCleanup(outages.start_anew)
        self.queue(1)
        with connection.execute_wrapper(unwritable):
            for _ in range(3):
                self.fire_timer()
        sorry = outgoing.FAILURE_LINE.replace("{name}", "Ada")
        assert [sorry] == self.tom.heard_from(self.ada)
        assert [] == self.model.bodies


class TestHeld(SafetyTest):
    def test_a_stop_still_reaches_all(self) -> None:
        """Assistants are found by a query, on which a stop must not depend."""
        for number, name in enumerate(("ada", "all"), 1):
            self.type(self.tom, "whisper Ada = hello")
            assert 1 == len(self.model.waiting)
            with connection.execute_wrapper(held):
                shown = self.assistant(f"emergency stop {name}")
            assert UNSTORED in shown
            assert (number, []) == (self.model.cancelled, self.model.waiting)
            self.assistant("emergency clear ada")
