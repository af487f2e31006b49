"""Answers whose moment is over: what is said instead, right before the first words leave.

Only what was asked aloud in a room is judged. A whisper waits for its person anyway, and once an
answer has begun it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evennia_ai import audit
from evennia_ai.core.hearing.audience import Hearers, way_of
from evennia_ai.core.hearing.calling import NameCall, call_of
from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.hearing.perception import SPOKEN
from evennia_ai.core.hearing.staleness import DROP, PAGE, SAY, WAIT, StaleAnswers, Staleness
from evennia_ai.core.turn.toolspec import ToolCall, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError, NobodyListensError
from evennia_ai.messages.incoming import find_being
from evennia_ai.runtime import audience, names, state
from evennia_ai.runtime.assistant import Assistant


def config(script: Assistant) -> StaleAnswers:
    """Its ways of stale answers; what is set and makes no sense counts as not set."""
    try:
        return StaleAnswers.from_stored(state.read(script, "stale_answers"))
    except (ConfigurationError, TypeError):
        return StaleAnswers()


def staleness_of(script: Assistant, event: Event) -> Staleness | None:
    """The way in which the moment of an event is over, or None."""
    body = script.obj
    if event.kind in (OWN, TASK) or event.source not in SPOKEN or body.location is None:
        return None
    if audience.is_there(body, event, find_being(event.sender_id)):
        return Staleness.TOPIC_CLOSED if _is_closed(script, event) else None
    has_moved = event.place not in ("", body.location.dbref)
    return Staleness.ROOM_CHANGED if has_moved else Staleness.ASKER_GONE


def _is_closed(script: Assistant, event: Event) -> bool:
    """True where somebody else in the room called whoever asked by name since then."""
    asker = find_being(event.sender_id)
    called = names.called(asker, script.obj) if asker is not None else ()
    return any(
        record.heard.source in SPOKEN
        and record.heard.sender_id != event.sender_id
        and call_of(record.heard.body, tuple(called)) is not NameCall.NONE
        for record in script.work.decisions.newest()
        if record.number > event.number
    )


def can_be_paged(script: Assistant, event: Event) -> bool:
    """True where an answer is for somebody who is elsewhere, and is told it there."""
    found = staleness_of(script, event)
    if found is None or getattr(config(script), found) != PAGE:
        return False
    being = find_being(event.person)
    return being is not None and audience.is_online(being)


def is_dropped(script: Assistant, event: Event) -> bool:
    """True where an answer that nobody is there to hear waits for nobody either."""
    found = staleness_of(script, event)
    return found is not None and getattr(config(script), found) == DROP


@dataclass(frozen=True, slots=True)
class Moments:
    """Decides for one assistant, before the first words of each answer."""

    script: Assistant

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall:
        """The call as it is to be run now.

        Raises:
            NobodyListensError: it is not; `is_over` says that it is not for later either.
        """
        event = turn.event
        if turn.effects or way_of(spec).hearers is not Hearers.ROOM:
            return call
        found = staleness_of(self.script, event)
        way = SAY if found is None else getattr(config(self.script), found)
        if found is None or way == SAY:
            return call
        if way == PAGE and not can_be_paged(self.script, event):
            way = WAIT
        why = found.text.format(name=event.sender_name)
        numbers = [each.number for each in turn.events]
        self.script.work.decisions.note(numbers, "stale answer", f"{why}: {_TOLD[way]}")
        audit.record("stale_answer", self.script, id=event.id, why=found.value, way=way)
        if way in (WAIT, DROP):
            raise NobodyListensError(why, is_over=way == DROP)
        words = str(call.arguments.get(way_of(spec).words[0], ""))
        return replace(call, name=way, arguments={"target": event.sender_name, "message": words})


_TOLD = {
    PAGE: "it went by page",
    "whisper": "it went by whisper",
    WAIT: "it waits for them to come back",
    DROP: "it was dropped",
}
