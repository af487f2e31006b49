"""Tasks given to other assistants: who may be given one, and who waits for whom.

`tasks.task_waits` ends such waits. After a restart nobody waits: the requester takes its own event
again and decides again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q
from evennia.scripts.models import ScriptDB
from evennia.typeclasses.tags import Tag

from evennia_ai import audit
from evennia_ai.a2a_client.agents import RemoteSpecialist
from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.keys import new_key
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.messages.incoming import find_being, id_of
from evennia_ai.runtime import audience, names, services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import task_waits
from evennia_ai.tasks.task_waits import STOPPED, TaskWait

DELEGATE = "delegate_task"
MOST_TOLD, LONGEST_NAME = 20, 60  # specialists in a prompt, and characters of a name


# ---- specialists, who may be given tasks -------------------------------------------------------


def specialists_here(script: Assistant, tag: str) -> list[Any]:
    """The other assistants with a tag on script or body, in any category, by name."""
    wanted = Tag.objects.filter(db_key=tag.strip().casefold(), db_tagtype__isnull=True)
    tagged = Q(db_tags__in=wanted) | Q(db_obj__db_tags__in=wanted)
    scripts = ScriptDB.objects.filter(tagged).distinct()
    # The tag may stand on any script; only assistants have an inbox.
    others = [other for other in scripts if hasattr(other, "enqueue") and other is not script]
    return sorted(others, key=lambda other: str(other.key).casefold())


def specialists_elsewhere(script: Assistant) -> list[RemoteSpecialist]:
    """The agents outside the game that an assistant may delegate to, by name."""
    return services.remote_specialists().of(str(script.key))


def find_elsewhere(
    script: Assistant, known: Sequence[Assistant], name: str | None
) -> RemoteSpecialist | None:
    """The agent outside the game of a name, unless a specialist in the game has that name."""
    wanted = (name or "").strip().casefold()
    if not wanted or any(str(other.key).casefold() == wanted for other in known):
        return None
    return next(
        (each for each in specialists_elsewhere(script) if each.name.casefold() == wanted), None
    )


def told_specialists(script: Assistant) -> tuple[str, ...]:
    """All specialists of an assistant, one line each for a prompt; none if it may not delegate."""
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return tuple(_lines(script, config)) if config.sub_agents_enabled else ()


def _lines(script: Assistant, config: ExecutionConfig) -> Iterator[str]:
    for other in specialists_here(script, config.delegate_assistant_tag)[:MOST_TOLD]:
        yield one_line(str(other.key), LONGEST_NAME)
    for agent in specialists_elsewhere(script)[:MOST_TOLD]:
        yield agent.describe()


# ---- who waits for whom ------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Delegation(TaskWait):
    """A task that another assistant works on.

    Attributes:
        chain: the scope that hops are counted in: the first task of the chain.
    """

    requester: Assistant
    chain: str

    def note_end(self, outcome: str | Exception, **details: object) -> None:
        """Record how it ended."""
        name = "delegation_answered" if isinstance(outcome, str) else "delegation_failed"
        seconds = self.requester.clock.seconds() - self.began_at
        details = {"id": self.event.id, "delegate": self.delegate.key, "seconds": seconds} | details
        audit.record(name, self.requester, **details)

    def error(self, why: str, *, is_lost: bool = False) -> Exception:
        """The error that the requester's model reads."""
        reason = "it was stopped" if why == STOPPED else why
        return ToolError(f"{self.delegate.key} could not do it: {reason}")


def task_of(requester: GameObject, turn: Turn, body: str, at: float) -> Event:
    """The event of a task for its delegate, with the audience of the turn that gives it.

    Args:
        at: seconds since 1970.
    """
    return Event(
        id=new_key(12),
        kind=TASK,
        source="whisper",
        sender_id=id_of(requester),
        sender_name=names.name_of(requester, None),
        body=body,
        # Believed no more than the least trusted message that it comes from.
        trust=min(event.trust for event in turn.events),
        rule=0,
        hops=turn.hops,
        at=at,
        person=turn.event.person,
        mask=turn.event.mask,
        hops_granted=turn.event.hops_granted + int(turn.grants.get(LimitKind.AGENT_HOPS, 0)),
        audience=tuple(sorted(turn.held)),
        chain=turn.chain.id,
        begun_by=turn.payer,
        ordered_by=turn.event.ordered_by,
    )


