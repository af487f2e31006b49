"""Assistants cloned and deleted."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from evennia.comms.models import ChannelDB
from evennia.utils import logger

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
from evennia_ai.operations.assistants.looks import problem_of_room
from evennia_ai.operations.result import Result
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.settings.rows import UNSET, own_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.rights import is_owner
from evennia_ai.tasks import store as tasks

FIRST_CHARACTER = "#1"  # Evennia's superuser character
OWN_NAME = "assistant_key"  # unique, so never copied
# Locks that give power over a body; those of a clone are its maker's.
NOT_COPIED = ("control", "edit", "delete", "puppet")


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
    if problem := problem_of_room(place, body, person):
        return Result.forbidden(problem)
    settings = _copied(script)
    desc = str(body.db.desc or "") if body is not None else ""
    may_give = person is None or is_owner(person)
    left_out = [] if may_give else [name for name in POWERS if name in settings]
    result = create_assistant(
        key,
        location=place,
        # The default description has the assistant's name in it.
        desc="" if body is None or desc == plain_desc(body) else desc,
        settings={name: value for name, value in settings.items() if name not in left_out},
        by=by,
        maker=person,
        typeclass=body.typeclass_path if body is not None else BODY,
    )
    if not result.ok:
        return result
    with signed(by):
        audit.record("copied", result.data.script, source=str(script.key), left_out=left_out)
    if body is not None:
        _copy_locks_and_channels(body, result.data.character)
    lacks = f" Without {' and '.join(left_out)}: an owner gives these." if left_out else ""
    return Result(True, result.message + lacks, result.data)


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
    result = end_assistant(script, reason.strip() or f"deleted by {by or 'code'}", by=by)
    message = f"{name} is deleted{result.message}." if result.ok else result.message
    return Result(result.ok, message, result.data, result.problem)


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
    place = f"; the audit log is in {archive}" if archive else ""
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
