"""Model calls in inner contexts, such as reflection, which do not answer a message.

The prompt has the parts of its context and one request. Calls are limited by the context, paid for
and counted, and their results are dropped after a stop. A model with tool calls may look up
memories before it answers, if the request allows it, but it can neither speak nor act nor write.
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
from evennia_ai.core.turn.turn import MoneySpent, Turn
from evennia_ai.engine.bounds import require_room
from evennia_ai.engine.ports import Reply, Specs
from evennia_ai.engine.react import LAST_STEP
from evennia_ai.errors import AssistantError, ConfigurationError, ModelTimeoutError
from evennia_ai.llm.fallback import Client
from evennia_ai.llm.token_counter import counter_for
from evennia_ai.memory import modes
from evennia_ai.memory.evidence import ShownMemories
from evennia_ai.prompts import PromptInputs, build_inputs, compose_inner, facts_of
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import InnerCall
from evennia_ai.tools.registry import SPECS
from evennia_ai.tools.schema import arguments_problem, fitted

DEADLINE_SECONDS = 120.0
LONGEST_ANSWER_TOKENS = 1_500
# With less of the budget left than this, an answer would be cut off, so no call is made.
FEWEST_ANSWER_TOKENS = 1_000
MADE_UP = "(what it is about)"


class PutOffError(AssistantError):
    """Background work that cannot be done now and is postponed."""


def config_of(script: Assistant, context_type: ContextType) -> ContextConfig:
    """The configuration of a context for an assistant.

    Raises:
        PutOffError: its settings are invalid.
    """
    game = getattr(settings, "EVENNIA_AI_CONTEXT_CONFIGS", {})
    try:
        return context_for(context_type, game, state.read(script, "context_configs"))
    except ConfigurationError as error:
        raise PutOffError(str(error)) from None


@dataclass(frozen=True, slots=True)
class InnerSetup:
    """An inner context ready for calls: the parts of its prompt, its tools and limits."""

    inputs: PromptInputs
    specs: Specs
    most_calls: int
    calls_per_reply: int


def enter(
    script: Assistant, client: Client, context_type: ContextType, looks: Iterable[str] = ()
) -> InnerSetup:
    """Prepare an inner context with the current settings.

    Args:
        looks: names of the lookup tools that the request can use.

    Raises:
        ConfigurationError: its settings are invalid.
    """
    counter = counter_for(client.model, client.provider_name)
    inputs = build_inputs(
        partial(state.read, script),
        context_type,
        settings=settings,
        is_native=client.supports_tools,
        name=str(script.key if script.obj is None else script.obj.key),
        count=counter.count,
        count_tools=counter.count_tools,
        count_messages=counter.count_messages,
        max_tokens=int(state.read(script, "max_context_tokens") or counter.max_tokens),
        facts=lambda: facts_of(script.obj, modes.now(script)),
    )
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    pattern = compose_pattern(config, inputs.context)
    offered = {name: SPECS[name] for name in looks if pattern.offers(SPECS[name])}
    # With a single call there is none left to answer in after a lookup.
    is_offering = client.supports_tools and pattern.max_iterations > 1
    return InnerSetup(
        inputs, offered if is_offering else {}, pattern.max_iterations, pattern.calls_per_reply
    )


def sample(script: Assistant, context_type: ContextType) -> Request:
    """An example of a request in an inner context, with placeholder memories."""
    count = state.memory_config(script).reflection_questions
    samples = {
        ContextType.REFLECTION: lambda: questions_request([MADE_UP], count),
        ContextType.REFLECTION_CONT: lambda: insights_request("?", [Shown(MADE_UP)]),
        ContextType.GOAL_DECOMPOSE: lambda: split_request(MADE_UP, ()),
    }
    return samples.get(context_type, lambda: facts_request([Shown(MADE_UP)], ()))()


@dataclass(slots=True)
class Asker:
    """The assistant's model, for background requests.

    Attributes:
        most_tokens: budget of tokens for all calls; None: only limited by spending caps.
        tokens: tokens used so far.
        shares: people who pay for the calls, with the share of each; empty for nobody.
        turn: the turn that waits for the calls, whose limits apply and which pays for them; None:
            they are independent of turns.
        spare: number of extra calls after the first of each answer, for all answers together.
        before_spare: called before each extra call.
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
        """True if a call with a prompt of so many tokens fits into the remaining budget."""
        most = self.most_tokens
        return most is None or self.tokens + size + FEWEST_ANSWER_TOKENS <= most

    async def ask(
        self,
        request: Request,
        context_type: ContextType,
        purpose: str,
        evidence: ShownMemories | None = None,
    ) -> str:
        """Ask the model, which may look up memories before it answers.

        Args:
            purpose: purpose of the call in the ledger.
            evidence: memories that were shown, and lookups; None: no lookups.

        Returns:
            The model's last text; "" if it had no call left to answer in.

        Raises:
            PutOffError: the budget is used up, or the context's settings are invalid.
            AssistantError: the model failed, must not be asked now, or a cap or limit is reached.
            StaleEpochError: the assistant was stopped or reset in the meantime.
        """
        messages: list[Message] = []
        if self.spare < 1:
            # No lookups are offered if there is no extra call left to use their result.
            evidence = None
        setup = self._enter(context_type, evidence)
        calls_left = min(setup.most_calls, 1 + self.spare)
        while True:
            reply = await self._call(setup, request, messages, purpose)
            calls_left -= 1
            if evidence is None or not setup.specs or not reply.tool_calls or calls_left <= 0:
                return str(reply.content)
            # Counted before the call, so that a crash cannot repeat extra calls without end.
            self.before_spare()
            self.spare -= 1
            calls = reply.tool_calls[: setup.calls_per_reply]
            if (after := AFTER_TOOL.get(setup.inputs.context.context_type)) is not None:
                setup = self._enter(after, evidence)
                calls_left = min(calls_left, setup.most_calls)
            results = [await _run_lookup(evidence, call, setup.specs) for call in calls]
            # Tell the model that its next call is the last one, or it may only look up more.
            advisory = LAST_STEP if calls_left == 1 else ""
            answered = zip(calls, results, strict=True)
            messages += [call_message(*calls, beside=reply.beside)]
            messages += [result_message(call, result, advisory) for call, result in answered]

    def _enter(self, context_type: ContextType, evidence: ShownMemories | None) -> InnerSetup:
        try:
            return enter(self.script, self.client, context_type, evidence.looks if evidence else ())
        except ConfigurationError as error:
            raise PutOffError(str(error)) from None

    async def _call(
        self, setup: InnerSetup, request: Request, said: Sequence[Message], purpose: str
    ) -> Reply:
        self.fence.check()
        prompt = compose_inner(setup.inputs, request, setup.specs)
        if prompt.usage_ratio > 1:
            raise PutOffError(prompt.fullness.unfit())
        messages = [*prompt.messages, *said]
        size = count_messages(messages, estimate)
        if not self.has_room(size):
            raise PutOffError(f"the night's token_budget of {self.most_tokens} has no room for it")
        self._count_call(size)
        tools = tuple(setup.specs.values())
        metered, context_type = self._metered, setup.inputs.context.context_type
        call = metered.ask(messages, tools, purpose=purpose, **self._call_options(size))
        try:
            reply: Reply = await call.addTimeout(DEADLINE_SECONDS, self.script.clock)
        except DeadlineError:
            raise ModelTimeoutError(f"no answer within {DEADLINE_SECONDS:g} s") from None
        finally:
            # Also of a call that was cut off or whose assistant was stopped meanwhile.
            if self.turn is None and metered.spent.calls:
                self._count_usage(metered.spent, context_type, purpose)
        # Before the fence: the call was paid for.
        self._record_call(reply, size, context_type, purpose)
        self.fence.check()
        return reply

    def _count_call(self, size: int) -> None:
        """Check the limits of the turn and count the call, before it is made."""
        if self.turn is not None:
            loop = state.safety_config(self.script).loop
            require_room(self.turn, loop, size + LONGEST_ANSWER_TOKENS)
            self.turn.model_calls += 1

    @property
    def _metered(self) -> MeteredClient:
        if self.turn is None:
            return MeteredClient(self.script, self.client, shares=self.shares)
        return MeteredClient(self.script, self.client, self.turn.payer, spent=self.turn.spent)

    def _count_usage(self, spent: MoneySpent, context_type: ContextType, purpose: str) -> None:
        """Count what calls outside a turn used."""
        used = spent.usage
        event = usage_counted(
            purpose, spent.calls, used.prompt_tokens, used.completion_tokens, context=context_type
        )
        turns.add_usage(self.script, Turn(0, (), spent=spent), event)

    def _record_call(
        self, reply: Reply, size: int, context_type: ContextType, purpose: str
    ) -> None:
        """Count the tokens of a call for the night or the turn, and note it for `assistant why`."""
        script, used = self.script, reply.usage
        # Some services report no usage: the prompt's estimate is better than nothing.
        tokens = (used.prompt_tokens or size) + used.completion_tokens
        self.tokens += tokens
        names = tuple(call.name for call in reply.tool_calls)
        now = script.clock.seconds()
        script.work.inner_calls.append(InnerCall(now, context_type, purpose, tokens, names))
        if self.turn is not None:
            # The turn reports all of its calls when it ends.
            self.turn.count(used)

    def _call_options(self, size: int) -> dict[str, Any]:
        """Options that limit the answer to the remaining budget."""
        # A list of facts may be longer than `llm_max_tokens`, which is meant for replies.
        limit = state.read(self.script, "llm_max_tokens")
        extra: dict[str, Any] = {}
        if limit is not None or not self.client.supports_tools:
            extra = {"max_tokens": max(limit or 0, LONGEST_ANSWER_TOKENS)}
        if self.most_tokens is None:
            return extra
        tokens_left = max(1, self.most_tokens - self.tokens - size)
        return {"max_tokens": min(tokens_left, self.client.wanted(extra).tokens)}


async def _run_lookup(
    evidence: ShownMemories, call: ToolCall, specs: Mapping[str, ToolSpec]
) -> ToolResult:
    """Run a lookup tool, or return the reason why the call is invalid."""
    spec = specs.get(call.name)
    if spec is None:
        names = ", ".join(specs) or "none"
        return ToolResult(False, f"there is no such tool here; there are {names}", Fault.NOT_RUN)
    problem = call.problem or arguments_problem(spec, call.arguments)
    if problem:
        return ToolResult(False, problem, Fault.BAD_ARGUMENTS)
    return await evidence.look_up(replace(call, arguments=fitted(spec, call.arguments)))
