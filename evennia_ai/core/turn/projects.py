"""Projects of an assistant: the context of each is stored while it works on another.

Plain data. A project made in a private conversation is shown only to the same player.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import TypedDict

from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, strip_control

MOST_PROJECTS = 20
# Characters.
LONGEST_KEY = 40
LONGEST_SUMMARY = 200
LONGEST_CONTEXT = 2000
ACTIVE, PAUSED, COMPLETED = "active", "paused", "completed"
_NOT_IN_KEYS = re.compile(r"[^\w]+")


class Project(TypedDict):
    """A project as stored.

    Attributes:
        created_at, last_active: seconds since 1970.
        person: the player for whom it was made, or "".
    """

    summary: str
    context: str
    status: str
    created_at: float
    last_active: float
    person: str
    is_private: bool


class Projects(TypedDict, total=False):
    """All projects of an assistant by key, and the key of the active one, or ""."""

    active: str
    slots: dict[str, Project]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The audience of a turn: decides which projects it may see and how new ones are marked.

    Attributes:
        person: the player being answered, or "".
        sole_recipient: the player who alone hears the answer, or "" if others do.
    """

    person: str = ""
    is_private: bool = False
    sole_recipient: str = ""


def key_of(name: str) -> str:
    """A project's key: its name in lower case, with _ for anything but letters and digits."""
    return _NOT_IN_KEYS.sub("_", one_line(name, LONGEST_KEY).casefold())[:LONGEST_KEY].strip("_")


def visible(projects: Projects, viewer: Viewer) -> dict[str, Project]:
    """The projects that a turn may know of, in order of creation."""
    return {
        key: slot
        for key, slot in projects.get("slots", {}).items()
        if not slot["is_private"] or (slot["person"] and slot["person"] == viewer.sole_recipient)
    }


def active_of(projects: Projects, viewer: Viewer) -> str:
    """The key of the active project, or "" if there is none that this turn may know of."""
    active = projects.get("active", "")
    return active if active in visible(projects, viewer) else ""


def create(
    projects: Projects, name: str, summary: str, context: str, viewer: Viewer, now: float
) -> tuple[Projects, str]:
    """The projects with a new one, which becomes active, and its key.

    If there are too many, the completed project that was inactive longest is removed.

    Raises:
        ValueError: it has no name or summary, the name is taken, or there are too many.
    """
    key, about = key_of(name), one_line(summary, LONGEST_SUMMARY)
    if not key or not about:
        raise ValueError("a project needs a key and a summary")
    # Names of hidden projects must not give them away: only a visible one is reported as taken.
    slots = dict(projects.get("slots", {}))
    if key in visible(projects, viewer):
        raise ValueError(f"there is a project {key!r} already; choose another key")
    key = _free_key(key, slots)
    if len(slots) >= MOST_PROJECTS:
        done = [name for name, slot in slots.items() if slot["status"] == COMPLETED]
        if not done:
            raise ValueError(f"there are {MOST_PROJECTS} projects already; complete one first")
        del slots[min(done, key=lambda name: slots[name]["last_active"])]
    _pause(slots, projects.get("active", ""), now)
    slots[key] = {
        "summary": about,
        "context": _cut_context(context),
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
    """Pause the active project with an updated context, and switch to another one.

    Returns:
        Projects, and a report: old_project, new_project, new_project_summary, new_project_context.

    Raises:
        ValueError: there is no such project; the text lists available_projects.
    """
    key, old = key_of(key), active_of(projects, viewer)
    _find(projects, key, viewer)
    slots = dict(projects["slots"])
    if old and _cut_context(update):
        slots[old] = {**_require_open_to(slots[old], viewer), "context": _cut_context(update)}
    _pause(slots, projects["active"], now)
    slots[key] = {**slots[key], "status": ACTIVE, "last_active": now}
    report = {
        "old_project": old,
        "new_project": key,
        "new_project_summary": slots[key]["summary"],
        "new_project_context": slots[key]["context"],
    }
    return {"active": key, "slots": slots}, report


def update(
    projects: Projects, key: str, changes: Mapping[str, str], viewer: Viewer, now: float
) -> Projects:
    """The projects with one of them changed.

    Args:
        changes: some of "summary", "context" and "status" (active, paused, completed); "" leaves
            a value as it is.

    Raises:
        ValueError: there is no such project, or it may not hold words of this conversation.
    """
    key = key_of(key) or active_of(projects, viewer)
    slot: Project = {**_require_open_to(_find(projects, key, viewer), viewer), "last_active": now}
    slot["summary"] = one_line(changes.get("summary", ""), LONGEST_SUMMARY) or slot["summary"]
    slot["context"] = _cut_context(changes.get("context", "")) or slot["context"]
    slots, active = dict(projects["slots"]), projects["active"]
    status = changes.get("status", "") or slot["status"]
    if status == ACTIVE and active != key:
        _pause(slots, active, now)
    slots[key] = {**slot, "status": status}
    if status == ACTIVE:
        active = key
    return {"active": "" if active == key and status != ACTIVE else active, "slots": slots}


def listing(projects: Projects, viewer: Viewer) -> str:
    """The projects that a turn may know of, one per line."""
    lines = [
        f"{key} ({slot['status']}): {slot['summary']}"
        for key, slot in visible(projects, viewer).items()
    ]
    return "\n".join(lines) or "you have no project"


def described(projects: Projects, viewer: Viewer) -> str:
    """The active project as a prompt shows it, or ""."""
    key = active_of(projects, viewer)
    if not key:
        return ""
    slot = projects["slots"][key]
    return f"You are working on {key}: {slot['summary']}\n{slot['context']}".rstrip()


def _free_key(key: str, slots: Mapping[str, Project]) -> str:
    """An unused key; with a number, so that nothing is learned of a hidden project of that name."""
    others = (f"{key[: LONGEST_KEY - len(f'_{number}')]}_{number}" for number in count(2))
    return next(name for name in chain((key,), others) if name not in slots)


def _find(projects: Projects, key: str, viewer: Viewer) -> Project:
    known = visible(projects, viewer)
    if key not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"Project {key!r} does not exist; available_projects: {names}")
    return known[key]


def _require_open_to(slot: Project, viewer: Viewer) -> Project:
    """The slot, if it may store what is said in this conversation; else raise ValueError."""
    if viewer.is_private and not slot["is_private"]:
        raise ValueError("this talk is private and that project is not; create one for this talk")
    return slot


def _pause(slots: dict[str, Project], key: str, now: float) -> None:
    if key in slots and slots[key]["status"] == ACTIVE:
        slots[key] = {**slots[key], "status": PAUSED, "last_active": now}


def _cut_context(text: str) -> str:
    return cut_at_sentence(strip_control(text).strip(), LONGEST_CONTEXT)
