"""L12: how many tokens a summary of older talk may have."""

from __future__ import annotations

from typing import Any

from evennia_ai import audit
from evennia_ai.agent import preparation
from evennia_ai.core.settings.safety import Size
from evennia_ai.core.turn.compaction import DEFAULT_COMPACTION_PROMPT, summary_text
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.shell.compaction_case import CompactionCase, turn_of

SENTENCE = "Tom asked about storms. "
LONG = (SENTENCE * 40).strip()


class TestCap(CompactionCase):
    """A model that writes more than it may."""

    def setUp(self) -> None:
        """What is recorded is kept."""
        super().setUp()
        self.recorded: list[dict[str, Any]] = []

        def listen(event: str, _subject: str, facts: dict[str, Any]) -> None:
            if event == "summary_truncated":
                self.recorded.append(facts)

        audit.LISTENERS.append(listen)
        self.addCleanup(audit.LISTENERS.remove, listen)

    def tokens(self, text: str) -> int:
        """As they are counted for Ada's model."""
        return preparation.counter_of(self.ada_script.client()).count(text)

    def sum_up(self, cap: int, written: str = LONG) -> str:
        """What is kept of a summary under a cap."""
        state.write(self.ada_script, safety_config={"size": {"summary_tokens": cap}})
        self.remember(self.history)
        (outcome,) = self.compact(completion(written))
        assert outcome, outcome.detail
        return summary_text(self.stored()[0])

    def test_l12_a_summary_over_the_cap_is_cut_to_it(self) -> None:
        """At a sentence, and the cap that is set is the one that holds: two of them."""
        whole = self.tokens(LONG)
        kept = {}
        for cap in (40, 100):
            kept[cap] = self.sum_up(cap)
            assert cap * 0.6 < self.tokens(kept[cap]) <= cap
            assert kept[cap].endswith("storms.")
            facts = {"from_tokens": whole, "to_tokens": self.tokens(kept[cap])}
            assert facts == self.recorded.pop()
        assert len(kept[40]) < len(kept[100]) < len(LONG)

    def test_l12_exactly_at_the_cap_nothing_is_cut(self) -> None:
        """And one token less is too little."""
        whole = self.tokens(LONG)
        assert (LONG, []) == (self.sum_up(whole), self.recorded)
        assert LONG != self.sum_up(whole - 1)
        assert 1 == len(self.recorded)

    def test_l12_zero_is_no_limit(self) -> None:
        """As of every limit."""
        assert (LONG, []) == (self.sum_up(0), self.recorded)

    def test_l12_by_default_it_is_1500(self) -> None:
        """What the inventory says."""
        assert 1500 == Size().summary_tokens

    def test_l12_one_long_word_is_cut_too(self) -> None:
        """Where there is no sentence to end at."""
        kept = self.sum_up(50, "storm" * 200)
        assert 0 < self.tokens(kept) <= 50

    def test_l12_where_nothing_fits_the_talk_stays(self) -> None:
        """It says what to change."""
        state.write(self.ada_script, safety_config={"size": {"summary_tokens": 1}})
        (outcome,) = self.compact(completion("浪" * 200))
        assert not outcome
        assert "safety_config.size.summary_tokens, which is 1" in outcome.detail
        assert self.history == self.stored()

    def test_l12_the_model_is_asked_for_no_more(self) -> None:
        """In words where the cap is below what our prompt asks for, and as its longest answer."""
        state.write(self.ada_script, llm_max_tokens=50)
        for cap, told, most in (
            (100, " The whole is at most 75 words long.", 100),
            (900, "", 900),
            (0, "", 1500),
        ):
            self.sum_up(cap)
            body = self.model.bodies[-1]
            assert DEFAULT_COMPACTION_PROMPT + told == body["messages"][0]["content"]
            assert most == body["max_tokens"]

    def test_l12_lines_that_are_short_enough_themselves_count_too(self) -> None:
        """What would be kept word for word is summed up where even that is too much."""
        self.history = [m for number in range(4) for m in turn_of(number, "?")]
        state.write(self.ada_script, compact_preserve_window=3)
        assert "Unasked" not in self.sum_up(1500, "Unasked.")
        assert [] == self.model.bodies
        self.model.answers.clear()
        assert "Storms." == self.sum_up(20, "Storms.")
