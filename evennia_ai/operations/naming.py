"""What an assistant may be called: a name that people can type, and that means nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
from evennia.utils.utils import class_from_module

from evennia_ai.core.text import one_line, strip_control

LONGEST_NAME = 60
# Commands and addresses are parted by these.
BARRED = '=,;/"'
# What these words mean where a name may stand, in the commands of ours and of the game.
TAKEN = ("all", "game", "me", "self", "here", "none")


def problem_of_name(name: str) -> str:
    """Why an assistant cannot be called so, with what would be right, or ""."""
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
    if word in _commands():
        return f"{line} is a command of the game; choose another name, such as Old {line}."
    return ""


def namesake_of(name: str, body: Any = None) -> Any:
    """A character of that name, other than this body, or None."""
    found = ObjectDB.objects.filter(db_key__iexact=" ".join(name.split()))
    others = (being for being in found if being != body)
    return next((being for being in others if isinstance(being, DefaultCharacter)), None)


def _commands() -> frozenset[str]:
    return _commands_of((settings.CMDSET_CHARACTER, settings.CMDSET_ACCOUNT))


@lru_cache(maxsize=4)
def _commands_of(paths: tuple[str, ...]) -> frozenset[str]:
    """What the commands of the game are called by, in lower case.

    An assistant of such a name could not be addressed: `@look hi` runs `look`.
    """
    found: set[str] = set()
    for path in paths:
        names = class_from_module(path)().get_all_cmd_keys_and_aliases()
        found.update(name.casefold() for name in names)
    return frozenset(found)
