"""Planning: a goal is split by a model call of its own, in the context `goal_decompose`.

That call is shown the goals and who the assistant is, and nothing that anybody said in private.
"""

from __future__ import annotations

from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn import goals as tree
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.goal_parts import read_parts, split_request
from evennia_ai.errors import AssistantError, StaleEpochError, ToolError
from evennia_ai.memory.evidence import Evidence
from evennia_ai.runtime import goals
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import Asker

UNPLANNED = "name the parts yourself"


async def parts_for(script: Assistant, number: int) -> list[str]:
    """The parts into which the model splits a goal.

    Raises:
        ToolError: no open goal has that number, or the model gave no parts; the text says why.
        StaleEpochError: it was stopped or reset meanwhile.
    """
    known = goals.of(script)
    goal = next((goal for goal in tree.active(known) if goal["id"] == number), None)
    if goal is None:
        raise ToolError(f"no open goal has the number {number}; see list_goals")
    if tree.parts_of(known, number):
        raise ToolError(f"goal {number} has parts already; a goal is split once")
    client = script.client()
    if client.provider_name == "local":
        raise ToolError(UNPLANNED)
    fence = Fence.of(script)
    asker = Asker(script, client, fence)
    asked = split_request(goal["text"], tree.lines(known))
    evidence = Evidence(script, fence, WORLD)
    try:
        reply = await asker.ask(asked, ContextType.GOAL_DECOMPOSE, Purpose.PLANNING, evidence)
    except StaleEpochError:
        raise
    except AssistantError as error:
        raise ToolError(f"it could not be planned now ({error}); {UNPLANNED}") from None
    parts = read_parts(reply)
    if parts is None:
        raise ToolError(f"the planning gave no parts; {UNPLANNED}")
    return parts
