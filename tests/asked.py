"""Requests of players, and the tool that each needs: they measure the choice of tools by need.

Both lists were written before any cue of a group of tools was chosen. The cues were chosen with the
first list; the second one measures how well they generalize.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a player.

    Attributes:
        tool: the tool it needs; of several, the one that a model would call first.
    """

    text: str
    tool: str


AT_HAND = (
    Request("hello, who are you?", "whisper"),
    Request("tell everybody here that dinner is ready", "say"),
    Request("smile for me, please", "emote"),
    Request("please bow to the queen", "emote"),
    Request("what does this place look like?", "look"),
    Request("examine the map on the wall", "look"),
    Request("do not answer this one", "noop"),
    Request("can you give me the brass lamp?", "give"),
    Request("hand Mira the key", "give"),
    Request("take the lamp from the floor", "get"),
    Request("would you pick up that book?", "get"),
    Request("put the lamp down, please", "drop"),
    Request("drop it", "drop"),
    Request("let me have that map", "give"),
    Request("which ways lead out of here?", "exits"),
    Request("where are the exits?", "exits"),
    Request("who else is here?", "who_is_here"),
    Request("are we alone?", "who_is_here"),
    Request("where are we?", "inspect_location"),
    Request("is there a lantern somewhere in this room?", "search_objects"),
    Request("could you find my hat?", "search_objects"),
    Request("go north", "move"),
    Request("follow me to the harbour", "move"),
    Request("walk through the door with me", "move"),
    Request("what time is it?", "time"),
    Request("what day is today?", "time"),
    Request("remember that my sister is called Anna", "store_memory"),
    Request("do you remember what I told you about my sister?", "recall_memories"),
    Request("what do you know about the pirates?", "recall_memories"),
    Request("write that down in your notebook", "write_note"),
    Request("read me your notes", "read_notes"),
    Request("strike out that note about tea", "forget_note"),
    Request("write into your journal what you saw today", "add_journal_entry"),
    Request("what happened yesterday?", "read_journal"),
    Request("look into your diary for the word pirate", "search_journal"),
    Request("let us begin a project: a map of the harbour", "create_project"),
    Request("how far is your project?", "list_projects"),
    Request("what are your goals?", "list_goals"),
    Request("your goal is reached, well done", "complete_goal"),
    Request("page Mira that I am late", "page"),
    Request("tell Mira, who is far away, that I wait at the pier", "page"),
    Request("announce the feast on the public channel", "channel"),
    Request("please hand this riddle to a specialist and tell me the answer", "delegate_task"),
    Request("type the command inventory", "execute_command"),
    Request("change the description of the door", "set_attribute"),
)

SET_ASIDE = (
    Request("good evening, how is business?", "whisper"),
    Request("shout for help!", "say"),
    Request("dance with me", "emote"),
    Request("what is that thing over there?", "look"),
    Request("I'd like to have the rope you are carrying", "give"),
    Request("pass me the salt", "give"),
    Request("grab the sword, quick!", "get"),
    Request("fetch the bucket", "get"),
    Request("leave the torch here", "drop"),
    Request("how do I get out of here?", "exits"),
    Request("is anybody with us?", "who_is_here"),
    Request("what is this place called?", "inspect_location"),
    Request("have you seen a silver ring lying around?", "search_objects"),
    Request("come with me", "move"),
    Request("step outside for a moment", "move"),
    Request("how late is it?", "time"),
    Request("is it night already?", "time"),
    Request("never forget: I am allergic to nuts", "store_memory"),
    Request("when did we first meet?", "recall_memories"),
    Request("make a note: rent is due on Friday", "write_note"),
    Request("what have you noted about me?", "read_notes"),
    Request("keep a record of this in your diary", "add_journal_entry"),
    Request("what did you do last week?", "read_journal"),
    Request("I want to work on the garden with you for the next days", "create_project"),
    Request("send Mira a message: the ship has come", "page"),
    Request("let them know on Public that the shop is open", "channel"),
    Request("nimm bitte die Lampe", "get"),
    Request("wie spät ist es?", "time"),
    Request("donne-moi la lampe", "give"),
    Request("schreib das in dein Tagebuch", "add_journal_entry"),
)


