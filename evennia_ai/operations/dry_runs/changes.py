"""Changes for the second side of a dry run: a text of the prompt, the model, or all settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.settings.paths import schema_of_keys
from evennia_ai.core.settings.schema import with_ids
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import local
from evennia_ai.operations.audit.log import audit_state
from evennia_ai.operations.audit.undoing import is_whole
from evennia_ai.operations.dry_runs.stand_in import StandIn
from evennia_ai.operations.models.choosing import choose_model
from evennia_ai.operations.models.prompts import bare_inputs
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state

PERSONA = "persona"
LONGEST_TEXT = 20_000  # characters
# Settings that say who an assistant is and if it runs, not how it answers.
NOT_OF_ANSWERS = ("assistant_key", "enabled", "budget_config")


@dataclass(frozen=True, slots=True)
class Variant:
    """Changes as typed by a person; "" leaves the assistant's own.

    Attributes:
        part: the text of the prompt to replace: "persona" or the id of a component in `texts_of`.
        text: the text to put in its place.
        model: a provider and a model's name, or one of the two.
        moment: a time such as "2 days ago", whose settings are used.
    """

    part: str = ""
    text: str = ""
    model: str = ""
    moment: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Settings that replace an assistant's own.

    Attributes:
        description: a text for people; "" where nothing is changed.
        is_of_past: they are those of an earlier moment, so the present conversation is left out.
        missing: settings of that moment that the audit log does not hold in full; they are as now.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    is_of_past: bool = False
    missing: tuple[str, ...] = ()

    def stand_in(self, script: AssistantScript) -> StandIn:
        """The assistant as it would be with these settings."""
        return StandIn(script, self.values, has_talked=not self.is_of_past)


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text of the prompt that can be changed for a trial."""

    part: str
    name: str
    text: str


def texts_of(script: AssistantScript) -> Result[list[PromptText]]:
    """List the texts of an assistant's prompt that can be changed, the persona first."""
    try:
        inputs = bare_inputs(script, ContextType.TICK_EVENT, is_native=_is_native(script))
        components = inputs.texts()
    except ConfigurationError as error:
        return Result.invalid(f"{script.key}'s prompt cannot be read: {error}")
    texts = [PromptText(PERSONA, PERSONA, str(state.read(script, PERSONA)))]
    texts += [PromptText(str(part.id), part.key, text) for part, text in components]
    return Result(True, counted(len(texts), "texts"), texts)


def _is_native(script: AssistantScript) -> bool:
    try:
        return bool(script.client().supports_tools)
    except ConfigurationError:  # no model is set yet: the prompt is shown as for most models
        return True


def changes_of(script: AssistantScript, variant: Variant) -> Result[Changes]:
    """Turn a variant into settings, or refuse it."""
    values: dict[str, Any] = {}
    descriptions: list[str] = []
    missing: tuple[str, ...] = ()
    if variant.moment.strip():
        past = _past(script, variant.moment.strip())
        if not past.ok:
            return past
        values, missing = dict(past.data[0]), past.data[1]
        descriptions.append(f"the settings of {past.message}")
    if variant.model.strip():
        chosen = _model(variant.model)
        if not chosen.ok:
            return chosen
        values |= chosen.data
        descriptions.append(chosen.message)
    if variant.part:
        if problem := _edit(script, values, variant.part, variant.text):
            return Result.invalid(f"The other prompt: {problem}")
        descriptions.append(f"another {_name_of(script, variant.part)}")
    if values and (problem := _problem_of_prompt(script, values)):
        return Result.invalid(f"No prompt can be made like that: {problem}")
    is_of_past = bool(variant.moment.strip())
    return Result(True, "", Changes(values, ", ".join(descriptions), is_of_past, missing))


def _model(text: str) -> Result[Any]:
    chosen = choose_model(text)
    if not chosen.ok:
        return Result.invalid(f"The other model: {chosen.message}")
    if chosen.data.provider == "local" and not local.has_weights():
        return Result.conflict("The other model: the demo brain's file is not here yet.")
    values = {"llm_provider": chosen.data.provider, "llm_model": chosen.data.model}
    return Result(True, chosen.message, values)


def _past(script: AssistantScript, moment: str) -> Result[Any]:
    # The data are the settings and the names of those that the audit log does not hold in full; the
    # message says which version of the assistant that was, and when.
    result = audit_state(script, at=moment)
    if not result.ok:
        return result
    known: Any = result.data.state["settings"]
    # None for each: a setting that the assistant had no value of then is the default now too.
    values: dict[str, Any] = dict.fromkeys(set(ATTRIBUTES) - set(STATE) - set(NOT_OF_ANSWERS))
    missing = []
    for name, value in known.items():
        if name not in values:
            continue
        if is_whole(value):
            values[name] = with_ids(schema_of_keys((name,)), value)
        else:
            missing.append(name)
            del values[name]
    return Result(
        True, f"version {result.data.version}, {result.data.at}", (values, tuple(missing))
    )


def _edit(script: AssistantScript, values: dict[str, Any], part: str, text: str) -> str:
    # Returns the problem with the text, or "".
    if len(text) > LONGEST_TEXT:
        return f"it has {len(text):,} characters; up to {LONGEST_TEXT:,} can be tried"
    if part == PERSONA:
        values[PERSONA] = text
        return ""
    if not text.strip():
        return "type the text to be tried, or choose none to change"
    if part not in (each.part for each in texts_of(script).data or ()):
        return f"there is no text {part!r} in it"
    name, context = "context_configs", str(ContextType.TICK_EVENT)
    stored = values[name] if values.get(name) is not None else state.read(script, name)
    own = stored.get(context, {})
    overrides = {**own.get("component_overrides", {}), int(part): text}
    values[name] = {**stored, context: {**own, "component_overrides": overrides}}
    return ""


def _name_of(script: AssistantScript, part: str) -> str:
    return next((text.name for text in texts_of(script).data if text.part == part), part)


def _problem_of_prompt(script: AssistantScript, values: Mapping[str, object]) -> str:
    def read(name: str) -> Any:
        value = values[name] if name in values else state.read(script, name)
        return state.DEFAULTS[name] if value is None else value

    try:
        bare_inputs(script, ContextType.TICK_EVENT, read)
    except ConfigurationError as error:
        return str(error)
    return ""
