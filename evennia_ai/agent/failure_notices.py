"""Messages that will get no answer, and the notice to their senders: once, and in character."""

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
    '{name} turns away, worn out. "That got us nowhere. Give me {while}, then ask for something '
    'else."'
)
# A full inbox is no failure: others were there first, and the message may be repeated.
BUSY_LINE = (
    '{name} rubs both temples. "So many words at once, and yours got lost. Ask me again in a '
    'minute."'
)
# What a sender is told when a cap of that span is used up. A day is a UTC day, so "tomorrow" would
# be wrong for most players; the line says the hours that are left.
SPENT_LINES: Mapping[str, str] = MappingProxyType(
    {
        "day": '{name} stifles a yawn. "I have said all I can today. Ask me in {while}."',
        "month": '{name} stifles a yawn. "I have said all I can this month. Ask me in the next."',
        "ever": '{name} stifles a yawn. "I have no words left."',
    }
)
LOG_INTERVAL_SECONDS = 60.0
FULL = (
    "[assistant] {name}: more messages wait than it keeps (max_pending_events); dropped: {count}. "
    "Look: assistant why {name}"
)
UNHEARD = "nobody is there any more to hear it"


def notify_dropped(script: Assistant, events: Sequence[Event]) -> None:
    """Tell senders whose messages were pushed out of the inbox; log a count, once a minute."""
    work, now = script.work, script.clock.seconds()
    for event in events:
        work.decisions.note([event.number], "dropped", "the inbox was full")
        notify_failure(script, event, task_waits.INBOX_FULL, line=BUSY_LINE)
    work.turned_away += len(events)
    if work.turned_away and now - work.turned_away_told_at >= LOG_INTERVAL_SECONDS:
        count = counted(work.turned_away, "messages")
        logger.log_warn(FULL.format(name=script.key, count=count))
        work.turned_away, work.turned_away_told_at = 0, now


def notify_failure(
    script: Assistant, event: Event, why: str = task_waits.GIVEN_UP, *, line: str = ""
) -> bool:
    """Tell the sender of an event, once and in character, that no answer will come.

    Args:
        why: the reason, for another assistant that waits for a report.
        line: the line a person sees; "": the assistant's line for a failing model.

    Returns:
        True where they were told; a sender who is not in the game is not.
    """
    if event.kind == TASK:
        return task_waits.fail(event, why)
    line = line or state.read(script, "failure_line") or outgoing.FAILURE_LINE
    person = incoming.find_being(event.sender_id)
    if person is None or (event.person.startswith("*") and not audience.is_online(person)):
        return False
    return outgoing.tell(script.obj, person, line, hops=event.hops + 1)


def whether(is_told: bool) -> str:
    """The words for the decision trace that say whether a sender was told."""
    return "was told" if is_told else "could not be told"


def cooling_line(seconds: float) -> str:
    """The line for a person who has to wait so many seconds."""
    return COOLING_LINE.replace("{while}", in_words(seconds))


def spent_line(stop: Stop, now: float) -> str:
    """The line that says when to ask again after a cap on money is used up, else ""."""
    if stop.limit is None or not stop.limit.kind.startswith(MONEY):
        return ""
    span = LIMITS[LimitKind(stop.limit.kind)].span
    seconds = resets_in_seconds(BudgetSpan.DAY, now) or 0.0
    return SPENT_LINES.get(span, "").replace("{while}", in_words(seconds))


def expire(script: Assistant, oldest: float) -> None:
    """Drop tasks that nobody waits for, and messages that waited too long, as after downtime."""
    # After a restart nobody waits for most tasks, and no model call should be paid for them.
    unheard = [
        item
        for item in script.work.inbox
        if item["kind"] == TASK and not delegations.is_heard(script, Event.from_stored(item))
    ]
    # Out of the inbox before anybody is told, so that a crash in between tells nobody twice.
    if unheard:
        aside.forget(script, unheard)
        for item in unheard:
            task_waits.fail(Event.from_stored(item), UNHEARD)
    stale = [each for each in script.work.inbox if each["at"] < oldest]
    if stale:
        # A turn that waits for a person's answer does not expire with its message.
        set_aside = script.work.set_aside
        _drop(script, [each for each in stale if each["id"] not in set_aside], "expired")


def _drop(
    script: Assistant, waiting: list[Stored], step: str, *, line: str = "", knows: str = ""
) -> None:
    """Drop waiting events; each sender is told once, however many of them are theirs.

    Args:
        step: what became of them, for the decision trace.
        line: as in `notify_failure`.
        knows: the id of a sender who was told already, or "".
    """
    if not waiting:
        return
    # Stored before anybody is told: a sender who was told so must not get an answer after a crash.
    aside.forget(script, waiting)
    is_told_by_sender = {knows: True} if knows else {}
    for event in map(Event.from_stored, waiting):
        logger.log_warn(f"[assistant] {script.key}: a message of {event.sender_name} {step}")
        sender = event.id if event.kind == TASK else event.sender_id
        if sender not in is_told_by_sender:
            is_told_by_sender[sender] = notify_failure(script, event, line=line)
        script.work.decisions.note([event.number], step, whether(is_told_by_sender[sender]))


def empty_queue(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Drop, with a notice, all waiting messages that would meet the cap which ended a turn.

    A player's own cap drops that player's messages; any other cap drops all that wait.
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
