"""Orders: on an order, the assistant may only do what the person who gave it may do as well.

An order comes from somebody with a right over the assistant, by `aiexec` or `assistant tell`. Other
people can only ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ToolDeniedError, ToolError, ToolTimeoutError
from evennia_ai.messages.incoming import find_being
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.rights import Right, holds, lets
from evennia_ai.runtime.rights.lending import LentPermissions

_UNCHANGED = nullcontext()


def givers(turn: Turn) -> list[Being]:
    """The people who gave the orders of a turn.

    Raises:
        ToolDeniedError: one of them no longer exists, so that their rights cannot be checked.
    """
    people = [find_being(event.ordered_by) for event in turn.events if event.ordered_by]
    if None in people:
        raise ToolDeniedError("whoever gave you this order is gone")
    return people


def all_hold(character: Character, turn: Turn, right: Right) -> bool:
    """True if everybody who began the turn has a right over the assistant; nobody began its own."""
    people = [event.person for event in turn.events if event.kind != OWN]
    # A person who no longer exists has no rights.
    beings = [find_being(person) if person else None for person in people]
    return all(
        each is not None and holds(character.assistant_script, each, right) for each in beings
    )


def may(
    character: Character, thing: Being, kind: str, turn: Turn, *, default: bool = False
) -> bool:
    """True if a thing's lock allows it to the assistant and to everybody who gave the order.

    Raises:
        ToolDeniedError: the lock allows it to the assistant, but not to a giver of the order.
    """
    # The assistant first: a refusal that names the giver is only true if it could act itself.
    if not thing.access(character, kind, default=default):
        return False
    for person in givers(turn):
        if not lets(thing, person, kind, default=default):
            raise refused(person, f"the lock {kind!r} of {name_of(thing, character)}")
    return True


def refused(person: Being, what: str) -> ToolDeniedError:
    """The error for an order that exceeds the rights of its giver."""
    return ToolDeniedError(
        f"{name_of(person, None)} may not do that, and so not have it done: {what} is in the way"
    )


def as_ordered(character: Character, turn: Turn) -> AbstractContextManager[None]:
    """Reduce a character's permissions to those that the givers of the order have as well.

    Raises:
        ToolDeniedError: a giver no longer exists; or the tool failed with reduced permissions.
    """
    people = givers(turn)
    if people and isinstance(character.permissions, LentPermissions):
        return _with_shared_permissions(character, character.permissions, people)
    return _UNCHANGED


@contextmanager
def _with_shared_permissions(
    character: Character, held: LentPermissions, people: list[Being]
) -> Iterator[None]:
    own = held.all()
    try:
        with held.shared_with(people):
            is_less = held.all() != own
            yield
    except (ToolDeniedError, ToolTimeoutError):
        raise
    except ToolError as error:
        # With reduced permissions, the reason is most likely the order, so the message says so.
        if not is_less:
            raise
        names = " and ".join(name_of(person, character) for person in people)
        message = f"{error}; by order of {names} you may do no more than {names} may"
        raise ToolDeniedError(message) from error
