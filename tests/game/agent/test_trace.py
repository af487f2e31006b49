"""The stored trace of messages: what is kept, for how long, and who is told of it."""

from typing import Any
from unittest import mock

import pytest
from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.agent import tracing
from evennia_ai.core.memory.recollection import DAY_SECONDS
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.models import TracedMessage
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import span_of
from evennia_ai.operations.turns.sentences import cost_of
from evennia_ai.operations.turns.traces import row_of
from tests.game.listening import HearingTest
from tests.game.support import calls, pump, says, whispers

SECRET = "xylophone"
KEEPS = {"private_words": True}
PRICED = {"scripted": {"input": 1000, "output": 1000}}


class TraceTest(HearingTest):
    """Asks as Tom, who is staff, or as Mira, a player."""

    def why(self, rest: str, caller: Any = None) -> str:
        return self.assistant(f"why {rest}", caller=caller or self.tom)

    def rows(self) -> list[TracedMessage]:
        return list(TracedMessage.objects.order_by("-pk"))

    def lose_memory(self) -> None:
        """Let the recent records be gone, as after a kill or sixty other messages."""
        self.ada_script.work.decisions.judged.clear()
        self.ada_script.work.decisions.passed.clear()

    def a_day_later(self) -> None:
        self.lose_memory()
        self.clock.advance(DAY_SECONDS)


class TestStopped(TraceTest):
    """A turn that an emergency stop drops, after a call that was paid."""

    def setUp(self) -> None:
        super().setUp()
        self.ask("say @ada how deep is the sea?", calls("look"))

    def stop(self) -> None:
        operations.stop(self.ada_script, "enough of this", by="Mira")
        pump()

    def test_an_owner_finds_it_with_its_cost_and_who_stopped_it(self) -> None:
        self.stop()
        self.lose_memory()
        (row,) = self.rows()
        assert ("failed", "stopped") == (row.facts["result"], row.facts["stop"])
        assert row.facts["prompt_tokens"]
        text = self.why("1 full")
        assert "I could not answer after 2 calls for " in text
        assert "Mira: enough of this" in text

    def test_the_player_is_not_told_why(self) -> None:
        self.stop()
        self.lose_memory()
        entry = self.rows()[0]
        row = row_of(entry, self.clock.seconds(), is_staff=False, look=PrivateView(entry.person))
        assert {"step": "failed", "detail": "it was stopped"} == row["steps"][-1]

    def test_a_forgotten_person_gets_no_trace(self) -> None:
        operations.stop(self.ada_script, "enough", by="Mira")
        operations.forget_everything(self.ada_script, self.tom)
        pump()
        assert [] == self.rows()

    def test_a_restart_leaves_none_since_it_is_answered_later(self) -> None:
        self.ada_script.at_pause()
        pump()
        assert [] == self.rows()


