"""One tick: what was heard goes in, the loop runs, and what is left is a turn and why it ended."""

from __future__ import annotations

from evennia_ai.core.conversation import turn_text, user_message
from evennia_ai.core.execution import ExecutionPattern
from evennia_ai.core.react import Stop
from evennia_ai.core.turn import Turn
from evennia_ai.engine.ports import Ports
from evennia_ai.engine.react import react


async def run(turn: Turn, ports: Ports, pattern: ExecutionPattern) -> Stop:
    """Answer the turn's events, or go on with a turn that was set down."""
    if not turn.said:
        told = turn_text(turn.events, turn.overheard, shows_trust=True)
        turn.said.append(user_message(told))
    return await react(turn, ports, pattern)
