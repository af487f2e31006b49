"""Limits of a turn: who is asked, what a yes grants, and the last word after a no."""

from typing import Any

from evennia_ai import approvals, operations
from evennia_ai.budget import ledger
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.emergency import state_of
from evennia_ai.errors import ModelConnectionError, ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.models import ModelCall
from evennia_ai.runtime import state
from tests.engine.doubles import dangling
from tests.game.approvals.limit_ways import TOKENS, look
from tests.game.listening import HearingTest
from tests.game.support import pump, whispers
from tests.recorded import record_of

UNATTENDED = {"on_limit": {"mode": "unattended"}}


class LimitsTest(HearingTest):
    """Tom, who controls Ada, is online; what is recorded is kept.

    Attributes:
        recorded: each event and its facts, the oldest first.
    """

    def setUp(self) -> None:
        super().setUp()
        self.recorded = record_of(self)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [facts for event, _, facts in self.recorded if event == name]

    def answer(self, text: str) -> None:
        (question,) = approvals.pending(self.ada_script)
        operations.answer(question.number, self.tom, text, is_staff=True)
        pump()

    def told(self) -> list[str]:
        return self.tom.heard_from(self.ada)


class TestAsking(LimitsTest):
    def test_l1_a_yes_gives_exactly_five_more(self) -> None:
        self.ask("whisper Ada = find it", *[look(number) for number in range(10)])
        assert 5 == len(self.model.bodies)
        (question,) = approvals.pending(self.ada_script)
        assert (
            "I have used my 5 steps on Tom's request. May I have 5 steps more?"
            in question.asking.prompt
        )
        self.answer("yes")
        assert 10 == len(self.model.bodies)
        (second,) = approvals.pending(self.ada_script)
        assert second.number != question.number
        self.model.answers.append(whispers("I found two of three."))
        self.answer("no")
        assert ['Ada whispers: "I found two of three."'] == self.told()
        assert [5, 0] == [facts["extension"] for facts in self.events("safety_limit_checkpoint")]
        assert [] == self.waiting()

    def test_nobody_answers(self) -> None:
        """After a minute it is a no, and a late answer is refused."""
        self.ask("whisper Ada = find it", *[look(number) for number in range(5)])
        (question,) = approvals.pending(self.ada_script)
        self.model.answers.append(whispers("So far nothing."))
        self.advance(60)
        assert ['Ada whispers: "So far nothing."'] == self.told()[-1:]
        assert "ask_timeout" == self.events("limit_denied")[0]["reason"]
        late = operations.answer(question.number, self.tom, "yes", is_staff=True)
        assert not late.result.ok

    def test_a_restart_while_somebody_is_asked(self) -> None:
        """The question keeps its number, and its answer counts."""
        self.ask("whisper Ada = find it", *[look(number) for number in range(5)])
        (question,) = approvals.pending(self.ada_script)
        # The turn begins with five new steps when it is taken up again.
        self.model.answers.extend([look(number) for number in range(5, 10)])
        self.restart()
        assert 1 == len(approvals.pending(self.ada_script))
        assert question.asking.key == approvals.pending(self.ada_script)[0].asking.key
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert ['Ada whispers: "There it is."'] == self.told()

    def test_b12_a_kill_while_somebody_is_asked(self) -> None:
        """The question is gone, the asker is told once, and a late yes does nothing."""
        self.ask("whisper Ada = find it", *[look(number) for number in range(5)])
        (question,) = approvals.pending(self.ada_script)
        operations.stop(self.ada_script, "test")
        assert ([], 1) == (list(approvals.pending(self.ada_script)), len(self.told()))
        operations.answer(question.number, self.tom, "yes", is_staff=True)
        pump()
        assert (5, State.STOPPED) == (len(self.model.bodies), state_of(self.ada_script))

    def test_what_was_said_in_private_is_not_shown_to_who_is_asked(self) -> None:
        """The question quotes words said in the open, never whispered ones."""
        self.ask("say @ada find the secret map", *[look(number) for number in range(5)])
        assert "secret map" in approvals.pending(self.ada_script)[0].asking.prompt
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        self.ask("whisper Ada = find the secret map", *[look(number) for number in range(5)])
        assert "secret" not in str(approvals.pending(self.ada_script)[0].asking.prompt)


