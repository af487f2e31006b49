"""Creation of assistants, and checks of the parts that one is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings as game_settings
from django.db import transaction
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultExit, DefaultRoom
from evennia.utils import logger
from evennia.utils.create import create_account, create_object, create_script
from evennia.utils.search import search_object
from evennia.utils.utils import class_from_module

from evennia_ai import audit
from evennia_ai.assistant_account import AssistantAccount, HearsPagesForAssistant
from evennia_ai.assistant_character import AssistantMixin
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.notices import TO_START
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Account, Being, GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.models.choosing import brain_hint
from evennia_ai.operations.naming import (
    BODY_OF_ACCOUNT,
    problem_of_name,
    problem_of_owner,
    problem_of_player,
)
from evennia_ai.operations.result import Result
from evennia_ai.operations.settings.changing import prepare, signed
from evennia_ai.operations.settings.rows import UNSET
from evennia_ai.runtime import names, state
from evennia_ai.runtime.rights import known_permission, lets, locks_for, meets
from evennia_ai.runtime.tagged import ANY_TAG, TAG_CATEGORY, tag_of

BODY = "evennia_ai.assistant_character.AssistantCharacter"
# Replaces what a game's class of characters allows its owner: nobody picks up or plays a body.
BODY_LOCKS = "get:false();puppet:perm(Admin)"
NO_BEING = (
    "{path} is a class of rooms or exits, which cannot be the body of an assistant; give a class "
    "of characters or objects, such as typeclasses.golems.Golem."
)
NO_CLASS = "There is no class {path}; give its full path, such as typeclasses.golems.Golem."
LONGEST_PATH = 200
# Evennia's names are no longer, and SQLite refuses to look for texts that are much longer.
LONGEST_KEY = 255
PLAIN_DESC = "{name} is an assistant, an AI."
NAMELESS_DESC = "This is an assistant, an AI."


@dataclass(frozen=True, slots=True)
class Creation:
    """A new assistant: its script, and its body."""

    script: AssistantScript
    character: GameObject


def create_assistant(
    key: str,
    *,
    location: GameObject | None = None,
    desc: str = "",
    persona: str = "",
    aliases: Sequence[str] = (),
    lines: Mapping[str, object] | None = None,
    typeclass: str | type = BODY,
    settings: Mapping[str, object] | None = None,
    by: str = "",
    maker: Being | None = None,
    number: int | None = None,
) -> Result[Creation]:
    """Create an assistant: a character in a room and the script that controls it; both or neither.

    Args:
        key: its name, unique among assistants and characters.
        location, desc: the room it stands in; what people see when they look at it.
        persona: who it is and what it knows, for the model.
        lines: its own "thinking" (a list), "failure" (a text) and "examples" (pairs of texts).
        typeclass: class of its body, or the path of it; a body that cannot hear gets `ears`.
        settings: further settings by path, as in `update_settings`.
        by: name for the audit log; by default its maker's.
        maker: a character or an account that gets Evennia's rights over the body, as admins have.
        number: primary key for its script, if rows have it already: see `memory.arriving`.
    """
    name = " ".join(key.split())
    result: Result = refuse_names(name, aliases) or check_body(typeclass)
    if not result.ok:
        return result
    prepared = prepare(_given(persona, lines or {}) | dict(settings or {}), lambda _: UNSET)
    if prepared.errors:
        problems = "; ".join(prepared.errors.values())
        return Result(False, f"{name} is not created: {problems}", errors=prepared.errors)
    by = by or str(getattr(maker, "key", ""))
    with _forgetting(location) as bodies, signed(by), transaction.atomic():
        archive_earlier_log(name)
        bodies.append(character := _make_body(name, typeclass, location, desc, aliases, maker))
        script = attach_script(name, character, prepared.values, number)
    message = "\n".join(filter(None, (_greeting(script, location), brain_hint(script))))
    return Result(True, message, Creation(script, character))


def _greeting(script: AssistantScript, location: GameObject | None) -> str:
    name, mood, hint = str(script.key), "awake", f"Try: whisper {script.key} = hello"
    if not state.read(script, "enabled"):
        mood, hint = "silent", TO_START.format(name=name)
    if location is None:
        return f"{name} is {mood}, but in no room. Go to its room and type: tel {name} = here"
    return f"{name} is {mood} in {location.key}. {hint}"


def refuse_names(name: str, aliases: Sequence[str]) -> Result | None:
    """Refuse the names of a new assistant where one is not fit, or is somebody's; else None."""
    if problem := problem_of_name(name):
        return Result.invalid(problem)
    if problem := next(filter(None, map(problem_of_name, aliases)), ""):
        return Result.invalid(f"{name} is not created. {problem}")
    if problem := problem_of_owner(name):
        return Result.conflict(problem)
    if problem := next(filter(None, map(problem_of_player, aliases)), ""):
        return Result.conflict(f"{name} is not created. {problem}")
    return None


