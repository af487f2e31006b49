"""The texts of an assistant's prompts and lines, read and written one at a time for an editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.difference import Piece, difference
from evennia_ai.core.text.plain_data import LONGEST_VALUE
from evennia_ai.core.turn.compaction import DEFAULT_COMPACTION_PROMPT
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.outgoing import FAILURE_LINE, THINKING_LINES
from evennia_ai.operations.models import prompts
from evennia_ai.operations.result import Result, number_of
from evennia_ai.operations.settings.changing import update_settings
from evennia_ai.runtime import state

LINES = "thinking_lines"
OF_SETTINGS = (
    "persona",
    "system_prompt",
    "system_prompt_native",
    "compact_prompt",
    "failure_line",
    LINES,
)
# Texts that apply while the setting is empty; an editor opens with them.
OURS = {
    "compact_prompt": DEFAULT_COMPACTION_PROMPT,
    "failure_line": FAILURE_LINE,
    LINES: "\n".join(THINKING_LINES),
}
TEMPLATE, COMPONENT, OVERRIDE = "template", "component", "context component"
TEXTS = (*OF_SETTINGS, TEMPLATE, COMPONENT, OVERRIDE)
HOW = {
    TEMPLATE: "a template needs its key: one word",
    COMPONENT: "a component needs its number, and a name where it is new: 250 mood",
    OVERRIDE: "a text of a context needs the context and a component's number: tick_event 250",
}


@dataclass(frozen=True, slots=True)
class EditedText:
    """The present text, "" where there is none yet, and its name for people."""

    text: str
    name: str


@dataclass(frozen=True, slots=True)
class TextDifference:
    """The difference between a new text and the present one.

    Attributes:
        name: name of the text for people.
        before: the present text.
        mark: fingerprint of the present text, for `set_text`.
        pieces: both texts merged, in order.
        is_same: nothing would change.
    """

    name: str
    before: str
    mark: str
    pieces: tuple[Piece, ...]
    is_same: bool


def text_of(script: AssistantScript, what: str, key: str = "") -> Result[EditedText]:
    """Read a text of an assistant.

    Args:
        what: one of TEXTS.
        key: key of a template ("stern"), number of a component ("250", or "250 mood" for a new
            one), or context and component ("tick_event 250").
    """
    if problem := _problem(what, key):
        return problem
    if what in OF_SETTINGS:
        stored = state.read(script, what)
        text = "\n".join(map(str, stored)) if what == LINES else str(stored or "")
        return _found(script, what.replace("_", " "), text or OURS.get(what, ""))
    try:
        text = _READERS[what](script, key)
    except ConfigurationError as error:
        return Result.invalid(f"The prompts of {script.key} cannot be read: {error}")
    return _found(script, f"{what} {key}", text)


def text_difference(
    script: AssistantScript, what: str, key: str, text: str
) -> Result[TextDifference]:
    """Compare a new text with the present one; nothing is stored.

    Args:
        what, key: as in `text_of`.
    """
    result = text_of(script, what, key)
    if not result.ok:
        return result.as_refusal()
    data = result.data
    if len(text) > LONGEST_VALUE:
        return Result.invalid(
            f"The text has {len(text):,} characters; it must have at most {LONGEST_VALUE:,}."
        )
    pieces = difference(data.text, text)
    is_same = data.text == text
    verdict = "would not change" if is_same else "would change as shown"
    comparison = TextDifference(data.name, data.text, _mark_of(data.text), pieces, is_same)
    return Result(True, f"{script.key}, {data.name}: it {verdict}.", comparison)


def set_text(
    script: AssistantScript,
    what: str,
    key: str,
    text: str,
    *,
    before: str | None = None,
    by: str = "",
) -> Result:
    """Store a text of an assistant; a text with which no prompt can be built is refused.

    Args:
        what, key: as in `text_of`.
        text: an empty text restores the default, where there is one.
        before: mark of the text that the editor saw; where it has changed since, nothing is
            stored. None: no check.
    """
    if problem := _problem(what, key):
        return problem
    now = text_of(script, what, key) if before is not None else None
    if now is not None and now.ok and _mark_of(now.data.text) != before:
        return Result.conflict(
            f"Nothing is changed: someone has changed the {now.data.name} in the meantime. Compare "
            "again with the current text."
        )
    if what in OF_SETTINGS:
        return update_settings(script, {what: _as_stored(what, text)}, by=by)
    if not text.strip():
        return Result.invalid(f"Nothing is changed: a {what} needs a text.")
    return _WRITERS[what](script, key, text)


def _mark_of(text: str) -> str:
    # Short, for a hidden field of a form: it tells versions apart and is no secret.
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _found(script: AssistantScript, name: str, text: str) -> Result[EditedText]:
    return Result(True, f"{script.key}, {name}", EditedText(text, name))


def _problem(what: str, key: str) -> Result | None:
    if what not in TEXTS:
        return Result.invalid(f"There is no text {what!r} to edit; there are: {', '.join(TEXTS)}.")
    words = key.split()
    numbered = [number_of(word, 9) is not None for word in words]
    is_right = {
        TEMPLATE: len(words) == 1,
        COMPONENT: len(words) in (1, 2) and numbered[0],
        OVERRIDE: len(words) == 2 and words[0] in tuple(ContextType) and numbered[1],
    }
    if is_right.get(what, True):
        return None
    return Result.invalid(f"{key!r} does not work: {HOW[what]}.")


def _as_stored(what: str, text: str) -> Any:
    if what == LINES:
        return [line.strip() for line in text.split("\n") if line.strip()]
    return text.strip() or (None if what == "compact_prompt" else "")


# ---- texts of prompts --------------------------------------------------------------------------


def _template(script: AssistantScript, key: str) -> str:
    return prompts.registry_of(script).templates.get(key, "")


def _component(script: AssistantScript, key: str) -> str:
    component = prompts.registry_of(script).components.get(int(key.split()[0]))
    return component.content if component is not None else ""


def _override(script: AssistantScript, key: str) -> str:
    context, number = key.split()
    own = state.read(script, "context_configs").get(context, {})
    texts = own.get("component_overrides", {}) if isinstance(own, Mapping) else {}
    # Where the context has no text of its own, that of the component applies.
    return str(texts.get(int(number), "")) or _component(script, number)


def _set_component(script: AssistantScript, key: str, text: str) -> Result:
    number, *names = key.split()
    try:
        component = prompts.registry_of(script).components.get(int(number))
    except ConfigurationError:
        component = None  # what is stored is wrong, which the new text may mend
    name = names[0] if names else (component.key if component is not None else "")
    if not name:
        return Result.invalid(f"Nothing is changed: component {number} is new; {HOW[COMPONENT]}.")
    return prompts.set_component(script, int(number), name, text)


def _set_override(script: AssistantScript, key: str, text: str) -> Result:
    context, number = key.split()
    value = f"{number} = {text}"
    return prompts.set_context(script, context, "component_overrides", value)


_READERS: dict[str, Callable[[Any, str], str]] = {
    TEMPLATE: _template,
    COMPONENT: _component,
    OVERRIDE: _override,
}
_WRITERS: dict[str, Callable[[Any, str, str], Result]] = {
    TEMPLATE: prompts.set_template,
    COMPONENT: _set_component,
    OVERRIDE: _set_override,
}
