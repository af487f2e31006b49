"""Tasks that are with other assistants: whom they may be handed to, and who waits for whom.

How such a wait ends is in `tasks.task_waits`. After a restart nobody waits: the requester's own
event is taken again, and it decides anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evennia.scripts.models import ScriptDB

from evennia_ai import audit
from evennia_ai.a2a_client.agents import RemoteSpecialist
from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.messages.incoming import find_being, id_of
from evennia_ai.models.keys import new_key
from evennia_ai.runtime import audience, names, services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import task_waits
from evennia_ai.tasks.task_waits import TaskWait

DELEGATE = "delegate_task"
MOST_TOLD, LONGEST_NAME = 20, 60


# ---- specialists, whom tasks may be handed to --------------------------------------------------


def specialists_here(script: Assistant, tag: str) -> list[Any]:
    """The other assistants with a tag, of whatever category, by name."""
    found = ScriptDB.objects.filter(
        db_tags__db_key=tag.strip().casefold(), db_tags__db_tagtype__isnull=True
    ).distinct()
    others = [other for other in found if hasattr(other, "enqueue") and other is not script]
    return sorted(others, key=lambda other: str(other.key).casefold())


def specialists_elsewhere(script: Assistant) -> list[RemoteSpecialist]:
    """The agents outside the game that an assistant may ask, by name."""
    return services.remote_specialists().of(str(script.key))


def find_elsewhere(
    script: Assistant, known: Sequence[Assistant], name: str | None
) -> RemoteSpecialist | None:
    """The agent elsewhere of a name, where the assistant may ask it and nobody here has that name.

    Args:
        known: the specialists in the game.
    """
    wanted = (name or "").strip().casefold()
    if not wanted or any(str(other.key).casefold() == wanted for other in known):
        return None
    return next(
        (each for each in specialists_elsewhere(script) if each.name.casefold() == wanted), None
    )


def told_specialists(script: Assistant) -> tuple[str, ...]:
    """All specialists of an assistant, a line each for a model; none where it hands no tasks on."""
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return tuple(_lines(script, config)) if config.sub_agents_enabled else ()


def _lines(script: Assistant, config: ExecutionConfig) -> Iterator[str]:
    for other in specialists_here(script, config.delegate_assistant_tag)[:MOST_TOLD]:
        yield one_line(str(other.key), LONGEST_NAME)
    for agent in specialists_elsewhere(script)[:MOST_TOLD]:
        yield agent.told()


# ---- who waits for whom ------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Delegation(TaskWait):
    """A task that is with another assistant.

    Attributes:
        requester: the script of the one who waits.
        chain: what the hops of its chain are counted over: the first task of it.
    """

    requester: Assistant
    chain: str

    def note_end(self, outcome: str | Exception, **facts: object) -> None:
        """Record how it ended."""
        name = "delegation_answered" if isinstance(outcome, str) else "delegation_failed"
        seconds = self.requester.clock.seconds() - self.began_at
        facts = {"id": self.event.id, "delegate": self.delegate.key, "seconds": seconds} | facts
        audit.record(name, self.requester, **facts)

    def error(self, why: str, *, is_lost: bool = False) -> Exception:
        """The error that the requester's model reads."""
        return ToolError(f"{self.delegate.key} could not do it: {why}")


def task_of(requester: GameObject, turn: Turn, body: str, at: float) -> Event:
    """A task as its delegate finds it, with the audience of the turn that gives it.

    Args:
        requester: the body of whoever gives it.
        at: seconds since 1970.
    """
    return Event(
        id=new_key(12),
        kind=TASK,
        source="whisper",
        sender_id=id_of(requester),
        sender_name=names.name_of(requester, None),
        body=body,
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
    """Note that a task goes to a delegate; whoever begins it puts `event` into the inbox.

    It counts for the person who caused it, and is believed no more than what it comes from. It has
    the audience of the turn that gives it.

    Args:
        late: called when the time for it is over, which else ends the wait.
    """
    now = requester.clock.seconds()
    event = task_of(requester.obj, turn, body, now)
    chain = chain_of(turn)
    held = Delegation(
        delegate=delegate,
        event=event,
        began_at=now,
        asked_in=turn.event,
        requester=requester,
        chain=chain,
    )
    seconds = state.safety_config(requester).timeout.delegation_seconds
    task_waits.expect(held, requester.clock, seconds, partial(late or end_late, held))
    audit.record(
        "delegation_begun", requester, id=event.id, delegate=delegate.key, hops=event.hops, of=chain
    )
    return held


def end_late(held: Delegation) -> None:
    """End a wait whose time is over."""
    task_waits.give_up(held, ToolError("the time for it is over"))


def _open() -> list[Delegation]:
    return [held for held in task_waits.every() if isinstance(held, Delegation)]


def of(event: Event) -> Delegation | None:
    """The delegation that an event is the task of, while somebody waits for it."""
    held = task_waits.of(event)
    return held if isinstance(held, Delegation) else None


def chain_of(turn: Turn) -> str:
    """The scope over which the hops of a turn's chain are counted."""
    held = of(turn.event)
    return turn.scope if held is None else held.chain


def count_of(script: Assistant) -> int:
    """The number of an assistant's tasks that are with others."""
    return sum(held.requester is script for held in _open())


def waits_for(script: Assistant, other: Assistant) -> bool:
    """True where an assistant is another one, or waits for it, perhaps by way of more."""
    # It ends, as no task is given to whoever waits for its giver.
    return script is other or any(
        waits_for(held.delegate, other) for held in _open() if held.requester is script
    )


def root_of(script: Assistant, event: Event | None) -> Any:
    """The assistant whose people are asked about an event: the one at the top of its chain.

    Returns:
        The assistant itself for what is not a task, or one of a program's; None for a task that
        nobody waits for.
    """
    while event is not None and event.kind == TASK:
        held = task_waits.of(event)
        if held is None:
            return None
        if not isinstance(held, Delegation):
            return script
        script, event = held.requester, held.asked_in
    return script


def is_heard(script: Assistant, event: Event) -> bool:
    """True where anybody can hear what is answered: whoever asked, or others who are there.

    A task is heard while whoever it is done for hears the assistant at the top of its chain.
    """
    if event.kind == OWN:
        return True
    if event.kind != TASK:
        return is_awaited(script, event) or audience.is_overheard(script.obj, event)
    held = task_waits.of(event)
    if not isinstance(held, Delegation) or held.asked_in is None:
        return held is not None
    requester = held.requester
    # What a person has it do by hand is not a turn of its own: that person waits elsewhere.
    is_by_hand = requester.work is None or held.asked_in.id not in requester.work.busy
    return is_by_hand or is_heard(requester, held.asked_in)


def is_awaited(script: Assistant, event: Event) -> bool:
    """True where whoever asked is there to hear the answer."""
    body = script.obj
    if event.kind == OWN or body is None:
        return True
    if event.kind == TASK:
        return is_heard(script, event)
    is_elsewhere = event.source in audience.ELSEWHERE
    # By page and channel the player is reached, whichever character is played by now.
    asker = find_being((is_elsewhere and event.person) or event.sender_id)
    return audience.is_there(body, event, asker)
