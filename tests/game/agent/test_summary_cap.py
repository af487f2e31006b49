"""L12: the cap on the tokens of a summary of older talk."""

from typing import Any

from evennia_ai import audit
from evennia_ai.agent import preparation
from evennia_ai.core.settings.safety import Size
from evennia_ai.core.turn.compaction import DEFAULT_COMPACTION_PROMPT, summary_text
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.agent.compaction_case import CompactionCase, turn_of

SENTENCE = "Tom asked about storms. "
LONG = (SENTENCE * 40).strip()


class TestCap(CompactionCase):
    def setUp(self) -> None:
        super().setUp()
        self.recorded: list[dict[str, Any]] = []

        def listen(event: str, _subject: str, facts: dict[str, Any]) -> None:
            if event == "summary_truncated":
                self.recorded.append(facts)

        audit.LISTENERS.append(listen)
        self.addCleanup(audit.LISTENERS.remove, listen)

    def tokens(self, text: str) -> int:
        return preparation.counter_of(self.ada_script.client()).count(text)

    def sum_up(self, cap: int, written: str = LONG) -> str:
        state.write(self.ada_script, safety_config={"size": {"summary_tokens": cap}})
        self.remember(self.history)
        (outcome,) = self.compact(completion(written))
        assert outcome, outcome.detail
        return summary_text(self.stored()[0])

    def test_l12_a_summary_over_the_cap_is_cut_to_it(self) -> None:
        """It ends at a sentence; two caps show that the setting is the one that counts."""
        whole = self.tokens(LONG)
        summaries = {}
        for cap in (40, 100):
            summaries[cap] = self.sum_up(cap)
            assert cap * 0.6 < self.tokens(summaries[cap]) <= cap
            assert summaries[cap].endswith("storms.")
            facts = {"from_tokens": whole, "to_tokens": self.tokens(summaries[cap])}
            assert facts == self.recorded.pop()
        assert len(summaries[40]) < len(summaries[100]) < len(LONG)

    def test_l12_exactly_at_the_cap_nothing_is_cut(self) -> None:
        whole = self.tokens(LONG)
        assert (LONG, []) == (self.sum_up(whole), self.recorded)
        assert LONG != self.sum_up(whole - 1)
        assert 1 == len(self.recorded)

    def test_l12_zero_is_no_limit(self) -> None:
        assert (LONG, []) == (self.sum_up(0), self.recorded)

    def test_l12_by_default_it_is_1500(self) -> None:
        assert 1500 == Size().summary_tokens

    def test_l12_one_long_word_is_cut_too(self) -> None:
        """It has no sentence to end at."""
        summary = self.sum_up(50, "storm" * 200)
        assert 0 < self.tokens(summary) <= 50

    def test_l12_where_nothing_fits_the_talk_stays(self) -> None:
        state.write(self.ada_script, safety_config={"size": {"summary_tokens": 1}})
        (outcome,) = self.compact(completion("浪" * 200))
        assert not outcome
        assert "safety_config.size.summary_tokens, which is 1" in outcome.detail
        assert self.history == self.stored()

    def test_l12_the_model_is_asked_for_no_more(self) -> None:
        """A cap below what the prompt asks for is named in words, and bounds the answer."""
        state.write(self.ada_script, llm_max_tokens=50)
        for cap, ending, most in (
            (100, " The whole is at most 75 words long.", 100),
            (900, "", 900),
            (0, "", 1500),
        ):
            self.sum_up(cap)
            body = self.model.bodies[-1]
            assert DEFAULT_COMPACTION_PROMPT + ending == body["messages"][0]["content"]
            assert most == body["max_tokens"]

    def test_l12_lines_that_are_short_enough_themselves_count_too(self) -> None:
        """Short lines are kept word for word, unless even they exceed the cap."""
        self.history = [m for number in range(4) for m in turn_of(number, "?")]
        state.write(self.ada_script, compact_preserve_window=3)
        assert "Unasked" not in self.sum_up(1500, "Unasked.")
        assert [] == self.model.bodies
        self.model.answers.clear()
        assert "Storms." == self.sum_up(20, "Storms.")
