"""Questions that a turn waits for: each ends once, for all who wait."""

from typing import Any

import pytest
from twisted.internet.defer import CancelledError

from evennia_ai import approvals, audit, operations
from evennia_ai.core.safety.questions import Answer, QuestionOutcome
from evennia_ai.messages import incoming
from tests.game.approvals.interventions_case import PROMPT, QuestionsTest

YES = Answer(QuestionOutcome.ANSWERED, "yes", "Tom")
TIMEOUT, NOBODY = Answer(QuestionOutcome.TIMEOUT), Answer(QuestionOutcome.NOBODY)
DISCARDED = Answer(QuestionOutcome.DISCARDED)


class TestAnswer(QuestionsTest):
    def test_whoever_controls_her_is_asked_and_answers(self) -> None:
        came = self.put()
        (number,) = self.open_numbers()
        (line,) = self.told(self.account)
        head = f"Ada asks (question {number}, about a limit): "
        assert f'{head}"{PROMPT}"   assistant answer {number} yes | no' == line
        assert [] == came
        result = self.reply(number, "yes")
        assert (True, "Ada goes on, with your answer: yes.") == (result.ok, result.message)
        assert [YES] == came
        assert [] == self.open_numbers()
        assert ["asked", "answered"] == self.events()
        facts = self.records[1][1]
        assert (incoming.person_of(self.tom), "yes") == (facts["by"], facts["choice"])

    def test_it_is_typed_in_the_game(self) -> None:
        came = self.put()
        (number,) = self.open_numbers()
        self.type(self.tom, f"assistant answer {number} N")
        assert [Answer(QuestionOutcome.ANSWERED, "no", "Tom")] == came

    def test_i4_a_wrong_answer_keeps_the_question(self) -> None:
        came = self.put()
        (number,) = self.open_numbers()
        result = self.reply(number, "perhaps|r\x1b[2J")
        assert not result.ok
        assert "Answer with one of: yes (y), no (n)." in result.message
        assert result.message.isprintable()
        assert [] == came
        self.reply(number, " Y ")
        assert [YES] == came

    def test_i3_an_answer_hits_its_own_question_alone(self) -> None:
        first, second = self.put(), self.put(asking=self.limit("tick 2"))
        one, two = self.open_numbers()
        self.reply(two, "yes")
        assert ([], [YES]) == (first, second)
        for number in (two, two + 1, 0):
            with self.subTest(number=number):
                result = self.reply(number, "yes")
                assert not result.ok
                assert f"No question {number} is open" in result.message
        assert [] == first
        assert [one] == self.open_numbers()

    def test_only_who_has_control_answers(self) -> None:
        """Neither a player nor staff whom the lock excludes can change anything."""
        self.ada.locks.add("ai_control:perm(Developer)")
        builder = self.log_in("Bill", "Builder")
        came = self.put()
        (number,) = self.open_numbers()
        for person in (builder, self.mira):
            for text in ("yes", "drop", "take"):
                with self.subTest(person=person, text=text):
                    result = self.reply(number, text, person, is_staff=True)
                    assert f"You were not asked question {number}." == result.message
        assert [] == came
        assert [number] == self.open_numbers()
        assert [] == self.told(builder)
        assert (
            "There are no questions for you." == self.questions_of(builder, is_staff=True).message
        )

    def test_no_assistant_answers(self) -> None:
        """A body or account of an assistant is refused whatever its rights."""
        self.ada.locks.add("ai_control:all()")
        _, bert = self.make("Bert")
        account = operations.give_account(self.ada_script).data
        came = self.put()
        (number,) = self.open_numbers()
        for person in (self.ada, bert, account):
            with self.subTest(person=person):
                assert not self.reply(number, "yes", person, is_staff=True).ok
        assert [] == came

    def test_a_stopped_assistant_takes_no_answer(self) -> None:
        self.put()
        (number,) = self.open_numbers()
        self.ada_script.db.emergency_stop = True
        assert "Ada cannot do anything now" in self.reply(number, "yes").message


