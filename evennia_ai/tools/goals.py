"""Tools for the assistant's own goals."""

from __future__ import annotations

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.memory.extraction import read_lines
from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn import goals as core_goals
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import AssistantError, StaleEpochError, ToolError
from evennia_ai.memory.evidence import ShownMemories
from evennia_ai.runtime import goals
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.base import refusals
from evennia_ai.tools.inner_calls import Asker
from evennia_ai.tools.registry import tool

# Longer than the deadline of the model call (120 s), which fails with a better message.
PLANNING_SECONDS = 130.0
UNPLANNED = "name the parts yourself"


def _has_goal(character: Character, turn: Turn) -> bool:
    return bool(core_goals.active(goals.of(character.assistant_script)))


def _is_own(character: Character, turn: Turn) -> bool:
    # Only in turns of its own, so that players cannot talk the assistant into goals.
    return turn.event.kind == OWN


@tool(category="safe_chain", useful_when=_has_goal, only_reads=True)
def list_goals(character: Character) -> str:
    """List your open goals, the most pressing first, with their parts."""
    return "\n".join(core_goals.lines(goals.of(character.assistant_script))) or (
        "you have no open goal"
    )


@tool(category="safe_chain", useful_when=_has_goal)
def complete_goal(character: Character, number: int, outcome: str) -> str:
    """Say that one of your goals is reached.

    Args:
        number: the goal's number.
        outcome: what came of it, in one sentence.
    """
    script = character.assistant_script
    with refusals():
        is_daily = goals.is_daily(script, number)
        whole = goals.complete(script, number, outcome)
    more = f"; all parts of goal {whole['id']} are closed: {whole['text']}" if whole else ""
    return f"goal {number} is {'done for this time' if is_daily else 'completed'}{more}"


@tool(category="safe_chain", useful_when=_is_own, heard_by="anybody")
def create_goal(
    character: Character, text: str, priority: int, when: str = "", *, turn: Turn
) -> str:
    """Set yourself a goal, to work on when nobody needs you.

    Args:
        text: what is to be reached, in one sentence.
        priority: 1 may wait, 10 is pressing.
        when: its time, such as at dusk, daily at 08:00, in 2 hours; left out, any.
    """
    _require_own(character, turn)
    script = character.assistant_script
    with refusals():
        number = goals.add(script, text, priority, by=core_goals.SELF, when=when)
    return f"goal {number} is set"


@tool(
    category="safe_chain", useful_when=_is_own, heard_by="anybody", timeout_seconds=PLANNING_SECONDS
)
async def split_goal(
    character: Character, number: int, parts: list[str] | None = None, *, turn: Turn
) -> str:
    """Split one of your goals that is too large for a step. Its parts are worked on instead of it.

    Args:
        number: the goal's number.
        parts: what is to be reached first, next and last: two to seven sentences; leave it out to
            have it thought through.
    """
    _require_own(character, turn)
    if parts is None:
        parts = await _parts_for(character.assistant_script, number, turn)
    with refusals():
        numbers = goals.split(character.assistant_script, number, parts)
    return f"goal {number} has the parts {', '.join(map(str, numbers))}"


def _require_own(character: Character, turn: Turn) -> None:
    if not _is_own(character, turn):
        raise ToolError("you set goals only while nobody talks with you")


async def _parts_for(script: Assistant, number: int, turn: Turn) -> list[str]:
    """Let the model split a goal, charged to the current turn.

    The call is shown the goals and the persona, but no private words.

    Raises:
        ToolError: the goal cannot be split, or the model returned no parts.
        StaleEpochError: the assistant was stopped or reset in the meantime.
    """
    known = goals.of(script)
    with refusals():
        goal = core_goals.require_splittable(known, number)
    client = script.client()
    if client.provider_name == "local":
        raise ToolError(UNPLANNED)
    fence = Fence.of(script)
    asker = Asker(script, client, fence, turn=turn)
    request = core_goals.split_request(goal["text"], core_goals.lines(known))
    evidence = ShownMemories(script, fence, WORLD)
    try:
        reply = await asker.ask(request, ContextType.GOAL_DECOMPOSE, Purpose.PLANNING, evidence)
    except StaleEpochError:
        raise
    except AssistantError as error:
        raise ToolError(f"it could not be planned now ({error}); {UNPLANNED}") from None
    parts = read_lines(reply, core_goals.PARTS.stop - 1)
    if parts is None:
        raise ToolError(f"the planning gave no parts; {UNPLANNED}")
    return parts
