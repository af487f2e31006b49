"""Tools of a game that note every run, and any run while their assistant was stopped."""

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import emergency
from evennia_ai.errors import ToolError
from evennia_ai.runtime import state
from evennia_ai.tools import tool

# Runs while the assistant was stopped or locked.
WRONG: list[str] = []
# Tools that were begun and have not ended.
BEGUN: list[Deferred[str]] = []


def _note(character: Any, name: str) -> None:
    if state.read(character.assistant_script, "emergency_stop"):
        WRONG.append(f"{character.key} ran {name} while stopped")


def _begin(character: Any, name: str) -> Deferred[str]:
    _note(character, name)
    begun: Deferred[str] = Deferred(BEGUN.remove)
    BEGUN.append(begun)
    return begun


@tool(category="safe_chain")
def look_it_up(character: Any, number: int) -> str:
    """Look something up.

    Args:
        number: what.
    """
    _note(character, "look_it_up")
    return f"it is {number}"


@tool(category="safe_chain")
def probe_in_vain(character: Any) -> str:
    """Look for something that is never there."""
    _note(character, "probe_in_vain")
    raise ToolError("it is not there")


@tool(category="safe_chain")
def probe_broken(character: Any) -> str:
    """Something that nobody expects to fail."""
    _note(character, "probe_broken")
    raise RuntimeError("the gears are stuck")


@tool(category="safe_chain")
def pull_the_cord(character: Any) -> str:
    """Something in the game that stops its assistant at once, as game code may."""
    _note(character, "pull_the_cord")
    emergency.trigger_emergency_stop(character.assistant_script, "the cord was pulled")
    return "everything stops"


@tool(category="safe_chain", timeout_seconds=20)
def probe_slowly(character: Any) -> Deferred[str]:
    """Look something up, which takes a while."""
    return _begin(character, "probe_slowly")


@tool(category="terminal", timeout_seconds=20)
def ring_slowly(character: Any) -> Deferred[str]:
    """Ring a bell, which takes a while."""
    return _begin(character, "ring_slowly")


@tool(category="dangerous", needs_confirmation=True)
def open_gate(character: Any) -> str:
    """Open the gate, once somebody said yes."""
    _note(character, "open_gate")
    return "the gate is open"
