"""The next prompt of an assistant's model in any context, shown to staff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, NotRequired

from typing_extensions import TypedDict

from evennia_ai.agent import autonomy, preparation
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn import conversation
from evennia_ai.core.turn.autonomy import ActReason
from evennia_ai.core.turn.contexts import MAIN_PARTS, ContextType, PromptPart
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.engine.ports import Prompt, Specs
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import evidence, grounding
from evennia_ai.operations.conversation.hearing import turn_of
from evennia_ai.operations.result import Result, note
from evennia_ai.prompts import PromptInputs, compose, compose_inner, told_components
from evennia_ai.runtime import turns
from evennia_ai.tool_execution import toolbox
from evennia_ai.tools import inner_calls
from evennia_ai.tools.showing import shown

EXAMPLE = "hello"


def no_context(name: str) -> Result[Any]:
    """Refuse a name that is not a context."""
    return Result.invalid(f"There is no context {name!r}; there are {', '.join(ContextType)}.")


class NextPrompt(NamedTuple):
    """The prompt that a short whisper would lead to, with its parts."""

    inputs: PromptInputs
    turn: Turn
    specs: Specs
    prompt: Prompt


def next_prompt(
    script: AssistantScript, being: Being, context_type: ContextType = ContextType.TICK_EVENT
) -> NextPrompt:
    """Build the prompt that a whisper of `being`, or an autonomous turn, would lead to now.

    Raises:
        ConfigurationError: a setting is wrong, or the assistant has no body.
    """
    if script.obj is None:
        raise ConfigurationError("it has no body")
    client = script.client()
    if context_type is ContextType.TICK_EVENT:
        turn = turn_of(script, being, EXAMPLE)
    else:
        turn = turns.of_events(script, autonomy.event_of(script, ActReason.GOAL))
    hint = grounding.ground_by_words(script, turn).hint if preparation.is_small(client) else ""
    inputs = preparation.prompt_inputs(script, client, context_type, hint=hint)
    pattern = preparation.pattern_of(script, turn, inputs)
    is_small = not client.supports_tools
    tools = toolbox(script, turn, pattern, is_small=is_small, is_grounded=inputs.is_grounded)
    specs = shown(script.obj, turn, tools.specs())
    return NextPrompt(inputs, turn, specs, compose(inputs, turn, specs))


class ShownPrompt(TypedDict):
    """The next prompt: either the sizes of its components, or its messages."""

    tokens: NotRequired[
        Annotated[dict[int, int], note("Tokens by component number; -1 is the tools.")]
    ]
    total: NotRequired[int]
    messages: NotRequired[list[dict[str, object]]]


def show_prompt(
    script: AssistantScript,
    being: Being,
    *,
    is_whole: bool = False,
    context: str = ContextType.TICK_EVENT,
) -> Result[ShownPrompt]:
    """Show the sizes of the next prompt's components, or the whole prompt.

    Args:
        being: the reader; it is the prompt that a whisper of theirs would lead to.
        context: the prompt's context; in an inner one sample text stands for memories.
    """
    if context not in tuple(ContextType):
        return no_context(context)
    context_type = ContextType(context)
    try:
        if script.work is None:
            raise ConfigurationError("it is not running")
        if context_type in MAIN_PARTS:
            return _inner_prompt(script, context_type, is_whole=is_whole)
        inputs, turn, specs, prompt = next_prompt(script, being, context_type)
    except ConfigurationError as error:
        return Result.invalid(f"{script.key} has no prompt now: {error}")
    if is_whole:
        return _whole(prompt)
    sizes = _sizes(inputs, turn, specs, prompt)
    of_itself = context_type is ContextType.TICK_AUTONOMOUS
    began = "by itself" if of_itself else f"asked by {being.key}"
    lines = [f"{script.key}, {began}: tokens of each component, in order"]
    for number, component in inputs.components.items():
        lines.append(f"  {number:>4}  {component.key:<22} {_size_or_why(inputs, number, sizes):>9}")
    lines.append(f"        {f'tools ({len(specs)})':<22} {sizes[-1]:>9}")
    if (rest := prompt.tokens - sum(sizes.values())) > 0:
        lines.append(f"        {'examples and frames':<22} {rest:>9}")
    lines.append(
        f"  together {prompt.tokens} of {prompt.max_tokens} tokens ({prompt.usage_ratio:.0%})"
    )
    return Result(True, "\n".join(lines), {"tokens": sizes, "total": prompt.tokens})


def _whole(prompt: Prompt) -> Result[ShownPrompt]:
    lines = [f"[{m['role']}]\n{as_text(m)}" for m in prompt.messages]
    return Result(True, "\n\n".join(lines), {"messages": prompt.messages})


def _inner_prompt(
    script: AssistantScript, context_type: ContextType, *, is_whole: bool
) -> Result[ShownPrompt]:
    # The prompt of an inner call, such as reflection, which no player sees.
    room = inner_calls.enter(script, script.client(), context_type, evidence.LOOKS)
    prompt = compose_inner(room.inputs, inner_calls.sample(script, context_type), room.specs)
    if is_whole:
        return _whole(prompt)
    names = ", ".join(room.specs) or "none"
    lines = [
        f"{script.key}, context {context_type}: what its model is asked, without memories",
        f"  together {prompt.tokens} of {prompt.max_tokens} tokens",
        f"  at most  {counted(room.most_calls, 'model calls')} for one answer",
        f"  tools    {names} ({prompt.tool_tokens} tokens)",
    ]
    return Result(
        True, "\n".join(lines), {"tokens": {-1: prompt.tool_tokens}, "total": prompt.tokens}
    )


def as_text(message: Message) -> str:
    """The text of a message, or its tool calls."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return message["content"] or "\n".join(f"{call['name']} {call['arguments']}" for call in calls)


def _sizes(inputs: PromptInputs, turn: Turn, specs: Specs, prompt: Prompt) -> dict[int, int]:
    # Tokens by component id; the tools, which are no component, under -1.
    sizes = {number: inputs.count(text) for number, text in told_components(inputs, turn, specs)}
    overheard = conversation.turn_text((), turn.overheard)
    event = conversation.user_message(conversation.turn_text(turn.events))
    history = [message for message in prompt.messages if message in turn.history]
    return sizes | {
        -1: inputs.tokens_of_tools(specs.values()),
        int(PromptPart.OVERHEARD): inputs.count(overheard) if overheard else 0,
        int(PromptPart.HISTORY): inputs.tokens_of(history),
        int(PromptPart.EVENT): inputs.tokens_of((event,)),
    }


def _size_or_why(inputs: PromptInputs, number: int, sizes: Mapping[int, int]) -> str:
    if not inputs.components[number].enabled:
        return "off"
    return str(sizes[number]) if sizes.get(number) else "-"
