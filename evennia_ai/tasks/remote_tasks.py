"""Tasks given to agents outside the game: their rows, who waits for them, and their end.

After a restart nobody waits, as with delegations in the game: the requester takes its own event
again and decides again. The task is then ended in the table and cancelled at the agent. An agent
that cannot be reached is told later, also after further restarts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError
from evennia.utils import logger

from evennia_ai import audit
from evennia_ai.a2a_client.agents import RemoteSpecialist
from evennia_ai.core.hearing.chain import claimed_chain, claimed_hops
from evennia_ai.core.keys import new_key
from evennia_ai.core.safety.budget import start_of
from evennia_ai.core.settings.budget import BudgetSpan
from evennia_ai.core.turn.turn import Turn
from evennia_ai.models import RemoteTask
from evennia_ai.models.statements import select
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant, Clock
from evennia_ai.tasks import delegations, peer_store

OPEN, ASKING, ANSWERED, FAILED = "open", "asking", "answered", "failed"
# It has ended here, but its agent has not been told yet.
DROPPED = "dropped"
OVER_UNANSWERED = (FAILED, DROPPED)
# Seconds between attempts to cancel a task at its agent; then each start tries again, for a day.
CANCEL_PAUSES = (2.0, 30.0, 300.0)
CANCEL_SECONDS = 86_400.0
UNFINISHED = (OPEN, ASKING)
_OF_A_START = "assistant = %s AND state IN (%s, %s, %s)"
MOST_PERSON = 64  # characters of the column
KEPT_SECONDS = 40 * 86_400.0  # longer than any month that caps count over
CUT_OFF = "the game stopped in the middle of it"
DISBELIEVED = (
    "[assistant] remote specialist {name} says that it used {said} tokens for a task; {most} are "
    "counted (most_tokens)"
)
TURN_OVER = "the turn that it was for is over"
UNANSWERED = "nobody answered what it asks"


@dataclass(eq=False, slots=True, kw_only=True)
class RemoteWait:
    """A task at an agent outside the game, while its assistant waits for it or may answer it.

    Attributes:
        scope: of the turn that gave it; only that turn may answer the agent.
        counted: tokens counted for it so far.
        timer: ends it if nobody answers its agent; None: an answer is on its way.
    """

    requester: Assistant
    scope: str
    agent: RemoteSpecialist
    row: RemoteTask
    counted: int = 0
    answers: int = 0
    timer: Any = field(default=None)

    def hold(self) -> None:
        """Stop the timer: an answer is on its way."""
        if self.timer is not None and self.timer.active():
            self.timer.cancel()
        self.timer = None
        if self.requester.work is not None:
            self.requester.work.unanswered.discard(self)

    def cancel(self) -> None:
        """End it and cancel it at the agent: the turn that could answer is void."""
        give_up(self, TURN_OVER)


_OPEN: dict[str, RemoteWait] = {}
# Tasks being cancelled at their agents, so that a restart of the script does not do it twice.
_CANCELLING: set[str] = set()


def start_anew() -> None:
    """Forget all open tasks without telling anybody: between tests with separate databases."""
    for wait in every():
        wait.hold()
    _OPEN.clear()
    _CANCELLING.clear()


def every() -> list[RemoteWait]:
    """All open tasks at agents outside the game, oldest first."""
    return list(_OPEN.values())


def count_of(script: Assistant) -> int:
    """The number of an assistant's open tasks at agents outside the game."""
    return sum(wait.requester is script for wait in every())


def asking(script: Assistant, scope: str, agent: str) -> RemoteWait | None:
    """The task of a turn whose agent waits for an answer."""
    for wait in every():
        is_theirs = wait.requester is script and wait.agent.name == agent
        if is_theirs and wait.scope == scope and wait.row.state == ASKING:
            return wait
    return None


def is_asking(wait: RemoteWait) -> bool:
    """True where an agent still waits for an answer."""
    return wait.row.id in _OPEN and wait.row.state == ASKING


def expect_answer(wait: RemoteWait) -> None:
    """End a task in time if its agent asks something and nobody answers."""
    if is_asking(wait) and wait.timer is None:
        seconds = wait.agent.remote.config.seconds
        wait.timer = wait.requester.clock.callLater(seconds, give_up, wait, UNANSWERED)
        wait.requester.work.unanswered.add(wait)


# ---- rows --------------------------------------------------------------------------------------


