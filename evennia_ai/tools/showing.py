"""Selection of the tools shown to the model: those that the message calls for and are of use now.

Other tools can still be called, under the same checks, and found with `find_tools`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from evennia.utils import logger

from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.turn.needs import FIND_TOOLS, group_listing, needed
from evennia_ai.core.turn.speech import answered_by
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import is_character, unmarked
from evennia_ai.tools.groups import HANDS, TRAVEL
from evennia_ai.tools.registry import SPECS, TOOL_REGISTRY

# How far back tool calls keep their tools shown, and messages of people count for the choice.
MESSAGES_BACK = 20
QUESTIONS_BACK = 2
MOST_THINGS = 200
# In characters: shorter names occur inside too many words.
SHORTEST_NAME = 3


def is_by_need(turn: Turn, specs: Specs) -> bool:
    """True if the tools of a turn are selected by its message.

    All are shown if `find_tools` is not available, in the assistant's own turns, and in tasks,
    whose message does not say what the work will need.
    """
    is_talk = turn.event.kind not in (OWN, TASK)
    return is_talk and FIND_TOOLS in specs and services.tools_by_need()


def shown(character: Character, turn: Turn, specs: Specs) -> Specs:
    """The tools to show the model at this step, out of those available."""
    if is_by_need(turn, specs):
        specs = _by_need(character, turn, specs)
    return _drop_useless(character, turn, specs)


def _drop_useless(character: Character, turn: Turn, specs: Specs) -> Specs:
    """Leave out tools that are of no use now. If a tool's own check fails, it is shown."""
    idle = set()
    for name in specs:
        tool = TOOL_REGISTRY.get(name)
        try:
            if not (tool is None or tool.is_always_useful or tool.is_useful(character, turn)):
                idle.add(name)
        except Exception:
            # A game's own tool may raise anything, which must not cost the turn.
            logger.log_trace(f"[assistant] tool {name} could not say whether it is of use")
    return {name: spec for name, spec in specs.items() if name not in idle}


def _by_need(character: Character, turn: Turn, specs: Specs) -> Specs:
    text = _text_of(turn)
    chosen = needed(
        specs,
        text,
        most=services.most_tools(),
        called=_recently_called(turn),
        found={*turn.found, answered_by(turn.event)},
        groups=set(_groups_of_things(character, text.casefold())),
    )
    grouped = [(spec.group.name, name) for name, spec in specs.items() if spec.group is not None]
    return {**chosen, FIND_TOOLS: _finder(tuple(grouped))}


@lru_cache(maxsize=64)
def _finder(grouped: tuple[tuple[str, str], ...]) -> ToolSpec:
    """`find_tools` with a description that lists the groups."""
    # Cached, because the wire format and size of a spec are cached by its identity.
    spec = SPECS[FIND_TOOLS]
    groups = f" There are: {group_listing(grouped)}." if grouped else ""
    return replace(spec, description=spec.description + groups)


def _text_of(turn: Turn) -> str:
    """The message to answer, and the last messages of people before it."""
    before = [each["content"] for each in reversed(turn.history) if each["role"] == "user"]
    texts = [event.body for event in turn.events] + before[:QUESTIONS_BACK]
    return "\n".join(map(str, texts))


def _recently_called(turn: Turn) -> set[str]:
    """Names of the tools called recently, in this turn and before."""
    return {
        call["function"]["name"]
        for message in (*turn.history[-MESSAGES_BACK:], *turn.said)
        for call in message.get("tool_calls") or ()
    }


def _groups_of_things(character: Character, text: str) -> Iterator[str]:
    """Groups for things and exits named in the text, which works in any language.

    Characters do not count: naming them does not mean handling them.
    """
    room = character.location
    here = room.contents if room is not None else ()
    for thing in islice((*character.contents, *here), MOST_THINGS):
        name = unmarked(str(thing.key)).casefold()
        if len(name) < SHORTEST_NAME or name not in text or is_character(thing):
            continue
        yield TRAVEL.name if thing.destination else HANDS.name
