"""The tool by which an assistant goes to sleep."""

from __future__ import annotations

import math

from evennia_ai.core.memory.schedule import wake_time
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.memory import modes
from evennia_ai.messages import outgoing
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.registry import tool

LEAST_HOURS, MOST_HOURS = 0.1, 23.0


def _may_sleep(character: Character, turn: Turn) -> bool:
    return not modes.bedtime_problem(character.assistant_script)


@tool(category="terminal", useful_when=_may_sleep)
def go_to_sleep(
    character: Character, reason: str, *, hours: float | None = None, turn: Turn
) -> str:
    """Go to sleep, to sort out what you experienced. Say goodbye before: nothing follows it.

    You wake when the time is over, or when somebody speaks to you.

    Args:
        reason: why now, in a few words.
        hours: how many hours to sleep; as long as your night is when you leave it out.
    """
    script = character.assistant_script
    if problem := modes.bedtime_problem(script):
        raise ToolError(problem)
    if hours is not None and not (math.isfinite(hours) and LEAST_HOURS <= hours <= MOST_HOURS):
        raise ToolError(f"hours must be from {LEAST_HOURS:g} to {MOST_HOURS:g}")
    until = wake_time(modes.now(script), modes.sleep_schedule_of(script), hours)
    modes.fall_asleep(script, "by its own wish", until=until)
    outgoing.show(character, modes.FALLS_ASLEEP, hops=turn.hops)
    return f"you sleep until {until:%H:%M}"
