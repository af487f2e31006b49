"""An assistant's name before somebody: a key that is a secret is shown to whoever runs it."""

from __future__ import annotations

from evennia_ai.core.typed_objects import Being
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights.bodies import has_right
from evennia_ai.runtime.rights.game import is_staff
from evennia_ai.runtime.rights.table import Right


def knows_key(script: Assistant, person: Being | None) -> bool:
    """True where somebody may name an assistant by its key.

    Args:
        person: a character or an account; None: the game's own code.
    """
    body = script.obj
    if body is None or person is None or not names.hides_key(body, names.eyes_of(person)):
        return True
    return has_right(script, person, Right.CONTROL, is_staff=is_staff(person))


def name_before(script: Assistant, person: Being | None) -> str:
    """The name of an assistant in what somebody reads.

    Args:
        person: a character or an account; None: the game's own code.
    """
    if knows_key(script, person):
        return str(script.key)
    return names.name_of(script.obj, names.eyes_of(person))
