"""Model calls in the inner contexts: nobody waits for them, and nobody watches.

Each is composed of its context's parts and of one request, bounded as the context says, paid for,
counted, and void after a stop. A model that calls tools may look up memories before it answers, as
far as the request has any for it; it can neither speak nor act, nor write anything down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.conf import settings
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.memory.extraction import Request, Shown, facts_request
from evennia_ai.core.memory.reflection import insights_request, questions_request
from evennia_ai.core.turn.contexts import AFTER_TOOL, ContextConfig, ContextType, context_for
from evennia_ai.core.turn.conversation import Message, call_message, result_message
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.executions import usage_counted
from evennia_ai.core.turn.goals import split_request
from evennia_ai.core.turn.pattern import compose_pattern
from evennia_ai.core.turn.tokens import count_messages, estimate
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.bounds import require_room
from evennia_ai.engine.ports import Reply, Specs
from evennia_ai.engine.react import LAST_STEP
from evennia_ai.errors import AssistantError, ConfigurationError, ModelTimeoutError
from evennia_ai.llm.fallback import Client
from evennia_ai.llm.token_counter import counter_for
from evennia_ai.memory import modes
from evennia_ai.memory.evidence import ShownMemories
from evennia_ai.prompts import Scene, compose_inner, facts_of, stage
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import InnerCall
from evennia_ai.tools.registry import SPECS
from evennia_ai.tools.schema import arguments_problem, fitted

DEADLINE_SECONDS = 120.0
LONGEST_ANSWER_TOKENS = 1_500
FEWEST_ANSWER_TOKENS = 1_000
MADE_UP = "(what it is about)"


class PutOffError(AssistantError):
    """Something that nobody waits for cannot be done now; another time does it."""


def config_of(script: Assistant, context_type: ContextType) -> ContextConfig:
    """A context as it holds for an assistant.

    Raises:
        PutOffError: something of it is set wrongly.
    """
    game = getattr(settings, "EVENNIA_AI_CONTEXT_CONFIGS", {})
    try:
        return context_for(context_type, game, state.read(script, "context_configs"))
    except ConfigurationError as error:
        raise PutOffError(str(error)) from None


@dataclass(frozen=True, slots=True)
class InnerSetup:
    """An inner context as it is entered: what its prompt is made of, and what may be done there."""

    scene: Scene
    specs: Specs
    most_calls: int
    calls_per_reply: int


def enter(
    script: Assistant, client: Client, context_type: ContextType, looks: Iterable[str] = ()
) -> InnerSetup:
    """An inner context as it holds now.

    Args:
        looks: names of the tools that what is asked there has any use for.

    Raises:
        ConfigurationError: something of it is set wrongly.
    """
    counter = counter_for(client.model, client.provider_name)
    scene = stage(
        partial(state.read, script),
        context_type,
        settings=settings,
        is_native=client.supports_tools,
        name=str(script.key if script.obj is None else script.obj.key),
        count=counter.count,
        count_tools=counter.count_tools,
        max_tokens=int(state.read(script, "max_context_tokens") or counter.max_tokens),
        facts=lambda: facts_of(script.obj, modes.hour(script)),
    )
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    pattern = compose_pattern(config, scene.context)
    offered = {name: SPECS[name] for name in looks if pattern.offers(SPECS[name])}
    is_offering = client.supports_tools and pattern.max_iterations > 1
    return InnerSetup(
        scene, offered if is_offering else {}, pattern.max_iterations, pattern.calls_per_reply
    )


def sample(script: Assistant, context_type: ContextType) -> Request:
    """A request as it is made in an inner context, with something made up for memories."""
    count = state.memory_config(script).reflection_questions
    samples = {
        ContextType.REFLECTION: lambda: questions_request([MADE_UP], count),
        ContextType.REFLECTION_CONT: lambda: insights_request("?", [Shown(MADE_UP)]),
        ContextType.GOAL_DECOMPOSE: lambda: split_request(MADE_UP, ()),
    }
    return samples.get(context_type, lambda: facts_request([Shown(MADE_UP)], ()))()


@dataclass(slots=True)
class Asker:
    """The assistant's model, for what nobody waits for.

    Attributes:
        most_tokens: what all calls may use; None: no more than the caps on what it costs say.
        tokens: what they used.
        shares: whose calls they are, and how much of each; empty for nobody's.
        turn: the one that waits for them, whose limits hold for them and which pays for them;
            None: they are made beside all turns.
        spare: how many calls there may be beyond the first of each answer, all answers together.
        before_spare: called before each of these.
    """

    script: Assistant
    client: Client
    fence: Fence
    most_tokens: int | None = None
    tokens: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)
    turn: Turn | None = None
    spare: float = math.inf
    before_spare: Callable[[], None] = lambda: None

    def has_room(self, size: int) -> bool:
        """True where a call with a prompt of so many tokens fits into what is left."""
        most = self.most_tokens
        return most is None or self.tokens + size + FEWEST_ANSWER_TOKENS <= most

    async def ask(
        self,
        request: Request,
        context_type: ContextType,
        purpose: str,
        evidence: ShownMemories | None = None,
    ) -> str:
        """The model's answer to a request, perhaps after it looked something up.

        Args:
            purpose: for the ledger.
            evidence: what it was shown and may look up; None: it is told all there is.

        Returns:
            What the model wrote last; "" where it had no step left to answer in.

        Raises:
            PutOffError: no budget has room for it, or its context is set wrongly.
            AssistantError: the model failed, is not asked now, or no cap or limit has room for it.
            StaleEpochError: it was stopped or reset meanwhile.
        """
        said: list[Message] = []
        if self.spare < 1:
            evidence = None
        room = self._enter(context_type, evidence)
        left = min(room.most_calls, 1 + self.spare)
        while True:
            reply = await self._call(room, request, said, purpose)
            left -= 1
            if evidence is None or not room.specs or not reply.tool_calls or left <= 0:
                return str(reply.content)
            self.before_spare()
            self.spare -= 1
            calls = reply.tool_calls[: room.calls_per_reply]
            if (after := AFTER_TOOL.get(room.scene.context.context_type)) is not None:
                room = self._enter(after, evidence)
                left = min(left, room.most_calls)
            results = [await _looked_up(evidence, call, room.specs) for call in calls]
            advisory = LAST_STEP if left == 1 else ""
            told = zip(calls, results, strict=True)
            said += [call_message(*calls)]
            said += [result_message(call, result, advisory) for call, result in told]

    def _enter(self, context_type: ContextType, evidence: ShownMemories | None) -> InnerSetup:
        try:
            return enter(self.script, self.client, context_type, evidence.looks if evidence else ())
        except ConfigurationError as error:
            raise PutOffError(str(error)) from None

    async def _call(
        self, room: InnerSetup, request: Request, said: Sequence[Message], purpose: str
    ) -> Reply:
        self.fence.check()
        prompt = compose_inner(room.scene, request, room.specs)
        if prompt.usage_ratio > 1:
            raise PutOffError(prompt.fullness.unfit())
        messages = [*prompt.messages, *said]
        size = count_messages(messages, estimate)
        if not self.has_room(size):
            raise PutOffError(f"the night's token_budget of {self.most_tokens} has no room for it")
        self._count_call(size)
        tools = tuple(room.specs.values())
        asked = self._metered.ask(messages, tools, purpose=purpose, **self._extra(size))
        try:
            reply: Reply = await asked.addTimeout(DEADLINE_SECONDS, self.script.clock)
        except DeadlineError:
            raise ModelTimeoutError(f"no answer within {DEADLINE_SECONDS:g} s") from None
        # Before the fence: it was paid for, whatever came meanwhile.
        self._count(reply, size, room.scene.context.context_type, purpose)
        self.fence.check()
        return reply

    def _count_call(self, size: int) -> None:
        """Count a call before it is made, where the limits of its turn leave room for it.

        Args:
            size: tokens of the prompt.
        """
        if self.turn is not None:
            loop = state.safety_config(self.script).loop
            require_room(self.turn, loop, size + LONGEST_ANSWER_TOKENS)
            self.turn.model_calls += 1

    @property
    def _metered(self) -> MeteredClient:
        if self.turn is None:
            return MeteredClient(self.script, self.client, shares=self.shares)
        return MeteredClient(self.script, self.client, self.turn.payer, spent=self.turn.spent)

    def _count(self, reply: Reply, size: int, context_type: ContextType, purpose: str) -> None:
        """Count what a call used, and note it for `assistant why`."""
        script, used = self.script, reply.usage
        tokens = (used.prompt_tokens or size) + used.completion_tokens
        self.tokens += tokens
        names = tuple(call.name for call in reply.tool_calls)
        now = script.clock.seconds()
        script.work.inner_calls.append(InnerCall(now, context_type, purpose, tokens, names))
        if self.turn is not None:  # whose tick is told with all its calls
            self.turn.count(used)
            return
        told = usage_counted(
            purpose, 1, used.prompt_tokens, used.completion_tokens, context=context_type
        )
        turns.add_usage(script, Turn(0, (), usage=used, model_calls=1), told)

    def _extra(self, size: int) -> dict[str, Any]:
        """A list may be longer than what the assistant says, but not than what is left.

        Args:
            size: tokens of the prompt.
        """
        limit = state.read(self.script, "llm_max_tokens")
        extra: dict[str, Any] = {}
        if limit is not None or not self.client.supports_tools:
            extra = {"max_tokens": max(limit or 0, LONGEST_ANSWER_TOKENS)}
        if self.most_tokens is None:
            return extra
        left = max(1, self.most_tokens - self.tokens - size)
        return {"max_tokens": min(left, self.client.wanted(extra).tokens)}


async def _looked_up(
    evidence: ShownMemories, call: ToolCall, specs: Mapping[str, ToolSpec]
) -> ToolResult:
    """The result of a call, or what is wrong with it."""
    spec = specs.get(call.name)
    if spec is None:
        names = ", ".join(specs) or "none"
        return ToolResult(False, f"there is no such tool here; there are {names}", Fault.NOT_RUN)
    problem = call.problem or arguments_problem(spec, call.arguments)
    if problem:
        return ToolResult(False, problem, Fault.BAD_ARGUMENTS)
    return await evidence.look_up(replace(call, arguments=fitted(spec, call.arguments)))
