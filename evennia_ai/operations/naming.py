"""Names of assistants: that people can type them, and that they mean nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from evennia.accounts.models import AccountDB
from evennia.commands.cmdsethandler import import_cmdset
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
from evennia.scripts.models import ScriptDB
from evennia.utils.search import search_script_tag

from evennia_ai.agent.starting import TAG_CATEGORY, tag_of
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.lookalikes import mistaken_for, skeleton, voice_of_game
from evennia_ai.core.text.cleaning import one_line, strip_control
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.lines import plain
from evennia_ai.operations.result import Result
from evennia_ai.runtime import names

# Given on to the commands, which know nothing below the operations.
from evennia_ai.runtime.names import called as called
from evennia_ai.runtime.names import found_by_game as found_by_game
from evennia_ai.runtime.names import is_called as is_called
from evennia_ai.runtime.names import name_of as name_of
from evennia_ai.runtime.rights import knows_key as knows_key
from evennia_ai.runtime.rights import name_before as name_before

ANY_TAG = "ai_assistant"
BODY_OF_ACCOUNT = "assistant_body"
ALIAS = "alias"  # as Evennia calls the tags that are other names
# Aliases that Evennia makes by itself when it counts things: "two Adas".
PLURAL = "plural_key"
LONGEST_NAME = 60
# Commands and addresses are parted by these.
BARRED = '=,;/"'
# What these words mean where a name may stand, in the commands of ours and of the game.
TAKEN = ("all", "game", "me", "self", "here", "none")


def problem_of_name(name: str) -> str:
    """The problem with a name for an assistant, with what would be right, or ""."""
    line = " ".join(name.split())
    if not line:
        return "An assistant needs a name, for example: assistant create Edda"
    shown = one_line(line, 40)
    if len(line) > LONGEST_NAME:
        return (
            f"The name {shown} has {len(line)} characters; one of at most {LONGEST_NAME} can be "
            "typed and shown."
        )
    if strip_control(line) != line or not line.isprintable():
        return f"The name {shown} holds characters that nobody sees; use letters, as in Edda."
    return _problem_of_words(line)


def _problem_of_words(line: str) -> str:
    if not line[0].isalpha():
        return f"The name {line} does not begin with a letter; call it as in Edda or Old Edda."
    odd = next((ch for ch in line if ch in BARRED), "")
    if odd:
        return f"The name {line} holds {odd}, which commands take for their own; leave it out."
    word = line.casefold()
    if word in TAKEN:
        return f"{line} means something else in commands; choose another name, such as Edda."
    if word in words_of_the_game():
        return f"{line} is a command of the game; choose another name, such as Old {line}."
    if voice := voice_of_game(line):
        return (
            f"{line} would be taken for the game itself or its staff ({voice}); choose a name of "
            "somebody, such as Edda."
        )
    return ""


# ---- names that are somebody's -----------------------------------------------------------------


def find_assistant(key: str) -> AssistantScript | None:
    """The assistant of that name, in any case."""
    found = search_script_tag(tag_of(key.strip()), category=TAG_CATEGORY)
    return next(iter(found), None)


def list_assistants() -> list[AssistantScript]:
    """All assistants of the game, by name."""
    found = search_script_tag(ANY_TAG, category=TAG_CATEGORY)
    return sorted(found, key=lambda script: str(script.key).casefold())


def names_of(script: AssistantScript) -> list[str]:
    """All that an assistant is called, its proper name first."""
    names = names_of_body(script.obj) if script.obj is not None else ()
    return list(dict.fromkeys((str(script.key), *names)))


def names_of_body(body: GameObject) -> Iterator[str]:
    """Names of a being: its key, and its aliases but those that Evennia makes itself."""
    yield str(body.key)
    for tag in body.aliases.all(return_objs=True):
        if tag.db_category != PLURAL:
            yield str(tag.db_key)


def assistant_called(name: str) -> AssistantScript | None:
    """The assistant that has a name, be it an alias, in any case; its proper name goes first."""
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
    """The assistant that somebody means by a name: as they see it, or by its key if they know that.

    Where people are known by descriptions, one that is with them is found as the game's own search
    finds it. Of several that look the same, the one that is with them.

    Args:
        find: finds one by its own name.
    """
    own = find(name)
    if own is not None and knows_key(own, person):
        return own
    hidden = [script for script in list_assistants() if not knows_key(script, person)]
    eyes = names.eyes_of(person)
    place = getattr(eyes, "location", None)
    here = [script for script in hidden if place is not None and script.obj.location == place]
    for known in (here, hidden):
        found = [script for script in known if names.is_called(script.obj, name, eyes)]
        if found:
            return found[0] if len(found) == 1 else None
    seen = names.found_by_game(eyes, name, [script.obj for script in here])
    return next((script for script in here if [script.obj] == seen), None)


def owner_of_name(
    name: str, body: GameObject | None = None, own: AssistantScript | None = None
) -> tuple[AssistantScript, str] | None:
    """The assistant that people would take the bearer of a name for, and its name that is like it.

    Args:
        body, own: of an assistant whose own names do not count.
    """
    seen = outline(name)
    those = _names_by_assistant() if seen else {}
    for number, (whose, known) in those.items():
        is_own = (own is not None and own.pk == number) or (body is not None and body.pk == whose)
        if not is_own and (found := next((one for one in known if outline(one) == seen), "")):
            script = AssistantScript.objects.filter(pk=number).first()
            if script is not None:
                return script, plain(found)
    return None


def _names_by_assistant() -> dict[int, tuple[int | None, list[str]]]:
    """By the numbers of all assistants, in the order of their names: body and all names of each.

    As rows, and two statements however many there are: each new character of a game asks.
    """
    tagged = {"db_tags__db_key": ANY_TAG, "db_tags__db_category": TAG_CATEGORY}
    scripts = ScriptDB.objects.filter(**tagged)
    rows = scripts.values_list("pk", "db_key", "db_obj_id", "db_obj__db_key")
    found: dict[int, tuple[int | None, list[str]]] = {}
    of_bodies: dict[int, list[str]] = {}
    for number, key, body, of_body in sorted(rows, key=lambda row: row[1].casefold()):
        found[number] = (body, [key])
        if body is not None:
            of_bodies[body] = found[number][1]
            of_bodies[body].append(of_body)
    # All tags of them: asked for aliases, SQLite would try each alias of the game with each body.
    tags = ObjectDB.db_tags.through.objects.filter(objectdb__in=of_bodies).order_by("pk")
    told = ("objectdb", "tag__db_tagtype", "tag__db_category", "tag__db_key")
    for body, kind, category, alias in tags.values_list(*told):
        if kind == ALIAS and category != PLURAL:
            of_bodies[body].append(alias)
    return found


def problem_of_owner(name: str, body: GameObject | None = None) -> str:
    """The problem with a name that somebody has already, or "".

    Args:
        body: its own, if it has one already.
    """
    if (owner := owner_of_name(name, body)) is not None:
        return _taken(name, "an assistant", owner[1])
    return problem_of_player(name, body)


def problem_of_renown(name: str, body: GameObject, own: AssistantScript | None = None) -> str:
    """The problem with what the game calls a being that is to be an assistant, or "".

    Others of the game may have its name, such as a second guard; players and assistants may not.

    Args:
        own: an assistant whose names do not count.
    """
    if (owner := owner_of_name(name, body, own)) is not None:
        return _taken(name, "an assistant", owner[1])
    return _problem_of_account(name)


def problem_of_player(name: str, body: GameObject | None = None) -> str:
    """The problem with a name that a player or a character has, or ""."""
    if (character := next(_characters_like(name, body), None)) is not None:
        return _taken(name, "a character", str(character.key))
    return _problem_of_account(name)


def _problem_of_account(name: str) -> str:
    if account := next(_accounts_like(name), ""):
        return _taken(name, "an account", account)
    if guest := mistaken_for(plain(name), settings.GUEST_LIST or ()):
        return _taken(name, "a guest", guest)
    return ""


def _taken(name: str, kind: str, other: str) -> str:
    if name.casefold() == other.casefold():
        return f"There is {kind} named {name} already; choose another name."
    return (
        f"{name} looks like {other}, the name of {kind}, and people would take one for the other; "
        "choose another name."
    )


def _characters_like(name: str, body: GameObject | None) -> Iterator[Any]:
    """Characters that could be taken for the bearer of a name, other than this body."""
    rows = ObjectDB.objects.values_list("pk", "db_key")
    # Names are compared as rows; only what is alike is loaded as an object.
    for being in ObjectDB.objects.filter(pk__in=_keys_like(name, rows.iterator())):
        if being != body and isinstance(being, DefaultCharacter):
            yield being


def _accounts_like(name: str) -> Iterator[str]:
    """Names of accounts like that, those of assistants left out."""
    rows = AccountDB.objects.values_list("pk", "username")
    for account in AccountDB.objects.filter(pk__in=_keys_like(name, rows.iterator())):
        if not account.attributes.has(BODY_OF_ACCOUNT):
            yield str(account.username)


def _keys_like(name: str, rows: Iterable[tuple[int, str]]) -> list[int]:
    seen = outline(name)
    return [key for key, other in rows if seen and outline(other) == seen]


@lru_cache(maxsize=10_000)
def outline(name: str) -> str:
    """The outline of a name as clients show it: colours and links of the game are no part of it."""
    return skeleton(plain(name))


def words_of_the_game() -> frozenset[str]:
    """All words of its commands, ours included, in lower case."""
    return _commands_of((settings.CMDSET_CHARACTER, settings.CMDSET_ACCOUNT))


@lru_cache(maxsize=4)
def _commands_of(paths: tuple[str, ...]) -> frozenset[str]:
    """The words by which the commands of the game are called, in lower case.

    An assistant of such a name could not be addressed: `@look hi` runs `look`.
    """
    found: set[str] = set()
    for path in paths:
        # Evennia's own way to one: what is broken in it is logged, and it has no words.
        words = import_cmdset(path, None).get_all_cmd_keys_and_aliases()
        found.update(word.casefold() for word in words)
    return frozenset(found)


def check_name(name: str) -> Result[str]:
    """Check that a new assistant may have a name.

    Returns:
        data: the name as it will be kept.
    """
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
    """The names that the game gives to commands, by the usual ones; "" leaves a command out.

    Raises:
        ConfigurationError: the setting is no such mapping, or gives a name twice.
    """
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'{SETTING} is {given!r}; it must be a mapping such as {{"history": "aihistory"}}'
        )
    names = dict(zip(WORDS, WORDS, strict=True))
    for word, name in given.items():
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
            raise ConfigurationError(f"{SETTING} makes two commands be called {name!r}")
    return names