class TestKept(TraceTest):
    def test_a_public_answer_is_kept_with_its_words(self) -> None:
        """The prompt is kept as a fingerprint of each part."""
        self.ask("say @ada hello there", says("Good evening."))
        (row,) = self.rows()
        assert ("Tom", "hello there", "Good evening.") == (
            row.name,
            row.words,
            row.answer,
        )
        assert (False, False, 1) == (row.is_private, row.is_answer_private, row.number)
        facts = row.facts
        assert ("direct_address", "answered", 1) == (
            facts["rule_name"],
            facts["result"],
            facts["calls"],
        )
        assert [{"name": "say", "success": True, "error": ""}] == facts["tools"]
        assert "scripted/scripted" == facts["model"]
        assert {8} == set(map(len, facts["prompt"].values()))
        assert "persona" in facts["prompt"]

    def test_no_number_is_used_again_after_a_kill(self) -> None:
        """A number that stood for two messages would explain the wrong answer."""
        self.ask("say @ada hello", says("Good evening."))
        self.ada_script.work = None
        self.ada_script.at_start()
        self.ask("say @ada and after the kill?", says("It is over."))
        assert [2, 1] == [row.number for row in self.rows()]
        assert "Good evening." in self.why("1 full")
        self.type(self.tom, "say @ada and one that waits?")
        self.ada_script.work = None
        self.ada_script.at_start()
        assert 3 == self.ada_script.work.decisions.count

    def test_private_words_are_not_kept(self) -> None:
        self.ask(f"whisper Ada = my {SECRET}", whispers(f"Your {SECRET}?"))
        assert SECRET not in str(TracedMessage.objects.values_list())
        assert f'"{SECRET}' not in self.why("today reveal")
        self.a_day_later()
        assert "(private, words not kept)" in self.why("yesterday reveal")

    def test_an_answer_in_private_to_open_words_is_not_kept(self) -> None:
        """The open words are kept."""
        self.ask("say @ada tell me alone", whispers(f"The {SECRET}."))
        (row,) = self.rows()
        assert ("tell me alone", "") == (row.words, row.answer)

    @override_settings(EVENNIA_AI_TRACE_CONFIG=KEEPS)
    def test_a_game_may_keep_private_words(self) -> None:
        """Their speaker reads them, and staff who reveal them on record."""
        self.ask(f"whisper Ada = my {SECRET}", whispers(f"A {SECRET}!", "Mira"), person=self.mira)
        self.a_day_later()
        assert SECRET in self.why("yesterday", caller=self.mira)
        assert SECRET not in self.why("yesterday")
        assert SECRET not in self.why("1 full")
        assert SECRET in self.why("yesterday reveal")
        look = PrivateView.of(self.tom, is_revealing=True)
        operations.trace(self.ada_script, look=look)
        assert not look.shown

    def test_whoever_wants_nothing_remembered_is_not_quoted(self) -> None:
        """Not even their public words are kept."""
        operations.set_remembered(self.ada_script, self.mira, False)
        self.ask("say @ada hello there", says("Good evening, you there."), person=self.mira)
        (row,) = self.rows()
        assert ("", "") == (row.words, row.answer)
        assert "(words not kept, as they asked)" in self.why("today")

    def test_money_and_failures_are_told(self) -> None:
        """Only staff read the cause of a failure."""
        with override_settings(EVENNIA_AI_PRICES=PRICED):
            self.ask("say @ada hello", says("Good evening."))
        self.ask("say @ada again", ModelStatusError(400, "no such model"))
        failed, answered = self.rows()
        assert 0 == answered.facts["unpriced_calls"]
        assert ("failed", True) == (failed.facts["result"], "no such model" in failed.facts["why"])
        assert "I could not answer" in self.why("")
        self.lose_memory()
        assert "no such model" in self.why("2 full")
        assert "no such model" not in self.why("2 full", caller=self.mira)

    def test_a_burst_is_a_row_for_each_message(self) -> None:
        self.set(hearing_config={"batch_seconds": 5})
        self.model.answers.append(says("Both."))
        for words in ("one", "two"):
            self.tom.execute_cmd(f"say @ada {words}")
        self.advance(6)
        assert [[1, 2], [1, 2]] == [row.facts["together"] for row in self.rows()]

    @override_settings(EVENNIA_AI_TRACE_CONFIG={"keep_days": 0})
    def test_a_game_may_keep_none(self) -> None:
        self.ask("say @ada hello", says("Good evening."))
        assert [] == self.rows()
        assert "This game keeps no trace" in self.why("yesterday")
        assert "I answered." in self.why("")


@pytest.mark.parametrize(
    ("nano", "unpriced", "words"),
    [
        (0, 0, "for free"),
        (0, 1, "at an unknown price"),
        (50_000, 0, "for <$0.0001"),
        (1_500_000, 0, "for $0.0015"),
        (1_500_000, 1, "for $0.0015 + unknown"),
    ],
)
def test_a_cost_is_told_as_everywhere_else(nano: int, unpriced: int, words: str) -> None:
    """A call of a fallback without a price hid what the others cost."""
    assert words == cost_of({"cost_nano": nano, "unpriced_calls": unpriced})


