"""Orders: an assistant does nothing but what whoever gave the order may do as well.

An order is what somebody has done by right, where others ask: a tool run by hand, or `tell`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ToolDeniedError, ToolError, ToolTimeoutError
from evennia_ai.messages.incoming import find_being
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.rights import lets
from evennia_ai.runtime.rights.lending import LentPermissions

_AS_EVER = nullcontext()


def givers(turn: Turn) -> list[Being]:
    """Those who gave the orders that a turn acts by.

    Raises:
        ToolDeniedError: one of them is gone, and nobody can tell what he might do.
    """
    people = [find_being(event.ordered_by) for event in turn.events if event.ordered_by]
    if None in people:
        raise ToolDeniedError("whoever gave you this order is gone")
    return people


def may(
    character: Character, thing: Being, kind: str, turn: Turn, *, default: bool = False
) -> bool:
    """True where a lock of a thing lets an assistant pass, and whoever gave the order with it.

    Raises:
        ToolDeniedError: it would let the assistant pass, but not whoever gave the order.
    """
    if not thing.access(character, kind, default=default):
        return False
    for person in givers(turn):
        if not lets(thing, person, kind, default=default):
            raise refused(person, f"the lock {kind!r} of {name_of(thing, character)}")
    return True


def refused(person: Being, what: str) -> ToolDeniedError:
    """The error of an order that asks for more than its giver may do."""
    return ToolDeniedError(
        f"{name_of(person, None)} may not do that, and so not have it done: {what} is in the way"
    )


def as_ordered(character: Character, turn: Turn) -> AbstractContextManager[None]:
    """Let a character hold only permissions that whoever gave the order holds as well.

    Raises:
        ToolDeniedError: whoever gave it is gone; or it could not be done with those alone.
    """
    people = givers(turn)
    if people and isinstance(character.permissions, LentPermissions):
        return _lending(character, character.permissions, people)
    return _AS_EVER


@contextmanager
def _lending(character: Character, held: LentPermissions, people: list[Being]) -> Iterator[None]:
    own = held.all()
    try:
        with held.shared_with(people):
            is_less = held.all() != own
            yield
    except (ToolDeniedError, ToolTimeoutError):
        raise
    except ToolError as error:
        if not is_less:
            raise
        names = " and ".join(name_of(person, character) for person in people)
        told = f"{error}; by order of {names} you may do no more than {names} may"
        raise ToolDeniedError(told) from error
