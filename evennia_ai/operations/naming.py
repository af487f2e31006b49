"""Names of assistants: people must be able to type them, and they must mean nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from evennia.accounts.models import AccountDB
from evennia.commands.cmdsethandler import import_cmdset
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils.search import search_object
from evennia.utils.utils import string_partial_matching

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.lookalikes import mistaken_for, outlines, voice_of_game
from evennia_ai.core.text.cleaning import one_line, strip_control
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import find_being, person_of
from evennia_ai.messages.lines import plain
from evennia_ai.operations.result import Result
from evennia_ai.runtime import names

# Re-exported for the commands, which import nothing below the operations.
from evennia_ai.runtime.names import called as called
from evennia_ai.runtime.names import found_by_game as found_by_game
from evennia_ai.runtime.names import is_called as is_called
from evennia_ai.runtime.names import is_character as is_character
from evennia_ai.runtime.names import name_of as name_of
from evennia_ai.runtime.rights import knows_key as knows_key
from evennia_ai.runtime.rights import name_before as name_before
from evennia_ai.runtime.tagged import ANY_TAG, TAG_CATEGORY, scripts_with, tag_of

_ID = re.compile(r"\*?#\d{1,18}")
BODY_OF_ACCOUNT = "assistant_body"
ALIAS = "alias"  # Evennia's `db_tagtype` of the tags that are aliases
LONGEST_NAME = 60  # characters
# Separators of command arguments and of addresses.
BARRED = '=,;/"'
# Words with a meaning of their own where a command expects a name.
TAKEN = (
    *("all", "everything", "full", "game", "here", "list", "me", "no", "none", "off", "on"),
    *("reveal", "self", "show", "yes"),
)


def problem_of_name(name: str) -> str:
    """The problem with a name for an assistant and what would be accepted, or ""."""
    line = " ".join(name.split())
    if not line:
        return "An assistant needs a name, for example: assistant create Edda"
    shown = one_line(line, 40)
    if len(line) > LONGEST_NAME:
        return f"The name {shown} has {len(line)} characters; a name has at most {LONGEST_NAME}."
    if strip_control(line) != line or not line.isprintable():
        return f"The name {shown} has invisible characters; use letters, as in Edda."
    return _problem_of_words(line)


def _problem_of_words(line: str) -> str:
    if (bare := plain(line)) != line:
        # In the game, the codes of a name in an error are shown as colours.
        return f"The name {bare} holds a colour code; leave it out."
    if not line[0].isalpha():
        return f"The name {line} does not begin with a letter; use a name such as Edda or Old Edda."
    odd = next((ch for ch in line if ch in BARRED), "")
    if odd:
        return f"The name {line} holds {odd}, which commands use themselves; leave it out."
    word = line.casefold()
    if word in TAKEN:
        return f"{line} means something else in commands; choose another name, such as Edda."
    if word in words_of_the_game():
        return f"{line} is a command of the game; choose another name, such as Old {line}."
    if voice := voice_of_game(line):
        return (
            f"{line} would be taken for the game itself or its staff ({voice}); choose another "
            "name, such as Edda."
        )
    return ""


# ---- names that are in use ---------------------------------------------------------------------


def find_assistant(key: str) -> AssistantScript | None:
    """The assistant with that key, ignoring case."""
    return next(iter(scripts_with(tag_of(key.strip()))), None)


def list_assistants() -> list[AssistantScript]:
    """All assistants of the game, sorted by name."""
    return sorted(scripts_with(ANY_TAG), key=lambda script: str(script.key).casefold())


def names_of(script: AssistantScript) -> list[str]:
    """All names of an assistant, its key first."""
    names = names_of_body(script.obj) if script.obj is not None else ()
    return list(dict.fromkeys((str(script.key), *names)))


def names_of_body(body: GameObject) -> list[str]:
    """Names of a body: its key and its aliases, except those that Evennia generates."""
    return [str(body.key), *names.aliases_of(body)]


def assistant_called(name: str) -> AssistantScript | None:
    """The assistant with that key or, where none has it, with that alias; case is ignored."""
    wanted, own = name.strip().casefold(), find_assistant(name)
    if own is not None or not wanted:
        return own
    for script in list_assistants():
        if wanted in map(str.casefold, names_of(script)):
            return script
    return None


def assistant_for(
    name: str, person: Being, find: Callable[[str], AssistantScript | None] = assistant_called
) -> AssistantScript | None:
    """The assistant a person means by a name: its name as they see it, or its key if they know it.

    In games where people are known by descriptions, the game's own search finds an assistant in
    the same room. Of several that look the same, the one in that room is meant.

    Args:
        find: finds an assistant by its own name.
    """
    own = find(name)
    if own is not None and knows_key(own, person):
        return own
    hidden = [script for script in list_assistants() if not knows_key(script, person)]
    eyes = names.eyes_of(person)
    place = getattr(eyes, "location", None)
    here = [script for script in hidden if place is not None and script.obj.location == place]
    for known in (here, hidden):
        matching = [script for script in known if names.is_called(script.obj, name, eyes)]
        if matching:
            return matching[0] if len(matching) == 1 else None
    bodies = names.found_by_game(eyes, name, [script.obj for script in here])
    return next((script for script in here if [script.obj] == bodies), None)


def names_for(script: AssistantScript, person: Being) -> tuple[str, ...]:
    """The names by which a person may call an assistant, its own first if the person knows them."""
    own = names_of(script) if knows_key(script, person) else ()
    seen = called(script.obj, names.eyes_of(person)) if script.obj is not None else ()
    return tuple(dict.fromkeys((*own, *seen)))


def begun(name: str, person: Being, scripts: Iterable[AssistantScript]) -> list[AssistantScript]:
    """The assistants of which a name has words that begin so, as in Evennia's own searches."""
    return [
        script
        for script in scripts
        if string_partial_matching(list(names_for(script, person)), name.strip())
    ]