@dataclass(slots=True)
class Tally:
    """Numbers of requests by how their tool was shown.

    Attributes:
        at_once: shown at once.
        one_look_away: had to be looked up first.
        unreachable: could not be found.
        sizes: number of tools that each request was shown.
    """

    at_once: list[Request] = field(default_factory=list)
    one_look_away: list[Request] = field(default_factory=list)
    unreachable: list[Request] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @property
    def share_at_once(self) -> float:
        """Share of requests whose tool was shown at once."""
        return len(self.at_once) / len(self.sizes)


def equip(script: Any) -> None:
    """Make every requested tool useful for an assistant."""
    from evennia.utils.create import create_object

    from evennia_ai import operations
    from evennia_ai.core.hearing.inbox import Event
    from evennia_ai.core.turn.turn import Turn
    from evennia_ai.runtime import state
    from evennia_ai.tools import TOOL_REGISTRY

    body = script.obj
    body.locks.remove("tool_move")
    create_object("evennia.objects.objects.DefaultObject", "brass lamp", location=body)
    operations.add_goal(script, "Count the books.")
    state.write(
        script,
        command_allowlist=["inventory"],
        attribute_allowlist=["desc"],
        execution_config={"sub_agents_enabled": True},
    )
    event = Event("e0", "message", "say", "#1", "Tom", "hello", 0.9, 3, 1, 0.0, person="*#1")
    turn = Turn(0, (event,))
    TOOL_REGISTRY["write_note"].execute(body, text="Tom likes tea.", turn=turn)
    TOOL_REGISTRY["create_project"].execute(
        body, project_key="map", summary="A map of the harbour.", turn=turn
    )


def turn_of(text: str, **changes: Any) -> Any:
    """Return the turn of somebody's whisper."""
    from evennia_ai.core.hearing.inbox import Event
    from evennia_ai.core.turn.turn import Turn

    event = Event("e1", "message", "whisper", "#1", "Tom", text, 0.9, 3, 1, 0.0, person="*#1")
    return Turn(0, (event,), **changes)


def on_offer(script: Any, turn: Any) -> Any:
    """Return the tools that a turn may call, shown or not."""
    from evennia_ai.agent import preparation
    from evennia_ai.core.turn.contexts import ContextType
    from evennia_ai.tool_execution import toolbox

    inputs = preparation.prompt_inputs(script, script.client(), ContextType.TICK_EVENT)
    pattern = preparation.pattern_of(script, turn, inputs)
    return toolbox(script, turn, pattern, is_small=False).specs()


def shown_for(script: Any, turn: Any) -> Any:
    """Return the tools that the model is shown in a turn."""
    from evennia_ai.tools.showing import shown

    return shown(script.obj, turn, on_offer(script, turn))


def tally(script: Any, requests: Sequence[Request]) -> Tally:
    """Make each request in a new conversation; tools that are not shown are looked up by group."""
    from evennia_ai.tools import TOOL_REGISTRY

    result = Tally()
    for request in requests:
        turn = turn_of(request.text)
        names = shown_for(script, turn)
        result.sizes.append(len(names))
        if request.tool in names:
            result.at_once.append(request)
            continue
        group = TOOL_REGISTRY[request.tool].spec.group
        assert group is not None, f"{request.tool} is always shown, and was not"
        is_told = f"{group.name} (" in names["find_tools"].description
        TOOL_REGISTRY["find_tools"].execute(script.obj, query=group.name, turn=turn)
        is_reached = is_told and request.tool in shown_for(script, turn)
        (result.one_look_away if is_reached else result.unreachable).append(request)
    return result
