"""Storage of an assistant's projects, and the active project's text in a prompt."""

from __future__ import annotations

from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.turn import projects as core
from evennia_ai.core.turn.projects import Projects, Viewer
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory.consent import is_private
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import sole_recipient


def viewer_of(script: Assistant, turn: Turn) -> Viewer:
    """The viewer that decides which projects a turn may know."""
    return Viewer(turn.event.face, is_private(turn), sole_recipient(script, turn.event))


def of(script: Assistant) -> Projects:
    """The projects, as plain data."""
    projects: Projects = state.read(script, "projects")
    return projects


def opened(script: Assistant, turn: Turn) -> tuple[Projects, Viewer]:
    """The projects and the viewer. The turn becomes private if it may know a private one."""
    projects, viewer = of(script), viewer_of(script, turn)
    if any(slot["is_private"] for slot in core.visible(projects, viewer).values()):
        turn.hold(person_audience(turn.event.face))
        viewer = viewer_of(script, turn)
    return projects, viewer


def prompt_text(script: Assistant, turn: Turn) -> str:
    """The active project's text in a prompt, or "" if there is none that the turn may know."""
    projects = of(script)
    if not projects.get("active"):
        return ""
    viewer = viewer_of(script, turn)
    key = core.active_of(projects, viewer)
    if key and projects["slots"][key]["is_private"]:
        turn.hold(person_audience(turn.event.face))
    return core.described(projects, viewer)
