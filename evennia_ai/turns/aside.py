"""Turns whose answer nobody can hear just now: they wait with their events for whoever asked.

What such a turn has come to is kept beside its first event in the inbox. So others can be answered
meanwhile, nothing is paid for it, and nothing that was done is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evennia_ai import turns
from evennia_ai.core import inbox
from evennia_ai.core.turn import Turn
from evennia_ai.state import discard, read, write


def set_aside(script: Any) -> None:
    """Let the turn that was set down wait with its events, so that others can be taken."""
    work, noted = script.work, read(script, "current_tool_call")
    waiting = inbox.set_aside(work.inbox, noted["events"], noted)
    write(script, pending_events=waiting, current_tool_call=None)
    work.inbox = waiting


def take_up(script: Any, stored: inbox.Stored) -> Turn:
    """Go on with a turn that was set aside, of which this is the first event.

    From here on it is under way again, so that a crash finds it as it finds any other.
    """
    work, noted = script.work, stored[inbox.TRAY]
    waiting = inbox.without_tray(work.inbox, noted["events"])
    write(script, pending_events=waiting, current_tool_call=noted)
    work.inbox = waiting
    return turns.go_on(script, noted)


def break_off(script: Any, turn: Turn) -> bool:
    """End a turn whose answer nobody can hear. Its events wait, with what was done of it so far.

    Returns:
        Whether they do: a task is for somebody who does not, and its events leave the inbox.
    """
    turns.cut_off(script, turn)
    script.work.busy = frozenset()
    if turn.event.kind == inbox.TASK:
        forget(script, [event.as_stored() for event in turn.events])
        return False
    if turns.set_down(script):
        set_aside(script)
    return True


def forget(script: Any, events: Sequence[inbox.Stored]) -> None:
    """Take events out of the inbox that nobody answers; what was done for them is remembered."""
    noted = read(script, "current_tool_call")
    ids = {item["id"] for item in events}
    trays = [item[inbox.TRAY] for item in events if inbox.TRAY in item]
    if noted and "tool" not in noted and ids.intersection(noted["events"]):
        trays.append(noted)
        write(script, current_tool_call=None)
    for tray in trays:
        if tray["effects"]:
            turns.give_up(script, tray)
    discard(script, events)


def void(script: Any, is_meant: Callable[[inbox.Stored], bool] = lambda item: True) -> None:
    """Forget what turns that were set aside have come to.

    Where others noticed some of it, that is remembered, and its events leave the inbox; else they
    wait for an answer from the beginning.
    """
    work = script.work
    waiting = work.inbox if work is not None else ()
    for item in [each for each in waiting if inbox.TRAY in each and is_meant(each)]:
        tray = item[inbox.TRAY]
        if tray["effects"]:
            turns.give_up(script, tray)
        else:
            work.inbox = inbox.without_tray(work.inbox, tray["events"])
            write(script, pending_events=work.inbox)
