"""Looking at what an assistant's model is sent, and changing it while the game runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple, NotRequired

from django.conf import settings
from typing_extensions import TypedDict

from evennia_ai.agent import preparation
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.overheard import tellable
from evennia_ai.core.turn import conversation
from evennia_ai.core.turn.contexts import ContextFields, ContextType, Part
from evennia_ai.core.turn.tokens import count_message, count_messages, count_tool
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.engine.ports import Prompt, Specs
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import grounding
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Result, note
from evennia_ai.prompts import Scene, compose, stage, told_components
from evennia_ai.prompts.registry import DEFAULT
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tool_execution import toolbox
from evennia_ai.tools.showing import shown

EXAMPLE = "hello"
SWITCH_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def _turn_for(script: Assistant, being: Being) -> Turn:
    """The turn that a whisper of this person's would begin: nobody else's private words in it."""
    person = incoming.person_of(being)
    event = Event(
        id="shown",
        kind="message",
        source="whisper",
        sender_id=f"#{being.id}",
        sender_name=names.name_of(being, script.obj),
        body=EXAMPLE,
        trust=0.9,
        rule=3,
        hops=0,
        at=script.clock.seconds(),
        person=person,
    )
    work = script.work
    overheard = tellable(work.overheard, person)
    return Turn(work.epoch, (event,), overheard, conversation.known_to(work.history, person))


class NextPrompt(NamedTuple):
    """The prompt that a short whisper would cause, and what it is made of."""

    scene: Scene
    turn: Turn
    specs: Specs
    prompt: Prompt


def next_prompt(script: AssistantScript, being: Being) -> NextPrompt:
    """The prompt that a whisper of somebody's would cause now.

    Raises:
        ConfigurationError: there is none, for something is set wrongly or it has no body.
    """
    if script.obj is None:
        raise ConfigurationError("it has no body")
    client = script.client()
    turn = _turn_for(script, being)
    hint = grounding.ground_by_words(script, turn).hint if preparation.is_small(client) else ""
    scene = preparation.scene_of(script, client, ContextType.TICK_EVENT, hint=hint)
    pattern = preparation.pattern_of(script, turn, scene)
    is_small = not client.supports_tools
    tools = toolbox(script, turn, pattern, is_small=is_small, is_grounded=scene.is_grounded)
    specs = shown(script.obj, turn, tools.specs())
    return NextPrompt(scene, turn, specs, compose(scene, turn, specs))


class ShownPrompt(TypedDict):
    """The next prompt: the sizes of its components, or its messages."""

    tokens: NotRequired[Annotated[dict[int, int], note("By component; -1: tools.")]]
    total: NotRequired[int]
    messages: NotRequired[list[dict[str, object]]]


def show_prompt(
    script: AssistantScript, being: Being, *, is_whole: bool = False
) -> Result[ShownPrompt]:
    """The components of the next prompt with their sizes, or the whole of it.

    Args:
        being: whoever looks: it is the prompt that a whisper of theirs would cause.
    """
    try:
        scene, turn, specs, prompt = next_prompt(script, being)
    except ConfigurationError as error:
        return Result(False, f"{script.key} has no prompt now: {error}")
    if is_whole:
        lines = [f"[{m['role']}]\n{_as_text(m)}" for m in prompt.messages]
        return Result(True, "\n\n".join(lines), {"messages": prompt.messages})
    sizes = _sizes(scene, turn, specs, prompt)
    lines = [f"{script.key}, asked by {being.key}: tokens of each component, in order"]
    for number, component in scene.components.items():
        lines.append(f"  {number:>4}  {component.key:<22} {_size_or_why(scene, number, sizes):>9}")
    lines.append(f"        tools ({len(specs)}){'':<12} {sizes[-1]:>9}")
    lines.append(
        f"  together {prompt.tokens} of {prompt.max_tokens} tokens ({prompt.usage_ratio:.0%})"
    )
    return Result(True, "\n".join(lines), {"tokens": sizes, "total": prompt.tokens})


def _as_text(message: Mapping[str, Any]) -> str:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return message["content"] or "\n".join(f"{call['name']} {call['arguments']}" for call in calls)


def _sizes(scene: Scene, turn: Turn, specs: Specs, prompt: Prompt) -> dict[int, int]:
    """Tokens by component id, the tools under -1."""
    sizes = {number: scene.tokens_of(text) for number, text in told_components(scene, turn, specs)}
    told = conversation.turn_text((), turn.overheard)
    event = conversation.user_message(conversation.turn_text(turn.events))
    kept = [message for message in prompt.messages if message in turn.history]
    return sizes | {
        -1: sum(count_tool(spec, scene.tokens_of) for spec in specs.values()),
        int(Part.OVERHEARD): scene.tokens_of(told) if told else 0,
        int(Part.HISTORY): count_messages(kept, scene.tokens_of),
        int(Part.EVENT): count_message(event, scene.tokens_of),
    }


def _size_or_why(scene: Scene, number: int, sizes: Mapping[int, int]) -> str:
    if not scene.components[number].enabled:
        return "off"
    return str(sizes[number]) if sizes.get(number) else "-"


def _bare_scene(
    script: AssistantScript,
    context_type: ContextType = ContextType.TICK_EVENT,
    read: Callable[[str], Any] | None = None,
) -> Scene:
    """The prompt settings as they stand, whatever its model is, or even without one."""
    read = read or partial(state.read, script)
    name = str(script.key)
    return stage(
        read, context_type, settings=settings, is_native=True, name=name, count=len, max_tokens=1
    )


def _try(script: AssistantScript, said: str, **values: Any) -> Result:
    """Store values if prompts can be made with them, and tell how it went."""

    def read(name: str) -> Any:
        return values[name] if name in values else state.read(script, name)

    try:
        for context_type in ContextType:
            _bare_scene(script, context_type, read)
    except ConfigurationError as error:
        return Result(False, f"Nothing is changed: {error}")
    state.write(script, **values)
    return Result(True, said)


def _stored(script: AssistantScript, name: str) -> dict[Any, Any]:
    """A mapping of the assistant's own; what somebody stored there that is none counts as empty."""
    value = state.read(script, name)
    return dict(value) if isinstance(value, Mapping) else {}