def begin(
    requester: Assistant,
    delegate: Assistant,
    turn: Turn,
    body: str,
    late: Callable[[Delegation], None] | None = None,
) -> Delegation:
    """Record that a task is given to a delegate; the caller puts `event` into the inbox.

    It counts for the person who caused it.

    Args:
        late: called when its time is over; by default that ends the wait.
    """
    now = requester.clock.seconds()
    event = task_of(requester.obj, turn, body, now)
    chain = chain_of(turn)
    delegation = Delegation(
        delegate=delegate,
        event=event,
        began_at=now,
        asked_in=turn.event,
        requester=requester,
        chain=chain,
    )
    seconds = state.safety_config(requester).timeout.delegation_seconds
    task_waits.expect(delegation, requester.clock, seconds, partial(late or end_late, delegation))
    audit.record(
        "delegation_begun", requester, id=event.id, delegate=delegate.key, hops=event.hops, of=chain
    )
    return delegation


def end_late(held: Delegation) -> None:
    """End a wait whose time is over."""
    task_waits.give_up(held, ToolError("the time for it is over"))


def _open_delegations() -> list[Delegation]:
    return [wait for wait in task_waits.every() if isinstance(wait, Delegation)]


def of(event: Event) -> Delegation | None:
    """The delegation whose task an event is, while somebody waits for it."""
    wait = task_waits.of(event)
    return wait if isinstance(wait, Delegation) else None


def chain_of(turn: Turn) -> str:
    """The scope in which the hops of a turn's chain are counted."""
    delegation = of(turn.event)
    return turn.scope if delegation is None else delegation.chain


def count_of(script: Assistant) -> int:
    """The number of an assistant's tasks that others work on."""
    return sum(wait.requester is script for wait in _open_delegations())


def waits_for(script: Assistant, other: Assistant) -> bool:
    """True where an assistant is the other one, or waits for it, directly or through others."""
    # The recursion ends: no task is given to an assistant that waits for its giver.
    return script is other or any(
        waits_for(wait.delegate, other) for wait in _open_delegations() if wait.requester is script
    )


def root_of(script: Assistant, event: Event | None) -> Any:
    """The assistant whose people are asked about an event: the head of its chain.

    Returns:
        The assistant itself for an event that is no task, or a program's request; None for a task
        that nobody waits for.
    """
    while event is not None and event.kind == TASK:
        wait = task_waits.of(event)
        if wait is None:
            return None
        if not isinstance(wait, Delegation):
            return script
        script, event = wait.requester, wait.asked_in
    return script


def is_heard(script: Assistant, event: Event) -> bool:
    """True where anybody hears the answer: the sender, or others who are present.

    A task is heard while the sender at the head of its chain hears the answer.
    """
    if event.kind == OWN:
        return True
    if event.kind != TASK:
        return is_awaited(script, event) or audience.is_overheard(script.obj, event)
    wait = task_waits.of(event)
    if not isinstance(wait, Delegation) or wait.asked_in is None:
        return wait is not None
    requester = wait.requester
    # A call by hand is no turn of the requester, and the person who made it waits elsewhere.
    is_by_hand = requester.work is None or wait.asked_in.id not in requester.work.busy
    return is_by_hand or is_heard(requester, wait.asked_in)


def is_awaited(script: Assistant, event: Event) -> bool:
    """True where the sender is present to hear the answer."""
    body = script.obj
    if event.kind == OWN or body is None:
        return True
    if event.kind == TASK:
        return is_heard(script, event)
    is_elsewhere = event.source in audience.ELSEWHERE
    # A page or a channel reaches the player, whichever character they play by now.
    asker = find_being((is_elsewhere and event.person) or event.sender_id)
    return audience.is_there(body, event, asker)