class TestTime(QuestionsTest):
    def test_c6_ask_timeout_ends_the_wait_and_a_late_answer_is_told(self) -> None:
        came = self.put(timeout_seconds=60)
        (number,) = self.open_numbers()
        self.clock.advance(59.9)
        assert [] == came
        self.clock.advance(0.1)
        assert [TIMEOUT] == came
        assert [] == self.open_numbers()
        result = self.reply(number, "yes")
        assert not result.ok
        assert f"No question {number} is open: nobody answered in time." in result.message
        assert [TIMEOUT] == came
        assert ["asked", "timeout"] == self.events()

    def test_c12_without_a_timeout_it_waits_for_ever(self) -> None:
        came = self.put()
        self.clock.advance(30 * 86400)
        assert [] == came
        self.reply(self.open_numbers()[0], "yes")
        assert [YES] == came

    def test_c15_one_outcome_when_yes_and_timeout_meet(self) -> None:
        for is_yes_first in (True, False):
            with self.subTest(is_yes_first=is_yes_first):
                self.records.clear()
                self.answered: list[bool] = []
                if is_yes_first:
                    self.clock.callLater(60, self._yes)
                came = self.put(timeout_seconds=60)
                if not is_yes_first:
                    self.clock.callLater(60, self._yes)
                (self.number,) = self.open_numbers()
                self.clock.advance(60)
                assert 1 == len(came)
                assert [came[0].is_yes] == self.answered
                assert 1 == sum(event in ("answered", "timeout") for event in self.events())

    def _yes(self) -> None:
        self.answered.append(self.reply(self.number, "yes").ok)

    def test_each_who_shares_a_question_waits_his_own_time(self) -> None:
        short = self.put(timeout_seconds=10)
        long = self.put(timeout_seconds=100)
        self.clock.advance(10)
        assert ([TIMEOUT], []) == (short, long)
        self.reply(self.open_numbers()[0], "yes")
        assert [YES] == long


class TestCancelled(QuestionsTest):
    def test_c13_cancellation_goes_through_and_leaves_nothing(self) -> None:
        came = self.put(timeout_seconds=60)
        (number,) = self.open_numbers()
        self.waits[0].cancel()
        (failure,) = came
        assert failure.check(CancelledError)
        assert [] == self.open_numbers()
        audit.flush()
        assert [] == self.clock.getDelayedCalls()
        assert f"Question {number} is closed: it is no longer asked." == self.told(self.account)[-1]
        assert f"No question {number} is open" in self.reply(number, "yes").message
        assert 1 == len(came)

    def test_c13_a_voided_turn_takes_its_question_along(self) -> None:
        came = self.put()
        self.ada_script.work.in_flight = self.waits[0]
        operations.set_enabled(self.ada_script, False)
        assert came[0].check(CancelledError)
        assert [] == self.open_numbers()

    def test_c14_three_tasks_share_one_question(self) -> None:
        bert, _ = self.make("Bert")
        asking = self.limit("game 2026-11-21")
        came = [self.put(asking=asking), self.put(asking=asking), self.put(bert, asking)]
        (number,) = self.open_numbers()
        assert [] == self.open_numbers(bert)
        assert 1 == len(self.told(self.account))
        self.reply(number, "yes")
        assert [[YES], [YES], [YES]] == came
        assert 1 == self.events().count("asked")

    def test_c14_one_that_leaves_lets_the_others_wait(self) -> None:
        """Even the first asker, whose state holds the question, may leave."""
        bert, _ = self.make("Bert")
        bert.clock = self.clock
        asking = self.limit("game 2026-11-21")
        came = [self.put(asking=asking), self.put(bert, asking)]
        (number,) = self.open_numbers()
        self.waits[0].cancel()
        assert ([], [number]) == (self.open_numbers(), self.open_numbers(bert))
        self.reply(number, "yes")
        assert [YES] == came[1]

    def test_what_goes_on_may_cancel_another(self) -> None:
        """An answered turn may cancel another wait for the same question."""
        came = [self.put(), self.put()]
        self.waits[0].addCallback(lambda _: self.waits[1].cancel())
        self.reply(self.open_numbers()[0], "yes")
        assert [YES] == came[0]
        assert 1 == len(came[1])

    def test_all_are_closed_by_a_stop(self) -> None:
        """A question that another assistant shares stays open for it."""
        bert, _ = self.make("Bert")
        shared = self.limit("game")
        came = [self.put(), self.put(asking=shared)]
        other = self.put(bert, shared)
        assert 2 == approvals.discard_all(self.ada_script, "Ada was stopped")
        assert [[DISCARDED], [DISCARDED]] == came
        assert [] == other
        assert [] == self.open_numbers()
        assert self.told(self.account)[1].endswith("is closed: Ada was stopped.")
        self.reply(self.open_numbers(bert)[0], "yes")
        assert [YES] == other


