"""Warnings about settings that are valid, but have no effect.

They name people or permissions that the game does not have, and nothing is refused for it, since
the people meant may join the game later; or the game's settings have a misspelt name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from django.conf import settings
from django.core import checks
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
from evennia.typeclasses.tags import Tag
from evennia.utils import logger

from evennia_ai.approvals.people import ASKER, STAFF
from evennia_ai.core.settings.game import CHECKS_TAG, without_effect
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.messages.incoming import find_being
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import known_permission

MOST_TOLD, LONGEST_WORD = 10, 40


def doubts(script: Assistant, names: Iterable[str] | None = None) -> list[str]:
    """Warn of words in an assistant's settings that stand for nobody; at most MOST_TOLD sentences.

    Args:
        names: only these settings; None: all that name people.
    """
    wanted = _DOUBTS if names is None else [name for name in _DOUBTS if name in set(names)]
    found = [f"{script.key}: {sentence}" for name in wanted for sentence in _DOUBTS[name](script)]
    return found[:MOST_TOLD]


def misspelt_names() -> list[str]:
    """Warn of names in the game's settings that look like ours and that nothing reads."""
    return without_effect(dir(settings))


def problems_of_game() -> list[str]:
    """Problems of the game's settings, as `evennia check` tells them; few people type that."""
    return [each.msg for each in checks.run_checks(tags=[CHECKS_TAG])]


def report_problems_of_game() -> None:
    """Log these problems; called once after a start of the server."""
    for problem in problems_of_game():
        logger.log_warn(f"[assistant] {problem}")


def _of_confirm_by(script: Assistant) -> Iterator[str]:
    by = str(state.read(script, "confirm_by"))
    if by not in (ASKER, STAFF) and "(" not in by and not (known_permission(by) or _is_name(by)):
        yield f"confirm_by is {_shown(by)}, a name or permission that nobody has: nobody is asked."


def _of_conditions(name: str) -> Callable[[Assistant], Iterator[str]]:
    def found(script: Assistant) -> Iterator[str]:
        for word in map(str, state.read(script, name)):
            if "(" not in word and not known_permission(word):
                yield f"{name} has {_shown(word)}, a permission that nobody has."

    return found


def _of_memory(script: Assistant) -> Iterator[str]:
    for word in state.memory_config(script).never_characters if script.work is not None else ():
        being = find_being(word) if word.startswith(("#", "*#")) else None
        if being is None and not Tag.objects.filter(db_key__iexact=word).exists():
            path = "memory_config.never_characters"
            yield f"{path} has {_shown(word)}, which is nobody's number (#12, *#3) and no tag."


_DOUBTS: Mapping[str, Callable[[Assistant], Iterator[str]]] = {
    "confirm_by": _of_confirm_by,
    "trigger_permissions": _of_conditions("trigger_permissions"),
    "trust_overrides": _of_conditions("trust_overrides"),
    "memory_config": _of_memory,
}


def _shown(word: str) -> str:
    return repr(one_line(word, LONGEST_WORD))


def _is_name(word: str) -> bool:
    guests = map(str.casefold, settings.GUEST_LIST or ())
    if word.casefold() in guests or AccountDB.objects.filter(username__iexact=word).exists():
        return True
    named: Iterable[GameObject] = ObjectDB.objects.filter(db_key__iexact=word)
    return any(isinstance(each, DefaultCharacter) for each in named)
