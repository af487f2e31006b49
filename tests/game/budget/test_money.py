"""The cost of calls by the model's own count, which is never above a cap and never zero."""

import json
from collections.abc import Mapping
from typing import Any
from unittest import mock

from django.test.utils import override_settings

from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import accounts_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import Measure, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ModelConnectionError, ModelStatusError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.scripted import ScriptedModel
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.operations.monitoring.status import status
from evennia_ai.runtime import services, state
from tests.fakes.counted import CountedModel
from tests.game.support import GameTest, pump, says

NOON = 1_795_262_400.0
UNATTENDED = {"on_limit": {"mode": "unattended"}}
NO_CAPS: dict[str, Any] = {
    "game": {"tokens_per_day": 0, "calls_per_minute": 0},
    "assistant": {"tokens_per_day": 0, "calls_per_minute": 0},
    "player": {"tokens_per_day": 0},
    "calls_in_flight": 0,
}
LONG = 18_000


def capped(**player: float) -> dict[str, Any]:
    return {**NO_CAPS, "player": {"tokens_per_day": 0, **player}}


class MoneyTest(GameTest):
    """Assistants whose model counts its tokens, and a clock that stands at noon."""

    names = ("Ada",)

    def setUp(self) -> None:
        super().setUp()
        self.clock.advance(NOON)
        self.counted = CountedModel()
        services.pool().set_transport(services.endpoint(), self.counted)
        services.pool()._reactor = self.clock
        self.scripts = {"Ada": self.ada_script}
        for name in self.names[1:]:
            self.scripts[name] = self.make(name)[0]
        for script in self.scripts.values():
            script.clock = self.clock
            state.write(script, safety_config=UNATTENDED)
        pump()

    def rows(self) -> list[ModelCall]:
        ledger.store().flush()
        return sorted(ModelCall.objects.all(), key=lambda call: int(call.key.rpartition(".")[2]))

    def states(self) -> list[tuple[str, str]]:
        return [(call.state, call.model) for call in self.rows()]

    def total_of(self, person: Any) -> int:
        """The tokens of a player's day in the ledger, reservations included."""
        ledger.store().flush()
        accounts = accounts_of("Ada", person_of(person), NOON)
        (today,) = (a for a in accounts if a.scope is Scope.PLAYER and len(a.period) == 10)
        return read_total(today).used(Measure.TOKENS)

    def limit(self) -> Mapping[str, Any]:
        """The fields of the last request that limit the answer."""
        body = self.counted.bodies[-1]
        return {name: body[name] for name in body if "max" in name}


@override_settings(EVENNIA_AI_BUDGET_CONFIG=capped(tokens_per_day=20_000))
class TestCapOfAPlayer(MoneyTest):
    """A player with 20,000 tokens asks for answers of 18,000."""

    names = ("Ada", "Brass", "Cog", "Dot", "Elm")

    def ask_all(self) -> None:
        """Tom whispers to all five before any of them is answered."""
        self.counted.behave(kind="hang", answer_tokens=LONG)
        for name in self.names:
            self.type(self.tom, f"whisper {name} = tell me all of it")
        while self.counted.waiting:
            self.counted.release()
            pump()

    def test_hole_d22_five_at_once_stay_within_the_cap(self) -> None:
        """The cap holds with and without a set length, and round after round."""
        for script in self.scripts.values():
            state.write(script, max_context_tokens=128_000)
        for length in (None, LONG):
            for script in self.scripts.values():
                state.write(script, llm_max_tokens=length)
            for _ in range(4):
                self.ask_all()
                assert self.counted.tokens <= 20_000
        assert self.counted.tokens > 10_000
        assert self.counted.tokens <= self.total_of(self.tom) <= 20_000

    def test_calls_that_a_cap_refused_are_counted_nowhere(self) -> None:
        """The status of each assistant has as many calls as the ledger; it counted attempts."""
        for _ in range(4):
            self.ask_all()
        ended = {
            name: sum(row.assistant == name.casefold() for row in self.rows())
            for name in self.names
        }
        assert ended == {name: status(each).data.calls for name, each in self.scripts.items()}
        assert 0 < sum(ended.values()) < 4 * len(self.names)

    def test_hole_d22_what_is_sent_is_what_was_reserved(self) -> None:
        """The length that is sent is the room that the cap leaves."""
        self.counted.behave(kind="hang", answer_tokens=LONG)
        state.write(self.ada_script, llm_max_tokens=LONG, max_context_tokens=128_000)
        self.type(self.tom, "whisper Ada = tell me all of it")
        (call,) = self.rows()
        assert {"max_tokens": call.estimated_completion_tokens} == self.limit()
        last = call.estimated_prompt_tokens + 300  # reserved for a final answer
        held = call.estimated_prompt_tokens + call.estimated_completion_tokens
        assert 20_000 == held + last
        self.counted.release()
        pump()
        assert call.estimated_completion_tokens == self.counted.sent[0].completion_tokens

    def test_hole_d22_without_room_for_an_answer_nothing_is_sent(self) -> None:
        """The budget has no room for a final answer either."""
        used = ledger.store().reserve(
            ledger.BillingContext("Brass", person_of(self.tom)),
            ledger.CostEstimate(TokenUsage(19_900)),
            state.budget_config(self.ada_script),
            NOON,
        )
        ledger.store().settle(used, TokenUsage(19_900), NOON)
        self.type(self.tom, "whisper Ada = hello")
        assert [] == self.counted.bodies

    def test_hole_d22_a_model_that_ignores_the_length_is_counted_in_full(self) -> None:
        """Only the calls under way can exceed the cap; after that nothing is sent."""
        self.counted.behave(answer_tokens=LONG, ignores_limit=True)
        for _ in range(5):
            self.type(self.tom, "whisper Ada = tell me all of it")
        assert 2 == len(self.counted.sent)
        assert self.total_of(self.tom) >= self.counted.tokens


