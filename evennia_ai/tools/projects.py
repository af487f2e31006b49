"""Tools for the assistant's projects, of which one is active."""

from __future__ import annotations

from typing import Any, Literal

from evennia_ai.core.turn import projects as core
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import journal, projects
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.base import refusals
from evennia_ai.tools.groups import PROJECTS
from evennia_ai.tools.registry import tool


@tool(category="safe_chain", group=PROJECTS)
def create_project(
    character: Character, project_key: str, summary: str, context: str = "", *, turn: Turn
) -> str:
    """Begin a project: something that takes more than one talk. It is the active one from now on.

    Args:
        project_key: a short name, such as harbour_map.
        summary: what it is for, in one sentence of at most 200 characters.
        context: what you know and what comes next, of at most 2000 characters.
    """
    script, now, known, viewer = _open(character, turn, f"{project_key} {summary} {context}")
    with refusals():
        changed, key = core.create(known, project_key, summary, context, viewer, now)
    state.write(script, projects=changed)
    return f"project {key} is active"


def _has_project(character: Character, turn: Turn) -> bool:
    script = character.assistant_script
    return bool(core.visible(projects.of(script), projects.viewer_of(script, turn)))


@tool(category="safe_chain", useful_when=_has_project, group=PROJECTS, only_reads=True)
def list_projects(character: Character, *, turn: Turn) -> str:
    """List your projects."""
    return core.listing(*projects.opened(character.assistant_script, turn))


@tool(category="safe_chain", useful_when=_has_project, group=PROJECTS)
def swap_project(
    character: Character,
    project_key: str,
    current_project_update: str,
    reasoning: str = "",
    *,
    turn: Turn,
) -> dict[str, Any]:
    """Put the active project aside and go on with another one.

    Args:
        project_key: the project to go on with.
        current_project_update: how far the active one has come: its new context.
        reasoning: why you change over.
    """
    script, now, known, viewer = _open(character, turn, current_project_update)
    with refusals():
        changed, outcome = core.swap(known, project_key, current_project_update, viewer, now)
    state.write(script, projects=changed)
    return {"success": True, **outcome}


@tool(category="safe_chain", is_idempotent=True, useful_when=_has_project, group=PROJECTS)
def update_project(
    character: Character,
    project_key: str = "",
    summary: str = "",
    context: str = "",
    status: Literal["", "active", "paused", "completed"] = "",
    *,
    turn: Turn,
) -> str:
    """Write down how a project stands.

    Args:
        project_key: which one; leave it out for the active one.
        summary: what it is for, if that changed.
        context: what you know now and what comes next; it replaces what was there.
        status: active, paused or completed, if that changes.
    """
    script, now, known, viewer = _open(character, turn, f"{summary} {context}")
    changes = {"summary": summary, "context": context, "status": status}
    with refusals():
        changed = core.update(known, project_key, changes, viewer, now)
    state.write(script, projects=changed)
    return "written down"


def _open(
    character: Character, turn: Turn, words: str
) -> tuple[Any, float, core.Projects, core.Viewer]:
    """The script, time, projects and viewer. Raises ToolError if the words may not be stored."""
    script = character.assistant_script
    journal.check_consent(script, turn)
    journal.check_sources(script, turn, words)
    return script, script.clock.seconds(), *projects.opened(script, turn)
