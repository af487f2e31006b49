"""Tools for what the assistant is after by itself."""

from __future__ import annotations

from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.turn import goals as core_goals
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.registry import tool


def _has_goal(character: Character, turn: Turn) -> bool:
    return bool(core_goals.active(state.read(character.assistant_script, "current_goals")))


@tool(category="safe_chain", useful_when=_has_goal)
def list_goals(character: Character) -> str:
    """List your open goals, the most pressing first."""
    stored = state.read(character.assistant_script, "current_goals")
    lines = [
        f"{g['id']}. {g['text']} (priority {g['priority']})" for g in core_goals.active(stored)
    ]
    return "\n".join(lines) or "you have no open goal"


@tool(category="safe_chain", useful_when=_has_goal)
def complete_goal(character: Character, number: int, outcome: str) -> str:
    """Say that one of your goals is reached.

    Args:
        number: the goal's number.
        outcome: what came of it, in one sentence.
    """
    script = character.assistant_script
    stored = state.read(script, "current_goals")
    try:
        changed = core_goals.close(stored, number, core_goals.COMPLETED, outcome)
    except ValueError as error:
        raise ToolError(str(error)) from None
    told = fact("GoalCompleted", goal_id=number, outcome=outcome)
    state.write(script, told, current_goals=changed)
    return f"goal {number} is completed"
