"""Confirmation of dangerous tool calls by a person."""

from typing import Any
from unittest import mock

from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_object

from evennia_ai import approvals, emergency, operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from tests.game.listening import HearingTest
from tests.game.support import pump, whispers
from tests.online import log_in

GET = completion(None, ("get", {"item": "lamp"}))
NOOP = completion(None, ("noop", {}))


class TestConfirmation(HearingTest):
    """Ada's context requires a yes for every dangerous call."""

    cmdsets = (AssistantCmdSet,)

    def setUp(self) -> None:
        super().setUp()
        self.lamp = create_object(DefaultObject, key="lamp", location=self.room1)
        self.set(context_configs={"tick_event": {"dangerous_requires_confirm": True}})

    def beg(self, *answers: bytes) -> int:
        """Mira asks for the lamp; returns the number of Ada's question."""
        more = answers or (whispers("May I?", "Mira"),)
        self.ask("whisper Ada = take the lamp", GET, *more, person=self.mira)
        questions = approvals.stored(self.ada_script)
        return questions[-1].number if questions else 0

    def asked(self, person: Any) -> list[str]:
        return [heard.raw for heard in person.ndb.messages if "asks (question" in heard.raw]

    def test_it_is_not_done_before_the_yes(self) -> None:
        number = self.beg()
        assert self.lamp.location == self.room1
        (line,) = self.asked(self.mira)
        assert f'(question {number}): may I do this: get {{"item": "lamp"}}?' in line
        text = self.prompt(1)
        assert f"not done yet: Mira has to say yes first (question {number})" in text

    def test_a_yes_does_it_and_she_hears_of_it(self) -> None:
        number = self.beg()
        self.forget()
        self.ask(f"assistant answer {number} yes", whispers("I have it.", "Mira"), person=self.mira)
        assert self.lamp.location == self.ada
        assert 'Ada whispers: "I have it."' == self.mira.heard_from(self.ada)[-1]
        assert f"Mira said yes to question {number}, and it was done" in self.prompt()
        answered = [heard.raw for heard in self.mira.ndb.messages]
        assert "Ada did it. Result: you have lamp now" in answered
        assert "Mira answered yes" == approvals.why_closed(number)

    def test_a_no_is_told_too(self) -> None:
        number = self.beg()
        self.ask(f"assistant answer {number} no", NOOP, person=self.mira)
        assert self.lamp.location == self.room1
        assert f"Mira said no to question {number}: it was not done" in self.prompt()

    def test_only_whoever_was_asked_may_answer(self) -> None:
        self.set(confirm_by="Tom")
        number = self.beg()
        assert [] == self.asked(self.mira)
        self.type(self.mira, f"assistant answer {number} yes")
        assert f"You were not asked question {number}." in self.mira.ndb.messages[-1].raw
        self.ask(f"assistant answer {number} yes", NOOP)
        assert self.lamp.location == self.ada

    def test_a_list_of_many_costs_no_more_statements(self) -> None:
        self.beg()
        (question,) = approvals.pending(self.ada_script)
        counts = []
        for many in (1, 5):
            listed = mock.patch.object(approvals, "pending", return_value=[question] * many)
            with listed, self.statements() as statements:
                shown = operations.questions(self.tom, is_staff=True).data.questions
            assert many == len(shown)
            counts.append(len(statements))
        assert counts[1] <= counts[0]

    def test_nobody_is_asked_for_a_name_like_a_permission(self) -> None:
        """A player may be called "Builder", or as any other permission in use."""
        self.tom.permissions.add("judges")
        log_in(self.mira.account)
        for name in ("Builder", "builders", "Judges"):
            with self.subTest(name):
                self.mira.account.key = name
                self.set(confirm_by=name)
                self.beg(NOOP)
                people = {who for each in approvals.stored(self.ada_script) for who in each.people}
                assert person_of(self.mira) not in people
                approvals.discard_all(self.ada_script, "the next one")

    def test_an_answer_counts_once(self) -> None:
        number = self.beg()
        self.ask(f"assistant answer {number} yes", NOOP, person=self.mira)
        self.lamp.location = self.room1
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1
        assert f"No question {number} is open" in self.mira.ndb.messages[-1].raw

    def test_the_same_is_not_asked_twice(self) -> None:
        number = self.beg(GET, whispers("May I?", "Mira"))
        assert 1 == len(self.asked(self.mira))
        text = self.prompt(2)
        assert f"question {number} about this is open already" in text

    def test_nobody_to_ask(self) -> None:
        self.set(confirm_by="Nobody At All")
        assert 0 == self.beg()
        text = self.prompt(1)
        assert "nobody who could allow it can be asked now" in text

    def test_a_question_has_its_time(self) -> None:
        number = self.beg()
        self.clock.advance(301)
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1
        assert f"No question {number} is open" in self.mira.ndb.messages[-1].raw

    def test_no_answer_is_told_too(self) -> None:
        """Once, also where its time ended while the game was down."""
        for is_down in (False, True):
            with self.subTest(is_down=is_down):
                number = self.beg()
                if is_down:
                    self.ada_script.at_pause()
                self.model.answers.append(NOOP)
                self.clock.advance(301)
                if is_down:
                    self.ada_script.at_start()
                self.advance(5)
                text = f"nobody answered question {number} in time: it was not done"
                assert text in self.prompt()
                assert not self.waiting()

    def test_a_stopped_assistant_does_nothing_on_a_yes(self) -> None:
        number = self.beg()
        operations.stop(self.ada_script, "test")
        assert f"Question {number} is closed: Ada is stopped." in self.mira.seen
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1
        text = f"No question {number} is open: Ada is stopped."
        assert text in self.mira.ndb.messages[-1].raw

    def test_a_yes_while_many_are_being_stopped_does_nothing(self) -> None:
        """Stops are stored one after the other, and Ada's is the last of thirty."""
        number = self.beg()
        emergency.stop_all(
            [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(29))], "a fire"
        )
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1
        text = "Ada cannot do anything now: an emergency stop is active."
        assert any(text in line for line in self.mira.seen)
        pump()
        assert f"Question {number} is closed: Ada is stopped." in self.mira.seen
        assert self.lamp.location == self.room1

    def test_a_silent_assistant_does_nothing_on_a_yes(self) -> None:
        number = self.beg()
        self.set(enabled=False)
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1
        assert "Ada cannot do anything now: it is silenced." in self.mira.ndb.messages[-1].raw

    def test_a_reset_voids_it(self) -> None:
        number = self.beg()
        operations.reset_history(self.ada_script)
        self.type(self.mira, f"assistant answer {number} yes")
        assert self.lamp.location == self.room1

    def test_it_lasts_over_a_restart(self) -> None:
        """The question is stored, and its number is never given again."""
        number = self.beg()
        self.restart()
        self.ask(f"assistant answer {number} yes", NOOP, person=self.mira)
        assert self.lamp.location == self.ada
        self.lamp.location = self.room1
        assert number < self.beg()

    def test_the_open_questions_are_listed(self) -> None:
        number = self.beg()
        self.type(self.mira, "assistant questions")
        assert f"{number}  Ada asks: may I do this: get" in self.mira.ndb.messages[-1].raw
        self.type(self.tom, "assistant questions")
        assert f"{number}  Ada asks" in self.tom.ndb.messages[-1].raw
        self.ask(f"assistant answer {number} no", NOOP, person=self.mira)
        self.type(self.mira, "assistant questions")
        assert "There are no questions for you." in self.mira.ndb.messages[-1].raw

    def test_wrong_use_says_how_it_is_used(self) -> None:
        for line in ("", " 3", " yes", " x yes", " 99999999999999999999 yes"):
            with self.subTest(line=line):
                self.type(self.mira, f"assistant answer{line}")
                assert (
                    "Usage: assistant answer <number> yes || no" in self.mira.ndb.messages[-1].raw
                )

    def test_what_is_not_dangerous_needs_no_yes(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert () == approvals.stored(self.ada_script)
        pump()
