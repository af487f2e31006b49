"""The speaker of a message in a dry run: a person given by name, or the person who tries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime import names

MOST_NAMED = 10  # bodies of one name that are listed for a choice


@dataclass(frozen=True, slots=True)
class Speaker:
    """The speaker of a message.

    Attributes:
        name: name as the assistant sees it.
        person: id of the player behind the character.
        is_known: private words of this person may be in the prompt; else they are a stranger.
        called: all names by which the assistant may call them, in lower case.
    """

    being: Being
    name: str
    person: str
    is_known: bool
    called: frozenset[str]

    def is_named(self, name: str) -> bool:
        """True where it is one of their names."""
        return name.strip().casefold() in self.called


def speaker_of(
    script: AssistantScript, visitor: Being, name: str, look: PrivateView
) -> Result[Speaker]:
    """Find the speaker.

    Args:
        visitor: the person who tries the message.
        name: name of the speaker, or a number such as "#12"; "": the visitor.
        look: says if private words of another person are to be revealed.
    """
    result: Result[Any] = Result(True, "", visitor)
    if name.strip():
        result = _being_named(name.strip())
    if not result.ok:
        return result
    being = _body_of(result.data)
    if getattr(being, "assistant_script", None) is not None:
        return Result.invalid(f"{being.key} is an assistant; a message is tried as a person.")
    # Of the account, where one was named: a character that nobody puppets now leads to no player.
    person, visible_name = incoming.person_of(result.data), names.name_of(being, script.obj)
    called = {each.casefold() for each in (*names.called(being, script.obj), visible_name)}
    is_known = person == incoming.person_of(visitor) or look.is_revealing
    return Result(True, "", Speaker(being, visible_name, person, is_known, frozenset(called)))


def _being_named(name: str) -> Result[Any]:
    shown = one_line(name, 60)
    if name.startswith("#"):
        being = incoming.find_being(name)
        if names.is_character(being):
            return Result(True, "", being)
        return Result.not_found(f"There is no character {shown}.")
    account = AccountDB.objects.filter(username__iexact=name).first()
    if account is not None:
        return Result(True, "", account)
    bodies = [
        body
        for body in ObjectDB.objects.filter(db_key__iexact=name)[:MOST_NAMED]
        if names.is_character(body)
    ]
    if len(bodies) > 1:
        numbers = ", ".join(body.dbref for body in bodies)
        return Result.invalid(f"Several are named {shown}: {numbers}. Type one of these numbers.")
    if not bodies:
        return Result.not_found(f"Nobody is named {shown}. Type a player's or a character's name.")
    return Result(True, "", bodies[0])


def _body_of(being: Being) -> Any:
    # The character that an account puppets, or puppeted last; else the account itself. Staff may
    # have puppeted an assistant's body, which is not theirs.
    if not isinstance(being, AccountDB):
        return being
    played = [*being.get_all_puppets(), being.db._last_puppet]
    own = (b for b in played if b is not None and getattr(b, "assistant_script", None) is None)
    return next(own, being)
