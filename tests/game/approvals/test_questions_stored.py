"""Questions as rows: numbers, transactions, closed ones, and those of older versions."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from django.db import DatabaseError, connections, transaction
from evennia.server.models import ServerConfig

from evennia_ai import approvals, audit, operations
from evennia_ai.approvals import store
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.safety.questions import Answer, ApprovalRequest, Question, QuestionOutcome
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import RecordedEvent, StoredQuestion
from evennia_ai.runtime import state
from tests import postgres
from tests.game.approvals.interventions_case import QuestionsTest

CALL = {"tool": "dig", "arguments": {"name": "Attic \0\ud800"}}
EVENT = Event("e1", OWN, "autonomous", "", "", "think", 1.0, 0, 0, 0.0)
MAY_I = ApprovalRequest("call 7", "tool.dig", "may I dig?", actor="Ada")


def older_one(number: int, **more: Any) -> Question:
    """A question about a call, as an older version stored it."""
    asking = replace(MAY_I, key=f"call {number}")
    return Question(asking, number=number, call=CALL, event=EVENT.as_stored(), **more)


class TestNumbers(QuestionsTest):
    """A number must never mean two questions."""

    def test_no_number_is_given_twice(self) -> None:
        """The numbers of deleted questions are not used again."""
        numbers = []
        for _ in range(3):
            self.put()
            numbers += self.open_numbers()
            approvals.remove_all(self.ada_script)
            self.come_back(self.account)  # which ends whose question is gone
            StoredQuestion.objects.all().delete()
        assert sorted(set(numbers)) == numbers

    def test_the_count_of_an_older_game_goes_on(self) -> None:
        """It is taken over once, and never goes back."""
        first = store.next_number()
        ServerConfig.objects.conf(store.COUNTER, first + 40)
        assert first + 41 == store.next_number()
        assert ServerConfig.objects.conf(store.COUNTER) is None
        ServerConfig.objects.conf(store.COUNTER, first)
        assert first + 41 < store.next_number()


@pytest.mark.skipif(not postgres.is_default(), reason="SQLite in memory has one connection")
def test_servers_of_one_database_share_no_number(database: None) -> None:
    """They draw at the same time, while the older count is taken over."""

    def draw(_: int) -> list[int]:
        try:
            return [store.next_number() for _ in range(10)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        last = max(pool.submit(draw, 0).result())
        pool.submit(ServerConfig.objects.conf, store.COUNTER, last + 100).result()
        numbers = [number for drawn in pool.map(draw, range(4)) for number in drawn]
        pool.submit(connections.close_all).result()
    assert 40 == len(set(numbers))
    assert last + 100 < min(numbers)


class TestTogether(QuestionsTest):
    """The row, the copy in memory and the audit change together or not at all."""

    def kept(self) -> tuple[list[int], list[int]]:
        """The numbers of Ada's questions in memory, and of those in the table."""
        rows = StoredQuestion.objects.filter(assistant=self.ada_script.pk, state="open")
        return [q.number for q in approvals.stored(self.ada_script)], [row.pk for row in rows]

    def test_what_is_read_again_costs_nothing(self) -> None:
        self.put()
        approvals.stored(self.ada_script)
        with self.assertNumQueries(0):
            assert 1 == len(approvals.pending(self.ada_script))

    def test_a_question_is_found_by_one_statement(self) -> None:
        """A second one finds its assistant, however many there are."""
        self.put()
        (number,) = self.open_numbers()
        with self.assertNumQueries(2):
            assert approvals.find(number) is not None
        with self.assertNumQueries(2):
            assert store.find_key(self.limit().key) is not None
        with self.assertNumQueries(1):
            assert store.find_key("another") is None
        assert approvals.find(10**30) is None

    def test_an_undone_transaction_leaves_all_as_it_was(self) -> None:
        """Each question was read within its transaction."""
        self.put()
        before = self.kept()
        (asked,) = approvals.stored(self.ada_script)
        for act in (
            lambda: store.close(self.ada_script, asked, "it was"),
            lambda: store.put(self.ada_script, replace(asked, choice="yes", by="Tom")),
            lambda: store.begin(self.ada_script, replace(asked, number=store.next_number())),
        ):
            with transaction.atomic():
                act()
                assert (asked,) != approvals.stored(self.ada_script)
                transaction.set_rollback(True)
            assert before == self.kept()
            assert (asked,) == approvals.stored(self.ada_script)

    def test_what_cannot_be_recorded_is_not_stored(self) -> None:
        before = self.kept()
        with (
            mock.patch.object(audit, "save", side_effect=DatabaseError("disk full")),
            pytest.raises(DatabaseError),
        ):
            approvals.ask(self.ada_script, self.limit())
        assert before == self.kept() == ([], [])

    def test_one_that_is_handed_on_is_there_once(self) -> None:
        """The audit entry and the row are one transaction."""
        bert, _ = self.make("Bert")
        self.put()
        self.put(bert)
        (number,) = self.open_numbers()
        audit.flush()
        with mock.patch.object(store.audit, "save", side_effect=DatabaseError("disk full")):
            self.waits[0].cancel()
        assert ([number], []) == (self.open_numbers(), self.open_numbers(bert))
        assert not RecordedEvent.objects.filter(event="question_handed_on").exists()

    def test_what_is_closed_stays_closed(self) -> None:
        """A stale copy of the question cannot open it again."""
        self.put()
        (asked,) = approvals.stored(self.ada_script)
        self.reply(asked.number, "no")
        store.put(self.ada_script, asked)
        assert ([], []) == self.kept()
        assert "Tom answered no" == approvals.why_closed(asked.number)


