"""Components, templates and contexts of an assistant's prompt, changed while the game runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from django.conf import settings
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.schema import FLAG_WORDS
from evennia_ai.core.turn.contexts import ContextType, PromptPart, fields_of
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.models.shown_prompts import no_context
from evennia_ai.operations.result import Result, note
from evennia_ai.prompts import PromptInputs, build_inputs
from evennia_ai.prompts.components import COMPONENTS
from evennia_ai.prompts.registry import DEFAULT, PromptRegistry
from evennia_ai.runtime import state


class ComponentRow(TypedDict):
    """A part of the prompt."""

    number: int
    key: str
    where: str
    description: str
    content: str
    enabled: bool
    is_own: Annotated[bool, note("True if the assistant has its own text for it.")]
    is_written: Annotated[
        bool, note("True if its text can be set; false for the nine computed parts.")
    ]


class TemplateRow(TypedDict):
    """A system prompt to choose."""

    key: str
    content: str
    is_own: bool
    is_applied: bool


def bare_inputs(
    script: AssistantScript,
    context_type: ContextType = ContextType.TICK_EVENT,
    read: Callable[[str], object] | None = None,
    *,
    is_native: bool = True,
) -> PromptInputs:
    """Build the texts of a prompt from the settings alone, without a model.

    Raises:
        ConfigurationError: one of the settings is wrong.
    """
    read = read or partial(state.read, script)
    name = str(script.key)
    return build_inputs(
        read,
        context_type,
        settings=settings,
        is_native=is_native,
        name=name,
        count=len,
        max_tokens=1,
    )


def _store_if_valid(script: AssistantScript, said: str, **values: Any) -> Result:
    # Stores the values only if prompts can be built with them.
    def read(name: str) -> Any:
        return values[name] if name in values else state.read(script, name)

    try:
        # All contexts, since a text may be valid in one and not in another.
        for context_type in ContextType:
            bare_inputs(script, context_type, read)
    except ConfigurationError as error:
        return Result.invalid(f"Nothing is changed: {error}")
    state.write(script, **values)
    return Result(True, said)


def _stored(script: AssistantScript, name: str) -> dict[Any, Any]:
    # A game's code may have stored anything; what is not a mapping counts as empty.
    value = state.read(script, name)
    return dict(value) if isinstance(value, Mapping) else {}


def _fields(stored: Mapping[object, object], key: object) -> dict[str, Any]:
    value = stored.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def list_components(script: AssistantScript) -> Result[list[ComponentRow]]:
    """List the components of an assistant's prompt in order: its own, the game's and ours."""
    try:
        inputs = bare_inputs(script)
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s components cannot be read: {error}")
    own = set(state.read(script, "prompt_components"))
    lines = [f"{script.key}'s components, in order:"]
    for number, component in inputs.components.items():
        off_mark = "" if component.enabled else ", off"
        whose = ", its own" if number in own else ""
        what = component.description or component.content
        lines.append(f"  {number:>4}  {component.key} ({component.where}{off_mark}{whose}): {what}")
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
        for number, component in inputs.components.items()
    ]
    return Result(True, "\n".join(lines), rows)


def set_component(script: AssistantScript, number: int, key: str, content: str) -> Result:
    """Give an assistant a component of its own, or change the text of one."""
    stored = _stored(script, "prompt_components")
    # A component that was switched off stays off when its text changes.
    switch = {name: value for name, value in _fields(stored, number).items() if name == "enabled"}
    stored[number] = {**switch, "key": key, "content": content}
    return _store_if_valid(
        script, f"{script.key} now has the component {key} ({number}).", prompt_components=stored
    )


def switch_component(script: AssistantScript, number: int, enabled: bool) -> Result:
    """Switch a component on or off."""
    stored = _stored(script, "prompt_components")
    stored[number] = {**_fields(stored, number), "enabled": enabled}
    message = f"{script.key}: component {number} is {'on' if enabled else 'off'}."
    return _store_if_valid(script, message, prompt_components=stored)


def delete_component(script: AssistantScript, number: int) -> Result:
    """Delete an assistant's own component; one of the game with the same number applies again."""
    stored = _stored(script, "prompt_components")
    if number not in stored:
        known = ", ".join(map(str, sorted(stored))) or "none"
        return Result.invalid(f"{script.key} has no own component {number}; there are: {known}.")
    del stored[number]
    return _store_if_valid(
        script, f"{script.key}: component {number} is gone.", prompt_components=stored
    )


