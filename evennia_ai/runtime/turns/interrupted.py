"""Turns that were interrupted in the middle of an effect: nobody knows whether it happened.

A crash, a stop or a body that is gone leaves one behind. It counts as done, and is not done again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.core.turn import conversation, executions
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import let_go, read

UNKNOWN = ToolResult(False, "the game stopped: nobody knows whether this happened", Fault.NOT_RUN)


def recover(script: Assistant, *, is_final: bool = False) -> str:
    """Settle what was interrupted in the middle of an effect: done or not, it is not done again.

    Args:
        is_final: settle for good also what was set down between two steps, if others noticed any.

    Returns:
        What was interrupted, in words for the log, or "".
    """
    noted = read(script, "current_tool_call")
    if not noted or script.work is None:
        return ""
    is_in_effect = "tool" in noted
    if is_in_effect or (is_final and noted.get("effects")):
        give_up(script, noted)
    # Its length and not its words: they may be private, and this goes into the log.
    return f"{noted['tool']} ({len(str(noted['arguments']))} characters)" if is_in_effect else ""


def give_up(script: Assistant, noted: Mapping[str, Any]) -> None:
    """Take the events as answered, and remember what is known to have happened."""
    work = script.work
    # One that ended after its turn was void is known, and so recorded already.
    known = {item.details.get("call_id") for item in work.unkept}
    is_lost = "tool" in noted and noted["call_id"] not in known
    lost = [_lost(script, noted)] if is_lost else []
    work.given_up.update(item.details["call_id"] for item in lost)
    events = [item for item in work.inbox if item["id"] in noted["events"]]
    work.inbox = inbox.settle(work.inbox, noted["events"])
    said = [_with_unknown(message, noted.get("call_id", "")) for message in noted.get("said", ())]
    if said and events:
        last = Event.from_stored(events[-1])
        asides = noted.get("asides", {})
        said = conversation.marked_unkept(said)  # nobody knows any more whom it overheard
        turns.remember(script, said, last.face, is_private=noted["is_private"], asides=asides)
    turns.write_counted(
        script,
        lost,
        pending_events=work.inbox,
        conversation_history=work.history,
        current_tool_call=None,
    )
    let_go(work)


def _lost(script: Assistant, noted: Mapping[str, Any]) -> Fact:
    turn = Turn(0, (), is_apart=noted["is_private"], tick=script.work.ticks + 1)
    return unknown(turn, ToolCall(noted["call_id"], noted["tool"], noted["arguments"]))


def unknown(turn: Turn, call: ToolCall) -> Fact:
    """The fact of a call of which nobody knows whether it happened."""
    spec = ToolSpec(call.name, "", {})
    told = executions.tool_executed(turn, call, UNKNOWN, seconds=0.0, spec=spec)
    return fact(told.event, **{**told.details, "error": UNKNOWN.text})


def _with_unknown(message: conversation.Message, call_id: str) -> conversation.Message:
    if message.get("tool_call_id") != call_id:
        return message
    return {**message, "content": UNKNOWN.as_content()}