@override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS)
class TestLength(MoneyTest):
    def told_to(self, model: str = "", **values: Any) -> Mapping[str, Any]:
        """The fields that limit the answer in the request of one whisper."""
        if model:
            values["llm_model"] = model
            endpoint = Endpoint("scripted", model)
            services.pool().set_transport(endpoint, self.counted)
        state.write(self.ada_script, **values)
        self.type(self.tom, "whisper Ada = hello")
        return self.limit()

    def test_hole_d22_a_length_is_always_sent(self) -> None:
        """The default is a quarter of the window, and no more than any model accepts."""
        for expected, model, values in (
            (2_048, "unheard-of", {}),
            (4_096, "gpt-4o", {}),
            (4_096, "claude-3-opus", {}),
            (16_384, "o3-mini", {}),
            (16_384, "gemini-2.5-flash", {}),
            (16_384, "gpt-4o", {"llm_reasoning_effort": "low"}),
            (77, "gpt-4o", {"llm_max_tokens": 77, "llm_reasoning_effort": None}),
        ):
            with self.subTest(model=model):
                assert {"max_tokens": expected} == self.told_to(model, **values)

    def test_hole_d22_prompt_and_answer_fit_into_the_window(self) -> None:
        self.counted.behave(content="Yes.")
        long = "storm " * 4_800
        state.write(self.ada_script, safety_config={"size": {"message_characters": 0}})
        self.type(self.tom, f"whisper Ada = {long}")
        (sent,) = self.limit().values()
        (call,) = self.rows()
        assert 300 <= sent < 2_048
        assert call.estimated_prompt_tokens + sent <= 8_192

    def test_hole_d22_an_endpoint_that_refuses_one_form_is_told_in_the_other(self) -> None:
        """The refused field is never sent again, and the refused request costs nothing."""
        self.counted.behave(refuses="max_tokens", content="Yes.")
        for _ in range(2):
            self.type(self.tom, "whisper Ada = hello")
        forms = [[name for name in body if "max" in name] for body in self.counted.bodies]
        plain, other = ["max_tokens"], ["max_completion_tokens"]
        assert [plain, other, other] == forms
        assert ["settled"] * 2 == [call.state for call in self.rows()]

    def test_hole_d22_an_endpoint_that_takes_less_is_asked_for_less(self) -> None:
        """The number is read from the refusal, and kept."""
        text = "max_tokens is too large: 2048. This model supports at most 1024 completion tokens"
        self.model.answers.append(ModelStatusError(400, text))
        services.pool().set_transport(services.endpoint(), self.model)
        self.ask("whisper Ada = hello", says("Yes."))
        self.ask("whisper Ada = hello", says("Yes."))
        assert [2048, 1024, 1024] == [body["max_tokens"] for body in self.model.bodies]

    def test_hole_d22_a_prompt_counted_too_low_is_corrected(self) -> None:
        """The service's own count corrects the next estimate."""
        self.counted.behave(content="Yes.", usage={"prompt_tokens": 6_000})
        for _ in range(2):
            self.type(self.tom, "whisper Ada = hello")
        first, second = self.rows()
        assert 6_000 == first.prompt_tokens
        assert first.estimated_prompt_tokens < 3_000
        assert 5_000 < second.estimated_prompt_tokens < 8_000


