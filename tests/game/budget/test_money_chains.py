"""Chains of assistants are paid by the person who began them."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django.test.utils import override_settings
from twisted.internet.defer import Deferred, succeed

from evennia_ai.agent.compaction import compact_conversation_history
from evennia_ai.budget import ledger
from evennia_ai.core.settings.budget import Scope
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.runtime import services, state
from evennia_ai.testing import UNHURRIED, pump
from tests.fakes.answers import count_tokens
from tests.game.budget.test_money import NO_CAPS, NOON
from tests.game.tasks.delegating import DelegationTest, hands_on
from tests.game.tasks.delegating import reports as reports_of

Say = Callable[[str, Mapping[str, Any]], bytes]
UNATTENDED = {"on_limit": {"mode": "unattended"}}
ASKED = re.compile(r"You are (\w+)")


class Talker:
    """A model that answers each assistant as a test says, and counts its tokens.

    Attributes:
        sent: tokens by the assistant that asked.
        say: returns the answer, given the name of the assistant and the request.
    """

    def __init__(self, say: Say) -> None:
        self.sent: Counter[str] = Counter()
        self.calls = 0
        self.say = say

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        """Answer one request, and report its true usage."""
        self.calls += 1
        name = self.name_in(body)
        answer = json.loads(self.say(name, body))
        prompt, written = count_tokens(body, answer)
        self.sent[name] += prompt + written
        answer["usage"] = {"prompt_tokens": prompt, "completion_tokens": written}
        return succeed(json.dumps(answer).encode())

    @staticmethod
    def name_in(body: Mapping[str, Any]) -> str:
        match = ASKED.search(str(body["messages"][0]["content"]))
        return match[1] if match else ""


@override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS)
class ChainTest(DelegationTest):
    """Ada, Brass and Cog, one clock, and no questions about limits."""

    def setUp(self) -> None:
        super().setUp()
        self.clock.advance(NOON)
        self.cog_script, self.cog = self.make_specialist("Cog")
        self.scripts = (self.ada_script, self.brass_script, self.cog_script)
        for script in self.scripts:
            self.allow(script, sub_agent_budget=10)
            state.write(script, safety_config=UNATTENDED, hearing_config=UNHURRIED)

    def let(self, say: Say) -> Talker:
        talker = Talker(say)
        services.pool().set_transport(services.endpoint(), talker)
        return talker

    def by_person(self) -> Counter[str]:
        ledger.store().flush()
        tokens: Counter[str] = Counter()
        for call in ModelCall.objects.all():
            tokens[call.person] += call.prompt_tokens + call.completion_tokens
        return tokens

    def assert_all_is(self, person: Any, talker: Talker) -> None:
        """Assert that all tokens of the model are charged to one person."""
        assert {person_of(person): sum(talker.sent.values())} == self.by_person()


class TestTalk(ChainTest):
    def test_hole_d25_hops_are_paid_by_who_began(self) -> None:
        """Tom asks aloud, and two assistants whisper until the hop limit."""
        others = {"Ada": "Brass", "Brass": "Ada"}

        def say(name: str, _: Mapping[str, Any]) -> bytes:
            return completion(None, ("whisper", {"target": others[name], "message": "And you?"}))

        talker = self.let(say)
        self.type(self.tom, "say @ada pass it on")
        assert {"Ada", "Brass"} == set(talker.sent)
        self.assert_all_is(self.tom, talker)

    def test_hole_d25_speech_in_the_open_is_paid_by_who_began(self) -> None:
        others = {"Ada": "Brass", "Brass": "Cog", "Cog": "Ada"}

        def say(name: str, _: Mapping[str, Any]) -> bytes:
            return completion(None, ("say", {"message": f"@{others[name]} what do you think?"}))

        talker = self.let(say)
        self.type(self.mira, "say @ada what is it?")
        assert talker.calls >= 3
        self.assert_all_is(self.mira, talker)

    def test_hole_d25_two_chains_are_paid_apart(self) -> None:
        def say(name: str, body: Mapping[str, Any]) -> bytes:
            if name == "Brass":
                return completion(None, ("whisper", {"target": "Ada", "message": "Seven."}))
            return completion(None, ("whisper", {"target": "Brass", "message": "How many?"}))

        self.let(say)
        self.type(self.tom, "say @ada ask Brass")
        toms = self.by_person()
        self.type(self.mira, "say @ada ask Brass")
        assert {person_of(self.tom)} == set(toms)
        both = self.by_person()
        assert {person_of(self.tom), person_of(self.mira)} == set(both)
        assert toms[person_of(self.tom)] == both[person_of(self.tom)]

    def test_hole_d25_clients_are_not_told_who_began(self) -> None:
        """The options of a message reach clients; they may name the chain, but no person."""
        self.let(lambda *_: completion(None, ("say", {"message": "Hello."})))
        self.type(self.tom, "say @ada hello")
        (options,) = [each.options for each in self.mira.messages if each.sender == self.ada]
        assert options["assistant_message"]
        assert person_of(self.tom) not in options.values()

    def test_hole_d25_without_a_limit_of_hops_the_tasks_limits_end_it(self) -> None:
        """The limit is the number of steps of one task."""
        others = {"Ada": "Brass", "Brass": "Ada"}
        for script in self.scripts:
            loop = {"loop": {"max_iterations_per_task": 20}}
            state.write(script, max_agent_hops=0, safety_config=UNATTENDED | loop)

        def say(name: str, _: Mapping[str, Any]) -> bytes:
            return completion(None, ("whisper", {"target": others[name], "message": "And you?"}))

        talker = self.let(say)
        self.type(self.tom, "say @ada pass it on")
        assert 20 == talker.calls
        self.assert_all_is(self.tom, talker)
        assert not any(state.read(script, "emergency_stop") for script in self.scripts)


class TestTasks(ChainTest):
    def test_hole_d25_a_delegates_calls_are_paid_by_who_began(self) -> None:
        """Ada delegates to Brass, and Brass to Cog."""
        talker = self.let(self.one_after_the_other)
        self.type(self.tom, "whisper Ada = count the lamps")
        assert {"Ada", "Brass", "Cog"} == set(talker.sent)
        self.assert_all_is(self.tom, talker)

    def one_after_the_other(self, name: str, body: Mapping[str, Any]) -> bytes:
        """Delegate to the next, then report or tell the result."""
        is_done = body["messages"][-1]["role"] == "tool"
        following = {"Ada": "Brass", "Brass": "Cog"}
        if name in following and not is_done:
            return hands_on(specialist=following[name])
        if name == "Ada":
            return completion(None, ("whisper", {"target": "Tom", "message": "Seven."}))
        return reports_of()

    def circle(self, talker_of: list[Talker]) -> Say:
        """Delegate to the next for ever, whatever the result."""
        others = {"Ada": "Brass", "Brass": "Cog", "Cog": "Ada"}

        def say(name: str, body: Mapping[str, Any]) -> bytes:
            return hands_on(f"Count the lamps {talker_of[0].calls}.", specialist=others[name])

        return say

    def test_hole_d25_a_circle_of_delegates_ends_by_the_limits_of_the_task(self) -> None:
        """Only the calls for final answers go beyond the limit."""
        for limits, most in (
            ({"max_iterations_per_task": 12, "max_delegations_per_task": 0}, 12),
            ({"max_tokens_per_task": 4_000, "max_delegations_per_task": 0}, 18),
        ):
            with self.subTest(**limits):
                ModelCall.objects.all().delete()
                for script in self.scripts:
                    config = {"max_iterations_per_tick": 10, "sub_agents_enabled": True}
                    state.write(
                        script,
                        execution_config=config,
                        max_agent_hops=0,
                        emergency_stop=False,
                        safety_config=UNATTENDED
                        | {"loop": {"max_tool_calls_per_context": 0, **limits},
                           "checks": {"same_failures": 0, "failures_in_a_row": 0, "anomalies": 0}},
                    )  # fmt: skip
                held: list[Talker] = []
                talker = self.let(self.circle(held))
                held.append(talker)
                self.type(self.tom, "whisper Ada = count the lamps")
                for _ in range(100):
                    self.advance(5)
                turns = list(ModelCall.objects.filter(purpose="turn"))
                assert 3 < len(turns) <= most
                (kind,) = set(limits) - {"max_delegations_per_task"}
                name = kind.removeprefix("max_").removesuffix("_per_task")
                ended = [f for f in self.facts("limit_denied") if f["kind"] == f"task_{name}"]
                assert 1 <= len(ended) <= 3
                used = sum(call.prompt_tokens + call.completion_tokens for call in turns)
                if name == "tokens":
                    assert used < 4_000 + max(talker.sent.values())
                assert {person_of(self.tom)} == set(self.by_person())

    def test_hole_d25_tasks_are_counted_over_the_chain(self) -> None:
        """The limit on delegations is shared by the chain."""
        for script in self.scripts:
            loop = {"max_delegations_per_task": 2}
            state.write(script, max_agent_hops=0, safety_config=UNATTENDED | {"loop": loop})
        held: list[Talker] = []
        held.append(self.let(self.circle(held)))
        self.type(self.tom, "whisper Ada = count the lamps")
        for _ in range(30):
            self.advance(5)
        assert 2 == len(self.names("delegation_begun"))


class TestSummaries(ChainTest):
    def summed_up(self, *lines: tuple[Any, str], spent: str = "") -> dict[str, int]:
        """The tokens charged to each person for the summary of a talk.

        Args:
            spent: the person who has no budget left for it.
        """
        self.let(lambda *_: completion(None, ("say", {"message": "Hello."})))
        for person, line in lines:
            self.type(person, line)
        ledger.store().flush()
        ModelCall.objects.all().delete()
        state.write(self.ada_script, compact_preserve_window=2)
        if spent:
            caps = {"player": {"tokens_per_day": 100_000}}
            state.write(self.ada_script, budget_config=caps)
            BudgetTotal.objects.filter(scope="player", key=spent).update(prompt_tokens=100_000)
        self.let(lambda *_: completion("They spoke of storms."))
        compact_conversation_history(self.ada_script)
        pump()
        return dict(self.by_person())

    def test_hole_d25_a_talks_summary_is_its_speakers(self) -> None:
        lines = [(self.tom, f"say @ada {'storm ' * 60} {n}") for n in range(8)]
        assert {person_of(self.tom)} == set(self.summed_up(*lines))

    def test_hole_d25_a_summary_of_several_is_shared_by_tokens(self) -> None:
        """Tom said three times as much as Mira; still one call is counted."""
        lines = [(self.tom, f"say @ada {'storm ' * 120} {n}") for n in range(6)]
        lines += [(self.mira, f"say @ada {'storm ' * 120} {n}") for n in range(2)]
        lines += [(self.mira, "say @ada hello")]
        charged = self.summed_up(*lines)
        toms, miras = charged[person_of(self.tom)], charged[person_of(self.mira)]
        assert {person_of(self.tom), person_of(self.mira)} == set(charged)
        assert 2.2 < toms / miras < 3.8
        game = ledger.report(
            Scope.GAME, "", state.budget_config(self.ada_script), self.clock.seconds()
        )
        (minute,) = [s for s in game.standings if s.name == "calls_per_minute"]
        assert 9 + 1 == minute.used

    def test_who_has_no_budget_left_keeps_no_summary_from_others(self) -> None:
        """Even if most of the talk is theirs; the game bears that share."""
        lines = [(self.tom, f"say @ada {'storm ' * 120} {n}") for n in range(6)]
        lines += [(self.mira, f"say @ada {'storm ' * 120} {n}") for n in range(2)]
        lines += [(self.mira, "say @ada hello")]
        charged = self.summed_up(*lines, spent=person_of(self.tom))
        assert {"", person_of(self.mira)} == set(charged)
        assert charged[""] > charged[person_of(self.mira)]