class TestTime(LimitsTest):
    def setUp(self) -> None:
        super().setUp()
        self.set(safety_config={"timeout": {"tick_seconds": 30}})

    def test_l8_it_interrupts_a_call_that_hangs(self) -> None:
        """The socket closes and somebody is asked; a yes makes the call anew."""
        self.ask("whisper Ada = hello")
        self.clock.advance(29.9)
        assert (1, 0) == (len(self.model.waiting), self.model.cancelled)
        self.advance(0.1)
        assert (0, 1) == (len(self.model.waiting), self.model.cancelled)
        self.clock.advance(20)
        self.answer("yes")
        assert 1 == len(self.model.waiting)
        self.clock.advance(29.9)
        assert 1 == self.model.cancelled
        self.advance(0.1)
        assert 2 == self.model.cancelled
        assert 60 == self.events("safety_limit_checkpoint")[0]["cap"] + 30

    def test_l8_refused_she_tells_how_far_she_came(self) -> None:
        """The last word has a deadline of its own."""
        self.set(safety_config={"timeout": {"tick_seconds": 30}, **UNATTENDED})
        self.ask("whisper Ada = hello", look(1))
        self.advance(30)
        self.model_answers(whispers("I was looking at a thing."))
        assert "I was looking at a thing." in self.told()[-1]
        assert "timeout" not in str(self.model.bodies[-1])


class TestLastWord(LimitsTest):
    def setUp(self) -> None:
        super().setUp()
        self.set(safety_config=UNATTENDED)

    def _use_up(self, *last: Any) -> None:
        self.ask("whisper Ada = find it", *[look(number) for number in range(5)], *last)

    def test_f1_recorded_then_one_call_without_tools_then_said_with_a_mark(self) -> None:
        """The mark tells programs that a limit ended the turn."""
        self._use_up(completion("I found two of three.", usage=TOKENS))
        assert ["limit_denied"] == [
            event for event, _, _ in self.recorded if event == "limit_denied"
        ]
        assert [True] * 5 + [False] == ["tools" in body for body in self.model.bodies]
        system, *talk = self.model.bodies[-1]["messages"]
        assert ("system", True) == (system["role"], "You have to stop here" in system["content"])
        assert [] == [message for message in talk if message["role"] in ("tool", "system")]
        lines = [m for m in self.tom.messages if "two of three" in m.shown]
        assert [(True, "max_iterations")] == [
            (m.options["limit_stopped"], m.options["limit_kind"]) for m in lines
        ]
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_f2_it_hangs(self) -> None:
        """After its own deadline players read one line of fiction, staff what to change."""
        self._use_up()
        self.advance(20)
        assert 1 == self.model.cancelled
        assert "my thoughts won't settle" in self.told()[-1]
        text = self.sent_to_staff()[-1]
        for part in ("5 steps", "execution_config.max_iterations_per_tick", "on_limit.mode"):
            assert part in text

    def test_f2_it_raises(self) -> None:
        self._use_up(ModelReplyError("gone"))
        assert "my thoughts won't settle" in self.told()[-1]

    def test_f3_its_tokens_are_in_every_total(self) -> None:
        self._use_up(completion("I found two.", usage=TOKENS))
        assert (6, 660) == (self.ada_script.work.calls, self.ada_script.work.usage.total_tokens)
        ledger.store().flush()
        rows = list(ModelCall.objects.order_by("pk").values_list("purpose", flat=True))
        assert ["turn"] * 5 + ["wrap_up"] == rows
        assert "660" in operations.budget_of(self.ada_script).message

    def test_f3_it_is_paid_from_a_reserve(self) -> None:
        """A cap without room for a step has room for the last word, and is not exceeded."""
        self._use_up(completion("x", usage=TOKENS))
        used = self.ada_script.work.usage.total_tokens
        prompt = self.ada_script.work.context_tokens
        cap = used + prompt + 1_000 + 200
        self.set(budget_config={"assistant": {"tokens_per_day": cap}})
        self.forget()
        self.ask("whisper Ada = again", completion("I am spent for today.", usage=TOKENS))
        assert ['Ada whispers: "I am spent for today."'] == self.told()
        assert "cost.tokens_per_day" == self.events("limit_denied")[-1]["kind"]
        assert "tools" not in self.model.bodies[-1]
        assert used + 110 == self.ada_script.work.usage.total_tokens <= cap

    def test_f4_the_history_is_whole(self) -> None:
        self._use_up(completion("I found two."))
        assert [] == dangling(state.read(self.ada_script, "conversation_history"))

    def test_b12_a_kill_during_the_last_word(self) -> None:
        self._use_up()
        operations.stop(self.ada_script, "test")
        pump()
        assert (1, 1) == (self.model.cancelled, len(self.told()))
        assert "break off" in self.told()[0]

    def test_nobody_waits_for_the_last_word_of_an_act_of_her_own(self) -> None:
        self.set(autonomy_config={"seconds": 10})
        operations.add_goal(self.ada_script, "find the atlas")
        self.model.answers.extend(look(number) for number in range(5))
        for _ in range(3):
            self.fire_timer(5)
        assert 1 == len(self.events("limit_denied"))
        assert [True] * 5 == ["tools" in body for body in self.model.bodies]
        assert [] == self.model.waiting


