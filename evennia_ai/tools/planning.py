"""Planning: a goal is split by a model call of its own, in the context `goal_decompose`.

That call is shown the goals and who the assistant is, and nothing that anybody said in private.
"""

from __future__ import annotations

from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn import goals as tree
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.goal_parts import read_parts, split_request
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import AssistantError, StaleEpochError, ToolError
from evennia_ai.memory.evidence import Evidence
from evennia_ai.runtime import goals
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import Asker

UNPLANNED = "name the parts yourself"


async def parts_for(script: Assistant, number: int, turn: Turn) -> list[str]:
    """The parts into which the model splits a goal, at the expense of the turn that asks for them.

    Raises:
        ToolError: it cannot be split, or the model gave no parts; the text says why.
        StaleEpochError: it was stopped or reset meanwhile.
    """
    known = goals.of(script)
    try:
        goal = tree.require_splittable(known, number)
    except ValueError as error:
        raise ToolError(str(error)) from None
    client = script.client()
    if client.provider_name == "local":
        raise ToolError(UNPLANNED)
    fence = Fence.of(script)
    asker = Asker(script, client, fence, turn=turn)
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