@override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS)
class TestUsage(MoneyTest):
    def test_hole_d23_impossible_usage_is_not_free(self) -> None:
        """Our own count replaces an impossible one."""
        state.write(self.ada_script, llm_max_tokens=LONG, max_context_tokens=128_000)
        for value in (-1e6, 1e12, "5000", None, float("nan")):
            with self.subTest(value=value):
                ModelCall.objects.all().delete()
                usage = {"prompt_tokens": 200, "completion_tokens": value, "total_tokens": 200}
                self.counted.behave(answer_tokens=5_000, usage=usage)
                self.type(self.tom, "whisper Ada = hello")
                (call,) = self.rows()
                assert 200 == call.prompt_tokens
                assert 3_000 < call.completion_tokens < 5_500

    def test_hole_d23_thoughts_that_are_only_in_the_total_count(self) -> None:
        """Some proxies report reasoning tokens nowhere else."""
        usage = {"prompt_tokens": 200, "completion_tokens": 5, "total_tokens": 1_205}
        self.counted.behave(content="Yes.", usage=usage)
        self.type(self.tom, "whisper Ada = hello")
        (call,) = self.rows()
        assert (200, 1_005) == (call.prompt_tokens, call.completion_tokens)

    def test_hole_d23_no_usage_at_all_is_counted_by_ourselves(self) -> None:
        self.counted.behave(content="Yes. " * 100, usage=None)
        self.type(self.tom, "whisper Ada = hello")
        (call,) = self.rows()
        assert call.estimated_prompt_tokens == call.prompt_tokens > 0
        assert 150 < call.completion_tokens < 300


