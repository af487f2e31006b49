"""The cooling-off period: a person whose requests keep failing waits, and others do not."""

import json

from evennia_ai import operations
from evennia_ai.agent import requests
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.emergency import lockout_of, state_of, trigger_emergency_stop
from evennia_ai.errors import ModelStatusError, ModelTimeoutError
from evennia_ai.llm.scripted import completion
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import NOT_A_COMPLETION, whispers

SEEK = "whisper Ada = keep trying to look at the unicorn until you see it"
LOST = completion(None, ("look", {"target": "unicorn"}))
FILTER = "http://model answered with HTTP 400: content_filter"
WORN = 'Ada turns away, worn out. "That got us nowhere. Give me {}, then ask for something else."'
UNATTENDED = {"on_limit": {"mode": "unattended"}}


def note(number: int) -> bytes:
    """A tool call unlike any other, so that no two steps are equal."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return completion(None, ("write_note", {"text": f"thing {number}"}), usage=usage)


class CoolingTest(SafetyTest):
    """Ada's model does whatever it is told to do."""

    def circle(self, person: object = None) -> None:
        """Somebody (Tom by default) makes Ada fail four times at the same call in one turn."""
        self.ask(SEEK, LOST, LOST, LOST, LOST, person=person)

    def state(self) -> State:
        return state_of(self.ada_script)

    def expect_answer(self, person: object) -> None:
        """This person asks something else and is answered."""
        name = person.key  # type: ignore[attr-defined]
        self.ask("whisper Ada = hello", whispers("Hello.", name), person=person)
        heard = person.heard_from(self.ada)  # type: ignore[attr-defined]
        assert 'Ada whispers: "Hello."' == heard[-1]


class TestOnePerson(CoolingTest):
    def test_hole_b12_four_equal_failures_of_one_whisper(self) -> None:
        with self.audited() as records:
            self.circle()
        assert (4, State.WAITING_FOR_EVENT) == (len(self.model.bodies), self.state())
        assert [WORN.format("a minute")] == self.tom.heard_from(self.ada)
        (fact,) = [facts for event, facts in records if event == "cooled_off"]
        assert (self.person(self.tom), 60, "repeat") == (
            fact["person"],
            fact["seconds"],
            fact["cause"],
        )
        self.expect_answer(self.mira)

    def test_hole_b12_staff_are_told_who(self) -> None:
        self.circle()
        text = self.sent_to_staff()[-1]
        assert (
            "Ada ignores Tom (TestAccount) for a minute: look failed 4 times with the "
            "same arguments. Others still get answers. To end that now: assistant emergency "
            "clear Ada"
        ) in text
        assert "cools off" in self.steps()
        assert ["TestAccount waits a minute"] == operations.status(self.ada_script).data.cooling

    def test_hole_b12_meanwhile_nothing_is_paid_for_him(self) -> None:
        self.circle()
        self.forget()
        for _ in range(3):
            self.type(self.tom, "whisper Ada = hello")
        assert [WORN.format("a minute")] == self.tom.heard_from(self.ada)
        assert (4, []) == (len(self.model.bodies), self.waiting())
        assert "refused" in self.steps()
        refusals: list[str] = []
        asked = requests.ask(self.ada_script, "hello", asker=self.tom)
        asked.addErrback(lambda error: refusals.append(str(error.value)))
        assert ["Ada gives no answer: Tom has to wait a minute"] == refusals
        self.clock.advance(61)
        self.expect_answer(self.tom)

    def test_hole_b12_each_wait_is_longer(self) -> None:
        for words, minutes in (("a minute", 1), ("2 minutes", 2), ("4 minutes", 4)):
            self.forget()
            self.circle()
            assert [WORN.format(words)] == self.tom.heard_from(self.ada)
            self.clock.advance(60 * minutes + 1)
        assert State.WAITING_FOR_EVENT is self.state()

    def test_hole_b12_what_he_asked_before_waits_with_him(self) -> None:
        """A message already in the inbox is answered after the wait; other people's go first."""
        self.type(self.tom, SEEK)
        self.type(self.tom, "whisper Ada = and hello")
        for _ in range(4):
            self.model_answers(LOST)
        assert ["and hello"] == [event.body for event in self.waiting()]
        self.expect_answer(self.mira)
        self.model.answers.append(whispers("And hello."))
        self.advance(61)
        assert 'Ada whispers: "And hello."' == self.tom.heard_from(self.ada)[-1]

    def test_hole_b12_by_the_limits_of_one_task(self) -> None:
        """At its step or token limit the partial answer is said, then the wait begins."""
        for name, cap, steps in (("iterations", 3, 3), ("tokens", 200, 2)):
            with self.subTest(name):
                loop = {f"max_{name}_per_task": cap}
                self.set(safety_config={"loop": loop, **UNATTENDED})
                self.forget()
                self.ask(
                    "whisper Ada = look for it",
                    *map(note, range(steps)),
                    completion("I found some."),
                )
                heard = self.tom.heard_from(self.ada)
                assert 'Ada whispers: "I found some."' == heard[0]
                assert "Give me" in heard[1]
                assert State.WAITING_FOR_EVENT is self.state()
                operations.clear(self.ada_script)

    def test_hole_b12_it_outlasts_the_process(self) -> None:
        self.circle()
        assert json.loads(json.dumps(self.stored("cooling"))) == self.stored("cooling")
        self.restart()
        self.forget()
        self.type(self.tom, "whisper Ada = hello")
        assert [WORN.format("a minute")] == self.tom.heard_from(self.ada)

    def test_hole_b12_staff_let_him_back(self) -> None:
        self.circle()
        assert "nobody has to wait any more" in operations.clear(self.ada_script).message
        self.expect_answer(self.tom)
        assert not operations.clear(self.ada_script).ok

    def test_hole_d26_five_whispers_that_a_filter_refuses(self) -> None:
        self.expect_answer(self.mira)
        for _ in range(5):
            self.ask("whisper Ada = something vile", ModelStatusError(400, FILTER))
        assert (4, State.WAITING_FOR_EVENT) == (len(self.model.bodies), self.state())
        assert WORN.format("a minute") in self.tom.heard_from(self.ada)
        assert 3 == self.stored("consecutive_errors")
        self.model.answers.clear()
        self.expect_answer(self.mira)
        assert 0 == self.stored("consecutive_errors")

    def test_a_service_that_has_refused_everybody_is_at_fault(self) -> None:
        """Nobody waits, nothing is locked, and staff are told once."""
        for person in (self.tom, self.mira, self.tom, self.mira, self.tom, self.mira):
            self.ask("whisper Ada = hello", ModelStatusError(400, FILTER), person=person)
        assert (State.WAITING_FOR_EVENT, 0) == (self.state(), self.stored("consecutive_errors"))
        (told,) = self.sent_to_staff()
        assert "Ada's model does not answer. Nothing is locked" in told
        self.expect_answer(self.tom)

    def test_hole_d26_whatever_he_makes_the_model_fail_at(self) -> None:
        for failure in (
            NOT_A_COMPLETION,
            completion(" "),
            ModelTimeoutError("late"),
            ModelStatusError(400, FILTER),
        ):
            with self.subTest(failure):
                for _ in range(9):
                    self.ask("whisper Ada = say nothing", failure)
                    self.clock.advance(3601)
                assert State.WAITING_FOR_EVENT is self.state()
                operations.clear(self.ada_script)