class TestAsked(TraceTest):
    def test_a_day_lists_what_was_heard_then(self) -> None:
        self.ask("say @ada the lamp is out", says("I see."))
        self.a_day_later()
        self.ask("say @ada and now", says("Lit."))
        shown = self.why("ada yesterday")
        assert "lamp is out" in shown
        assert "and now" not in shown
        assert "and now" in self.why("today")
        assert "I heard nothing 3 days ago." in self.why("ada 3 days ago")
        text = self.why("ada 1")
        assert text.startswith("Ada: Tom spoke to me yesterday at ")
        assert "I answered after 1 call for free; nothing went wrong." in text

    def test_a_tool_that_failed_is_named_to_staff_and_nothing_is_claimed_to_players(self) -> None:
        self.ask("say @ada look", calls("look", target="a unicorn"), says("I see none."))
        assert "I answered after 2 calls for free; my tool look failed." in self.why("ada 1")
        self.ask("say @ada look", calls("look", target="a unicorn"), says("No."), person=self.mira)
        assert "I answered." in self.why("ada", caller=self.mira)

    def test_words_are_looked_for_in_what_was_public(self) -> None:
        """A search that found a private word would give it away."""
        self.ask("say @ada where is the lamp", says("Under the stairs."))
        with override_settings(EVENNIA_AI_TRACE_CONFIG=KEEPS):
            self.ask(f"whisper Ada = the {SECRET}", whispers(f"The {SECRET}."))
            for words in ("LAMP", "under the stairs"):
                assert "where is the lamp" in self.why(f'ada "{words}"'), words
            assert "I heard nothing" in self.why(f'ada "{SECRET}" reveal')
            assert "I heard nothing" in self.why(f'ada "{SECRET}"', caller=self.mira)

    def test_a_page_says_how_the_next_is_typed(self) -> None:
        for number in range(23):
            self.clock.advance(60)
            self.ask(f"say @ada word {number}", says("Yes."))
        first = self.why("ada today")
        line = first.strip().split("\n")[-1]
        assert line.startswith("Older ones: assistant why Ada today before ")
        second = self.why(line.partition("assistant why ")[2])
        assert ("word 22" in first, "word 0" in first) == (True, False)
        assert ("word 0" in second, "word 22" in second) == (True, False)
        assert "Older ones" not in second

    def test_a_player_is_told_of_own_messages_only(self) -> None:
        """A player reads nothing of the model or of money either."""
        self.ask("say @ada from tom", says("Yes, Tom."))
        self.ask("say @ada from mira", says("Yes, Mira."), person=self.mira)
        self.a_day_later()
        for rest in ("yesterday", "2 full", '"from"'):
            shown = self.why(rest, caller=self.mira)
            assert "from mira" in shown, rest
            for word in ("from tom", "scripted", "after 1 call", "  cost", "  prompt"):
                assert word not in shown, (rest, word)
        assert "from tom" not in self.why("1 full", caller=self.mira)

    def test_names_and_words_are_shown_as_text(self) -> None:
        self.ask("say @ada |lcquit|ltx|le", says("Yes."))
        assert "|lc" not in self.why("today").replace("||", "").replace("|\u200bl", "")

    def test_more_than_a_name_in_any_order_of_typing(self) -> None:
        """A number, a time or words may follow the name, which may be left out."""
        self.ask("say @ada hello", says("Yes."))
        for rest in ("today", "ada today", 'ada "hello"', '"hello" today', "ada TODAY reveal"):
            assert "hello" in self.why(rest), rest
        assert "There is no assistant named edda" in self.why("edda yesterday")