@override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS, EVENNIA_AI_FALLBACK_MODELS=["scripted"])
class TestAttempts(MoneyTest):
    """A first model at an address, and the scripted one as its fallback."""

    environ = {"EVENNIA_AI_MODEL": "big", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    BIG, SCRIPTED = "custom/big", "scripted/scripted"

    def setUp(self) -> None:
        super().setUp()
        self.first = ScriptedModel()
        services.pool().set_transport(services.endpoint(), self.first)
        services.pool().set_transport(Endpoint("scripted", "scripted"), self.counted)

    def whisper(self, *answers: bytes | Exception) -> None:
        """Tom whispers, and the first model gives these answers."""
        self.first.answers.extend(answers)
        self.type(self.tom, "whisper Ada = hello")

    def test_hole_d24_a_first_model_that_times_out_is_a_row(self) -> None:
        """The service may charge for it, so the whole reservation counts."""
        self.whisper()
        self.advance(31)
        assert [("cut_off", self.BIG), ("settled", self.SCRIPTED)] == self.states()
        first, second = self.rows()
        assert first.estimated_completion_tokens == first.completion_tokens > 0
        assert first.prompt_tokens + first.completion_tokens + second.prompt_tokens + (
            second.completion_tokens
        ) == self.total_of(self.tom)

    def test_hole_d24_an_answer_of_no_use_is_a_row(self) -> None:
        """Its reported usage counts, or else the whole reservation."""
        self.whisper(b"{}")
        self.whisper(b"<html>502</html>")
        usage = {"prompt_tokens": 11, "completion_tokens": 22}
        self.whisper(json.dumps({"choices": [], "usage": usage}).encode())
        answered = ("settled", self.SCRIPTED)
        cut_off, settled = ("cut_off", self.BIG), ("settled", self.BIG)
        assert [cut_off, answered, cut_off, answered, settled, answered] == self.states()
        assert (11, 22) == (self.rows()[4].prompt_tokens, self.rows()[4].completion_tokens)

    def test_hole_d24_a_broken_connection_is_a_row_for_each_attempt(self) -> None:
        """The requests had been sent, so each may be charged for."""
        broken = ModelConnectionError("gone", was_sent=True)
        self.whisper(broken, broken)
        self.advance(2)
        expected = [("cut_off", self.BIG)] * 2 + [("settled", self.SCRIPTED)]
        assert expected == self.states()

    def test_hole_d24_what_was_refused_costs_nothing(self) -> None:
        busy = [ModelStatusError(status, "slow") for status in (429, 503, 529)]
        for error in (*busy, ModelConnectionError("nobody there")):
            with self.subTest(error=str(error)):
                ModelCall.objects.all().delete()
                self.whisper(error, error)
                self.advance(2)
                assert [("settled", self.SCRIPTED)] == self.states()

    def test_hole_d24_a_service_that_broke_down_may_have_cost(self) -> None:
        """The model may have answered before; each attempt counts with all that was reserved."""
        self.whisper(ModelStatusError(500, "broken"), ModelStatusError(504, "late"))
        self.advance(2)
        first, second, last = self.rows()
        assert ["cut_off", "cut_off", "settled"] == [first.state, second.state, last.state]
        assert first.completion_tokens == first.estimated_completion_tokens > 0
        counted = sum(row.prompt_tokens + row.completion_tokens for row in (first, second, last))
        assert counted == self.total_of(self.tom)

    def test_hole_d24_a_cap_ends_the_row_of_attempts(self) -> None:
        """The first attempt used up the cap, so the fallback is not asked."""
        with override_settings(EVENNIA_AI_BUDGET_CONFIG=capped(tokens_per_day=5_000)):
            self.ada_script.work.drop_cached_settings()
            self.whisper(b"{}")
        assert [("turn", "cut_off"), ("wrap_up", "open")] == [
            (call.purpose, call.state) for call in self.rows()
        ]
        assert [] == self.counted.bodies
        assert self.total_of(self.tom) <= 5_000

    @override_settings(
        EVENNIA_AI_FALLBACK_MODELS=["unpriced", "scripted"],
        EVENNIA_AI_PRICES={"big": {"input": 1, "output": 1}},
        EVENNIA_AI_BUDGET_CONFIG=capped(cost_per_day=1),
    )
    def test_a_fallback_without_a_price_is_left_out(self) -> None:
        """The others are asked, and staff hear of it once."""
        self.ada_script.work.drop_cached_settings()
        with mock.patch.object(outgoing, "alert_staff") as alert:
            for _ in range(2):
                self.whisper(b"{}")
        assert [("cut_off", self.BIG), ("settled", self.SCRIPTED)] * 2 == self.states()
        ((line,),) = (call.args for call in alert.call_args_list)
        assert "left out" in line
        assert "'custom/unpriced'" in line

    @override_settings(
        EVENNIA_AI_PRICES={"big": {"input": 1, "output": 1, "cache_write": 1.25}},
    )
    def test_what_is_written_into_a_cache_is_reserved_and_charged(self) -> None:
        usage = {"input_tokens": 7, "output_tokens": 3, "cache_creation_input_tokens": 40}
        self.whisper(json.dumps({"choices": [], "usage": usage}).encode())
        first = self.rows()[0]
        assert 7_000 + 3_000 + 50_000 == first.cost_nano
        prompt, answer = first.estimated_prompt_tokens, first.estimated_completion_tokens
        assert prompt * 1_250 + answer * 1_000 == first.estimated_cost_nano


OTHER = "http://127.0.0.2:9/v1"


@override_settings(
    EVENNIA_AI_FALLBACK_MODELS=[{"model": "other", "base_url": OTHER}],
    EVENNIA_AI_PRICES={"big": {"input": 10, "output": 1}, "other": {"input": 1, "output": 20}},
)
class TestPricesOfSeveral(MoneyTest):
    """A model that is dear to read, and a fallback that is dear to write."""

    environ = {"EVENNIA_AI_MODEL": "big", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

    def test_a_shorter_answer_does_not_make_the_other_model_the_dearer_one(self) -> None:
        """Near a cap the answer is short; what the first model costs then must fit as well."""
        long = {**UNATTENDED, "size": {"message_characters": 0}}
        state.write(self.ada_script, safety_config=long)
        for cap in (0.018, 0.02, 0.022, 0.024, 0.06):
            with (
                self.subTest(cap=cap),
                override_settings(EVENNIA_AI_BUDGET_CONFIG=capped(cost_per_day=cap)),
            ):
                ModelCall.objects.all().delete()
                BudgetTotal.objects.all().delete()
                self.type(self.tom, f"whisper Ada = {'storm ' * 2_000}")
                spent = sum(call.cost_nano for call in self.rows()) / NANO
                assert spent <= cap
        assert spent > 0