def owner_of_name(
    name: str, body: GameObject | None = None, own: AssistantScript | None = None
) -> tuple[AssistantScript, str] | None:
    """The assistant that a name would be confused with, and which name of it is the same or alike.

    Args:
        body, own: the body or script of an assistant whose own names are ignored.
    """
    own_outlines = outlines_of(name)
    assistants = _names_by_assistant() if own_outlines else {}
    for number, (whose, known) in assistants.items():
        is_own = (own is not None and own.pk == number) or (body is not None and body.pk == whose)
        if not is_own and (
            outline := next((one for one in known if outlines_of(one) & own_outlines), "")
        ):
            script = AssistantScript.objects.filter(pk=number).first()
            if script is not None:
                return script, plain(outline)
    return None


def _names_by_assistant() -> dict[int, tuple[int | None, list[str]]]:
    """Body and names of each assistant by primary key, sorted by name.

    Two statements however many there are, since every new character of the game asks.
    """
    tagged = {"db_tags__db_key": ANY_TAG, "db_tags__db_category": TAG_CATEGORY}
    scripts = ScriptDB.objects.filter(**tagged)
    rows = scripts.values_list("pk", "db_key", "db_obj_id", "db_obj__db_key")
    names_by_number: dict[int, tuple[int | None, list[str]]] = {}
    of_bodies: dict[int, list[str]] = {}
    for number, key, body, of_body in sorted(rows, key=lambda row: row[1].casefold()):
        names_by_number[number] = (body, [key])
        if body is not None:
            of_bodies[body] = names_by_number[number][1]
            of_bodies[body].append(of_body)
    # Filtered in Python: with a filter on aliases SQLite tries each alias of the game per body.
    tags = ObjectDB.db_tags.through.objects.filter(objectdb__in=of_bodies).order_by("pk")
    columns = ("objectdb", "tag__db_tagtype", "tag__db_category", "tag__db_key")
    for body, kind, category, alias in tags.values_list(*columns):
        if kind == ALIAS and category != names.PLURAL:
            of_bodies[body].append(alias)
    return names_by_number


def problem_of_owner(name: str, body: GameObject | None = None) -> str:
    """The problem with a name that an assistant, a character or an account has already, or "".

    Args:
        body: the body that is to have the name, which is not a clash with itself.
    """
    if (owner := owner_of_name(name, body)) is not None:
        return _clash_message(name, "an assistant", owner[1])
    return problem_of_player(name, body)


def problem_of_npc_name(name: str, body: GameObject, own: AssistantScript | None = None) -> str:
    """The problem with the name of an NPC that is to be an assistant, or "".

    Other NPCs may have the same name, such as a second guard; players and assistants may not.

    Args:
        own: an assistant whose names are ignored.
    """
    if (owner := owner_of_name(name, body, own)) is not None:
        return _clash_message(name, "an assistant", owner[1])
    return _problem_of_account(name)


def problem_of_player(name: str, body: GameObject | None = None) -> str:
    """The problem with a name that a character, an account or a guest has, or ""."""
    alike = (being for being in characters_like(outlines_of(name)) if being != body)
    if (character := next(alike, None)) is not None:
        return _clash_message(name, "a character", str(character.key))
    return _problem_of_account(name)


def _problem_of_account(name: str) -> str:
    if (account := next(accounts_like(outlines_of(name)), None)) is not None:
        return _clash_message(name, "an account", str(account.username))
    if guest := mistaken_for(plain(name), settings.GUEST_LIST or ()):
        return _clash_message(name, "a guest", guest)
    return ""


