"""Prompts of an assistant's model, changed while the game runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from django.conf import settings
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.turn.contexts import ContextType, PromptPart, fields_of
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.models.shown_prompts import no_context
from evennia_ai.operations.result import Result, note
from evennia_ai.prompts import Scene, stage
from evennia_ai.prompts.components import COMPONENTS
from evennia_ai.prompts.registry import DEFAULT, PromptRegistry
from evennia_ai.runtime import state

SWITCH_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


class ComponentRow(TypedDict):
    """A part of the prompt."""

    number: int
    key: str
    where: str
    description: str
    content: str
    enabled: bool
    is_own: Annotated[bool, note("The assistant has something of its own for it.")]
    is_written: Annotated[bool, note("It has a text that can be set, as the nine parts have not.")]


@dataclass(frozen=True, slots=True)
class Components:
    """The parts of a prompt, in order."""

    components: list[ComponentRow]


class TemplateRow(TypedDict):
    """A system prompt to choose."""

    key: str
    content: str
    is_own: bool
    is_applied: bool


@dataclass(frozen=True, slots=True)
class Templates:
    """The system prompts to choose from, the ordinary one first."""

    templates: list[TemplateRow]


def bare_scene(
    script: AssistantScript,
    context_type: ContextType = ContextType.TICK_EVENT,
    read: Callable[[str], object] | None = None,
    *,
    is_native: bool = True,
) -> Scene:
    """The prompt settings as they stand, whatever its model is, or even without one.

    Raises:
        ConfigurationError: something of them is wrong.
    """
    read = read or partial(state.read, script)
    name = str(script.key)
    return stage(
        read,
        context_type,
        settings=settings,
        is_native=is_native,
        name=name,
        count=len,
        max_tokens=1,
    )


def _try(script: AssistantScript, said: str, **values: Any) -> Result:
    """Store values if prompts can be made with them, and tell how it went."""

    def read(name: str) -> Any:
        return values[name] if name in values else state.read(script, name)

    try:
        # In each of them, as a text may do in one context and not in another.
        for context_type in ContextType:
            bare_scene(script, context_type, read)
    except ConfigurationError as error:
        return Result.invalid(f"Nothing is changed: {error}")
    state.write(script, **values)
    return Result(True, said)


def _stored(script: AssistantScript, name: str) -> dict[Any, Any]:
    """A mapping of the assistant's own; what somebody stored there that is none counts as empty."""
    value = state.read(script, name)
    return dict(value) if isinstance(value, Mapping) else {}


def _fields(stored: Mapping[object, object], key: object) -> dict[str, Any]:
    value = stored.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def list_components(script: AssistantScript) -> Result[Components]:
    """The components an assistant has of its own, its game's among them."""
    try:
        scene = bare_scene(script)
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s components cannot be read: {error}")
    own = set(state.read(script, "prompt_components"))
    lines = [f"{script.key}'s components, in order:"]
    for number, component in scene.components.items():
        shown = "" if component.enabled else ", off"
        whose = ", its own" if number in own else ""
        what = component.description or component.content
        lines.append(f"  {number:>4}  {component.key} ({component.where}{shown}{whose}): {what}")
    rows: list[ComponentRow] = [
        {
            "number": int(number),
            "key": component.key,
            "where": component.where,
            "description": component.description,
            "content": component.content,
            "enabled": component.enabled,
            "is_own": number in own,
            "is_written": number not in COMPONENTS,
        }
        for number, component in scene.components.items()
    ]
    return Result(True, "\n".join(lines), Components(rows))


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
        return Result.invalid(f"{script.key} has no own component {number}; there are: {known}.")
    del stored[number]
    return _try(script, f"{script.key}: component {number} is gone.", prompt_components=stored)


def list_templates(script: AssistantScript) -> Result[Templates]:
    """The templates that can be applied."""
    applied, own = state.read(script, "applied_template"), state.read(script, "prompt_templates")
    try:
        components = state.read(script, "prompt_components")
        known = PromptRegistry.read(game_prompts(), components, own).templates
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s templates cannot be read: {error}")
    rows = [(DEFAULT, "")] + [(key, "its own" if key in own else "the game's") for key in known]
    lines = [f"{script.key}'s templates:"]
    for key, whose in rows:
        marks = ", ".join(filter(None, (whose, "applied" if key == applied else "")))
        lines.append(f"  {key} ({marks})" if marks else f"  {key}")
    found: list[TemplateRow] = [
        {
            "key": key,
            "content": known[key].content if key in known else "",
            "is_own": key in own,
            "is_applied": key == (applied or DEFAULT),
        }
        for key in (DEFAULT, *known)
    ]
    return Result(True, "\n".join(lines), Templates(found))


def game_prompts() -> Mapping[str, Any]:
    """The components and templates that the game adds to every assistant's."""
    found: Mapping[str, Any] = getattr(settings, "EVENNIA_AI_PROMPTS", {})
    return found


def game_templates() -> list[str]:
    """The keys of the templates that every assistant can have; none where they cannot be read."""
    try:
        return list(PromptRegistry.read(game_prompts()).templates)
    except ConfigurationError:
        return []


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
        return Result.invalid(f"{script.key} has no own template {key!r}; there are: {known}.")
    del stored[key]
    return _try(script, f"{script.key}: the template {key} is gone.", prompt_templates=stored)


def show_context(script: AssistantScript, name: str) -> Result:
    """One context with all its fields, and which of them are the assistant's own."""
    if name not in tuple(ContextType):
        return no_context(name)
    try:
        context = bare_scene(script, ContextType(name)).context
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s contexts cannot be read: {error}")
    own = state.read(script, "context_configs").get(name, {})
    lines = [f"{script.key}, context {name}: {context.description}"]
    for field in fields_of(ContextType(name)).model_fields:
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


def set_context(script: AssistantScript, name: str, field: str, value: str) -> Result:
    """Set one field of a context, for this assistant.

    Args:
        value: as typed: on, off, a number, "none", words with commas between, or for
            component_overrides `<id> = <text>`.
    """
    if name not in tuple(ContextType):
        return no_context(name)
    stored = _stored(script, "context_configs")
    fields = _fields(stored, name)
    fields[field] = _typed(field, value, fields.get(field))
    stored[name] = fields
    return _try(script, f"{script.key}: {name}.{field} is set.", context_configs=stored)


def reset_context(script: AssistantScript, name: str) -> Result:
    """Let a context be as the game has it."""
    if name not in tuple(ContextType):
        return no_context(name)
    stored = _stored(script, "context_configs")
    stored.pop(name, None)
    return _try(script, f"{script.key}: {name} is as the game has it.", context_configs=stored)


def _typed(field: str, value: str, before: Mapping[object, object] | None) -> Any:
    """The meaning of a typed value; one that fits no field is left to be refused."""
    word = value.casefold()
    if field == "component_overrides":
        number, _, text = value.partition("=")
        return {**(before or {}), _number(number.strip()): text.strip()}
    if field in ("enabled_components", "tool_filter", "allowed_tool_categories"):
        if word == "all":
            return [int(part) for part in PromptPart] if field == "enabled_components" else None
        words = [part.strip() for part in value.split(",") if part.strip() and word != "none"]
        return [_number(part) for part in words]
    if word in SWITCH_WORDS:
        return SWITCH_WORDS[word]
    return None if word == "none" else _number(value)


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) <= 9 else text
