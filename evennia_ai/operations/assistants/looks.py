"""Assistants described, and changed in their look, persona, place and aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any

from django.db import transaction
from evennia.objects.objects import DefaultRoom
from evennia.utils.search import search_object

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.operations.assistants.creation import (
    plain_desc,
)
from evennia_ai.operations.naming import problem_of_name, problem_of_player
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import differs, prepare, signed
from evennia_ai.operations.settings.rows import UNSET
from evennia_ai.runtime import state
from evennia_ai.runtime.names import aliases_of
from evennia_ai.runtime.rights import is_owner, lets

LONGEST_DESC = 4000  # characters
MOST_ALIASES = 10
HERE = "teleport_here"


@dataclass(frozen=True, slots=True)
class Described:
    """The name, look, persona and location of an assistant, and when it was created."""

    key: str
    desc: str
    persona: str
    location: Annotated[str | None, note("Name of the room it stands in.")]
    location_id: Annotated[str | None, note("Number of that room, such as `#12`.")]
    aliases: list[str]
    enabled: Annotated[bool, note("True if it is started; false if it is silent.")]
    adopted: Annotated[
        bool, note("True if its body is an adopted character or object of the game.")
    ]
    created_at: Annotated[str, note("Time of creation (ISO 8601).")]


def describe(script: AssistantScript) -> Result[Described]:
    """Describe an assistant as it is now."""
    body = script.obj
    place = body.location if body is not None else None
    data = Described(
        key=str(script.key),
        desc=str(body.db.desc or "") if body is not None else "",
        persona=str(state.read(script, "persona")),
        location=str(place.key) if place is not None else None,
        location_id=str(place.dbref) if place is not None else None,
        aliases=aliases_of(body) if body is not None else [],
        enabled=bool(state.read(script, "enabled")),
        adopted=bool(state.read(script, "adopted")),
        created_at=script.db_date_created.astimezone(UTC).isoformat(),
    )
    where = f"in {data.location}" if place is not None else "nowhere"
    return Result(True, f"{script.key} is {where}. {one_line(data.desc, 200)}".strip(), data)


def look_of(script: AssistantScript) -> dict[str, Any]:
    """The look of an assistant that people can set; its location and home as "#12", None: none."""
    body = script.obj
    if body is None:
        return {}
    place, home = (each and str(each.dbref) for each in (body.location, body.home))
    names = sorted(aliases_of(body))
    return {"desc": str(body.db.desc or ""), "aliases": names, "location": place, "home": home}


def update_assistant(
    script: AssistantScript,
    *,
    desc: str | None = None,
    persona: str | None = None,
    location: GameObject | None = None,
    aliases: Sequence[str] | None = None,
    by: str = "",
    person: Being | None = None,
    home: GameObject | None = None,
    is_undo: bool = False,
) -> Result[Described]:
    """Change an assistant's description, persona, location or aliases.

    Args:
        desc: what people see; "" for the default.
        location: a room, its "#2", or its name; it becomes the assistant's home too.
        aliases: all of its aliases, which replace the old ones.
        person: must be allowed to teleport into the room, like the assistant; None: no check.
        home: its home, where that is not its new room.
        is_undo: the description is an earlier one, stored as it was, also "".
    """
    given = {"desc": desc, "persona": persona, "location": location, "aliases": aliases}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        message = f"{script.key}: give something to change, one of: {', '.join(given)}."
        return Result.invalid(message)
    if script.obj is None and set(changes) != {"persona"}:
        return Result.conflict(f"{script.key} has no body, so only the persona can be changed.")
    place = _find_place(location)
    prepared = prepare({"persona": persona} if persona is not None else {}, lambda _: UNSET)
    problems = [*prepared.errors.values(), _problem_of_look(changes, place, script.obj)]
    if problem := "; ".join(filter(None, problems)):
        return Result.invalid(f"{script.key}: nothing is changed: {problem}")
    if problem := problem_of_room(place, script.obj, person):
        return Result.forbidden(problem)
    with signed(by), transaction.atomic():
        before = look_of(script)
        if place is not None and not _move(script.obj, place, _find_place(home) or place):
            message = f"{script.key} cannot go to {place.key}: the game does not allow that."
            return Result.conflict(message)
        _apply(script, changes, prepared.values, is_undo=is_undo)
        _record_look(script, sorted(changes), before)
    return Result(True, f"{script.key}: {', '.join(changes)} changed.", describe(script).data)


def _find_place(location: GameObject | None) -> Any:
    # None unless exactly one room has that number or name.
    if not isinstance(location, str):
        return location
    rooms = [place for place in search_object(location.strip()) if isinstance(place, DefaultRoom)]
    return rooms[0] if len(rooms) == 1 else None


def _problem_of_look(wanted: Mapping[str, Any], place: GameObject | None, body: GameObject) -> str:
    desc, aliases = wanted.get("desc", ""), wanted.get("aliases", ())
    if len(desc) > LONGEST_DESC:
        return f"the description has {len(desc)} characters; it must have at most {LONGEST_DESC}"
    if "location" in wanted and (place is None or place == body):
        return (
            f"there is no single room {one_line(str(wanted['location']), 60)!r}; give its #number"
        )
    if isinstance(aliases, str) or len(aliases) > MOST_ALIASES:
        return f"aliases must be a list of at most {MOST_ALIASES} names"
    # Aliases that it has already are not checked again.
    new = [name for name in map(str, aliases) if name.strip().lower() not in body.aliases.all()]
    problems = (problem_of_name(name) or problem_of_player(name, body) for name in new)
    return next(filter(None, problems), "")


def problem_of_room(place: GameObject | None, body: GameObject, person: Being | None) -> str:
    """The reason why a person may not move a body into a room, or "".

    The lock is the one that Evennia's own `teleport` checks, of the person and of the body.
    """
    if place is None or person is None:
        return ""
    if not lets(place, person, HERE, default=True):
        return f"You may not move anyone to {place.key}."
    if not (body is None or is_owner(person) or place.access(body, HERE, default=True)):
        return f"{body.key} may not be moved to {place.key}: the room's lock {HERE!r} forbids it."
    return ""


def _move(body: GameObject, place: GameObject, home: GameObject) -> bool:
    if body.location != place:
        body.move_to(place, quiet=True, move_type="teleport")
    # Not what `move_to` returns: it is False too where a hook fails after the move.
    if body.location != place:
        return False
    body.home = home
    return True


def _apply(
    script: AssistantScript, wanted: Mapping[str, Any], values: Mapping[str, Any], *, is_undo: bool
) -> None:
    body = script.obj
    if "desc" in wanted:
        body.db.desc = wanted["desc"] if is_undo else wanted["desc"].strip() or plain_desc(body)
    if "aliases" in wanted:
        # Adding one checks it, so those that it has already are not added again.
        names = {" ".join(str(alias).split()).lower() for alias in wanted["aliases"]}
        for name, category in body.aliases.all(return_key_and_category=True):
            if name not in names:
                body.aliases.remove(name, category)
        body.aliases.add(sorted(names - set(body.aliases.all())))
    if changed := {n: value for n, value in values.items() if differs(script, n, value)}:
        state.write(script, **changed)
    if script.work is not None:
        script.work.drop_cached_settings()


def _record_look(script: AssistantScript, names: list[str], before: Mapping[str, object]) -> None:
    now = look_of(script)
    old = {name: value for name, value in before.items() if value != now[name]}
    # A room becomes its home when it moves there. An undo needs to know of any other home.
    if old.get("home") in (None, before.get("location")):
        old.pop("home", None)
    elif "home" in old:
        old["location"] = before["location"]
    new = {name: now[name] for name in old}
    audit.record("look_changed", script, changed=names, before=old, after=new)