class TestGone(QuestionsTest):
    """Questions whose stored form is deleted or damaged."""

    def test_a_wait_ends_with_what_is_stored_of_it(self) -> None:
        came = self.put()
        approvals.remove_all(self.ada_script)
        self.log_in("Pia")
        assert [DISCARDED] == came

    def test_a_timeout_comes_without_it_too(self) -> None:
        came = self.put(timeout_seconds=5)
        approvals.remove_all(self.ada_script)
        self.clock.advance(5)
        assert [TIMEOUT] == came

    def test_c13_cancellation_goes_through_whatever_is_stored(self) -> None:
        """A stop must not fail because a question cannot be closed."""
        came = self.put()
        self.damage()
        self.waits[0].cancel()
        assert came[0].check(CancelledError)
        approvals.remove_all(self.ada_script)

    def test_a_turn_that_is_cut_off_by_a_deletion_asks_nobody(self) -> None:
        bert, _ = self.make("Bert")
        self.put(bert)
        bert.work.in_flight = self.waits[-1]
        bert.delete()
        assert "There are no questions for you." == self.questions_of(self.tom).message


class TestNobody(QuestionsTest):
    """Questions that nobody present can answer."""

    def test_i5_nobody_there_is_told_at_once(self) -> None:
        self.log_out(self.account)
        self.log_in("Pia")
        assert [NOBODY] == self.put()
        assert [] == self.open_numbers()
        assert ["nobody"] == self.events()

    def test_i10_nobody_there_is_no_remembered_no(self) -> None:
        """The same question is put again to somebody who comes later."""
        self.log_out(self.account)
        assert [NOBODY] == self.put()
        self.come_back(self.account)
        came = self.put()
        self.reply(self.open_numbers()[0], "yes")
        assert [YES] == came

    def test_i5_the_last_who_could_answer_leaves(self) -> None:
        """There is a grace of ten seconds, for lost connections."""
        self.ada.locks.add("ai_control:perm(Developer)")
        bert, body = self.make("Bert")
        bert.clock = self.clock
        body.locks.add("ai_control:perm(Builder)")
        self.log_in("Bill", "Builder")
        came, berts = self.put(), self.put(bert, self.limit("tick 2"))
        self.log_out(self.account)
        self.clock.advance(9.9)
        assert ([], []) == (came, berts)
        self.clock.advance(0.1)
        assert ([NOBODY], []) == (came, berts)
        assert 1 == len(self.open_numbers(bert))
        assert "nobody" == self.events()[-1]

    def test_c12_who_comes_back_in_time_is_asked_again(self) -> None:
        came = self.put()
        self.log_out(self.account)
        self.clock.advance(9)
        self.come_back(self.account)
        self.clock.advance(1000)
        assert [] == came
        first, second = self.told(self.account)
        assert first == second
        self.reply(self.open_numbers()[0], "yes")
        assert [YES] == came

    def test_another_with_control_takes_his_place(self) -> None:
        came = self.put()
        bill = self.log_in("Bill", "Builder")
        assert 1 == len(self.told(bill))
        self.log_out(self.account)
        self.clock.advance(1000)
        assert [] == came
        assert self.reply(self.open_numbers()[0], "no", bill).ok


@pytest.mark.parametrize("name", ["ask", "ask_about_call", "pending", "discard_all"])
def test_the_door_has_what_others_use(name: str) -> None:
    value: Any = getattr(approvals, name)
    assert value.__doc__