def begin(script: Assistant, agent: RemoteSpecialist, turn: Turn) -> RemoteWait:
    """Record that a task goes to an agent, before anything is sent."""
    now = script.clock.seconds()
    # Old rows are pruned here, since nothing else grows the table.
    RemoteTask.objects.filter(began_at__lt=now - KEPT_SECONDS).exclude(
        state__in=UNFINISHED
    ).delete()
    row = RemoteTask(
        id=new_key(24),
        assistant=script.id,
        agent=agent.name.casefold(),
        person=turn.payer[:MOST_PERSON],
        chain=sent_chain(turn),
        hops=turn.hops,
        state=OPEN,
        began_at=now,
    )
    row.save(force_insert=True)
    wait = RemoteWait(requester=script, scope=turn.scope, agent=agent, row=row)
    _OPEN[row.id] = wait
    _record(wait, "delegation_begun", hops=row.hops, of=row.chain)
    return wait


def note_place(wait: RemoteWait, task: str, context: str) -> None:
    """Store the ids by which the agent knows a task."""
    row = wait.row
    if task and (row.task, row.context) != (task, context):
        row.task, row.context = task, context
        RemoteTask.objects.filter(pk=row.pk).update(task=task, context=context)


def note_state(wait: RemoteWait, state: str) -> None:
    """Store that an agent asks something, or goes on; an ended task stays ended."""
    if wait.row.id in _OPEN:
        wait.row.state = state
        RemoteTask.objects.filter(pk=wait.row.pk, state__in=UNFINISHED).update(state=state)


def note_held(wait: RemoteWait, tokens: int, cost_nano: int) -> None:
    """Store what a message may cost before it is sent: after a crash that is what it counts as."""
    row = wait.row
    # Not in the row in memory: the real cost is added to that, and then replaces this.
    RemoteTask.objects.filter(pk=row.pk).update(
        tokens=row.tokens + tokens, cost_nano=row.cost_nano + cost_nano
    )


def note_cost(wait: RemoteWait, tokens: int, cost_nano: int) -> None:
    """Add to the cost of a task, in place of what was reserved."""
    row = wait.row
    wait.counted += tokens
    row.tokens, row.cost_nano = row.tokens + tokens, row.cost_nano + cost_nano
    RemoteTask.objects.filter(pk=row.pk).update(tokens=row.tokens, cost_nano=row.cost_nano)


def note_disbelief(wait: RemoteWait, said: int, most: int) -> None:
    """Record that an agent claims more tokens than it is believed."""
    logger.log_warn(DISBELIEVED.format(name=wait.agent.name, said=said, most=most))
    _record(wait, "usage_disbelieved", said=said, most=most)


def end(wait: RemoteWait, why: str = "", *, is_dropped: bool = False) -> bool:
    """End a task.

    Args:
        why: the reason it failed, without any words of the agent's; "": it was answered.
        is_dropped: its agent is to be told.

    Returns:
        False where it had ended already.
    """
    wait.hold()
    if _OPEN.pop(wait.row.id, None) is None:
        return False
    row = wait.row
    row.state = DROPPED if is_dropped else FAILED if why else ANSWERED
    row.ended_at = wait.requester.clock.seconds()
    changes = {"state": row.state, "ended_at": row.ended_at}
    RemoteTask.objects.filter(pk=row.pk, state__in=UNFINISHED).update(**changes)
    details: dict[str, object] = {"why": why} if why else {}
    details |= {"seconds": round(row.ended_at - row.began_at, 3), "tokens": row.tokens}
    name = "delegation_failed" if why else "delegation_answered"
    _record(wait, name, **details, cost_nano=row.cost_nano)
    return True


def give_up(wait: RemoteWait, why: str) -> None:
    """End a task, and cancel it at the agent as far as possible."""
    try:
        is_over = not end(wait, why, is_dropped=bool(wait.row.task))
    except Exception:  # a stop must not fail here; the next start ends the row
        logger.log_trace(f"[assistant] {wait.requester.key}: a remote task could not be ended")
        is_over = False
    if not is_over and wait.row.task:
        _cancel_at_agent(wait.agent, wait.row, wait.requester.clock, CANCEL_PAUSES)


def give_up_all(script: Assistant, scope: str | None = None, why: str = TURN_OVER) -> None:
    """End all tasks that a turn, or an assistant, has at agents outside the game.

    Args:
        scope: of the turn; None: all tasks of the assistant.
    """
    for wait in every():
        if wait.requester is script and scope in (None, wait.scope):
            give_up(wait, why)


