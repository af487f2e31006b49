"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result`; commands and other front ends check rights and format, nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia.utils.create import create_object, create_script
from evennia.utils.search import search_script_tag
from twisted.internet.defer import Deferred

from evennia_ai import services, state
from evennia_ai.assistant_script import TAG_CATEGORY, AssistantScript, tag_of
from evennia_ai.core.text import one_line
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report, check_endpoint

BODY = "evennia_ai.assistant_character.AssistantCharacter"
ANY_TAG = "ai_assistant"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an operation.

    Attributes:
        message: a sentence for a person.
        data: the same for a program.
    """

    ok: bool
    message: str
    data: dict[str, Any] = field(default_factory=dict)


def find_assistant(key: str) -> AssistantScript | None:
    """The assistant of that name, in any case."""
    found = search_script_tag(tag_of(key.strip()), category=TAG_CATEGORY)
    return next(iter(found), None)


def list_assistants() -> list[AssistantScript]:
    """All assistants of the game, by name."""
    found = search_script_tag(ANY_TAG, category=TAG_CATEGORY)
    return sorted(found, key=lambda script: str(script.key).casefold())


def create_assistant(
    key: str,
    *,
    location: Any = None,
    desc: str = "",
    persona: str = "",
    aliases: Sequence[str] = (),
    lines: Mapping[str, Any] | None = None,
    typeclass: Any = BODY,
) -> Result:
    """Make an assistant: a character in a room and the script that moves it.

    Args:
        key: its name, unique among assistants.
        location: the room it stands in.
        desc: what people see when they look at it.
        persona: who it is and what it knows, for the model.
        lines: "thinking" (a list) and "failure" (a text) of its own, in which {name} is its name;
            "examples", pairs of what is asked and how it answers, which help a small model.
        typeclass: its body; any typeclass with `HearsForAssistant`.

    Returns:
        data: "script" and "character".
    """
    name = one_line(key, 60)
    if not name:
        return Result(False, "An assistant needs a name, for example: assistant create Edda")
    if find_assistant(name) is not None:
        return Result(False, f"There is an assistant named {name} already; choose another name.")
    attributes = [("desc", desc or f"{name} is an assistant, an AI.")]
    character = create_object(
        typeclass,
        key=name,
        location=location,
        home=location,
        aliases=list(aliases),
        attributes=attributes,
    )
    script = _attach_script(name, character, persona, lines or {})
    return Result(
        True,
        f"{name} is awake{_where(location)}. Try: whisper {name} = hello",
        {"script": script, "character": character},
    )


def _where(location: Any) -> str:
    return f" in {location.key}" if location is not None else ", but nowhere: move her to a room"


def _attach_script(
    name: str, character: Any, persona: str, lines: Mapping[str, Any]
) -> AssistantScript:
    own = {
        "assistant_key": name,
        "persona": persona,
        "examples": [list(pair) for pair in lines.get("examples", ())],
        "thinking_lines": list(lines.get("thinking", ())),
        "failure_line": lines.get("failure", ""),
    }
    return create_script(
        AssistantScript,
        key=name,
        obj=character,
        attributes=[(key, value) for key, value in own.items() if value],
        tags=[(tag_of(name), TAG_CATEGORY), (ANY_TAG, TAG_CATEGORY)],
    )


def set_enabled(script: AssistantScript, enabled: bool) -> Result:
    """Let an assistant answer, or keep it silent until it is started again."""
    name = script.key
    if bool(state.read(script, "enabled")) == enabled:
        return Result(False, f"{name} is {'awake' if enabled else 'silent'} already.")
    state.write(script, enabled=enabled)
    if enabled:
        script.beat_soon()
        return Result(True, f"{name} is awake.")
    state.bump_epoch(script)
    return Result(True, f"{name} is silent until: assistant start {name}")


def stop(script: AssistantScript, reason: str) -> Result:
    """Emergency stop: whatever is under way is dropped, and it stays stopped over restarts."""
    script.trigger_emergency_stop(reason)
    return Result(True, f"{script.key} is stopped until: assistant emergency clear {script.key}")


def clear(script: AssistantScript) -> Result:
    """Clear an emergency stop."""
    ok, message = script.clear_emergency_stop()
    return Result(ok, f"{script.key}: {message}.")


def reset_history(script: AssistantScript) -> Result:
    """Forget the conversation, drop what is under way, and clear an emergency stop."""
    state.reset_history(script)
    script.clear_emergency_stop()
    return Result(True, f"{script.key} starts a new conversation.")


def status(script: AssistantScript) -> Result:
    """What an assistant is doing, with which model, and what it has used."""
    work = script.ndb.work or state.Work()
    try:
        brain = script.endpoint().describe()
    except ConfigurationError as error:
        brain = f"not set up: {error}"
    data = {
        "key": script.key,
        "location": getattr(script.obj.location, "key", None) if script.obj else None,
        "enabled": bool(state.read(script, "enabled")),
        "emergency_stop": bool(state.read(script, "emergency_stop")),
        "consecutive_errors": state.read(script, "consecutive_errors"),
        "max_consecutive_errors": state.read(script, "max_consecutive_errors"),
        "is_ticking": work.is_ticking,
        "pending_events": len(work.inbox),
        "calls": work.calls,
        "tokens": work.usage.total_tokens,
        "brain": brain,
        "breakers": services.pool().breakers.get_all_stats(),
    }
    return Result(True, f"{script.key}: {_mood(data)}", data)


def _mood(data: Mapping[str, Any]) -> str:
    if data["emergency_stop"]:
        return "stopped"
    if not data["enabled"]:
        return "silent"
    return "thinking" if data["is_ticking"] else "awake"


def check_model(script: AssistantScript | None = None) -> Deferred[Report]:
    """Try the model of an assistant, or the game's, with real requests.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    return check_endpoint(endpoint, services.pool())
