"""Turns that cannot go on just now: they wait with their events, and others are answered meanwhile.

One waits for whoever asked to come back and hear its answer, another for a person to say whether it
may go beyond a limit. What such a turn has come to is kept beside its first event in the inbox:
nothing is paid for it meanwhile, and nothing that was done is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evennia_ai.core.hearing import inbox
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import bump_epoch, discard, let_go, read, write
from evennia_ai.runtime.turns import interrupted


def set_aside(script: Assistant) -> None:
    """Let the turn that was set down wait with its events, so that others can be taken."""
    work, noted = script.work, read(script, "current_tool_call")
    waiting = inbox.set_aside(work.inbox, noted["events"], noted)
    write(script, pending_events=waiting, current_tool_call=None)
    # Only now: a write that fails leaves memory as the table is.
    work.inbox = waiting


def take_up(script: Assistant, stored: inbox.Stored) -> Turn:
    """Go on with a turn that was set aside, of which this is the first event.

    From here on it is under way again, so that a crash finds it as it finds any other.
    """
    work, noted = script.work, stored[inbox.SAVED_TURN]
    waiting = inbox.without_saved_turn(work.inbox, noted["events"])
    # One write: a crash in between would leave the turn in both places, or in none.
    write(script, pending_events=waiting, current_tool_call=noted)
    work.inbox = waiting
    return turns.go_on(script, noted)


def hold(script: Assistant, turn: Turn) -> None:
    """Let a turn that runs wait with its events while a person is asked about it.

    It lives on in memory; what is stored is for a restart, which goes on from there. An act of the
    assistant's own has no event that waits, and a restart forgets it, as it always did.
    """
    work, ids = script.work, {event.id for event in turn.events}
    waiting = work.inbox
    if turn.event.kind != inbox.OWN:
        # Beside its first event; with `current_tool_call` empty others can be taken meanwhile.
        waiting = inbox.set_aside(waiting, ids, turns.as_noted(turn))
    turns.keep(script, turn, pending_events=waiting, current_tool_call=None)
    work.inbox, work.running, work.in_flight = waiting, frozenset(), None
    work.ticks = max(work.ticks, turn.tick)  # turns in between have numbers of their own


def take_back(script: Assistant, turn: Turn) -> None:
    """Go on with a turn that was held: it is under way again, as a crash would find it."""
    work, ids = script.work, {event.id for event in turn.events}
    waiting = work.inbox
    if turn.event.kind != inbox.OWN:
        waiting = inbox.without_saved_turn(waiting, ids)
    turns.keep(script, turn, pending_events=waiting, current_tool_call=turns.as_noted(turn))
    # Running before its seat leaves `aside`: at no moment its events can be pushed out.
    work.inbox, work.running = waiting, frozenset(ids)


def break_off(script: Assistant, turn: Turn, *, is_over: bool = False) -> bool:
    """End a turn whose answer nobody can hear. Its events wait, with what was done of it so far.

    Args:
        is_over: they wait for nobody.

    Returns:
        Whether they do: a task is for somebody who does not, and its events leave the inbox.
    """
    turns.cut_off(script, turn)
    script.work.running = frozenset()
    if is_over or turn.event.kind == inbox.TASK:
        forget(script, [event.as_stored() for event in turn.events])
        return False
    if turns.set_down(script):
        set_aside(script)
    return True


def forget(script: Assistant, events: Sequence[inbox.Stored]) -> None:
    """Take events out of the inbox that nobody answers; what was done for them is remembered."""
    noted = read(script, "current_tool_call")
    ids = {item["id"] for item in events}
    noted_turns = [item[inbox.SAVED_TURN] for item in events if inbox.SAVED_TURN in item]
    if noted and "tool" not in noted and ids.intersection(noted["events"]):
        noted_turns.append(noted)
        write(script, current_tool_call=None)
    for noted_turn in noted_turns:
        if noted_turn["effects"]:
            interrupted.give_up(script, noted_turn)
    discard(script, events)


def void(script: Assistant, is_meant: Callable[[inbox.Stored], bool] = lambda item: True) -> None:
    """Forget what turns that were set aside have come to.

    Where others noticed some of it, that is remembered, and its events leave the inbox; else they
    wait for an answer from the beginning.
    """
    work = script.work
    waiting = work.inbox if work is not None else ()
    for item in [each for each in waiting if inbox.SAVED_TURN in each and is_meant(each)]:
        noted_turn = item[inbox.SAVED_TURN]
        if noted_turn["effects"]:
            interrupted.give_up(script, noted_turn)
        else:
            work.inbox = inbox.without_saved_turn(work.inbox, noted_turn["events"])
            write(script, pending_events=work.inbox)
    if work is not None:
        let_go(work)


def reset_history(script: Assistant) -> None:
    """Forget the conversation and void what is under way; what waits in the inbox stays."""
    void(script)
    bump_epoch(script)
    noted = read(script, "current_tool_call")
    if script.work is not None:
        if noted and ("tool" in noted or noted.get("effects")):
            interrupted.give_up(script, noted)
        script.work.history, script.work.talks = [], {}
    write(script, fact("HistoryReset"), conversation_history=[], current_tool_call=None)
