"""Adoption: an NPC of the game becomes the body of an assistant, and is released again.

The NPC itself stays as it is: its typeclass, name, look, locks, attributes, tags and command sets.
Everything that an assistant adds is stored on its script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from evennia.accounts.models import AccountDB
from evennia.objects.objects import DefaultExit, DefaultObject, DefaultRoom
from evennia.typeclasses.attributes import Attribute
from evennia.utils.search import search_object

from evennia_ai import assistant_character, audit, emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.operations.assistants.creation import (
    LONGEST_KEY,
    Creation,
    archive_earlier_log,
    attach_script,
    forget_script_of,
)
from evennia_ai.operations.assistants.lifecycle import FIRST_CHARACTER, channels_of, end_assistant
from evennia_ai.operations.naming import (
    find_assistant,
    list_assistants,
    names_of_body,
    problem_of_name,
    problem_of_npc_name,
    problem_of_owner,
)
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.acts import may_control, refuse_control
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import Right, forms_of, is_staff, lets, meets, own_locks

PLAYABLE, LAST_PUPPET = "_playable_characters", "_last_puppet"
# Attribute in which Evennia stores a character's location when its player logs out.
PLAYED = "prelogout_location"
_PID = re.compile(r"pid\((\d{1,9})\)")
ADOPTING_LOCKS = ("control", "edit")  # Evennia's own access types: either allows an adoption
HOW_TO_END = (
    "Before evennia_ai is removed from the game type: assistant release {name}. Afterwards delete "
    "this script; the game keeps {body} as it is."
)


# ---- finding an NPC ----------------------------------------------------------------------------


def find_npc(person: Being, text: str) -> Result[GameObject]:
    """Find an NPC: in the person's room as the game's commands do, or by its name or "#12"."""
    words = text.strip()[:LONGEST_KEY]
    beings = []
    if words and isinstance(person, DefaultObject) and person.location is not None:
        beings = person.search(words, candidates=person.location.contents, quiet=True)
    beings = beings or (search_object(words, exact=True, use_dbref=True) if words else [])
    if not beings:
        return Result.not_found(
            f"There is no character or object named {one_line(words, 60)!r}. Give the name of one "
            "here, or its number such as #12."
        )
    if len(beings) > 1:
        names = ", ".join(f"{being.key} ({being.dbref})" for being in beings[:10])
        return Result.conflict(f"Several have that name; give a number: {names}.")
    return Result(True, str(beings[0].key), beings[0])


def _problem_of_being(npc: GameObject, person: Being | None) -> Result | None:
    name = str(npc.key)
    if isinstance(npc, (DefaultRoom, DefaultExit)):
        kind = "a room" if isinstance(npc, DefaultRoom) else "an exit"
        return Result.invalid(f"{name} is {kind}; adopt a character or an object in a room.")
    if own := next((script for script in list_assistants() if script.obj == npc), None):
        return Result.conflict(f"{name} is already an assistant: {own.key}.")
    if problem := _problem_of_players(npc, person):
        return Result.conflict(problem)
    if person is None:
        return None
    forms = forms_of(person)
    if not any(lets(npc, form, kind) for form in forms for kind in ADOPTING_LOCKS):
        return Result.forbidden(
            f"You may not adopt {name}: that needs its lock 'control' or 'edit'."
        )
    # An assistant acts with its body's permissions, and so at the request of whoever adopted it.
    above = [
        permission
        for permission in npc.permissions.all()
        if not any(meets(form, permission, form) for form in forms)
    ]
    if above:
        return Result.forbidden(
            f"You may not adopt {name}: it has the permission {above[0]!r}, and you do not."
        )
    return None


def _problem_of_players(npc: GameObject, person: Being | None) -> str:
    """The reason why a body counts as a player's, in words, or "".

    Evennia also assigns the characters that staff make by `create` to their accounts. So one that
    only staff own, and that nobody else has played, counts as the game's.
    """
    name = str(npc.key)
    if npc.is_superuser or npc.dbref == FIRST_CHARACTER:
        return f"{name} is the superuser's character; adopt one of the game's own."
    if npc.sessions.count():
        return f"Someone controls {name}'s body; they have to leave it first (ooc)."
    own = getattr(person, "account", None) or person
    for account in _owners_of(npc):
        is_played = npc.attributes.has(PLAYED) and account != own
        if is_played or account.attributes.get(LAST_PUPPET) == npc or not is_staff(account):
            return f"{name} is a character of {account.key}'s; adopt one of the game's own."
    return ""


def _owners_of(npc: GameObject) -> list[Any]:
    # Evennia knows owners in four ways: the list of playable characters, the puppet lock, the
    # puppeting account and `creator_id`.
    lists = Attribute.objects.filter(db_key=PLAYABLE, accountdb__isnull=False)
    # The lists are pickled, so no query can search them.
    having = [attribute.pk for attribute in lists if npc in (attribute.value or ())]
    numbers = {int(number) for number in _PID.findall(str(npc.locks.get("puppet") or ""))}
    numbers |= {npc.db_account_id, npc.attributes.get("creator_id")} - {None}
    condition = Q(pk__in=numbers) | Q(db_attributes__in=having)
    return list(AccountDB.objects.filter(condition).distinct())


# ---- adopting ----------------------------------------------------------------------------------


def adopt(npc: GameObject, name: str = "", *, person: Being | None = None, by: str = "") -> Result:
    """Make an NPC the body of an assistant; the NPC itself stays as it is.

    Args:
        name: name of the assistant; "": the NPC's. The name of an assistant that has lost its body
            gives that assistant this one, with all that it knows.
        person: who does it, and needs the NPC's lock `control` or `edit`; None for code.
        by: name for the audit log; by default the person's.
    """
    if refused := _problem_of_being(npc, person):
        return refused
    called = " ".join((name or str(npc.key)).split())
    lost = find_assistant(called)
    lost = lost if lost is not None and lost.obj is None else None
    if (
        lost is not None
        and person is not None
        and not may_control(lost, person, is_staff=is_staff(person), right=Right.CONFIGURE)
    ):
        return refuse_control(lost, person, "adopt", Right.CONFIGURE)
    called = str(lost.key) if lost is not None else called
    if refused := _problem_of_names(called, npc, lost):
        return refused
    adopted = {"channels": [channel.pk for channel in channels_of(npc)]}
    try:
        with signed(by or str(getattr(person, "key", ""))), transaction.atomic():
            script = _begin(called, npc, adopted) if lost is None else _go_on(lost, npc, adopted)
            audit.record("adopted", script, body=f"{npc.key} ({npc.dbref})")
    # The transaction undoes what was stored; this undoes what is in memory.
    except BaseException:
        if lost is None:
            forget_script_of(npc)
        npc.assistant_script = None
        assistant_character.take_ears(npc)
        if lost is not None:
            lost.obj = None
            lost.attributes.reset_cache()
        raise
    whole = f"{called} is {npc.key} now" if called != npc.key else f"{called} has a mind now"
    message = f"{whole}. Try: whisper {npc.key} = hello. To undo it: assistant release {called}"
    return Result(True, message, Creation(script, npc))


def _problem_of_names(name: str, npc: GameObject, lost: AssistantScript | None) -> Result | None:
    # An assistant that lost its body has its name already.
    if lost is None:
        if problem := problem_of_name(name):
            how = "" if name != npc.key else f" Give another: assistant adopt {npc.key} = Edda"
            return Result.invalid(f"{problem}{how}")
        if problem := problem_of_owner(name, npc):
            return Result.conflict(problem)
    for other in names_of_body(npc):
        if problem := problem_of_npc_name(other, npc, lost):
            return Result.conflict(f"{npc.key} is not adopted. {problem}")
    return None


def _begin(name: str, npc: GameObject, adopted: Mapping[str, object]) -> AssistantScript:
    archive_earlier_log(name)
    script = attach_script(name, npc, {"adopted": adopted})
    _make_known(script, npc)
    return script


def _go_on(
    script: AssistantScript, npc: GameObject, adopted: Mapping[str, object]
) -> AssistantScript:
    script.obj = npc
    state.write(script, adopted=adopted)
    _make_known(script, npc)
    script.at_start()
    lockout = emergency.lockout_of(script)
    # Losing its body had locked it; a stop by a person, or for another cause, stays.
    if lockout is not None and lockout.cause is Cause.BODY:
        script.clear_emergency_stop()
    return script


def _make_known(script: AssistantScript, npc: GameObject) -> None:
    if own := own_locks(script):
        script.locks.add(own)
    script.desc = HOW_TO_END.format(name=script.key, body=f"{npc.key} ({npc.dbref})")


# ---- releasing ---------------------------------------------------------------------------------


def refuse_release(script: AssistantScript) -> Result | None:
    """Refuse a release where the assistant has no adopted body; else None."""
    if state.read(script, "adopted") and script.obj is not None:
        return None
    name = str(script.key)
    why = "has no body" if script.obj is None else "was made with its body"
    return Result.conflict(
        f"{name} {why}, so there is nothing to release. To delete it: assistant delete {name}"
    )


def release(script: AssistantScript, *, by: str = "", reason: str = "") -> Result[str]:
    """End an assistant and leave its adopted body as it was before.

    What the assistant knew and its conversation are lost, as when it is deleted; its audit log is
    archived as a file. What is under way is dropped, and the players who wait for it are told.
    """
    name, body = str(script.key), script.obj
    if refused := refuse_release(script):
        return refused
    why = reason.strip() or f"released by {by or 'code'}"
    result = end_assistant(script, why, by=by, keeps_body=True)
    if not result.ok:
        return result
    message = f"{name} is released: {body.key} is as it was before{result.message}."
    return Result(True, message, result.data)
