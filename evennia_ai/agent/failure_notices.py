"""Messages that are given up, and the word that their senders get: once, and in character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evennia.utils import logger

from evennia_ai.core.hearing.inbox import MESSAGE, SAVED_TURN, TASK, Event, Stored
from evennia_ai.core.safety.budget import account_of, resets_in_seconds
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind
from evennia_ai.core.settings.budget import BudgetSpan, Scope
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.turn import Turn
from evennia_ai.messages import incoming, outgoing
from evennia_ai.runtime import audience, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.turns import aside
from evennia_ai.tasks import delegations, task_waits

COOLING_LINE = (
    '{name} turns away, worn out. "That led nowhere. Let me be for {while}, then ask for something '
    'else."'
)
# Where the tokens or the money of a time are used up; after no time they come back for "ever". Days
# are those of UTC, so that "tomorrow" would be wrong for most.
SPENT_LINES: Mapping[str, str] = MappingProxyType(
    {
        "day": '{name} stifles a yawn. "I have said all I can today. Ask me in {while}."',
        "month": '{name} stifles a yawn. "I have said all I can this month. Ask me in the next."',
        "ever": '{name} stifles a yawn. "I have no words left."',
    }
)
BETWEEN_SECONDS = 60.0
FULL = (
    "[assistant] {name}: more messages wait than it keeps (max_pending_events); dropped: {count}. "
    "Look: assistant why {name}"
)
UNHEARD = "nobody is there any more to hear it"


def turn_away(script: Assistant, events: Sequence[Event]) -> None:
    """Tell those whose messages had to make room; the log at most once a minute, with a count."""
    work, now = script.work, script.clock.seconds()
    for event in events:
        work.decisions.note([event.number], "dropped", "the inbox was full")
        notify_failure(script, event)
    work.turned_away += len(events)
    if work.turned_away and now - work.turned_away_told_at >= BETWEEN_SECONDS:
        count = counted(work.turned_away, "messages")
        logger.log_warn(FULL.format(name=script.key, count=count))
        work.turned_away, work.turned_away_told_at = 0, now


def notify_failure(
    script: Assistant, event: Event, why: str = "it was given up", *, line: str = ""
) -> bool:
    """Tell whoever waits for an answer, once and in character, that none will come.

    Args:
        why: for another assistant that waits for a report.
        line: what a person is told; "": what the assistant says when its model fails.

    Returns:
        Whether they were told: who is not in the game is not.
    """
    if event.kind == TASK:
        return task_waits.fail(event, why)
    line = line or state.read(script, "failure_line") or outgoing.FAILURE_LINE
    person = incoming.find_being(event.sender_id)
    if person is None or (event.person.startswith("*") and not audience.is_online(person)):
        return False
    return outgoing.tell(script.obj, person, line, hops=event.hops + 1)


def whether(told: bool) -> str:
    """The words for the record that say if somebody was told."""
    return "was told" if told else "could not be told"


def cooling_line(seconds: float) -> str:
    """The line for somebody who has to wait so many seconds."""
    return COOLING_LINE.replace("{while}", in_words(seconds))


def spent_line(stop: Stop, now: float) -> str:
    """The line that says when to ask again where a cap on money is used up; "" at another end."""
    if stop.limit is None or not stop.limit.kind.startswith(MONEY):
        return ""
    span = LIMITS[LimitKind(stop.limit.kind)].span
    left = resets_in_seconds(BudgetSpan.DAY, now) or 0.0
    return SPENT_LINES.get(span, "").replace("{while}", in_words(left))


def expire(script: Assistant, oldest: float) -> None:
    """Give up what waited too long, as after a day on which the game was down.

    A task that nobody waits for, as after a restart, is given up as well: no call is made for it.
    """
    tasks = [item for item in script.work.inbox if item["kind"] == TASK]
    unheard = [item for item in tasks if not delegations.is_heard(script, Event.from_stored(item))]
    # Out of the inbox before anybody is told: a crash in between tells nobody twice.
    if unheard:
        aside.forget(script, unheard)
    for item in unheard:
        task_waits.fail(Event.from_stored(item), UNHEARD)
    # Turns that wait for a person's answer are as old as the question, and not given up by age.
    held = script.work.set_aside
    stale = [each for each in script.work.inbox if each["at"] < oldest and each["id"] not in held]
    _drop(script, stale, "expired")


def _drop(
    script: Assistant, waiting: list[Stored], step: str, *, line: str = "", knows: str = ""
) -> None:
    """Give up what waits; each sender is told once, however much of theirs it is.

    Args:
        step: what became of it, for the record.
        line: as of `notify_failure`.
        knows: the id of a sender who was told already, or "".
    """
    if not waiting:
        return
    # Stored before it is told: who was told that no answer comes must not get one after a crash.
    aside.forget(script, waiting)
    told = {knows: True} if knows else {}
    for event in map(Event.from_stored, waiting):
        logger.log_warn(f"[assistant] {script.key}: a message of {event.sender_name} {step}")
        sender = event.id if event.kind == TASK else event.sender_id
        if sender not in told:
            told[sender] = notify_failure(script, event, line=line)
        script.work.decisions.note([event.number], step, whether(told[sender]))


def empty_queue(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Give up, with a word, all that waits and would meet the same cap that ended a turn.

    Of a player's own cap that is what this player said; of any other all that waits.
    """
    line = spent_line(stop, script.clock.seconds())
    if stop.limit is None or not line:
        return
    account, work = account_of(stop.limit), script.work
    waiting = [each for each in work.inbox if each["kind"] == MESSAGE]
    waiting = [each for each in waiting if each["id"] not in work.busy and SAVED_TURN not in each]
    if account.scope is Scope.PLAYER:
        waiting = [each for each in waiting if each.get("person") == account.key]
    knows = turn.event.sender_id if stop.is_failure else ""
    _drop(script, waiting, f"not begun: limit {stop.limit.kind}", line=line, knows=knows)
