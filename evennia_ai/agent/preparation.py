"""Preparation of a turn: its context, its limits and the inputs of its prompts.

Whatever reads a setting raises ConfigurationError if it is wrong.
"""

from __future__ import annotations

from functools import partial

from django.conf import settings

from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.memory.phrasing import split_persona
from evennia_ai.core.text.words import pronoun_sentence
from evennia_ai.core.turn import goals
from evennia_ai.core.turn.contexts import ContextType, context_for
from evennia_ai.core.turn.execution import ExecutionConfig, ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.pattern import (
    MOST_TOKENS_OF_ANSWER,
    Assessment,
    Signals,
    assess,
    assessed,
    assessment_prompt,
    read_assessment,
)
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import CircuitOpenError, LimitReachedError, ModelError
from evennia_ai.llm import local
from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.endpoints import Endpoint, from_provider
from evennia_ai.llm.fallback import Client
from evennia_ai.llm.token_counter import TokenCounter, counter_for
from evennia_ai.memory import grounding, modes, recalling
from evennia_ai.memory.recalling import NOTHING, Recalled
from evennia_ai.prompts import PromptInputs, build_inputs, facts_of
from evennia_ai.prompts.placeholders import check_macros
from evennia_ai.prompts.registry import PromptRegistry
from evennia_ai.runtime import game_functions, services, state
from evennia_ai.runtime import goals as stored_goals
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import pronouns
from evennia_ai.tasks.delegations import told_specialists


def context_of(turn: Turn) -> ContextType:
    """The context of a turn: an event, or a goal of the assistant's own."""
    is_own = turn.event.kind == OWN
    return ContextType.TICK_AUTONOMOUS if is_own else ContextType.TICK_EVENT


async def inputs_for_turn(script: Assistant, client: Client, turn: Turn) -> PromptInputs:
    """The inputs of a turn's prompts, with recalled memories, or one note for a small model."""
    context = context_of(turn)
    # A small model gets lost in a long prompt, so it gets only the note that bears on the line.
    if is_small(client):
        grounded = await grounding.ground(script, turn)
        # From here on the turn may not repeat what these audiences alone may know.
        turn.held |= grounded.audiences
        return prompt_inputs(script, client, context, hint=grounded.hint)
    recalled = await recalling.recall(script, turn)
    turn.held |= recalled.audiences
    return prompt_inputs(script, client, context, recalled)


def prompt_inputs(
    script: Assistant,
    client: Client,
    context_type: ContextType,
    recalled: Recalled = NOTHING,
    hint: str = "",
) -> PromptInputs:
    """Build the inputs of an assistant's prompts in a context.

    Args:
        hint: the note that a small model answers from; "" for others, and for turns of its own.
    """
    counter, text = counter_of(client), state.read(script, "persona")
    return build_inputs(
        partial(state.read, script),
        context_type,
        settings=settings,
        is_native=client.supports_tools,
        name=script.obj.key,
        pronouns=pronoun_sentence(pronouns(script)),
        count=counter.count,
        count_tools=counter.count_tools,
        count_messages=counter.count_messages,
        max_tokens=max_tokens_of(script, client),
        tool_mode=client.tool_mode,
        hears_history=not is_small(client),
        hint=hint,
        text=split_persona(text)[0] if hint else text,
        specialists=() if is_small(client) else told_specialists(script),
        goals=tuple(goals.as_prompt(goal) for goal in goals.top(stored_goals.of(script))),
        notes=recalled.notes,
        facts=lambda: facts_of(script.obj, modes.now(script)),
    )


def endpoint_of(script: Assistant, game: Endpoint) -> Endpoint:
    """The model that answers for an assistant: its own, or the game's."""
    provider, model = state.read(script, "llm_provider"), state.read(script, "llm_model")
    return from_provider(provider, model, game)


def generation_of(script: Assistant) -> Generation:
    """The sampling settings of an assistant."""
    return Generation(
        temperature=state.read(script, "llm_temperature"),
        top_p=state.read(script, "llm_top_p"),
        max_tokens=state.read(script, "llm_max_tokens"),
        reasoning_effort=state.read(script, "llm_reasoning_effort"),
        extra=state.read(script, "llm_extra_params"),
    )


def client_of(script: Assistant) -> Client:
    """A client for an assistant's model and the models that it falls back to."""
    game, own = services.endpoint(), state.read(script, "llm_fallback_models")
    first = endpoint_of(script, game)
    return services.pool().client(
        first, generation_of(script), services.fallbacks(own, first, game)
    )


def is_small(client: Client) -> bool:
    """True for the demo brain, which finds nothing in a long prompt."""
    return client.provider_name == "local" and local.is_small()


def counter_of(client: Client) -> TokenCounter:
    """The token counter for a client's model."""
    return counter_for(client.model, client.provider_name)


def max_tokens_of(script: Assistant, client: Client) -> int:
    """The size of the model's context in tokens: as set, else as known for the model."""
    return int(state.read(script, "max_context_tokens") or counter_of(client).max_tokens)


def pattern_of(
    script: Assistant, turn: Turn, inputs: PromptInputs, assessment: Assessment | None = None
) -> ExecutionPattern:
    """The limits of a turn, from settings, context and the task; each of them only restricts.

    Args:
        assessment: of the task; None: judge it by its words.
    """
    assessment = assessment or assess(turn.events, _signals(script, turn))
    return assessed(inputs.pattern, _execution(script), assessment)


def _execution(script: Assistant) -> ExecutionConfig:
    return ExecutionConfig.from_stored(state.read(script, "execution_config"))


async def assess_by_model(
    script: Assistant, turn: Turn, metered: MeteredClient
) -> Assessment | None:
    """Let the model assess a task, where the settings want that.

    Returns:
        None where they do not, and where the model fails, answers something else or is over a cap.
    """
    config = _execution(script)
    is_wanted = config.task_assessment_enabled and config.task_assessment_by == "model"
    # A resumed turn is not assessed, and paid for, a second time.
    if not is_wanted or turn.said:
        return None
    turn.model_calls += 1
    try:
        reply = await metered.ask(
            assessment_prompt(turn.events), purpose="assessment", max_tokens=MOST_TOKENS_OF_ANSWER
        )
    # The assessment only restricts, so the turn can go on without one, judged by its words.
    except (ModelError, CircuitOpenError, LimitReachedError):
        return None
    turn.count(reply.usage)
    return read_assessment(reply.content)


def _signals(script: Assistant, turn: Turn) -> Signals:
    work = script.work
    open_goals = goals.active(state.read(script, "current_goals")) if turn.event.kind == OWN else []
    return Signals(
        token_ratio=work.context_tokens / (work.max_context_tokens or 1),
        consecutive_errors=int(state.read(script, "consecutive_errors")),
        goal_urgency=open_goals[0]["priority"] / 10 if open_goals else 0.0,
    )


def check_settings() -> None:
    """Read the game's settings of contexts and prompts once."""
    stored_goals.named_hours()
    game_functions.check_settings()
    check_macros()
    PromptRegistry.read(getattr(settings, "EVENNIA_AI_PROMPTS", {}))
    for kind in ContextType:
        context_for(kind, getattr(settings, "EVENNIA_AI_CONTEXT_CONFIGS", {}), {})


def goes_on(pattern: ExecutionPattern, stop: Stop) -> bool:
    """True where the next beat takes the next step of this turn: one step per beat was wanted."""
    is_step = pattern.mode is ExecutionMode.SINGLE_ACTION
    is_used_up = stop.reason is StopReason.MAX_ITERATIONS
    return is_step and is_used_up and stop.limit is None and stop.halt is None
