"""Compaction of conversations: older messages are summed up by a model, or stay as they are."""

import math
import os
from unittest import mock

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.agent import preparation
from evennia_ai.agent.compaction import DEADLINE_SECONDS, RETRY_AFTER_SECONDS
from evennia_ai.core.hearing.inbox import MESSAGE, Event
from evennia_ai.core.turn.compaction import DEFAULT_COMPACTION_PROMPT, summary_message, summary_text
from evennia_ai.core.turn.conversation import (
    OF,
    UNKEPT,
    Message,
    marked,
    visible_history,
)
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ModelReplyError, ToolError
from evennia_ai.llm.scripted import completion
from evennia_ai.memory.consent import prompt_has_unstorable_words
from evennia_ai.messages import incoming
from evennia_ai.operations.budget.caps import used_ever
from evennia_ai.runtime import services, state, turns
from tests.game.agent.compaction_case import SECRET, TOLD, CompactionCase, turn_of
from tests.game.support import NOT_A_COMPLETION, pump, whispers


class TestSuccess(CompactionCase):
    def test_a_summary_takes_the_place_of_the_old(self) -> None:
        (outcome,) = self.compact(completion("Tom asked ten times about storms.", usage=TOLD))
        assert outcome
        expected = [summary_message("Tom asked ten times about storms."), *self.history[30:]]
        assert expected == self.stored()
        assert (1, TokenUsage(900, 80)) == (outcome.spent.calls, outcome.spent.usage)

    def test_what_the_model_is_asked(self) -> None:
        self.compact(completion("Storms."))
        (body,) = self.model.bodies
        system, lines = body["messages"]
        assert DEFAULT_COMPACTION_PROMPT == system["content"]
        for number in range(16):
            assert (f"question {number} " in lines["content"]) is (number < 10)
        assert {"model", "messages", "max_tokens"} == set(body)

    def test_an_earlier_summary_is_taken_over(self) -> None:
        """The earlier summary is summed up too, and only the new one is left."""
        self.remember([summary_message("Tom is afraid of geese."), *self.history])
        self.compact(completion("Tom fears geese and asked about storms."))
        assert "Tom is afraid of geese." in self.model.bodies[0]["messages"][1]["content"]
        assert [1] == [len([m for m in self.stored() if summary_text(m)])]

    def test_what_is_not_to_be_kept_stays_known(self) -> None:
        """Tom is not remembered, and a later prompt still tells his words."""
        toms = incoming.person_of(self.tom)
        event = Event("e", MESSAGE, "say", self.mira.dbref, "Mira", "hi", 0.5, 1, 0, 0.0)
        history = marked(self.history, OF, toms)
        for talk, wishes in ((marked(history, UNKEPT, True), []), (history, [toms])):
            with self.subTest(wishes=wishes):
                self.remember(talk)
                self.compact(completion("Tom asked about storms."))
                self.remember(self.stored()[:1])
                state.write(self.ada_script, unremembered=wishes)
                turn = turns.of_events(self.ada_script, event)
                assert prompt_has_unstorable_words(self.ada_script, turn)
                assert ["Tom asked about storms."] == [summary_text(m) for m in self.history]

    def test_it_is_noted_and_counted(self) -> None:
        self.clock.advance(77)
        self.compact(completion("Storms.", usage=TOLD))
        noted = state.read(self.ada_script, "last_compaction")
        assert (77, [48, 19]) == (noted["at"], noted["messages"])
        assert noted["tokens"][0] > 2 * noted["tokens"][1] > 0
        work = self.ada_script.work
        assert (1, TokenUsage(900, 80), None) == (work.calls, work.usage, work.in_flight)

    def test_the_next_turn_is_shown_it(self) -> None:
        self.compact(completion("Tom lost his hat at sea."))
        self.ask("whisper Ada = do you remember?", whispers("I do."))
        shown = str(self.model.bodies[-1]["messages"])
        assert "Tom lost his hat at sea." in shown
        assert "question 3 " not in shown

    def test_settings_of_the_call(self) -> None:
        values = {"compact_model": "small", "compact_prompt": "Briefly.", "llm_max_tokens": 50}
        state.write(self.ada_script, **values)
        self.compact(completion("Storms."))
        (body,) = self.model.bodies
        assert ("small", 1500) == (body["model"], body["max_tokens"])
        assert "Briefly." == body["messages"][0]["content"]

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 1}})
    def test_wrong_limits_lift_no_cap(self) -> None:
        """Where its limits cannot be read, its caps are unknown, and nothing is sent."""
        self.ada_script.attributes.add("safety_config", {"loop": {"max_own_turns": "many"}})
        self.ada_script.work.drop_cached_settings()
        (outcome,) = self.compact(completion("Storms."))
        assert "max_own_turns is 'many'" in outcome.detail
        assert ([], self.history) == (self.model.bodies, self.stored())

    def test_a_model_of_its_own_at_several_addresses(self) -> None:
        """The named model is asked at the addresses of the first one, and no fallback is."""
        first, second = "http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1"
        environ = {"OPENAI_BASE_URL": first, "EVENNIA_AI_MODEL": "big", "OPENAI_API_KEY": ""}
        self.enterContext(mock.patch.dict(os.environ, environ))
        state.write(self.ada_script, compact_model="small")
        both = [{"base_url": first}, {"base_url": second}]
        for fallbacks in ([], ["scripted"]):
            settings = {"EVENNIA_AI_ENDPOINTS": both, "EVENNIA_AI_FALLBACK_MODELS": fallbacks}
            with self.subTest(fallbacks=fallbacks), override_settings(**settings):
                self.remember(self.history)
                services.pool().set_transport(services.endpoint(), self.model)
                (outcome,) = self.compact(completion("Storms."))
                assert ("", "small") == (outcome.detail, self.model.bodies[-1]["model"])

    def test_the_call_fits_the_context(self) -> None:
        """The call may use half of a small context."""
        state.write(self.ada_script, max_context_tokens=1500)
        self.compact(completion("Storms."))
        (body,) = self.model.bodies
        count = preparation.counter_of(self.ada_script.client()).count
        assert count(body["messages"][0]["content"] + body["messages"][1]["content"]) < 800
        assert "question 9 " in body["messages"][1]["content"]

    def test_what_comes_meanwhile_is_kept(self) -> None:
        """A turn that ends while the model writes is not lost."""
        outcomes = self.compact()
        work = self.ada_script.work
        later = turn_of(99)
        work.history = [*work.history, *later][3:]
        self.model.answer(completion("Storms."))
        assert [True] == list(map(bool, outcomes))
        assert [summary_message("Storms."), *self.history[30:], *later] == self.stored()

    def test_nobody_waits_for_it(self) -> None:
        outcomes = self.compact()
        writing = self.model.waiting.pop()
        self.ask("whisper Ada = hello", whispers("Good evening."))
        assert ['Ada whispers: "Good evening."'] == self.tom.heard_from(self.ada)
        writing.callback(completion("Storms."))
        pump()
        assert [True] == list(map(bool, outcomes))
        history = self.stored()
        assert "Storms." == summary_text(history[0])
        assert "Good evening." in str(history[-2:])