class TestGone(TraceTest):
    def test_to_be_forgotten_takes_words_and_name_out(self) -> None:
        """The name goes from the words of others too; that somebody was answered stays."""
        self.ask("say @ada I am Mira of the hill", says("Welcome, Mira."), person=self.mira)
        self.ask("say @ada who was Mira", says("Mira is somebody."))
        operations.forget_everything(self.ada_script, self.mira)
        others, theirs = self.rows()
        assert ("", "", "", "") == (theirs.person, theirs.name, theirs.words, theirs.answer)
        assert 1 == theirs.facts["calls"]
        assert "Mira" not in f"{others.words} {others.answer}"
        assert "(forgotten)" in self.why("today")

    def test_a_deletion_takes_it_along(self) -> None:
        brass, _ = self.make("Brass")
        brass.clock = self.clock
        self.ask("say @ada hello", says("Yes."))
        self.ask("whisper Brass = hello", whispers("Good day."))
        operations.delete_assistant(self.ada_script)
        assert [brass.pk] == [row.assistant for row in self.rows()]

    def test_a_person_is_given_it(self) -> None:
        self.ask("say @ada hello from mira", says("Yes."), person=self.mira)
        (row,) = operations.export_known(self.ada_script, self.mira).data.traced
        assert ("hello from mira", "Yes.") == (row["text"], row["answer"])

    def test_what_is_too_old_is_neither_told_nor_kept(self) -> None:
        """It is hidden at once, and deleted a little later."""
        self.ask("say @ada hello", says("Yes."))
        self.lose_memory()
        self.clock.advance(7 * DAY_SECONDS + 1)
        assert self.why("1").startswith("Ada has no messages on record.")
        self.ask("say @ada again", says("Yes."))
        assert ["again"] == [row.words for row in self.rows()]

    @override_settings(EVENNIA_AI_TRACE_CONFIG={"keep_messages": 100})
    def test_what_is_too_much_goes_in_steps(self) -> None:
        """One statement deletes at most `AT_ONCE` rows, the oldest first."""
        self.ask("say @ada hello", says("Yes."))
        (row,) = self.rows()
        row.pk = None
        copies = [
            TracedMessage(assistant=row.assistant, number=n, at=row.at, facts=row.facts)
            for n in range(2, 100 + tracing.AT_ONCE + 50)
        ]
        TracedMessage.objects.bulk_create(copies)
        now = self.clock.seconds()
        assert tracing.AT_ONCE == tracing.prune(self.ada_script.pk, now)
        self.clock.advance(tracing.EVERY_SECONDS)
        self.ask("say @ada again", says("Yes."))
        rows = self.rows()
        assert (100, "again") == (len(rows), rows[0].words)
        assert 0 == tracing.prune(self.ada_script.pk, now)

    def test_a_game_without_the_table_answers_all_the_same(self) -> None:
        tracing._has_table.cache_clear()
        self.addCleanup(tracing._has_table.cache_clear)
        with mock.patch.object(tracing, "missing_tables", return_value=["x"]):
            assert not tracing._has_table()
        self.ask("say @ada hello", says("Yes."))
        assert "I answered" in self.why("")

    def test_every_day_what_is_too_old_goes(self) -> None:
        """This happens also where nobody speaks."""
        self.ask("say @ada hello", says("Yes."))
        tracing.prune_daily(self.clock)
        for _ in range(9):
            self.clock.advance(DAY_SECONDS)
        assert [] == self.rows()


class TestCalls(TraceTest):
    def test_a_tool_that_failed_is_told_with_its_cause(self) -> None:
        self.ask(
            "say @ada get it", completion(None, ("get", {"target": "moon"})), says("There is none.")
        )
        self.lose_memory()
        shown = self.why("1 full")
        assert "tool      get: failed, " in shown
        assert "tool      say: worked" in shown
        assert "model     scripted/scripted: 2 calls" in shown
        assert "after 2 calls for free" in shown.split("\n")[0]

    def test_calls_that_no_model_answered_are_not_called_free(self) -> None:
        self.ask("say @ada hello", ModelStatusError(401, "no such key"))
        self.lose_memory()
        assert "; I could not answer; the model, or the way to it, failed." in self.why("1")

    def test_a_changed_prompt_is_told(self) -> None:
        self.ask("say @ada hello", says("Yes."))
        self.set(persona="Somebody else altogether.")
        self.ask("say @ada hello again", says("Yes."))
        assert "other now: persona" in self.why("1 full")
        assert "other now" not in self.why("2 full")

    def test_time_of_a_span_is_that_of_the_game(self) -> None:
        """A message at the edge belongs to the day that begins."""
        self.ask("say @ada hello", says("Yes."))
        span = span_of("today", self.clock.seconds())
        assert span is not None
        rows = operations.trace(self.ada_script, span=span).data.messages
        assert [1] == [row["number"] for row in rows]