def check_body(typeclass: str | type) -> Result[type]:
    """Check that a class, or the path of one, can be the body of an assistant."""
    path = (
        typeclass if isinstance(typeclass, str) else f"{typeclass.__module__}.{typeclass.__name__}"
    )
    shown = one_line(path, LONGEST_PATH)
    try:
        body_class = (
            class_from_module(path, game_settings.TYPECLASS_PATHS)
            if typeclass is path
            else typeclass
        )
    except ImportError:
        body_class = None
    except Exception as error:  # a module of the game may raise anything while it is imported
        logger.log_trace(f"[assistant] {shown} could not be imported")
        problem = f"{shown} could not be imported: {one_line(repr(error), 200)}"
        return Result(False, problem, errors={"typeclass": problem})
    if body_class is None:
        problem = NO_CLASS.format(path=shown)
    elif not (isinstance(body_class, type) and issubclass(body_class, ObjectDB)):
        problem = (
            f"{shown} is not a typeclass of objects; give one, such as typeclasses.golems.Golem."
        )
    elif issubclass(body_class, (DefaultRoom, DefaultExit)) and not issubclass(
        body_class, AssistantMixin
    ):
        problem = NO_BEING.format(path=shown)
    else:
        return Result(True, f"{shown} can be the body of an assistant.", body_class)
    return Result(False, problem, errors={"typeclass": problem})


def _given(persona: str, lines: Mapping[str, object]) -> dict[str, Any]:
    # {name} in the lines is its name. Examples, a question and its answer each, help a small model.
    values = {
        "persona": persona,
        "examples": lines.get("examples", ()),
        "thinking_lines": lines.get("thinking", ()),
        "failure_line": lines.get("failure", ""),
    }
    return {name: value for name, value in values.items() if value}


def archive_earlier_log(name: str) -> None:
    """Archive the audit log of an earlier assistant of the same name."""
    # The log's stream is known by the name, and must not go on as that of another assistant.
    if audit.is_begun(name):
        audit.close(name, "another assistant of this name is being created")


def _make_body(
    name: str,
    typeclass: str | type,
    location: GameObject | None,
    desc: str,
    aliases: Sequence[str],
    maker: Being | None,
) -> Any:
    # `tool_move` keeps it in its room, `ai_control` says who may run it.
    locks = locks_for(maker)
    body = create_object(
        typeclass,
        key=name,
        location=location,
        home=location,
        aliases=list(aliases),
        locks=locks,
    )
    # A second time, since hooks of the game's class may have replaced locks while it was created.
    body.locks.add(f"{BODY_LOCKS};{locks}")
    body.db.desc = desc or plain_desc(body)
    return body


def plain_desc(body: GameObject) -> str:
    """The default description of a body, without its key where that is a secret."""
    if names.hides_key(body, None):
        return NAMELESS_DESC
    return PLAIN_DESC.format(name=body.key)


def attach_script(
    name: str, character: GameObject, own: Mapping[str, object], number: int | None = None
) -> AssistantScript:
    """Create and start the script that makes an assistant of a body.

    Args:
        own: settings and state to begin with.
        number: primary key of the script; None: the next free one.
    """
    attributes = [(setting, value) for setting, value in own.items() if value is not None]
    script: AssistantScript = create_script(
        AssistantScript if number is None else partial(AssistantScript, id=number),
        key=name,
        obj=character,
        attributes=[("assistant_key", name), *attributes],
        tags=[(tag_of(name), TAG_CATEGORY), (ANY_TAG, TAG_CATEGORY)],
    )
    return script


