"""The life of an assistant as a whole: its look is changed, it is copied, it is deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any

from django.db import transaction
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.utils import logger
from evennia.utils.search import search_object

from evennia_ai import approvals, assistant_character, audit, emergency
from evennia_ai.agent import tracing
from evennia_ai.assistant_account import HearsPagesForAssistant
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.game import POWERS, STATE
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Account, Being, GameObject
from evennia_ai.models import CardFile, EntityProfile, Memory, WorkJob
from evennia_ai.operations.assistants.creation import BODY, Creation, create_assistant, plain_desc
from evennia_ai.operations.naming import BODY_OF_ACCOUNT, problem_of_name, problem_of_player
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import prepare, signed
from evennia_ai.operations.settings.rows import UNSET, own_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.rights import is_owner, lets
from evennia_ai.tasks import store as tasks

LONGEST_DESC = 4000
MOST_ALIASES = 10
FIRST_CHARACTER = "#1"
# What every assistant has of its own, and a copy must not share.
OWN_NAME = "assistant_key"
# What gives power over a body: of a copy it is its maker's.
NOT_COPIED = ("control", "edit", "delete", "puppet")
HERE = "teleport_here"


# ---- looking -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Described:
    """An assistant: its name, its look, who it is, where it stands, since when."""

    key: str
    desc: str
    persona: str
    location: Annotated[str | None, note("The name of the room it stands in.")]
    location_id: Annotated[str | None, note("The number of that room, such as `#12`.")]
    aliases: list[str]
    enabled: Annotated[bool, note("It answers at all.")]
    adopted: Annotated[bool, note("Its body is a being of the game.")]
    created_at: Annotated[str, note("When it was made (ISO 8601).")]


def describe(script: AssistantScript) -> Result[Described]:
    """An assistant as it is now."""
    body = script.obj
    place = body.location if body is not None else None
    data = Described(
        key=str(script.key),
        desc=str(body.db.desc or "") if body is not None else "",
        persona=str(state.read(script, "persona")),
        location=str(place.key) if place is not None else None,
        location_id=str(place.dbref) if place is not None else None,
        aliases=list(body.aliases.all()) if body is not None else [],
        enabled=bool(state.read(script, "enabled")),
        adopted=bool(state.read(script, "adopted")),
        created_at=script.db_date_created.astimezone(UTC).isoformat(),
    )
    where = f"in {data.location}" if place is not None else "nowhere"
    return Result(True, f"{script.key} is {where}. {one_line(data.desc, 200)}".strip(), data)


def look_of(script: AssistantScript) -> dict[str, Any]:
    """The look of an assistant that people can set; its place by its number, None: nowhere."""
    body = script.obj
    if body is None:
        return {}
    place = str(body.location.dbref) if body.location is not None else None
    aliases = sorted(map(str, body.aliases.all()))
    return {"desc": str(body.db.desc or ""), "aliases": aliases, "location": place}


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
) -> Result[Described]:
    """Change an assistant's look, who it is, where it stands or what else it is called by.

    Args:
        desc: what people see; "" for the plain one.
        location: a room, its "#2", or its name; it stays there from then on.
        aliases: all of its further names.
        person: whom the room must let in, beside the assistant; None for code, which any room does.
    """
    given = {"desc": desc, "persona": persona, "location": location, "aliases": aliases}
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        return Result.invalid(f"{script.key}: give something to change: {', '.join(given)}.")
    if script.obj is None and set(wanted) != {"persona"}:
        return Result.conflict(f"{script.key} has no body, so only the persona can be changed.")
    place = _find_place(location) if location is not None else None
    found = prepare({"persona": persona} if persona is not None else {}, lambda _: UNSET)
    problems = [*found.errors.values(), _problem_of_look(wanted, place, script.obj)]
    if problem := "; ".join(filter(None, problems)):
        return Result.invalid(f"{script.key}: nothing is changed: {problem}")
    if problem := _problem_of_room(place, script.obj, person):
        return Result.forbidden(problem)
    with signed(by), transaction.atomic():
        before = look_of(script)
        if place is not None and not _move(script.obj, place):
            return Result.conflict(
                f"{script.key} cannot go to {place.key}: the game does not allow that."
            )
        _apply(script, wanted, found.values)
        _tell_of_look(script, sorted(wanted), before)
    return Result(True, f"{script.key}: {', '.join(wanted)} changed.", describe(script).data)


def _find_place(location: GameObject) -> Any:
    """A room by its number or its name, None unless it is exactly one."""
    if not isinstance(location, str):
        return location
    found = [place for place in search_object(location.strip()) if place.location is None]
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
    problems = (_problem_of_alias(str(alias), body) for alias in aliases)
    return next(filter(None, problems), "")


def _problem_of_alias(alias: str, body: GameObject) -> str:
    """The problem with an alias, or ""; what it is called already it may keep."""
    if alias.strip().casefold() in body.aliases.all():
        return ""
    return problem_of_name(alias) or problem_of_player(alias, body)


def _problem_of_room(place: GameObject | None, body: GameObject, person: Being | None) -> str:
    """The refusal to put a body into a room, as the game's own `teleport` sees it, or ""."""
    if place is None or person is None:
        return ""
    if not lets(place, person, HERE, default=True):
        return f"You may not put anybody into {place.key}."
    if not (is_owner(person) or place.access(body, HERE, default=True)):
        return f"{body.key} may not be put into {place.key}: the room's lock {HERE!r} forbids it."
    return ""


