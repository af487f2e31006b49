"""The turn's record of what came of each call."""

from itertools import count

from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.toolboxes import Logged
from tests.core.samples import make_event
from tests.engine.doubles import HELLO, ListedTools, finish, gate


def test_each_call_leaves_a_fact() -> None:
    """Refused calls are recorded too, in order, each with its own time."""
    turn, ticks = Turn(7, (make_event(),)), count(0, 0.25)
    tools = Logged(gate(ListedTools([])), lambda: float(next(ticks)))
    finish(tools.run(HELLO, turn))
    finish(tools.run(ToolCall("c9", "fly"), turn))
    expected = [("whisper", True, 250), ("fly", False, 250)]
    fields = ("tool_name", "success", "duration_ms")
    assert expected == [tuple(item.details[name] for name in fields) for item in turn.audit_events]
