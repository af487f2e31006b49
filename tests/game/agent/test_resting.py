"""Trouble of the model's service locks nobody: it passes when the service answers again."""

from django.test import override_settings

from evennia_ai import operations
from evennia_ai.core.safety.lockout import State
from evennia_ai.emergency import state_of
from evennia_ai.errors import (
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
)
from evennia_ai.llm.scripted import completion
from evennia_ai.resilience import CircuitBreaker
from evennia_ai.runtime import services
from tests.game.agent.test_failures import SORRY
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import whispers

NO_KEY = ModelStatusError(401, "the model answered with HTTP 401: no such |rkey")


def breaker() -> CircuitBreaker:
    return services.pool().breaker_of(services.endpoint())


@override_settings(EVENNIA_AI_BREAKER_CONFIG={"attempts": 1})
class TestResting(SafetyTest):
    def state(self) -> State:
        return state_of(self.ada_script)

    def test_no_trouble_of_the_service_locks_her(self) -> None:
        for error in (
            NO_KEY,
            ModelStatusError(402, "pay"),
            ModelStatusError(404, "no model"),
            ModelStatusError(429, "quota"),
            ModelStatusError(400, "credit balance is too low", is_used_up=True),
            ModelStatusError(500, "broken"),
            ModelStatusError(529, "overloaded"),
            ModelTimeoutError("late"),
            ModelConnectionError("refused"),
            ModelReplyError("<html>"),
        ):
            with self.subTest(str(error)):
                self.expect_no_lock(error)

    def expect_no_lock(self, error: ModelError) -> None:
        """Check that twelve failures for two people lock nothing, and that an answer comes."""
        breaker().reset()
        for _ in range(6):
            for person in (self.tom, self.mira):
                self.forget()
                self.ask("whisper Ada = hello", error, person=person)
                assert [SORRY] == person.heard_from(self.ada)
        assert (State.WAITING_FOR_EVENT, 0) == (self.state(), self.stored("consecutive_errors"))
        assert "open" == breaker().state
        breaker().reset()  # the clock of the pool is the reactor's: its minute is not waited for
        self.model.answers.clear()
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]

    def test_time_that_runs_out_for_one_is_his_while_others_are_answered(self) -> None:
        """A person waits after three timeouts; it locks nobody, though both people meet it."""
        for _ in range(6):
            for person in (self.tom, self.mira):
                self.ask("whisper Ada = hello", whispers("Hello.", person.key), person=person)
        for _ in range(9):
            for person in (self.tom, self.mira):
                self.ask("whisper Ada = think of all", ModelTimeoutError("late"), person=person)
                self.model.answers.clear()
        waits = ["TestAccount waits a minute", "TestAccount2 waits a minute"]
        assert waits == operations.status(self.ada_script).data.cooling
        assert State.WAITING_FOR_EVENT is self.state()

    def test_staff_read_the_cause_once(self) -> None:
        """Another kind of trouble is told again, and so is its end."""
        for _ in range(3):
            self.ask("whisper Ada = hello", NO_KEY)
        (text,) = self.sent_to_staff()
        assert (
            "Ada's model does not answer. Nothing is locked; it will be asked again with the next "
            "message, until it answers. Tom was told. Look: assistant check Ada\n"
            "  Ada: its model does not answer: the model answered with HTTP 401: no such ||rkey. "
            "Further problems of this kind go only to the log."
        ) in text
        self.ask("whisper Ada = hello", ModelStatusError(529, "overloaded"))
        assert "overloaded" in self.sent_to_staff()[-1]
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert 3 == len(self.sent_to_staff())
        assert self.sent_to_staff()[-1].endswith("Ada: its model answers again.")

    def test_while_it_is_left_alone_nobody_asks_it(self) -> None:
        """The breaker is open: players read one line, staff the cause and the next try."""
        breaker().record_failure(NO_KEY)
        breaker().force_open()
        for _ in range(6):
            self.forget()
            self.type(self.tom, "whisper Ada = hello")
            assert [SORRY] == self.tom.heard_from(self.ada)
        assert (0, []) == (self.stored("consecutive_errors"), self.model.bodies)
        (text,) = self.sent_to_staff()
        assert "breaker 'llm:scripted' is open, next try in " in text
        assert "(last: the model answered with HTTP 401: no such ||rkey)" in text
        assert "it will be asked again in " in text
        assert "resting until its model answers" in operations.status(self.ada_script).message
        services.pool().troubles.clear()
        breaker().isolate()
        self.type(self.tom, "whisper Ada = hello")
        assert "asked again when somebody resets its breaker." in self.sent_to_staff()[1]
        breaker().reset()
        self.ask("whisper Ada = hello", completion(" "))
        assert "its model answers again" in self.sent_to_staff()[2]
