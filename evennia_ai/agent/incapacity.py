"""An assistant whose body cannot act, as while it lies dead, or that has lost its body.

It falls silent by the game's own rules: what is under way is dropped before it leaves, and senders
are told once, in the game's words. It is not locked, and resumes when the body can act again. One
whose body is gone keeps its memories, and is locked until it is given another.
"""

from __future__ import annotations

from evennia_ai import approvals, audit, emergency
from evennia_ai.agent import admission
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.turn.turn import Turn
from evennia_ai.messages import outgoing
from evennia_ai.runtime import ability, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import OF_ASSISTANTS
from evennia_ai.runtime.turns import aside
from evennia_ai.tasks import remote_tasks, task_waits

GONE = "its body was deleted by the game"
ADVICE = (
    "{name} has lost its body ({body}), but keeps what it knows. To let it go on: assistant "
    "adopt <npc> = {name}"
)


def check_body(script: Assistant) -> None:
    """Fall silent where the body cannot act any more; recover where it can again."""
    work, body = script.work, script.obj
    if work.is_closing or body is None:
        return
    line = ability.inability(body)
    if not line:
        work.unable = None
    elif work.unable is None or work.inbox or work.in_flight is not None:
        work.unable = set() if work.unable is None else work.unable
        _fall_silent(script, line)


def _fall_silent(script: Assistant, line: str) -> None:
    """Drop what is under way and what waits, and tell each sender once, in private."""
    work = script.work
    # First: what is cancelled below must find its turn void, or it would go on.
    state.bump_epoch(script)
    for running in tuple(work.beside):
        running.cancel()
    # Once it can act again, players have to address it by name.
    work.conversations.by_place.clear()
    aside.void(script)
    # Before the inbox is read: a turn whose effects others noticed is closed without a notice.
    aside.recover(script, is_final=True)
    waiting = [Event.from_stored(stored) for stored in work.inbox]
    if waiting:
        aside.forget(script, work.inbox)
    approvals.discard_all(script, f"{script.key} cannot act")
    remote_tasks.give_up_all(script)
    why = ability.reason_of(script.obj)
    for event in waiting:
        if event.kind == TASK:
            is_told = task_waits.fail(event, why)
        else:
            is_told = admission.tell_unable(script, event, line)
        ending = "; the sender was told" if is_told else ""
        work.decisions.note([event.number], "dropped", f"{why}{ending}")


def why_cut_off(script: Assistant, turn: Turn) -> str:
    """The reason a turn was dropped, in words."""
    if turn.is_called_off:
        return "by whoever asked, or to keep quiet here"
    why = ability.reason_of(script.obj) if script.obj is not None else GONE
    return why or "by a stop, a reset or a restart"


def lose_body(script: Assistant) -> None:
    """Detach from a body that the game deletes: the assistant is locked and keeps its memories."""
    body, name = script.obj, str(script.key)
    # Before the body is detached: the stop notifies senders through it, and names it.
    emergency.trigger_emergency_stop(script, GONE, cause=Cause.BODY, is_alarm=False)
    # The rights over the assistant are locks of the body, and would be deleted with it.
    locks = [lock for lock in body.locks.all() if lock.startswith(OF_ASSISTANTS)]
    script.locks.add(locks)
    body.assistant_script = None
    script.obj = None
    state.write(script, adopted={})
    audit.record("body_lost", script, body=f"{body.key} ({body.dbref})")
    outgoing.alert_staff(ADVICE.format(name=name, body=f"{body.key}, {body.dbref}"))
