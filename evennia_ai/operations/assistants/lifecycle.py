"""Assistants described, changed in their look, cloned and deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any

from django.db import transaction
from evennia.comms.models import ChannelDB
from evennia.objects.objects import DefaultRoom
from evennia.utils import logger
from evennia.utils.search import search_object

from evennia_ai import approvals, assistant_character, audit, emergency
from evennia_ai.agent import tracing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.game import POWERS, STATE
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.models import CardFile, EntityProfile, Memory, WorkJob
from evennia_ai.operations.assistants.creation import (
    BODY,
    Creation,
    accounts_of,
    create_assistant,
    plain_desc,
    remove_account,
)
from evennia_ai.operations.naming import problem_of_name, problem_of_player
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import differs, prepare, signed
from evennia_ai.operations.settings.rows import UNSET, own_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.names import aliases_of
from evennia_ai.runtime.rights import is_owner, lets
from evennia_ai.tasks import store as tasks

LONGEST_DESC = 4000  # characters
MOST_ALIASES = 10
FIRST_CHARACTER = "#1"  # Evennia's superuser character
OWN_NAME = "assistant_key"  # unique, so never copied
# Locks that give power over a body; those of a clone are its maker's.
NOT_COPIED = ("control", "edit", "delete", "puppet")
HERE = "teleport_here"


# ---- describing --------------------------------------------------------------------------------


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


# ---- changing ----------------------------------------------------------------------------------


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
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        told = f"{script.key}: give something to change, one of: {', '.join(given)}."
        return Result.invalid(told)
    if script.obj is None and set(wanted) != {"persona"}:
        return Result.conflict(f"{script.key} has no body, so only the persona can be changed.")
    place = _find_place(location)
    found = prepare({"persona": persona} if persona is not None else {}, lambda _: UNSET)
    problems = [*found.errors.values(), _problem_of_look(wanted, place, script.obj)]
    if problem := "; ".join(filter(None, problems)):
        return Result.invalid(f"{script.key}: nothing is changed: {problem}")
    if problem := _problem_of_room(place, script.obj, person):
        return Result.forbidden(problem)
    with signed(by), transaction.atomic():
        before = look_of(script)
        if place is not None and not _move(script.obj, place, _find_place(home) or place):
            told = f"{script.key} cannot go to {place.key}: the game does not allow that."
            return Result.conflict(told)
        _apply(script, wanted, found.values, is_undo=is_undo)
        _record_look(script, sorted(wanted), before)
    return Result(True, f"{script.key}: {', '.join(wanted)} changed.", describe(script).data)


def _find_place(location: GameObject | None) -> Any:
    # None unless exactly one room has that number or name.
    if not isinstance(location, str):
        return location
    found = [place for place in search_object(location.strip()) if isinstance(place, DefaultRoom)]
    return found[0] if len(found) == 1 else None


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


def _problem_of_room(place: GameObject | None, body: GameObject, person: Being | None) -> str:
    # The lock that Evennia's own `teleport` checks, of the person and of the body.
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


# ---- cloning -----------------------------------------------------------------------------------


def clone_assistant(
    script: AssistantScript,
    key: str,
    *,
    location: GameObject | None = None,
    by: str = "",
    person: Being | None = None,
) -> Result[Creation]:
    """Create an assistant with the same settings, prompts, look and channels.

    Nothing private is copied: no conversation, memories, notes, goals or statistics, and no stop.
    Permissions of the body are not copied, so that nobody multiplies rights. Powers over the game
    are copied only for an owner; the lock that says who may run it always is.

    Args:
        key: name of the clone.
        location: the room it stands in; None: the same room.
        person: who clones it and gets Evennia's rights over it; None for code, which is trusted.
    """
    body = script.obj
    place = location or (body.location if body is not None else None)
    if problem := _problem_of_room(place, body, person):
        return Result.forbidden(problem)
    settings = _copied(script)
    desc = str(body.db.desc or "") if body is not None else ""
    may_give = person is None or is_owner(person)
    left_out = [] if may_give else [name for name in POWERS if name in settings]
    made = create_assistant(
        key,
        location=place,
        # The default description has the assistant's name in it.
        desc="" if body is None or desc == plain_desc(body) else desc,
        settings={name: value for name, value in settings.items() if name not in left_out},
        by=by,
        maker=person,
        typeclass=body.typeclass_path if body is not None else BODY,
    )
    if not made.ok:
        return made
    with signed(by):
        audit.record("copied", made.data.script, source=str(script.key), left_out=left_out)
    if body is not None:
        _copy_locks_and_channels(body, made.data.character)
    lacks = f" Without {' and '.join(left_out)}: an owner gives these." if left_out else ""
    return Result(True, made.message + lacks, made.data)


def _copy_locks_and_channels(body: GameObject, copy: GameObject) -> None:
    copy.locks.add([lock for lock in body.locks.all() if lock.partition(":")[0] not in NOT_COPIED])
    for channel in channels_of(body):
        if channel.access(copy, "listen"):
            channel.connect(copy)


def _copied(script: AssistantScript) -> dict[str, Any]:
    own = {name: own_of(script, name) for name in state.DEFAULTS if name not in (*STATE, OWN_NAME)}
    return {name: value for name, value in own.items() if value is not UNSET}


def channels_of(body: GameObject) -> list[Any]:
    """The channels that a body listens to."""
    return [channel for channel in ChannelDB.objects.all() if channel.subscriptions.has(body)]


# ---- deleting ----------------------------------------------------------------------------------


def delete_assistant(script: AssistantScript, *, by: str = "", reason: str = "") -> Result[str]:
    """Delete an assistant, its body and its account, after archiving its audit log in a file.

    First comes an emergency stop, which drops what is under way and gives waiting messages back.
    All else is one transaction: a game that is killed meanwhile has the whole assistant, stopped,
    or nothing of it. The cost of its calls stays in the ledger. The vectors of its memories are
    deleted right afterwards; where the store is down, they belong to no memory until it is back.
    """
    name = str(script.key)
    if problem := _problem_of_deleting(script):
        return Result.conflict(problem)
    ended = end_assistant(script, reason.strip() or f"deleted by {by or 'code'}", by=by)
    message = f"{name} is deleted{ended.message}." if ended.ok else ended.message
    return Result(ended.ok, message, ended.data, ended.problem)


def end_assistant(
    script: AssistantScript, why: str, *, by: str = "", keeps_body: bool = False
) -> Result[str]:
    """End an assistant, and delete its body unless it belongs to the game.

    Returns:
        message: the end of a sentence that says where its audit log is, or why it did not end.
        data: path of the archived audit log, "" where it had none.
    """
    name, body, number = str(script.key), script.obj, script.pk
    with signed(by):
        cause = f"it is {'released' if keeps_body else 'deleted'}: {why}"
        emergency.trigger_emergency_stop(script, cause, by=by, is_alarm=False)
        audit.flush()
        archive = None
        try:
            with transaction.atomic():
                archive = audit.close(script, why)
                _remove(script, body, keeps_body=keeps_body)
        except Exception as error:
            logger.log_trace(f"[assistant] {name} could not be ended")
            if archive is not None:  # after the rollback its audit log is in the database again
                archive.unlink(missing_ok=True)
            done = "released" if keeps_body else "deleted"
            return _undone(script, number, body, error, done)
    if keeps_body:
        assistant_character.take_ears(body)
    services.memory().drop(number)
    place = f"; its audit log is in {archive}" if archive else ""
    return Result(True, place, str(archive or ""))


def _problem_of_deleting(script: AssistantScript) -> str:
    name, body = str(script.key), script.obj
    if body is None:
        return ""
    if state.read(script, "adopted"):
        return (
            f"{name} lives in {body.key}, which belongs to the game and is not deleted with "
            f"it. To take its mind away: assistant release {name}"
        )
    if body.sessions.count():
        return f"Someone controls {name}'s body; they have to leave it first (ooc)."
    if body.dbref == FIRST_CHARACTER:
        return f"{name}'s body is the game's first character, which the game needs."
    return ""


def _remove(script: AssistantScript, body: GameObject, *, keeps_body: bool) -> None:
    """Delete everything of an assistant.

    Raises:
        RuntimeError: a hook of the game refuses the deletion.
    """
    before = state.read(script, "adopted").get("channels", ())
    # First of all, so that nothing is heard and no beat begins while rows are deleted.
    script.work = None  # type: ignore[assignment]  # as before it was started
    for table in (Memory, EntityProfile, CardFile, WorkJob):
        table.objects.filter(assistant=script.pk).delete()
    tracing.remove_all(script.pk)
    tasks.remove_all(script.pk)
    approvals.remove_all(script)
    if body is not None:
        body.assistant_script = None
        for account in accounts_of(body):
            remove_account(account)
        for channel in channels_of(body):
            if channel.pk not in before:
                channel.disconnect(body)
    if not script.delete():
        raise RuntimeError("at_script_delete refused")
    if not (body is None or keeps_body or body.delete()):
        raise RuntimeError("at_object_delete refused")


def _undone(
    script: AssistantScript, number: int, body: GameObject, error: Exception, wanted: str
) -> Result:
    # Where the script was deleted before the rollback, its row becomes another object in memory.
    known = script if script.pk is not None else AssistantScript.objects.get(pk=number)
    for being in filter(None, (known, body)):
        # Evennia's attribute caches do not notice that the transaction was rolled back.
        being.attributes.reset_cache()
    if known is script:
        known.at_start()
    else:
        known.at_server_start()
    return Result.unavailable(
        f"{script.key} is stopped, and could not be {wanted}: {one_line(str(error), 200)}. "
        "Fix that and try again."
    )