def _cancel_at_agent(
    agent: RemoteSpecialist, row: RemoteTask, clock: Clock, pauses: tuple[float, ...]
) -> None:
    """Cancel a task at its agent, again after each pause; then it is left to the next start."""

    def note(is_told: object) -> None:
        if is_told is not True and pauses:
            clock.callLater(pauses[0], _cancel_at_agent, agent, row, clock, pauses[1:])
            return
        _CANCELLING.discard(row.pk)
        if is_told is not True:
            return
        try:
            RemoteTask.objects.filter(pk=row.pk, state=DROPPED).update(state=FAILED)
        except DatabaseError:  # the next start then cancels it once more, which is harmless
            logger.log_warn("[assistant] a remote task is called off, which could not be noted")

    _CANCELLING.add(row.pk)
    agent.cancel(row.task).addBoth(note)


def _record(wait: RemoteWait, name: str, **details: object) -> None:
    facts = {"id": wait.row.id, "delegate": wait.agent.name, "is_remote": True}
    audit.record(name, wait.requester, **facts, **details)


def count_today(agent: str, now: float) -> int:
    """The number of tasks that all assistants gave an agent on this UTC day."""
    since = start_of(BudgetSpan.DAY, now)
    tasks = RemoteTask.objects.filter(agent=agent.casefold(), began_at__gte=since)
    return int(tasks.count())


# ---- after a start, and when somebody is forgotten -----------------------------------------------


def unfinished_among(assistants: Collection[int]) -> set[int]:
    """Those, by primary key, that have tasks for `end_orphans` to look at."""
    rows = RemoteTask.objects.filter(assistant__in=assistants, state__in=(*UNFINISHED, DROPPED))
    return set(rows.values_list("assistant", flat=True))


def end_orphans(script: Assistant) -> None:
    """After a start, end tasks that nobody waits for any more, and cancel them at their agents."""
    try:
        rows = select(RemoteTask, _OF_A_START, (script.id, *UNFINISHED, DROPPED))
    except DatabaseError as error:  # the assistant must start all the same
        logger.log_warn(f"[assistant] {script.key}: remote tasks could not be looked at: {error}")
        return
    for row in rows:
        if row.id not in _OPEN and row.id not in _CANCELLING:
            _end_orphan(script, row)


def _end_orphan(script: Assistant, row: RemoteTask) -> None:
    agent = services.remote_specialists().find(row.agent)
    now = script.clock.seconds()
    is_late = row.state == DROPPED and now - row.ended_at > CANCEL_SECONDS
    is_told = agent is not None and bool(row.task) and not is_late
    rows = RemoteTask.objects.filter(pk=row.pk, state__in=UNFINISHED)
    state = DROPPED if is_told else FAILED
    if rows.update(state=state, ended_at=now):
        details = {"id": row.id, "delegate": row.agent, "is_remote": True, "why": CUT_OFF}
        audit.record("delegation_failed", script, **details)
    elif not is_told:  # it was dropped, but its agent is gone from the settings or stays away
        RemoteTask.objects.filter(pk=row.pk, state=DROPPED).update(state=FAILED)
    if agent is not None and is_told:
        _cancel_at_agent(agent, row, script.clock, CANCEL_PAUSES)


def forget(assistant: int, person: str) -> None:
    """Remove a person; the task itself stays, because the day's caps count it."""
    RemoteTask.objects.filter(assistant=assistant, person=person).update(person="")


def remove_all(assistant: int) -> None:
    """Delete all tasks of an assistant."""
    RemoteTask.objects.filter(assistant=assistant).delete()


# ---- chains over several games -----------------------------------------------------------------


def sent_chain(turn: Turn) -> str:
    """The id of a turn's chain for other games; a chain that came from one keeps its id."""
    task = peer_store.by_request(turn.chain.id) if turn.chain.id else None
    claimed = claimed_chain(peer_store.messages_of(task)[0].get("metadata", {})) if task else ""
    return claimed or turn.chain.id


def _of_chain(chain: str) -> Iterator[RemoteWait]:
    return (wait for wait in every() if chain and wait.row.chain == chain)


def hops_of(metadata: Mapping[str, object]) -> int:
    """The number of hops that a task from outside has behind it.

    Its own claim can only raise the number: if its chain is known to have left this game, it has at
    least the hops with which it left, and one more.
    """
    known = (wait.row.hops + 1 for wait in _of_chain(claimed_chain(metadata)))
    return int(max(claimed_hops(metadata), *known, 0))


def is_circle(script: Assistant, metadata: Mapping[str, object]) -> bool:
    """True where a task from outside comes back to an assistant that waits for its end."""
    waiting = _of_chain(claimed_chain(metadata))
    return any(delegations.waits_for(script, wait.requester) for wait in waiting)
