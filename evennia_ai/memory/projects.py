"""An assistant's projects, written with each change, and told to its prompt."""

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
    """For whom a turn is."""
    return Viewer(turn.event.face, is_private(turn), sole_recipient(script, turn.event))


def of(script: Assistant) -> Projects:
    """The projects, as plain data."""
    kept: Projects = state.read(script, "projects")
    return kept


def keep(script: Assistant, projects: Projects) -> None:
    """Store the projects."""
    state.write(script, projects=projects)


def opened(script: Assistant, turn: Turn) -> tuple[Projects, Viewer]:
    """The projects, and for whom; a turn that may know of a private one is private itself."""
    kept, viewer = of(script), viewer_of(script, turn)
    if any(slot["is_private"] for slot in core.seen(kept, viewer).values()):
        turn.hold(person_audience(turn.event.face))
        viewer = viewer_of(script, turn)
    return kept, viewer


def told(script: Assistant, turn: Turn) -> str:
    """The active project for a prompt, or "" where there is none that this turn may know of."""
    kept, viewer = of(script), viewer_of(script, turn)
    active = core.seen(kept, viewer).get(core.active_of(kept, viewer))
    if active is not None and active["is_private"]:
        turn.hold(person_audience(turn.event.face))
    return core.described(kept, viewer)
