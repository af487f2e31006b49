"""A way to reach each limit of the inventory, as a model or a person does in a game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evennia.server.models import ServerConfig
from twisted.internet.task import Clock

from evennia_ai import audit, operations
from evennia_ai.approvals import checkpoints
from evennia_ai.budget import ledger
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.operations.audit import log as auditing
from evennia_ai.resilience import CircuitBreakerRegistry
from evennia_ai.runtime import services, state
from tests.game.support import pump
from tests.game.tasks.delegating import DelegationTest, hands_on, reports

NOON = 1_795_262_430.0
TOKENS = {"prompt_tokens": 100, "completion_tokens": 10}
LAST = completion("So far so good.", usage=TOKENS)
EVENTS = ("safety_limit_checkpoint", "limit_denied")
# A dollar a token, so that the same figures serve for tokens and for money.
PRICES = {"a-model": {"input": 1_000_000, "output": 1_000_000}}
# Tokens beyond a prompt: enough for a last word, too few for a step and a last word.
LITTLE = 700


def look(number: int) -> bytes:
    """An answer with a harmless call, unlike any before."""
    return completion(None, ("write_note", {"text": f"thing {number}"}), usage=TOKENS)


class LimitCase(DelegationTest):
    """Ada reaches one limit after the other, each as a newly made assistant.

    Attributes:
        at_record: the recorded events, each with the number of model calls before it.
    """

    environ = {
        "EVENNIA_AI_MODEL": "a-model",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "none",
    }

    def setUp(self) -> None:
        super().setUp()
        self.at_record: list[tuple[str, Mapping[str, Any], int]] = []
        audit.LISTENERS.append(self._note)
        self.addCleanup(audit.LISTENERS.remove, self._note)

    def _note(self, event: str, _subject: str, facts: Mapping[str, Any]) -> None:
        if event in EVENTS:
            self.at_record.append((event, facts, len(self.model.bodies)))

    def begin_anew(self, way: Way, mode: str) -> None:
        """Make Ada and Brass anew, with the limit so low that it is reached."""
        self.end_all()
        ledger.start_anew()
        BudgetTotal.objects.all().delete()
        ModelCall.objects.all().delete()
        checkpoints._DECIDED.clear()
        ServerConfig.objects.conf(checkpoints.STORED_EXTENSIONS, delete=True)
        self.clock = Clock()
        self.clock.rightNow = NOON
        self.model = ScriptedModel()
        services.pool.cache_clear()
        pool = services.pool()
        # A process whose time the test moves.
        pool._reactor, pool.breakers = self.clock, CircuitBreakerRegistry(clock=self.clock.seconds)
        pool.set_transport(services.endpoint(), self.model)
        self.ada_script, self.ada = self.make("Ada")
        self.brass_script, self.brass = self.make("Brass")
        for script in (self.ada_script, self.brass_script):
            script.clock = self.clock
        self.brass_script.tags.add("specialist")
        self.ada.locks.add("ai_control:perm(Builder);ai_configure:perm(Builder)")
        on_limit = {"mode": mode, "modes": {way.kind.value: mode}, "auto_extend_times": 1}
        config = {"sub_agents_enabled": True, **way.settings.get("execution_config", {})}
        safety = {"on_limit": on_limit, **way.settings.get("safety_config", {})}
        given = {**way.settings, "execution_config": config, "safety_config": safety}
        state.write(self.ada_script, compact_enabled=False, **given)
        self.forget()
        self.at_record.clear()
        pump()

    def meet(self, way: Way, mode: str) -> None:
        self.begin_anew(way, mode)
        self.model.answers.extend((*way.answers, *way.last))
        way.act(self)
        pump()

    def nobody_may_answer(self) -> None:
        """Take control of Ada and Brass from everybody who could be asked."""
        for body in (self.ada, self.brass):
            body.locks.add("ai_control:id(99999);ai_configure:id(99999)")

    def end(self) -> None:
        for _ in range(5):
            while self.model.waiting:
                asked = self.model.bodies[-1].get("tools", ())
                is_task = any(tool["function"]["name"] == "report" for tool in asked)
                self.model_answers(reports("Done.") if is_task else LAST)

    def answers(self) -> list[str]:
        """The lines that Tom was told by Ada, without those in which she is seen to think."""
        return [line for line in self.tom.heard_from(self.ada) if "think" not in line]

    def on_record(self, kind: LimitKind) -> list[tuple[str, Mapping[str, Any]]]:
        """The stored record of a limit, oldest first."""
        audit.flush()
        log = auditing.audit_log(self.ada_script, limit=100, events=EVENTS)
        entries = [(entry["event"], entry["details"]) for entry in log.data.entries]
        return [entry for entry in reversed(entries) if entry[1]["kind"] == kind]


# ---- the ways ----------------------------------------------------------------------------------


def _whisper(case: LimitCase) -> None:
    case.type(case.tom, "whisper Ada = find it")


def _whisper_at_length(case: LimitCase) -> None:
    case.type(case.tom, f"whisper Ada = {'x' * 30}")


def wait(seconds: float) -> Callable[[LimitCase], None]:
    def act(case: LimitCase) -> None:
        _whisper(case)
        case.model.answers.extend([LAST])
        case.advance(seconds)

    return act


def _two_beats(case: LimitCase) -> None:
    _whisper(case)
    case.ada_script.at_repeat()


def _twice_at_once(case: LimitCase) -> None:
    _whisper(case)
    # A turn waits for its task, so a second task at the same time comes from outside the turn.
    case.start("delegate_task", {"task": "Count the chairs."}).addErrback(lambda failure: None)


def _spend(name: str) -> Callable[[LimitCase], None]:
    """Set a cap with just enough room for the current step and a last word."""

    def act(case: LimitCase) -> None:
        answers = list(case.model.answers)
        case.model.answers.clear()
        _whisper(case)
        left = sum(TOKENS.values()) + case.ada_script.work.context_tokens + LITTLE
        state.write(case.ada_script, budget_config={"assistant": {name: left}})
        case.model.answers.extend(answers[1:])
        case.model.answer(answers[0])

    return act


def _alone(case: LimitCase) -> None:
    operations.add_goal(case.ada_script, "find the lost atlas")
    for _ in range(3):
        case.clock.advance(5)
        case.ada_script.at_repeat()
        pump()


@dataclass(frozen=True)
class Way:
    """A way to reach one limit.

    Attributes:
        settings: Ada's settings.
        answers: the answers of the model before the limit.
        act: the steps that reach the limit.
        last: the answers of the model after it.
    """

    kind: LimitKind
    settings: dict[str, Any]
    answers: tuple[bytes, ...] = ()
    act: Callable[[LimitCase], None] = _whisper
    last: tuple[bytes, ...] = field(default=(LAST,))


def _loop(**values: int) -> dict[str, Any]:
    return {"safety_config": {"loop": values}}


PACE = {"autonomy_config": {"seconds": 1, "acts_per_hour": 1000}}
COUNT = hands_on(specialist="Brass")
WAYS = (
    Way(LimitKind.ITERATIONS, {"execution_config": {"max_iterations_per_tick": 1}}, (look(1),)),
    Way(LimitKind.MODEL_CALLS, _loop(max_model_calls_per_tick=1), (look(1),)),
    Way(LimitKind.TOOL_CALLS, _loop(max_tool_calls_per_context=1), (look(1), look(2))),
    Way(
        LimitKind.CONTEXT_VISITS,
        {**_loop(max_context_visits=1), "execution_config": {"multi_action_enabled": False}},
        (look(1),),
        _two_beats,
    ),
    Way(LimitKind.TASK_ITERATIONS, _loop(max_iterations_per_task=1), (look(1),)),
    Way(LimitKind.TASK_TOKENS, _loop(max_tokens_per_task=10), (look(1),)),
    Way(
        LimitKind.TICK_SECONDS,
        {"safety_config": {"timeout": {"tick_seconds": 30}}},
        (),
        wait(30),
        (),
    ),
    Way(LimitKind.MODEL_CALL_SECONDS, {}, (), wait(60), ()),
    Way(LimitKind.DELEGATIONS, _loop(max_delegations_per_task=1), (COUNT, reports("7"), COUNT)),
    Way(
        LimitKind.DELEGATES_AT_ONCE,
        {"execution_config": {"sub_agent_budget": 1}},
        (COUNT,),
        _twice_at_once,
        (),
    ),
    Way(LimitKind.AGENT_HOPS, {"max_agent_hops": 1}, (COUNT,)),
    Way(LimitKind.DELEGATION_SECONDS, {}, (COUNT,), wait(60), ()),
    Way(LimitKind.OWN_TURNS, {**_loop(max_own_turns=1), **PACE}, (), _alone, (LAST,) * 3),
    Way(
        LimitKind.MESSAGE_CHARACTERS,
        {"safety_config": {"size": {"message_characters": 20, "on_oversize": "ask"}}},
        (),
        _whisper_at_length,
    ),
    *(
        Way(kind, {}, (look(1),), _spend(kind.removeprefix("cost.")))
        for kind in LimitKind
        if kind.startswith("cost.") and kind is not LimitKind.CALLS_PER_MINUTE
    ),
    Way(
        LimitKind.CALLS_PER_MINUTE,
        {"budget_config": {"assistant": {"calls_per_minute": 2}}},
        (look(1),),
    ),
)
ASKED = [kind for kind in LimitKind if LIMITS[kind].asks]
