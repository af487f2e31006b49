"""Tools of a game, as EVENNIA_AI_TOOL_MODULES would name them."""

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.tools import tool

pending: list[Deferred[str]] = []
A_DEFECT = "a defect"


@tool(category="safe_chain")
def tide(character: Any, harbour: str) -> str:
    """When the tide turns in a harbour.

    Args:
        character: who acts.
        harbour: name of a harbour.
    """
    if harbour != "Greyport":
        raise ToolError(f"there is no harbour {harbour}")
    return "at noon"


@tool(cache_seconds=60)
def depth(character: Any, harbour: str) -> str:
    """How deep a harbour is.

    Args:
        character: who acts.
        harbour: name of a harbour.
    """
    if harbour != "Greyport":
        raise ToolError(f"there is no harbour {harbour}")
    return "nine fathoms"


def _has_bell(character: Any, turn: Turn) -> bool:
    if character.db.bell_for == A_DEFECT:
        raise RuntimeError("the bell is cracked")
    return bool(character.db.bell_for) and character.db.bell_for == turn.event.sender_id


@tool(category="safe_chain", useful_when=_has_bell)
def ring_bell(character: Any) -> str:
    """Ring the bell."""
    return "it rings"


@tool(category="safe_chain", timeout_seconds=4)
def wait_for_ship(character: Any) -> Deferred[str]:
    """Wait until a ship comes."""
    pending.append(Deferred())
    return pending[-1]


@tool(category="terminal", timeout_seconds=4)
def hoist_flag(character: Any) -> Deferred[str]:
    """Hoist the flag, which takes a while."""
    pending.append(Deferred())
    return pending[-1]


@tool(category="safe_chain")
async def count_stars(character: Any) -> str:
    """Count the stars."""
    return "many"


@tool(category="safe_chain")
def do_nothing_in_particular(character: Any) -> None:
    """Do something that has no result."""


@tool(category="dangerous")
def break_down(character: Any) -> str:
    """Something that nobody expects to fail."""
    raise RuntimeError("the gears are stuck")


@tool(category="terminal")
def fall_silent(character: Any) -> str:
    """Go to bed: say so, and stop."""
    character.location.msg_contents("Ada yawns.", from_obj=character)
    character.assistant_script.trigger_emergency_stop("she went to bed")
    return "asleep"