def _fields(stored: Mapping[Any, Any], key: object) -> dict[str, Any]:
    value = stored.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def list_components(script: AssistantScript) -> Result:
    """The components an assistant has of its own, its game's among them."""
    try:
        scene = _bare_scene(script)
    except ConfigurationError as error:
        return Result(False, f"{script.key}'s components cannot be read: {error}")
    own = set(state.read(script, "prompt_components"))
    lines = [f"{script.key}'s components, in order:"]
    for number, component in scene.components.items():
        shown = "" if component.enabled else ", off"
        whose = ", its own" if number in own else ""
        what = component.description or component.content
        lines.append(f"  {number:>4}  {component.key} ({component.where}{shown}{whose}): {what}")
    return Result(True, "\n".join(lines))


def set_component(script: AssistantScript, number: int, key: str, content: str) -> Result:
    """Give an assistant a component of its own, or another text for one it has."""
    stored = _stored(script, "prompt_components")
    kept = {name: value for name, value in _fields(stored, number).items() if name == "enabled"}
    stored[number] = {**kept, "key": key, "content": content}
    return _try(
        script, f"{script.key} is told {key} ({number}) from now on.", prompt_components=stored
    )


def switch_component(script: AssistantScript, number: int, enabled: bool) -> Result:
    """Switch one on or off."""
    stored = _stored(script, "prompt_components")
    stored[number] = {**_fields(stored, number), "enabled": enabled}
    said = f"{script.key}: component {number} is {'on' if enabled else 'off'}."
    return _try(script, said, prompt_components=stored)


def delete_component(script: AssistantScript, number: int) -> Result:
    """Take away what an assistant has of its own under that id; the game's holds again."""
    stored = _stored(script, "prompt_components")
    if number not in stored:
        known = ", ".join(map(str, sorted(stored))) or "none"
        return Result(
            False,
            f"{script.key} has no own component {number}; there are: {known}.",
        )
    del stored[number]
    return _try(script, f"{script.key}: component {number} is gone.", prompt_components=stored)


def list_templates(script: AssistantScript) -> Result:
    """The templates that can be applied."""
    applied, own = state.read(script, "applied_template"), state.read(script, "prompt_templates")
    try:
        keys = _bare_scene(script).templates
    except ConfigurationError as error:
        return Result(False, f"{script.key}'s templates cannot be read: {error}")
    rows = [(DEFAULT, "")] + [(key, "its own" if key in own else "the game's") for key in keys]
    lines = [f"{script.key}'s templates:"]
    for key, whose in rows:
        marks = ", ".join(filter(None, (whose, "applied" if key == applied else "")))
        lines.append(f"  {key} ({marks})" if marks else f"  {key}")
    return Result(True, "\n".join(lines))