class TestLocked(CoolingTest):
    """Failures that still lock the assistant for everybody."""

    def test_hole_b12_a_second_person(self) -> None:
        """A second person with the same failure within the hour locks the assistant."""
        self.circle()
        self.circle(self.mira)
        lockout = lockout_of(self.ada_script)
        assert lockout is not None
        assert (
            Cause.REPEAT,
            "look failed 4 times with the same arguments, for TestAccount and TestAccount2",
        ) == (lockout.cause, lockout.reason)
        operations.clear(self.ada_script)
        self.expect_answer(self.tom)

    def test_hole_b12_a_goal_of_her_own(self) -> None:
        """Nobody asked for it, so there is nobody to make wait."""
        self.set(autonomy_config={"seconds": 10, "acts_per_hour": 4})
        operations.add_goal(self.ada_script, "find the unicorn")
        self.fire_timer()
        self.model.answers.extend([LOST] * 4)
        self.fire_timer(10)
        assert State.SAFETY_LOCKOUT is self.state()

    def test_hole_b12_an_owner_may_have_it_lock_at_once(self) -> None:
        self.set(safety_config={"cooling": {"mode": "lock"}})
        self.circle()
        assert "SYSTEM ALERT" in str(self.model.bodies[-1])
        assert State.SAFETY_LOCKOUT is self.state()

    def test_hole_d26_failures_of_several_people(self) -> None:
        self.expect_answer(self.mira)
        for person in (self.tom, self.mira, self.tom, self.mira, self.tom):
            self.ask("whisper Ada = something vile", ModelStatusError(400, FILTER), person=person)
        assert State.SAFETY_LOCKOUT is self.state()

    def test_hole_d26_a_setting_that_is_wrong(self) -> None:
        """A configuration error locks her for everybody, even if only Tom meets it."""
        self.set(llm_provider="opnai")
        for _ in range(5):
            self.type(self.tom, "whisper Ada = hello")
        assert State.SAFETY_LOCKOUT is self.state()

    def test_hole_d26_a_setting_that_the_service_refuses(self) -> None:
        """Staff read which one it is; nobody who asks has to wait."""
        self.set(llm_temperature=0.5)
        text = "http://model answered with HTTP 400: 'temperature' does not support 0.5"
        for _ in range(5):
            assert State.WAITING_FOR_EVENT is self.state()
            self.ask("whisper Ada = hello", ModelStatusError(400, text))
        assert State.SAFETY_LOCKOUT is self.state()
        words = "does not support 0.5; its setting llm_temperature asks for that"
        assert words in self.sent_to_staff()[0]
        assert {} == self.stored("cooling").get("people", {})

    def test_a_lockout_by_hand_is_none_of_it(self) -> None:
        """A lockout by game code applies to everybody at once."""
        trigger_emergency_stop(self.ada_script, "the tavern burns", cause=Cause.LOOP)
        assert State.SAFETY_LOCKOUT is self.state()