class TestPrivate(CompactionCase):
    def setUp(self) -> None:
        """Of the old turns make two private to Tom, and one to Mira."""
        super().setUp()
        history = list(self.history)
        history[3:6] = turn_of(1, SECRET + " of the wall" * 60, "*#1")
        history[6:9] = turn_of(2, SECRET + " of the wall" * 60, "*#1")
        history[9:12] = turn_of(3, "Mira's own", "*#2")
        self.remember(history)

    def test_a_secret_stays_with_whom_it_is_private_to(self) -> None:
        """Private words are summed up apart, and their summary stays private."""
        answers = {"*#1": "Tom told where the key is.", None: "Storms."}
        asked = self._answer_each(answers)
        assert {None, "*#1"} == set(asked)
        assert SECRET in asked["*#1"]
        assert SECRET not in asked[None]
        assert "Mira" not in asked[None] + asked["*#1"]
        history = self.stored()
        assert SECRET not in str(history)
        for person, expected in (
            ("*#1", ["Storms.", "Tom told where the key is."]),
            ("*#3", ["Storms."]),
            ("", ["Storms."]),
        ):
            shown = [summary_text(m) for m in visible_history(history, person) if summary_text(m)]
            assert expected == sorted(shown)

    def test_what_is_short_is_kept_word_for_word(self) -> None:
        """No model is called for Mira's three lines."""
        self._answer_each({"*#1": "Tom told where the key is.", None: "Storms."})
        shown = [summary_text(m) for m in visible_history(self.stored(), "*#2")]
        assert any("Mira's own" in text for text in shown)

    def test_one_failure_leaves_all(self) -> None:
        """A finished summary of the open part is dropped, too."""
        (outcome,) = self.compact(completion("Storms."), NOT_A_COMPLETION)
        assert not outcome
        assert 2 == outcome.spent.calls
        assert self.history == self.stored()

    def _answer_each(self, answers: dict[str | None, str]) -> dict[str | None, str]:
        """Answer each call by its owner; return the words of each call by owner."""
        asked: dict[str | None, str] = {}
        self.compact()
        while self.model.waiting:
            lines = self.model.bodies[-1]["messages"][1]["content"]
            owner = "*#1" if SECRET in lines else None
            asked[owner] = lines
            self.model_answers(completion(answers[owner]))
        return asked


