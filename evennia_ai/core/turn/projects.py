"""Projects: what an assistant works on, with the context of each kept aside while it is paused.

Plain data. What was written in a private talk is seen only in talks with the same person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import TypedDict

from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, strip_control

MOST_PROJECTS = 20
LONGEST_KEY = 40
LONGEST_SUMMARY = 200
LONGEST_CONTEXT = 2000
ACTIVE, PAUSED, COMPLETED = "active", "paused", "completed"
_NOT_IN_KEYS = re.compile(r"[^\w]+")


class Project(TypedDict):
    """A project as it is stored.

    Attributes:
        status: ACTIVE, PAUSED or COMPLETED.
        created_at, last_active: seconds since 1970.
        person: the player for whom it was made, "" for nobody.
        is_private: it was made in a private talk.
    """

    summary: str
    context: str
    status: str
    created_at: float
    last_active: float
    person: str
    is_private: bool


class Projects(TypedDict, total=False):
    """All projects of an assistant by their keys, and the key of the active one, or ""."""

    active: str
    slots: dict[str, Project]


@dataclass(frozen=True, slots=True)
class Viewer:
    """For whom a turn is: which projects it may see, and how one is marked that it makes.

    Attributes:
        person: the player who is answered, "" for nobody.
        is_private: nobody else may know of the turn.
        sole_recipient: the player who alone hears the answer, "" where others do.
    """

    person: str = ""
    is_private: bool = False
    sole_recipient: str = ""


def key_of(name: str) -> str:
    """A project's key: small letters, digits and _."""
    return _NOT_IN_KEYS.sub("_", one_line(name, LONGEST_KEY).casefold()).strip("_")


def seen(projects: Projects, viewer: Viewer) -> dict[str, Project]:
    """The slots that a turn may know of, in the order in which they were made."""
    return {
        key: slot
        for key, slot in projects.get("slots", {}).items()
        if not slot["is_private"] or (slot["person"] and slot["person"] == viewer.sole_recipient)
    }


def active_of(projects: Projects, viewer: Viewer) -> str:
    """The key of the active project, or "" where there is none that this turn may know of."""
    active = projects.get("active", "")
    return active if active in seen(projects, viewer) else ""


def create(
    projects: Projects, name: str, summary: str, context: str, viewer: Viewer, now: float
) -> tuple[Projects, str]:
    """The projects with another one, which is active from now on, and its key.

    When there are too many, the completed one that rested longest makes room.

    Raises:
        ValueError: it has no name or summary, there is one of that name, or there are too many.
    """
    key, about = key_of(name), one_line(summary, LONGEST_SUMMARY)
    if not key or not about:
        raise ValueError("a project needs a key and a summary")
    slots = dict(projects.get("slots", {}))
    if key in seen(projects, viewer):
        raise ValueError(f"there is a project {key!r} already; choose another key")
    key = _free(key, slots)
    if len(slots) >= MOST_PROJECTS:
        done = [name for name, slot in slots.items() if slot["status"] == COMPLETED]
        if not done:
            raise ValueError(f"there are {MOST_PROJECTS} projects already; complete one first")
        del slots[min(done, key=lambda name: slots[name]["last_active"])]
    _pause(slots, projects.get("active", ""), now)
    slots[key] = {
        "summary": about,
        "context": _context(context),
        "status": ACTIVE,
        "created_at": now,
        "last_active": now,
        "person": viewer.person,
        "is_private": viewer.is_private,
    }
    return {"active": key, "slots": slots}, key


def swap(
    projects: Projects, key: str, update: str, viewer: Viewer, now: float
) -> tuple[Projects, dict[str, str]]:
    """Pause the active project, with what it has come to, and go on with another one.

    Returns:
        The projects, and old_project, new_project, new_project_summary, new_project_context.

    Raises:
        ValueError: there is no such project; the text lists available_projects.
    """
    key, old = key_of(key), active_of(projects, viewer)
    _find(projects, key, viewer)
    slots = dict(projects["slots"])
    if old and _context(update):
        slots[old] = {**_open_to(slots[old], viewer), "context": _context(update)}
    _pause(slots, projects["active"], now)
    slots[key] = {**slots[key], "status": ACTIVE, "last_active": now}
    told = {
        "old_project": old,
        "new_project": key,
        "new_project_summary": slots[key]["summary"],
        "new_project_context": slots[key]["context"],
    }
    return {"active": key, "slots": slots}, told


def update(
    projects: Projects, key: str, changes: Mapping[str, str], viewer: Viewer, now: float
) -> Projects:
    """The projects with one of them changed.

    Args:
        changes: some of "summary", "context" and "status" (active, paused, completed); "" leaves
            it as it is.

    Raises:
        ValueError: there is no such project, or it may not hold what is said in this talk.
    """
    key = key_of(key) or active_of(projects, viewer)
    slot: Project = {**_open_to(_find(projects, key, viewer), viewer), "last_active": now}
    slot["summary"] = one_line(changes.get("summary", ""), LONGEST_SUMMARY) or slot["summary"]
    slot["context"] = _context(changes.get("context", "")) or slot["context"]
    slots, active = dict(projects["slots"]), projects["active"]
    status = changes.get("status", "") or slot["status"]
    if status == ACTIVE and active != key:
        _pause(slots, active, now)
    slots[key] = {**slot, "status": status}
    if status == ACTIVE:
        active = key
    return {"active": "" if active == key and status != ACTIVE else active, "slots": slots}


def listing(projects: Projects, viewer: Viewer) -> str:
    """All that a turn may know of, a line each."""
    lines = [
        f"{key} ({slot['status']}): {slot['summary']}"
        for key, slot in seen(projects, viewer).items()
    ]
    return "\n".join(lines) or "you have no project"


def described(projects: Projects, viewer: Viewer) -> str:
    """The active project for a prompt, or ""."""
    key = active_of(projects, viewer)
    if not key:
        return ""
    slot = projects["slots"][key]
    return f"You are working on {key}: {slot['summary']}\n{slot['context']}".rstrip()


def _free(key: str, slots: Mapping[str, Project]) -> str:
    """A key that no project has; of those of others nobody learns by it."""
    others = (f"{key}_{number}" for number in count(2))
    return next(name for name in chain((key,), others) if name not in slots)


def _find(projects: Projects, key: str, viewer: Viewer) -> Project:
    known = seen(projects, viewer)
    if key not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"Project {key!r} does not exist; available_projects: {names}")
    return known[key]


def _open_to(slot: Project, viewer: Viewer) -> Project:
    """A slot that may hold what is said in this talk."""
    if viewer.is_private and not slot["is_private"]:
        raise ValueError("this talk is private and that project is not; create one for this talk")
    return slot


def _pause(slots: dict[str, Project], key: str, now: float) -> None:
    if key in slots and slots[key]["status"] == ACTIVE:
        slots[key] = {**slots[key], "status": PAUSED, "last_active": now}


def _context(text: str) -> str:
    return cut_at_sentence(strip_control(text).strip(), LONGEST_CONTEXT)