def _clash_message(name: str, kind: str, other: str) -> str:
    if name.casefold() == other.casefold():
        return f"There is {kind} named {name} already; choose another name."
    return (
        f"{name} looks like {other}, the name of {kind}, and people would confuse them; "
        "choose another name."
    )


def persons_called(name: str) -> set[str]:
    """The ids of the people that a name or an id of a character or an account may mean.

    An account comes first; an id means its player, also one who is gone.
    """
    if _ID.fullmatch(name):
        being = find_being(name)
        return {name if being is None else person_of(being)}
    account = AccountDB.objects.filter(username__iexact=name).first()
    beings = [account] if account is not None else list(search_object(name, exact=True))
    return {person_of(being) for being in beings if not _is_room(being)}


def _is_room(being: GameObject) -> bool:
    # A character without a location whose player is logged out has an account, unlike a room.
    return hasattr(being, "location") and being.location is None and not being.has_account


def characters_like(outlines: Collection[str]) -> Iterator[Any]:
    """Characters whose name has one of these outlines, by number."""
    keys = _keys_like(outlines, ObjectDB, "db_key")
    for being in ObjectDB.objects.filter(pk__in=keys).order_by("pk"):
        if names.is_character(being):
            yield being


def accounts_like(outlines: Collection[str]) -> Iterator[Any]:
    """Accounts of players whose name has one of these outlines, by number."""
    keys = _keys_like(outlines, AccountDB, "username")
    for account in AccountDB.objects.filter(pk__in=keys).order_by("pk"):
        if not account.attributes.has(BODY_OF_ACCOUNT):
            yield account


def _keys_like(
    outlines: Collection[str], model: type[AccountDB | ObjectDB], column: str
) -> list[int]:
    # Names are compared as plain rows; only what is alike is loaded as an object.
    rows = model.objects.values_list("pk", column).iterator()
    return [key for key, name in rows if not outlines_of(name).isdisjoint(outlines)]


# One check compares a name with those of the whole game, mostly the same ones as before.
@lru_cache(maxsize=10_000)
def outlines_of(name: str) -> frozenset[str]:
    """The forms in which names are compared: look-alike letters are one, markup is left out."""
    return outlines(plain(name))


def words_of_the_game() -> frozenset[str]:
    """All keys and aliases of the game's commands, ours included, in lower case."""
    return _commands_of((settings.CMDSET_CHARACTER, settings.CMDSET_ACCOUNT))


@lru_cache(maxsize=4)
def _commands_of(paths: tuple[str, ...]) -> frozenset[str]:
    # An assistant of such a name could not be addressed: `@look hi` runs `look`.
    words_of_commands: set[str] = set()
    for path in paths:
        # Evennia's loader logs a broken command set and returns an empty one in its place.
        words = import_cmdset(path, None).get_all_cmd_keys_and_aliases()
        words_of_commands.update(word.casefold() for word in words)
    return frozenset(words_of_commands)


def check_name(name: str) -> Result[str]:
    """Check that a new assistant may have a name; the data is the name as it will be stored."""
    line = " ".join(name.split())
    if problem := problem_of_name(line):
        return Result.invalid(problem)
    if problem := problem_of_owner(line):
        return Result.conflict(problem)
    return Result(True, f"{line} is free.", line)


SETTING = "EVENNIA_AI_COMMAND_NAMES"
WORDS = (
    *("assistant", "history", "hush", "page"),
    *("aiaudit", "aiexec", "aigoal", "aimemory", "aiinteract"),
)


def command_names() -> dict[str, str]:
    """The game's names of our commands, by their default names; "" leaves a command out.

    Raises:
        ConfigurationError: the setting is not such a mapping, or gives a name twice.
    """
    own_names = getattr(settings, SETTING, {})
    if not isinstance(own_names, Mapping):
        raise ConfigurationError(
            f'{SETTING} is {own_names!r}; it must be a mapping such as {{"history": "aihistory"}}'
        )
    names = dict(zip(WORDS, WORDS, strict=True))
    for word, name in own_names.items():
        if word not in WORDS:
            raise ConfigurationError(
                f"{SETTING} has {word!r}, which is not a command; there are {', '.join(WORDS)}"
            )
        if not isinstance(name, str) or len(name.split()) > 1 or name.strip() != name:
            raise ConfigurationError(
                f"{SETTING}[{word!r}] is {name!r}; it must be one word, or '' for no such command"
            )
        names[word] = name.casefold()
    taken = [name for name in names.values() if name]
    for name in taken:
        if taken.count(name) > 1:
            raise ConfigurationError(f"{SETTING} gives two commands the name {name!r}")
    return names
