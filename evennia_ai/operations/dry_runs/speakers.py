"""Whoever says a message that is only tried: a person by name, or the one who tries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.runtime import names

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whoever says the message.

    Attributes:
        name: as the assistant sees it.
        person: the id of the player behind it.
        is_known: what is private to them may be told; else they are a stranger of that name.
        called: all names that the assistant may call them by, in small letters.
    """

    being: Being
    name: str
    person: str
    is_known: bool
    called: frozenset[str]

    def is_named(self, name: str) -> bool:
        """True where a name is theirs."""
        return name.strip().casefold() in self.called


def speaker_of(script: AssistantScript, visitor: Being, name: str, look: Look) -> Result[Speaker]:
    """Whoever speaks.

    Args:
        visitor: who tries the message.
        name: of whoever says it, or a number such as "#12"; "": the visitor.
        look: whether what is private to somebody else is asked for.
    """
    found: Result[Any] = Result(True, "", visitor)
    if name.strip():
        found = _being_named(name.strip())
    if not found.ok:
        return found
    being = _body_of(found.data)
    if getattr(being, "assistant_script", None) is not None:
        return Result.invalid(f"{being.key} is an assistant; a message is tried as a person.")
    # Of a character that nobody plays at this moment the player is not known by it.
    person, seen = incoming.person_of(found.data), names.name_of(being, script.obj)
    called = {each.casefold() for each in (*names.called(being, script.obj), seen)}
    is_known = person == incoming.person_of(visitor) or look.is_revealing
    return Result(True, "", Speaker(being, seen, person, is_known, frozenset(called)))


def _being_named(name: str) -> Result[Any]:
    """An account or a character by its name or number."""
    shown = one_line(name, 60)
    if name.startswith("#"):
        being = incoming.find_being(name)
        if being is not None and being.is_typeclass(DefaultCharacter, exact=False):
            return Result(True, "", being)
        return Result.missing(f"There is no character {shown}.")
    account = AccountDB.objects.filter(username__iexact=name).first()
    if account is not None:
        return Result(True, "", account)
    bodies = [
        body
        for body in ObjectDB.objects.filter(db_key__iexact=name)[:MOST_NAMED]
        if body.is_typeclass(DefaultCharacter, exact=False)
    ]
    if len(bodies) > 1:
        numbers = ", ".join(body.dbref for body in bodies)
        return Result.invalid(f"Several are named {shown}: {numbers}. Type one of these numbers.")
    if not bodies:
        return Result.missing(f"Nobody is named {shown}. Type a player's or a character's name.")
    return Result(True, "", bodies[0])


def _body_of(being: Being) -> Any:
    """The character that an account plays now, or played last; else the account itself.

    A body that is an assistant's, which staff may have looked through, is no one's own.
    """
    if not isinstance(being, AccountDB):
        return being
    played = [*being.get_all_puppets(), being.db._last_puppet]
    own = (b for b in played if b is not None and getattr(b, "assistant_script", None) is None)
    return next(own, being)