class TestFailure(CompactionCase):
    def test_the_history_is_as_it_was(self) -> None:
        """After any failure nothing is tried again for five minutes."""
        for answer, detail in (
            (NOT_A_COMPLETION, "choices"),
            (ModelReplyError("no"), "no"),
            (completion(""), "no summary"),
            (completion("<think>hm</think>"), "no summary"),
            (completion(None, ("say", {"message": "hi"})), "no summary"),
            (RuntimeError("bug"), "bug"),
        ):
            with self.subTest(answer=answer):
                self.ada_script.work.compact_after = 0.0
                assert self.is_due()
                (outcome,) = self.compact(answer)
                assert (False, True) == (bool(outcome), detail in outcome.detail)
                assert self.history == self.stored()
                assert not state.read(self.ada_script, "last_compaction")
                assert not self.is_due()
                self.clock.advance(RETRY_AFTER_SECONDS)
                assert self.is_due()

    def test_tokens_of_a_failure_are_counted(self) -> None:
        (outcome,) = self.compact(completion("", usage=TOLD))
        assert TokenUsage(900, 80) == outcome.spent.usage == self.ada_script.work.usage

    def test_one_that_no_cap_allows_is_no_call(self) -> None:
        """`assistant status` counted it, though nothing was sent."""
        caps = {"assistant": {"tokens_per_day": 10}}
        state.write(self.ada_script, budget_config=caps)
        (outcome,) = self.compact(completion("Storms."))
        assert "tokens_per_day" in outcome.detail
        assert (0, []) == (self.ada_script.work.calls, self.model.bodies)

    def test_a_model_that_hangs(self) -> None:
        """The deadline is for all calls together; what was sent counts."""
        outcomes = self.compact()
        assert math.inf == self.ada_script.work.compact_after
        self.advance(DEADLINE_SECONDS)
        assert ["no summary within 120 s"] == [outcome.detail for outcome in outcomes]
        assert 1 == self.model.cancelled
        assert self.history == self.stored()
        work = self.ada_script.work
        assert (1, work.usage.total_tokens) == used_ever(self.ada_script)

    def test_a_stop_hangs_up(self) -> None:
        """The next compaction need not wait."""
        outcomes = self.compact()
        operations.stop(self.ada_script, "test")
        pump()
        assert ["it was cut off"] == [outcome.detail for outcome in outcomes]
        assert 1 == self.model.cancelled
        assert self.is_due()

    def test_what_wants_to_see_it_first(self) -> None:
        """If it fails, nothing is summed up."""
        seen: list[list[Message]] = []

        async def keep_facts(messages: list[Message]) -> None:
            seen.append(messages)

        async def fail(messages: list[Message]) -> None:
            raise ToolError("the store is down")

        assert not self.compact(before=fail)[0]
        assert self.history == self.stored()
        assert self.compact(completion("Storms."), before=keep_facts)[0]
        assert [self.history[:30]] == seen