def take_back(made: Result[Creation] | None) -> None:
    """Undo in memory what a transaction created that was rolled back.

    Args:
        made: what was created; None: it did not come so far.
    """
    if made is not None and made.ok:
        body = made.data.character
        _forget(body, body.location)


@contextmanager
def _forgetting(place: GameObject | None) -> Iterator[list[GameObject]]:
    # Where the block raises, undoes in memory the body that it has noted in the list.
    bodies: list[GameObject] = []
    try:
        yield bodies
    except BaseException:
        _forget(next(iter(bodies), None), place)
        raise


def _forget(body: GameObject | None, place: GameObject | None) -> None:
    # A rollback undoes the database alone; timers, links and caches in memory are undone here.
    if body is not None:
        forget_script_of(body)
        # Evennia's idmapper would go on returning an object that is not in the database.
        body.flush_from_cache(force=True)
    if place is not None:
        place.contents_cache.init()


def forget_script_of(body: GameObject) -> None:
    """Undo in memory a script that a rolled-back transaction attached to a body."""
    for script in AssistantScript.get_all_cached_instances():
        if isinstance(script, AssistantScript) and script.db_obj_id == body.pk:
            # Evennia's timer of the script would go on calling it.
            if script.ndb._task is not None and script.ndb._task.running:
                script.ndb._task.stop()
            script.work = None  # type: ignore[assignment]  # as before it was started
            script.flush_from_cache(force=True)
    body.assistant_script = None


def give_account(script: AssistantScript) -> Result[Account]:
    """Create an account in the assistant's name, so that the game's own `page` reaches it.

    Nobody can log in to it, since it has no usable password.
    """
    name = str(script.key)
    if AccountDB.objects.filter(username__iexact=name).exists():
        return Result.conflict(
            f"An account named {name} already exists; an assistant needs its own."
        )
    if script.obj is None:
        return Result.conflict(f"{name} has no body, to which a page to its account could go.")
    with transaction.atomic():
        account = create_account(name, "", None, typeclass=AssistantAccount)
        account.set_unusable_password()
        account.save()
        account.db.assistant_body = script.obj
    return Result(True, f"{name} has an account now. Try: page {name} = hello", account)


def accounts_of(body: GameObject) -> list[Any]:
    """The accounts that receive pages for a body."""
    accounts = AccountDB.objects.filter(db_attributes__db_key=BODY_OF_ACCOUNT)
    return [account for account in accounts if account.attributes.get(BODY_OF_ACCOUNT) == body]


def remove_account(account: Account) -> None:
    """Delete an assistant's account; one with a password stays, as somebody can log in to it."""
    if isinstance(account, HearsPagesForAssistant) and not account.has_usable_password():
        account.delete()
    else:
        account.attributes.remove(BODY_OF_ACCOUNT)


LONGEST_PERMISSION = 200


def check_permission(text: str, being: Being) -> Result[str]:
    """Check that a text is a permission or a lock string; the data is the form to store.

    Args:
        being: any being, on which a lock string is tried.
    """
    words = one_line(text, LONGEST_PERMISSION)
    if "(" in words:
        try:
            meets(being, words, being)
        except ConfigurationError as error:
            return Result.invalid(f"That does not work: {error}")
        return Result(True, words, words)
    if not (permission := known_permission(words)):
        known = ", ".join(game_settings.PERMISSION_HIERARCHY)
        return Result.not_found(f"There is no permission {words!r}; there are {known}.")
    return Result(True, permission, permission)


def find_room(being: Being, text: str) -> Result[GameObject]:
    """Find a room by its name or its "#12" in which a person may put an assistant."""
    words = text.strip()[:LONGEST_KEY]
    things = search_object(words, use_dbref=True) if words else ()
    rooms = [thing for thing in things if isinstance(thing, DefaultRoom)]
    if not rooms:
        return Result.not_found(
            f"There is no room named {words!r}. Type its name, or its number such as #2."
        )
    if len(rooms) > 1:
        names = ", ".join(f"{room.key} ({room.dbref})" for room in rooms[:10])
        return Result.invalid(f"Several rooms have that name; type a number: {names}.")
    if not lets(rooms[0], being, "teleport_here", default=True):
        return Result.forbidden(f"You may not move anyone to {rooms[0].key}.")
    return Result(True, str(rooms[0].key), rooms[0])
