"""The tools a model is shown at a step: those that the message calls for, and that are of use.

What is not shown can be called all the same, and is judged as ever; `find_tools` tells of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger

from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.turn.needs import FIND_TOOLS, needed, told_groups
from evennia_ai.core.turn.speech import answered_by
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.groups import HANDS, TRAVEL
from evennia_ai.tools.registry import SPECS, TOOL_REGISTRY

# How far back in the talk a call keeps its tools at hand, and a message is of the same matter.
MESSAGES_BACK = 20
QUESTIONS_BACK = 2
MOST_THINGS = 200
SHORTEST_NAME = 3


def is_by_need(turn: Turn, specs: Specs) -> bool:
    """True where the tools of a turn are shown as its message calls for them.

    All of them are shown where none could be looked up, where nobody spoke, and in a task: there
    the words of the moment do not tell what the work will need.
    """
    is_talk = turn.event.kind not in (OWN, TASK)
    return is_talk and FIND_TOOLS in specs and services.tools_by_need()


def shown(character: Character, turn: Turn, specs: Specs) -> Specs:
    """The tools that the model is shown at this step, of those on offer."""
    if is_by_need(turn, specs):
        specs = _needed(character, turn, specs)
    return _useful(character, turn, specs)


def _useful(character: Character, turn: Turn, specs: Specs) -> Specs:
    """Those of some tools that the model is to be shown now; a tool that cannot tell is shown."""
    idle = set()
    for name in specs:
        tool = TOOL_REGISTRY.get(name)
        try:
            if not (tool is None or tool.is_always_useful or tool.is_useful(character, turn)):
                idle.add(name)
        except Exception:
            logger.log_trace(f"[assistant] tool {name} could not say whether it is of use")
    return {name: spec for name, spec in specs.items() if name not in idle}


def _needed(character: Character, turn: Turn, specs: Specs) -> Specs:
    text = _text_of(turn)
    chosen = needed(
        specs,
        text,
        most=services.most_tools(),
        called=_called(turn),
        found={*turn.found, answered_by(turn.event)},
        groups=set(_groups_of_things(character, text.casefold())),
    )
    grouped = [(spec.group.name, name) for name, spec in specs.items() if spec.group is not None]
    return {**chosen, FIND_TOOLS: _finder(tuple(grouped))}


@lru_cache(maxsize=64)
def _finder(grouped: tuple[tuple[str, str], ...]) -> ToolSpec:
    """The tool that finds others, with what there is to find; the same object for the same tools.

    What a model is shown of a spec, and its size, are made once for each object.

    Args:
        grouped: as of `told_groups`.
    """
    spec = SPECS[FIND_TOOLS]
    told = f" There are: {told_groups(grouped)}." if grouped else ""
    return replace(spec, description=spec.description + told)


def _text_of(turn: Turn) -> str:
    """The message to answer, and the last words before it in the same talk."""
    before = [each["content"] for each in reversed(turn.history) if each["role"] == "user"]
    texts = [event.body for event in turn.events] + before[:QUESTIONS_BACK]
    return "\n".join(map(str, texts))


def _called(turn: Turn) -> set[str]:
    """The tools that were called lately, in this turn and before it."""
    return {
        call["function"]["name"]
        for message in (*turn.history[-MESSAGES_BACK:], *turn.said)
        for call in message.get("tool_calls") or ()
    }


def _groups_of_things(character: Character, text: str) -> Iterator[str]:
    """The groups that the name of a thing or a way calls for, in whatever language it is spoken of.

    Beings do not count: a thing is handled, and somebody is spoken to.
    """
    room = character.location
    here = room.contents if room is not None else ()
    for thing in islice((*character.contents, *here), MOST_THINGS):
        name = str(thing.key).casefold()
        if isinstance(thing, DefaultCharacter) or len(name) < SHORTEST_NAME or name not in text:
            continue
        yield TRAVEL.name if thing.destination else HANDS.name