def set_template(script: AssistantScript, key: str, content: str) -> Result:
    """Keep a system prompt under a key; it counts once it is applied."""
    stored = {**_stored(script, "prompt_templates"), key: content}
    said = (
        f"{script.key} has the template {key}. Use it: assistant template {script.key} apply {key}"
    )
    return _try(script, said, prompt_templates=stored)


def apply_template(script: AssistantScript, key: str) -> Result:
    """Let a template be the system prompt; "default" is the ordinary one."""
    return _try(script, f"{script.key} lives by the template {key} now.", applied_template=key)


def delete_template(script: AssistantScript, key: str) -> Result:
    """Take away a template of the assistant's own that is not applied."""
    stored = _stored(script, "prompt_templates")
    if key not in stored:
        known = ", ".join(stored) or "none"
        return Result(
            False,
            f"{script.key} has no own template {key!r}; there are: {known}.",
        )
    del stored[key]
    return _try(script, f"{script.key}: the template {key} is gone.", prompt_templates=stored)


def show_context(script: AssistantScript, name: str) -> Result:
    """One context with all its fields, and which of them are the assistant's own."""
    if name not in tuple(ContextType):
        return _no_context(name)
    try:
        context = _bare_scene(script, ContextType(name)).context
    except ConfigurationError as error:
        return Result(False, f"{script.key}'s contexts cannot be read: {error}")
    own = state.read(script, "context_configs").get(name, {})
    lines = [f"{script.key}, context {name}: {context.description}"]
    for field in ContextFields.model_fields:
        mark = "  (set)" if field in own else ""
        lines.append(f"  {field:<26} {_plain(getattr(context, field))}{mark}")
    return Result(True, "\n".join(lines))


def list_contexts(script: AssistantScript) -> Result:
    """All contexts, a line each."""
    own = state.read(script, "context_configs")
    lines = [f"{script.key}'s contexts:"]
    for context_type in ContextType:
        changed = ", ".join(own.get(context_type, ()))
        lines.append(f"  {context_type}" + (f" (set: {changed})" if changed else ""))
    return Result(True, "\n".join(lines))


def _plain(value: object) -> str:
    if isinstance(value, (frozenset, tuple)):
        return ", ".join(sorted(map(str, value), key=lambda text: (len(text), text))) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key} = {text}" for key, text in value.items()) or "none"
    return str(value)


def _no_context(name: str) -> Result:
    return Result(False, f"There is no context {name!r}; there are {', '.join(ContextType)}.")


def set_context(script: AssistantScript, name: str, field: str, value: str) -> Result:
    """Set one field of a context, for this assistant.

    Args:
        value: as typed: on, off, a number, "none", words with commas between, or for
            component_overrides `<id> = <text>`.
    """
    if name not in tuple(ContextType):
        return _no_context(name)
    stored = _stored(script, "context_configs")
    fields = _fields(stored, name)
    fields[field] = _typed(field, value, fields.get(field))
    stored[name] = fields
    return _try(script, f"{script.key}: {name}.{field} is set.", context_configs=stored)


def reset_context(script: AssistantScript, name: str) -> Result:
    """Let a context be as the game has it."""
    if name not in tuple(ContextType):
        return _no_context(name)
    stored = _stored(script, "context_configs")
    stored.pop(name, None)
    return _try(script, f"{script.key}: {name} is as the game has it.", context_configs=stored)


def _typed(field: str, value: str, before: Mapping[Any, Any] | None) -> Any:
    """The meaning of a typed value; one that fits no field is left to be refused."""
    word = value.casefold()
    if field == "component_overrides":
        number, _, text = value.partition("=")
        return {**(before or {}), _number(number.strip()): text.strip()}
    if field in ("enabled_components", "tool_filter", "allowed_tool_categories"):
        if word == "all":
            return [int(part) for part in Part] if field == "enabled_components" else None
        words = [part.strip() for part in value.split(",") if part.strip() and word != "none"]
        return [_number(part) for part in words]
    if word in SWITCH_WORDS:
        return SWITCH_WORDS[word]
    return None if word == "none" else _number(value)


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) <= 9 else text