def list_templates(script: AssistantScript) -> Result[list[TemplateRow]]:
    """List the templates that an assistant can apply."""
    applied, own = state.read(script, "applied_template"), state.read(script, "prompt_templates")
    try:
        known = registry_of(script).templates
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s templates cannot be read: {error}")
    rows = [(DEFAULT, "")] + [(key, "its own" if key in own else "the game's") for key in known]
    lines = [f"{script.key}'s templates:"]
    for key, whose in rows:
        marks = ", ".join(filter(None, (whose, "applied" if key == applied else "")))
        lines.append(f"  {key} ({marks})" if marks else f"  {key}")
    template_rows: list[TemplateRow] = [
        {
            "key": key,
            "content": known.get(key, ""),
            "is_own": key in own,
            "is_applied": key == (applied or DEFAULT),
        }
        for key in (DEFAULT, *known)
    ]
    return Result(True, "\n".join(lines), template_rows)


def registry_of(script: AssistantScript) -> PromptRegistry:
    """The components and templates of an assistant: its own, the game's and ours.

    Raises:
        ConfigurationError: one of them is wrong.
    """
    own = (state.read(script, "prompt_components"), state.read(script, "prompt_templates"))
    return PromptRegistry.read(game_prompts(), *own)


def game_prompts() -> Mapping[str, Any]:
    """The components and templates that the game adds to every assistant's."""
    prompts: Mapping[str, Any] = getattr(settings, "EVENNIA_AI_PROMPTS", {})
    return prompts


def game_templates() -> list[str]:
    """Keys of the game's templates; empty where its setting is wrong."""
    try:
        return list(PromptRegistry.read(game_prompts()).templates)
    except ConfigurationError:
        return []


def set_template(script: AssistantScript, key: str, content: str) -> Result:
    """Store a system prompt under a key, to be applied later."""
    stored = {**_stored(script, "prompt_templates"), key: content}
    message = (
        f"{script.key} has the template {key}. Use it: assistant template {script.key} apply {key}"
    )
    return _store_if_valid(script, message, prompt_templates=stored)


def apply_template(script: AssistantScript, key: str) -> Result:
    """Use a template as the system prompt; "default" is the standard one."""
    return _store_if_valid(
        script, f"{script.key} now uses the template {key}.", applied_template=key
    )


def delete_template(script: AssistantScript, key: str) -> Result:
    """Delete a template of the assistant's own; one that is applied stays, as prompts need it."""
    stored = _stored(script, "prompt_templates")
    if key not in stored:
        known = ", ".join(stored) or "none"
        return Result.invalid(f"{script.key} has no own template {key!r}; there are: {known}.")
    del stored[key]
    done = f"{script.key}: the template {key} is gone."
    result = _store_if_valid(script, done, prompt_templates=stored)
    if not result.ok and state.read(script, "applied_template") == key:
        how = f"assistant template {script.key} apply default"
        return Result.invalid(f"Nothing is changed: {key} is in use. First: {how}")
    return result


def show_context(script: AssistantScript, name: str) -> Result:
    """Show one context with all its fields, marking those that are the assistant's own."""
    if name not in tuple(ContextType):
        return no_context(name)
    try:
        context = bare_inputs(script, ContextType(name)).context
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s contexts cannot be read: {error}")
    own = state.read(script, "context_configs").get(name, {})
    lines = [f"{script.key}, context {name}: {context.description}"]
    for field in fields_of(ContextType(name)).model_fields:
        mark = "  (set)" if field in own else ""
        lines.append(f"  {field:<26} {_plain(getattr(context, field))}{mark}")
    return Result(True, "\n".join(lines))


def list_contexts(script: AssistantScript) -> Result:
    """List all contexts, one line each."""
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
    fields[field] = _parse_field(field, value, fields.get(field))
    stored[name] = fields
    return _store_if_valid(script, f"{script.key}: {name}.{field} is set.", context_configs=stored)


def reset_context(script: AssistantScript, name: str) -> Result:
    """Reset a context to the game's values."""
    if name not in tuple(ContextType):
        return no_context(name)
    stored = _stored(script, "context_configs")
    stored.pop(name, None)
    return _store_if_valid(
        script, f"{script.key}: {name} is reset to the game's settings.", context_configs=stored
    )


def _parse_field(field: str, value: str, before: Mapping[object, object] | None) -> Any:
    # A value that does not fit its field is returned as typed, for `_store_if_valid` to refuse.
    word = value.casefold()
    if field == "component_overrides":
        number, _, text = value.partition("=")
        return {**(before or {}), _number(number.strip()): text.strip()}
    if field in ("enabled_components", "tool_filter", "allowed_tool_categories"):
        if word == "all":
            return [int(part) for part in PromptPart] if field == "enabled_components" else None
        words = [part.strip() for part in value.split(",") if part.strip() and word != "none"]
        return [_number(part) for part in words]
    return None if word == "none" else FLAG_WORDS.get(word, _number(value))


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) <= 9 else text
