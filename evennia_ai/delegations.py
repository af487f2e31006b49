"""Tasks that are with other assistants: who waits for whom, and how a wait ends.

Kept in memory alone. After a restart nobody waits: the requester's own event is taken again, and
it decides anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import audit, services, state
from evennia_ai.core.execution import ExecutionPattern
from evennia_ai.core.inbox import TASK, Event
from evennia_ai.core.limits import Kind
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.inbound import id_of

DELEGATE, REPORT = "delegate_task", "report"
DROPPED = "nobody waits for it any more"


@dataclass(eq=False, slots=True)
class Delegation:
    """A task that is with another assistant.

    Attributes:
        requester, delegate: their scripts.
        event: what the delegate finds in its inbox.
        asked_in: what the requester itself is answering.
        chain: what the hops of its chain are counted over: the first task of it.
        began_at: seconds on the requester's clock.
        answer: fires with the delegate's report; cancelling it takes the task back.
    """

    requester: Any
    delegate: Any
    event: Event
    asked_in: Event
    chain: str
    began_at: float
    answer: Deferred[str] = field(init=False)

    def __post_init__(self) -> None:
        self.answer = Deferred(lambda _: withdraw(self, DROPPED))


_OPEN: dict[str, Delegation] = {}


def start_anew() -> None:
    """Forget all that is open, untold: between two tests, which have a database each."""
    _OPEN.clear()


def begin(requester: Any, delegate: Any, turn: Turn, body: str) -> Delegation:
    """Note that a task goes to a delegate; whoever begins it puts `event` into the inbox.

    It counts for the person who caused it, and is believed no more than what it comes from. What
    is handed on in a private talk stays private to that person.
    """
    now = requester.clock.seconds()
    event = Event(
        id=uuid4().hex[:12],
        kind=TASK,
        source="whisper",
        sender_id=id_of(requester.obj),
        sender_name=requester.obj.key,
        body=body,
        trust=min(event.trust for event in turn.events),
        rule=0,
        hops=turn.hops,
        at=now,
        person=turn.event.person,
        hops_granted=turn.event.hops_granted + int(turn.grants.get(Kind.AGENT_HOPS, 0)),
    )
    chain = chain_of(turn)
    held = Delegation(requester, delegate, event, turn.event, chain, now)
    _OPEN[event.id] = held
    _count(requester)
    audit.record(
        "delegation_begun", requester, id=event.id, delegate=delegate.key, hops=event.hops, of=chain
    )
    return held


def of(event: Event) -> Delegation | None:
    """The delegation that an event is the task of, while somebody waits for it."""
    return _OPEN.get(event.id)


def is_orphan(event: Event) -> bool:
    """Whether it is a task for which nobody waits any more, as after a restart."""
    return event.kind == TASK and event.id not in _OPEN


def chain_of(turn: Turn) -> str:
    """What the hops of a turn's chain are counted over."""
    held = of(turn.event)
    return turn.scope if held is None else held.chain


def count_of(script: Any) -> int:
    """How many tasks of an assistant are with others."""
    return sum(held.requester is script for held in _OPEN.values())


def waits_for(script: Any, other: Any) -> bool:
    """Whether an assistant is another one, or waits for it, perhaps by way of more."""
    return script is other or any(
        waits_for(held.delegate, other) for held in _OPEN.values() if held.requester is script
    )


def root_of(script: Any, event: Event | None) -> Any:
    """The assistant whose people are asked about an event: the one at the top of its chain.

    Returns:
        The assistant itself for what is no task; None for a task that nobody waits for.
    """
    while event is not None and event.kind == TASK:
        held = of(event)
        if held is None:
            return None
        script, event = held.requester, held.asked_in
    return script


def unavailable(turn: Turn, pattern: ExecutionPattern) -> frozenset[str]:
    """The tools of delegation that a turn has no use for."""
    may_hand_on, has_task = pattern.allows_sub_agents, turn.event.kind == TASK
    return frozenset([DELEGATE] * (not may_hand_on) + [REPORT] * (not has_task))


# ---- how it ends -------------------------------------------------------------------------------


def answer(event: Event, text: str, *, stopped_by: str = "") -> bool:
    """Give the requester a report.

    Args:
        stopped_by: the limit that kept the delegate from doing all of it, or "".

    Returns:
        Whether anybody waits for it.
    """
    if stopped_by:
        return fail(event, f"limit {stopped_by}; so far: {text}")
    held = of(event)
    if held is None:
        return False
    _close(held, "delegation_answered", characters=len(text))
    _deliver(held, lambda: held.answer.callback(text))
    return True


def fail(event: Event, why: str) -> bool:
    """Tell the requester that no report will come. Returns whether anybody waits for it."""
    held = of(event)
    if held is None:
        return False
    _close(held, "delegation_failed", why=why)
    text = f"{held.delegate.key} could not do it: {why}"
    _deliver(held, lambda: held.answer.errback(ToolError(text)))
    return True


def end(event: Event, act: str) -> bool:
    """The delegate's turn is over, and it gave no report.

    Args:
        act: the last thing it did, in words, or "" if it chose to do nothing.
    """
    if not act:
        return fail(event, "it chose to do nothing")
    return answer(event, f"(no report; the last thing it did was: {act})")


def give_up(held: Delegation, why: str) -> None:
    """The requester waits no longer, and is told why."""
    if withdraw(held, why):
        _deliver(held, lambda: held.answer.errback(ToolError(why)))


def withdraw(held: Delegation, why: str) -> bool:
    """Take a task back: it leaves the delegate's inbox, and what is under way for it is dropped.

    Returns:
        Whether anybody waited for it still.
    """
    is_open = _close(held, "delegation_failed", why=why)
    if is_open:
        _take_back(held)
    return is_open


def _take_back(held: Delegation) -> None:
    delegate, work = held.delegate, held.delegate.work
    if work is None or delegate.pk is None:
        return
    is_begun = held.event.id in work.busy
    try:
        state.discard(delegate, [held.event.as_stored()])
    except Exception:  # a stop must not fail for it; nobody takes up what nobody waits for
        logger.log_trace(f"[assistant] {delegate.key}: a task could not be taken back")
    if is_begun:
        state.bump_epoch(delegate)


def loss_of(held: Delegation) -> str:
    """Why no report can come any more although nobody said so, or ""."""
    delegate, work = held.delegate, held.delegate.work
    if delegate.pk is None or work is None:
        return "it is gone"
    if held.event.id not in [item["id"] for item in work.inbox]:
        return "it gave the task up"
    return str(delegate.silence)


def _close(held: Delegation, name: str, **facts: Any) -> bool:
    """Close a delegation and record how it ended. Returns whether it was still open."""
    if _OPEN.pop(held.event.id, None) is None:
        return False
    _count(held.requester)
    seconds = held.requester.clock.seconds() - held.began_at
    facts = {"id": held.event.id, "delegate": held.delegate.key, "seconds": seconds} | facts
    audit.record(name, held.requester, **facts)
    return True


def _count(requester: Any) -> None:
    requester.ndb.active_sub_agents = count_of(requester)


def _deliver(held: Delegation, give: Callable[[], None]) -> None:
    """Wake the requester in a moment: not in the middle of what the delegate is doing."""
    services.pacer().call(lambda: None if held.answer.called else give())
