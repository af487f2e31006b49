"""Turns that were interrupted in the middle of an effect: nobody knows whether it happened.

A crash, a stop or a deleted body leaves one behind. It counts as done, and is not done again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.turn import conversation, executions
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import end_void_turns, read

UNKNOWN = ToolResult(False, "the game stopped: nobody knows whether this happened", Fault.NOT_RUN)


def recover(script: Assistant, *, is_final: bool = False) -> str:
    """Close the turn that was interrupted in the middle of an effect; the effect is not repeated.

    Args:
        is_final: also close a checkpointed turn for good, if others noticed any of it.

    Returns:
        What was interrupted, in words for the log, or "".
    """
    noted = read(script, "current_tool_call")
    if not noted or script.work is None:
        return ""
    is_in_effect = "tool" in noted
    # A turn of its own is in no inbox, from which it could go on.
    is_over = is_final or noted.get("is_own")
    if is_in_effect or (is_over and noted.get("effects")):
        give_up(script, noted)
    # The length of the arguments, not their words: they may be private, and this is logged.
    return f"{noted['tool']} ({len(str(noted['arguments']))} characters)" if is_in_effect else ""


def give_up(script: Assistant, noted: Mapping[str, Any]) -> None:
    """Treat the events as answered, and remember what is known to have happened."""
    work = script.work
    # A call that ended after its turn was voided has a known outcome, and is recorded already.
    known = {item.details.get("call_id") for item in work.unkept}
    lost = []
    if "tool" in noted and noted["call_id"] not in known:
        turn = Turn(0, (), is_apart=noted["is_private"], tick=work.ticks + 1)
        lost = [unknown(turn, ToolCall(noted["call_id"], noted["tool"], noted["arguments"]))]
        work.given_up.add(noted["call_id"])
    events = [item for item in work.inbox if item["id"] in noted["events"]]
    work.inbox = inbox.settle(work.inbox, noted["events"])
    said = [_with_unknown(message, noted.get("call_id", "")) for message in noted.get("said", ())]
    if said and (events or noted.get("is_own")):
        face = Event.from_stored(events[-1]).face if events else ""
        asides = noted.get("asides", {})
        # It is no longer known whom the turn overheard, so nothing of it may be kept.
        said = conversation.marked(said, conversation.UNKEPT, True)
        turns.remember(script, said, face, is_private=noted["is_private"], asides=asides)
    values: dict[str, Any] = {
        "pending_events": work.inbox,
        "conversation_history": work.history,
    }
    # That of another turn, which is under way, stays.
    if (current := read(script, "current_tool_call")) and current["events"] == noted["events"]:
        values["current_tool_call"] = None
    turns.write_counted(script, lost, **values)
    end_void_turns(work)


def unknown(turn: Turn, call: ToolCall) -> AuditEvent:
    """The audit event of a call whose outcome is unknown."""
    spec = ToolSpec(call.name, "", {})
    told = executions.tool_executed(turn, call, UNKNOWN, seconds=0.0, spec=spec)
    return audit_event(told.event, **{**told.details, "error": UNKNOWN.text})


def _with_unknown(message: conversation.Message, call_id: str) -> conversation.Message:
    if message.get("tool_call_id") != call_id:
        return message
    return {**message, "content": UNKNOWN.as_content()}