class TestLocks(LimitsTest):
    def test_the_loop_cap_of_a_task_locks_her(self) -> None:
        """A second person who meets the limit locks her."""
        self.set(safety_config={"loop": {"max_iterations_per_task": 3}, **UNATTENDED})
        for person in (self.tom, self.mira):
            steps = [look(n) for n in range(3)]
            self.ask("whisper Ada = find it", *steps, completion("Two found."), person=person)
            assert 'Ada whispers: "Two found."' == person.heard_from(self.ada)[0]
        assert "loop" == state.read(self.ada_script, "lockout")["cause"]
        assert State.SAFETY_LOCKOUT == state_of(self.ada_script)

    def test_the_tokens_of_a_task_lock_her(self) -> None:
        self.set(safety_config={"loop": {"max_tokens_per_task": 200}, **UNATTENDED})
        for person in (self.tom, self.mira):
            steps = (look(1), look(2), completion("One found."))
            self.ask("whisper Ada = find it", *steps, person=person)
        assert "budget" == state.read(self.ada_script, "lockout")["cause"]

    def test_o6_a_healthy_task_of_ten_tools_locks_nobody(self) -> None:
        self.ask("whisper Ada = find it", *[look(number) for number in range(5)])
        self.model.answers.extend([look(n) for n in range(5, 9)] + [whispers("All ten seen.")])
        self.answer("yes")
        self.ask("whisper Ada = thanks", whispers("Gladly."))
        assert 'Ada whispers: "Gladly."' == self.told()[-1]

    def test_o13_what_one_task_did_is_not_held_against_the_next(self) -> None:
        """Two equal failures in each of two tasks raise no alert."""
        wrong = whispers("Hm.", "Nobody")
        for _ in range(2):
            self.ask("whisper Ada = hello", wrong, wrong, whispers("Hello."))
        assert "SYSTEM ALERT" not in str(self.model.bodies)


class TestSettings(LimitsTest):
    """Settings that make no sense keep her from starting."""

    def test_l2_a_wrong_setting_stops_her_with_its_name(self) -> None:
        for wrong, path in (
            ({"loop": {"max_context_visits": -1}}, "safety_config.loop.max_context_visits is -1"),
            ({"on_limit": {"mode": "never"}}, "safety_config.on_limit.mode is 'never'"),
            ({"looop": {}}, "safety_config has no key 'looop'"),
            ({"timeout": {"tick_seconds": float("nan")}}, "timeout.tick_seconds is nan"),
            ({"loop": {"max_own_turns": True}}, "loop.max_own_turns is True"),
        ):
            with self.subTest(path):
                self.set(safety_config=wrong)
                self.ask("whisper Ada = hello")
                assert [] == self.model.bodies
                assert path in self.ada_script.silence_for_staff
        self.set(safety_config={})
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.told()[-1]

    def test_l2_a_wrong_cap_stops_her_too(self) -> None:
        """A budget that makes no sense must not be spent."""
        for wrong in (-1, True, float("nan"), "much", None):
            with self.subTest(wrong):
                self.set(budget_config={"assistant": {"tokens_per_day": wrong}})
                self.ask("whisper Ada = hello")
                assert [] == self.model.bodies
                why = self.ada_script.silence_for_staff
                assert "budget_config.assistant.tokens_per_day is" in why
                assert "its settings are wrong" == self.ada_script.silence  # for anybody

    def test_l2_0_is_no_limit(self) -> None:
        config = SafetyConfig.from_layers({}, {"loop": {"max_tool_calls_per_context": 0}})
        assert 0 == config.loop.max_tool_calls_per_context
        loop = {"max_tool_calls_per_context": 0, "max_model_calls_per_tick": 0}
        on_limit = {"mode": "auto_extend", "auto_extend_times": 5}
        self.set(safety_config={"loop": loop, "on_limit": on_limit})
        answers = [look(number) for number in range(29)] + [whispers("Thirty.")]
        self.ask("whisper Ada = find it", *answers)
        assert ['Ada whispers: "Thirty."'] == self.told()


class TestModelTime(LimitsTest):
    def test_l9_unless_it_is_wanted_nobody_is_asked(self) -> None:
        self.ask("whisper Ada = hello", ModelConnectionError("gone"), ModelConnectionError("gone"))
        assert [] == list(approvals.pending(self.ada_script))