def _move(body: GameObject, place: GameObject) -> bool:
    if body.location != place and not body.move_to(place, quiet=True, move_type="teleport"):
        return False
    body.home = place
    return True


def _apply(script: AssistantScript, wanted: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    body = script.obj
    if "desc" in wanted:
        body.db.desc = wanted["desc"].strip() or plain_desc(body)
    if "aliases" in wanted:
        body.aliases.clear()
        body.aliases.add([str(alias) for alias in wanted["aliases"]])
    if values:
        state.write(script, **values)
    if script.work is not None:
        script.work.read_anew()


def _tell_of_look(script: AssistantScript, names: list[str], before: Mapping[str, object]) -> None:
    now = look_of(script)
    old = {name: value for name, value in before.items() if value != now[name]}
    new = {name: now[name] for name in old}
    audit.record("look_changed", script, changed=names, before=old, after=new)


# ---- copying -----------------------------------------------------------------------------------


def clone_assistant(
    script: AssistantScript,
    key: str,
    *,
    location: GameObject | None = None,
    by: str = "",
    person: Being | None = None,
) -> Result[Creation]:
    """Make another assistant like this one: its settings, its prompts, its look, its channels.

    Nothing private goes along: no talk, memories, notes, goals or counts; no stop either. What its
    body is permitted does not, so that nobody multiplies rights, and what it may do to the game
    only where an owner copies it; who may run it does.

    Args:
        key: the name of the new one.
        location: the room it stands in; None: beside this one.
        person: who makes it, and has Evennia's rights over it; None for code, which is trusted.
    """
    body = script.obj
    place = location or (body.location if body is not None else None)
    if problem := _problem_of_room(place, body, person):
        return Result.forbidden(problem)
    settings = {name: own_of(script, name) for name in _copied(script)}
    may_give = person is None or is_owner(person)
    left_out = [] if may_give else [name for name in POWERS if name in settings]
    made = create_assistant(
        key,
        location=place,
        desc=_desc_for(script),
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
        _give_look_of(body, made.data.character)
    lacks = f" Without {' and '.join(left_out)}: an owner gives these." if left_out else ""
    return Result(True, made.message + lacks, made.data)


def _give_look_of(body: GameObject, copy: GameObject) -> None:
    """Let a copy be locked as the first one is, but for what is its maker's, and hear the same."""
    copy.locks.add([lock for lock in body.locks.all() if lock.partition(":")[0] not in NOT_COPIED])
    for channel in channels_of(body):
        if channel.access(copy, "listen"):
            channel.connect(copy)


def _copied(script: AssistantScript) -> list[str]:
    left_out = STATE | {OWN_NAME}
    return [n for n in state.DEFAULTS if n not in left_out and own_of(script, n) is not UNSET]


def _desc_for(script: AssistantScript) -> str:
    """The look of a copy; "" where it is the plain one, which names the assistant."""
    body = script.obj
    desc = str(body.db.desc or "") if body is not None else ""
    return "" if body is None or desc == plain_desc(body) else desc


def channels_of(body: GameObject) -> list[Any]:
    """The channels that a body listens to."""
    return [channel for channel in ChannelDB.objects.all() if channel.subscriptions.has(body)]


# ---- deleting ----------------------------------------------------------------------------------


def delete_assistant(script: AssistantScript, *, by: str = "", reason: str = "") -> Result[str]:
    """Delete an assistant, its body and its account. Its record is put away in a file before.

    It is stopped first: what is under way is dropped, and waiting messages are given back. All else
    is one transaction, so that a game that is killed meanwhile has the whole assistant, stopped, or
    nothing of it. What its calls have cost stays in the ledger. The vectors of what it remembered
    go right after; until a store that is down is asked again they have nothing that they belong to.
    """
    name = str(script.key)
    if problem := _problem_of_deleting(script):
        return Result.conflict(problem)
    ended = end_assistant(script, reason.strip() or f"deleted by {by or 'code'}", by=by)
    told = f"{name} is deleted{ended.message}." if ended.ok else ended.message
    return Result(ended.ok, told, ended.data, ended.problem)


def end_assistant(
    script: AssistantScript, why: str, *, by: str = "", keeps_body: bool = False
) -> Result[str]:
    """End an assistant, and its body with it unless that is to stay, as a being of the game does.

    Returns:
        Where its record is, as the end of a sentence, with the path, "" where it has none; or why
        it goes on.
    """
    name, body, number = str(script.key), script.obj, script.pk
    with signed(by):
        told = f"it is {'released' if keeps_body else 'deleted'}: {why}"
        emergency.trigger_emergency_stop(script, told, by=by, is_alarm=False)
        audit.flush()
        archive = None
        try:
            with transaction.atomic():
                archive = audit.close(script, why)
                _remove(script, body, keeps_body=keeps_body)
        except Exception as error:
            logger.log_trace(f"[assistant] {name} could not be ended")
            if archive is not None:  # its record is in the database still
                archive.unlink(missing_ok=True)
            return _undone(script, body, error, "released" if keeps_body else "deleted")
    if keeps_body:
        assistant_character.take_ears(body)
    services.memory().drop(number)
    told = f"; its record is in {archive}" if archive else ""
    return Result(True, told, str(archive or ""))


def _problem_of_deleting(script: AssistantScript) -> str:
    name, body = str(script.key), script.obj
    if body is None:
        return ""
    if state.read(script, "adopted"):
        return (
            f"{name} lives in {body.key}, a being of the game, which is not deleted with it. To "
            f"take the mind away: assistant release {name}"
        )
    if body.sessions.count():
        return f"Somebody is in {name}'s body; let them leave it first (ooc)."
    if body.dbref == FIRST_CHARACTER:
        return f"{name}'s body is the game's first character, which the game needs."
    return ""


def _remove(script: AssistantScript, body: GameObject, *, keeps_body: bool) -> None:
    """Delete all there is of it; from here on nothing hears and nothing beats.

    Raises:
        RuntimeError: a hook of the game's does not let it go.
    """
    before = state.read(script, "adopted").get("channels", ())
    script.work = None  # type: ignore[assignment]  # as before it was started
    for table in (Memory, EntityProfile, CardFile, WorkJob):
        table.objects.filter(assistant=script.pk).delete()
    tracing.remove_all(script.pk)
    tasks.remove_all(script.pk)
    approvals.remove_all(script)
    if body is not None:
        body.assistant_script = None
        for account in _accounts_of(body):
            let_go(account)
        for channel in channels_of(body):
            if channel.pk not in before:
                channel.disconnect(body)
    if not script.delete():
        raise RuntimeError("at_script_delete refused")
    if not (body is None or keeps_body or body.delete()):
        raise RuntimeError("at_object_delete refused")


def _accounts_of(body: GameObject) -> list[Any]:
    named = AccountDB.objects.filter(db_attributes__db_key=BODY_OF_ACCOUNT)
    return [account for account in named if account.attributes.get(BODY_OF_ACCOUNT) == body]


def let_go(account: Account) -> None:
    """Delete an account that is only the assistant's; one that somebody can log in to stays."""
    if isinstance(account, HearsPagesForAssistant) and not account.has_usable_password():
        account.delete()
    else:
        account.attributes.remove(BODY_OF_ACCOUNT)


def _undone(script: AssistantScript, body: GameObject, error: Exception, wanted: str) -> Result:
    """Say what went wrong: it is as it was, but stopped; what is in memory is read anew."""
    for being in filter(None, (script, body)):
        # Evennia's caches do not know that the transaction was undone.
        being.attributes.reset_cache()
    if script.pk is not None:
        script.at_start()
    return Result.unavailable(
        f"{script.key} is stopped, and could not be {wanted}: {one_line(str(error), 200)}. "
        "Mend that, and try again."
    )
