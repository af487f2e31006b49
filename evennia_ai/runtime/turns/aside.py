"""Turns that cannot go on: set aside for now, or interrupted in the middle of an effect.

One that is set aside waits with its events, and others are answered meanwhile: for its sender to
come back, or for a person to decide about a limit. The state of such a turn is stored beside its
first event in the inbox, so that nothing is paid for or done twice.

One that was interrupted in the middle of an effect is left behind by a crash, a stop or a deleted
body. Nobody knows whether the effect happened: it counts as done, and is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.turn import conversation, executions
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import bump_epoch, checkpoint_of, discard, end_void_turns, read, write


def push(script: Assistant, event: Event) -> list[Event]:
    """Put an event into the inbox, as `state.push`.

    If a turn that was begun is pushed out, what was done in it is remembered.
    """
    work, limit = script.work, read(script, "max_pending_events")
    if len(work.inbox) < limit:
        return state.push(script, event, limit)
    _, leaving = inbox.push(work.inbox, event.as_stored(), limit=limit, busy=work.busy)
    checkpoint = read(script, "current_tool_call") or {"events": ()}
    begun = [
        each for each in leaving if inbox.SAVED_TURN in each or each["id"] in checkpoint["events"]
    ]
    if begun:
        forget(script, begun)
    return [*map(Event.from_stored, begun), *state.push(script, event, limit)]


def set_aside(script: Assistant) -> None:
    """Let the checkpointed turn wait with its events, so that others can be taken."""
    work, checkpoint = script.work, read(script, "current_tool_call")
    waiting = inbox.set_aside(work.inbox, checkpoint["events"], checkpoint)
    write(script, pending_events=waiting, current_tool_call=None)
    # After the write, so that memory matches the database if it fails.
    work.inbox = waiting


def resume(script: Assistant, stored: inbox.Stored) -> Turn:
    """Resume a turn that was set aside, given the first of its events."""
    work, checkpoint = script.work, stored[inbox.SAVED_TURN]
    waiting = inbox.without_saved_turn(work.inbox, checkpoint["events"])
    # In one write: a crash in between would leave the turn in both places, or in none.
    write(script, pending_events=waiting, current_tool_call=checkpoint)
    work.inbox = waiting
    return turns.from_checkpoint(script, checkpoint)


def hold(script: Assistant, turn: Turn) -> None:
    """Let a running turn wait with its events while a person is asked about it.

    It lives on in memory; the stored copy is for a restart. A turn of the assistant's own has no
    event in the inbox, so a restart forgets it.
    """
    work, ids = script.work, {event.id for event in turn.events}
    waiting = work.inbox
    if turn.event.kind != inbox.OWN:
        # Beside its first event; `current_tool_call` must be empty for others to be taken.
        waiting = inbox.set_aside(waiting, ids, turns.as_noted(turn))
    turns.save(script, turn, pending_events=waiting, current_tool_call=None)
    work.inbox, work.running, work.in_flight = waiting, frozenset(), None
    work.ticks = max(work.ticks, turn.tick)  # so that turns in between get other numbers


def take_back(script: Assistant, turn: Turn) -> None:
    """Let a held turn go on; it is stored as under way again."""
    work, ids = script.work, {event.id for event in turn.events}
    waiting = work.inbox
    if turn.event.kind != inbox.OWN:
        waiting = inbox.without_saved_turn(waiting, ids)
    turns.save(script, turn, pending_events=waiting, current_tool_call=turns.as_noted(turn))
    # Marked as running before its seat leaves `aside`: busy events cannot be pushed out.
    work.inbox, work.running = waiting, frozenset(ids)


def break_off(script: Assistant, turn: Turn, *, is_over: bool = False) -> bool:
    """End a turn whose answer nobody can hear. Its events wait, with what was done so far.

    Args:
        is_over: nobody will want the answer any more.

    Returns:
        True where they wait. Events of a task, and of a turn that is over, leave the inbox.
    """
    turns.cut_off(script, turn)
    script.work.running = frozenset()
    if is_over or turn.event.kind == inbox.TASK:
        forget(script, [event.as_stored() for event in turn.events])
        return False
    if turns.checkpointed_events(script):
        set_aside(script)
    return True


def forget(script: Assistant, events: Sequence[inbox.Stored]) -> None:
    """Remove events that nobody will answer; what was done for them is remembered."""
    checkpoint = checkpoint_of(script, {item["id"] for item in events})
    noted_turns = [item[inbox.SAVED_TURN] for item in events if inbox.SAVED_TURN in item]
    if checkpoint is not None:
        noted_turns.append(checkpoint)
    for noted_turn in noted_turns:
        if noted_turn["effects"]:
            give_up(script, noted_turn)
    discard(script, events)


def void(script: Assistant, is_meant: Callable[[inbox.Stored], bool] = lambda item: True) -> None:
    """Forget the state of turns that were set aside.

    If others noticed some of a turn, that is remembered and its events leave the inbox; otherwise
    they are answered from the beginning.
    """
    work = script.work
    waiting = work.inbox if work is not None else ()
    for item in [each for each in waiting if inbox.SAVED_TURN in each and is_meant(each)]:
        noted_turn = item[inbox.SAVED_TURN]
        if noted_turn["effects"]:
            give_up(script, noted_turn)
        else:
            work.inbox = inbox.without_saved_turn(work.inbox, noted_turn["events"])
            write(script, pending_events=work.inbox)
    if work is not None:
        end_void_turns(work)


def reset_history(script: Assistant) -> None:
    """Forget the conversation and void what is under way; messages in the inbox stay."""
    void(script)
    bump_epoch(script)
    checkpoint = read(script, "current_tool_call")
    if script.work is not None:
        if checkpoint and ("tool" in checkpoint or checkpoint.get("effects")):
            give_up(script, checkpoint)
        script.work.history, script.work.talks = [], {}
    write(script, audit_event("HistoryReset"), conversation_history=[], current_tool_call=None)


UNKNOWN = ToolResult(False, "the game stopped: nobody knows whether this happened", Fault.NOT_RUN)


def recover(script: Assistant, *, is_final: bool = False) -> str:
    """Close the turn that was interrupted in the middle of an effect; the effect is not repeated.

    Args:
        is_final: also close a checkpointed turn for good, if others noticed any of it.

    Returns:
        What was interrupted, in words for the log, or "".
    """
    checkpoint = read(script, "current_tool_call")
    if not checkpoint or script.work is None:
        return ""
    is_in_effect = "tool" in checkpoint
    # A turn of its own is in no inbox, from which it could go on.
    is_over = is_final or checkpoint.get("is_own")
    if is_in_effect or (is_over and checkpoint.get("effects")):
        give_up(script, checkpoint)
    # The length of the arguments, not their words: they may be private, and this is logged.
    return (
        f"{checkpoint['tool']} ({len(str(checkpoint['arguments']))} characters)"
        if is_in_effect
        else ""
    )


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
    messages = [
        _with_unknown(message, noted.get("call_id", "")) for message in noted.get("said", ())
    ]
    if messages and (events or noted.get("is_own")):
        face = Event.from_stored(events[-1]).face if events else ""
        asides = noted.get("asides", {})
        # It is no longer known whom the turn overheard, so nothing of it may be kept.
        messages = conversation.marked(messages, conversation.UNKEPT, True)
        turns.remember(script, messages, face, is_private=noted["is_private"], asides=asides)
    values: dict[str, Any] = {"pending_events": work.inbox, "conversation_history": work.history}
    # That of another turn, which is under way, stays.
    if (current := read(script, "current_tool_call")) and current["events"] == noted["events"]:
        values["current_tool_call"] = None
    turns.write_counted(script, lost, **values)
    end_void_turns(work)


def unknown(turn: Turn, call: ToolCall) -> AuditEvent:
    """The audit event of a call whose outcome is unknown."""
    spec = ToolSpec(call.name, "", {})
    event = executions.tool_executed(turn, call, UNKNOWN, seconds=0.0, spec=spec)
    return audit_event(event.event, **{**event.details, "error": UNKNOWN.text})


def _with_unknown(message: conversation.Message, call_id: str) -> conversation.Message:
    if message.get("tool_call_id") != call_id:
        return message
    return {**message, "content": UNKNOWN.as_content()}