class TestClosed(QuestionsTest):
    """A closed question keeps its number and its outcome."""

    def test_the_reason_outlasts_a_restart(self) -> None:
        """None of its words are kept."""
        self.put()
        (number,) = self.open_numbers()
        self.reply(number, "yes")
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        assert "Tom answered yes" in self.reply(number, "no").message
        (row,) = StoredQuestion.objects.filter(pk=number)
        assert ("closed", "", "") == (row.state, row.key, row.question)

    def test_only_the_last_ones_are_remembered(self) -> None:
        """Open questions do not count."""
        left = self.put()
        numbers = []
        with mock.patch.object(store, "MOST_REMEMBERED", 3):
            for turn in range(5):
                self.clock.advance(1)
                self.put(asking=self.limit(f"tick {turn + 2}"))
                numbers += self.open_numbers()[1:]
                self.reply(numbers[-1], "no")
        flags = [bool(approvals.why_closed(number)) for number in numbers]
        assert [False, False, True, True, True] == flags
        assert [] == left


class TestOlderGame(QuestionsTest):
    """Older versions kept questions in an attribute, which is migrated at the start."""

    def older(self, *questions: Any) -> None:
        """Leave the state in which older code ended."""
        self.ada_script.at_server_shutdown()
        self.ada_script.attributes.add(store.OLD, list(questions))
        ServerConfig.objects.conf(store.COUNTER, 7)

    def test_an_open_question_is_shown_and_answered(self) -> None:
        """It keeps its number, and is migrated once."""
        people = (person_of(self.tom),)
        asked = older_one(7, people=people, expires_at=self.clock.seconds() + 60)
        yes = Question(self.limit(), number=5, choice="yes", by="Bill")
        self.older(yes.as_stored(), asked.as_stored())
        for _ in range(2):
            self.ada_script.at_start()
            self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        assert not self.ada_script.attributes.has(store.OLD)
        (_, question) = approvals.stored(self.ada_script)
        assert (question.number, question.call) == (7, CALL)
        assert "may I dig?" in self.questions_of(self.tom).message
        assert "will not do it" in self.reply(7, "no").message
        assert [Answer(QuestionOutcome.ANSWERED, "yes", "Bill")] == self.put()
        assert 7 < store.next_number()

    def test_one_whose_number_is_taken_gets_a_new_one(self) -> None:
        """A game may go back to older code and return."""
        bert, _ = self.make("Bert")
        taken = store.next_number(7)
        store.begin(bert, older_one(taken))
        self.older(older_one(taken).as_stored())
        self.ada_script.at_start()
        ((number,), (other,)) = self.open_numbers(), self.open_numbers(bert)
        assert (taken, True) == (other, number > taken)

    def test_a_move_that_is_cut_off_is_made_at_the_next_start(self) -> None:
        self.older(older_one(5).as_stored(), older_one(7).as_stored())
        with mock.patch.object(store, "insert", side_effect=[None, DatabaseError("disk full")]):
            self.ada_script.at_start()
        assert ([], 7) == (self.open_numbers(), ServerConfig.objects.conf(store.COUNTER))
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        assert [5, 7] == self.open_numbers()
        assert state.read(self.ada_script, "pending_events") == []

    def test_what_makes_no_sense_stays_where_it_is(self) -> None:
        """It does not keep her from starting."""
        self.older(3)
        self.ada_script.at_start()
        assert [3] == self.ada_script.attributes.get(store.OLD)
        assert operations.status(self.ada_script).ok
