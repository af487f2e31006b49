"""Stale answers: what to do if the asker has left or the topic has changed before the first words.

Only questions asked aloud in a room are checked. A whisper waits for its person anyway. Once an
answer has begun, it goes on in the same way, aloud or to the asker alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evennia_ai import audit
from evennia_ai.core.hearing.audience import Hearers, way_of
from evennia_ai.core.hearing.calling import NameCall, call_of
from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.hearing.perception import SPOKEN
from evennia_ai.core.hearing.staleness import (
    DROP,
    PAGE,
    SAY,
    WAIT,
    WHISPER,
    StaleAnswers,
    Staleness,
)
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Account
from evennia_ai.errors import ConfigurationError, NobodyListensError
from evennia_ai.messages.incoming import find_being
from evennia_ai.runtime import audience, names, state
from evennia_ai.runtime.assistant import Assistant


def config(script: Assistant) -> StaleAnswers:
    """The settings for stale answers, or the defaults if they are invalid."""
    try:
        return StaleAnswers.from_stored(state.read(script, "stale_answers"))
    except (ConfigurationError, TypeError):
        # Owners can set the attribute by hand, to anything.
        return StaleAnswers()


def staleness_of(script: Assistant, event: Event) -> Staleness | None:
    """The reason why an answer to an event would be stale, or None."""
    body = script.obj
    if event.kind in (OWN, TASK) or event.source not in SPOKEN or body.location is None:
        return None
    if audience.is_there(body, event, find_being(event.sender_id)):
        return Staleness.TOPIC_CLOSED if _is_closed(script, event) else None
    has_moved = event.place not in ("", body.location.dbref)
    return Staleness.ROOM_CHANGED if has_moved else Staleness.ASKER_GONE


def _is_closed(script: Assistant, event: Event) -> bool:
    """True if somebody else in the room has addressed the asker by name since then."""
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
    """True if the asker has left, and the answer is to be paged."""
    staleness = staleness_of(script, event)
    if staleness is None or getattr(config(script), staleness) != PAGE:
        return False
    return _account_of(event) is not None


def _account_of(event: Event) -> Account | None:
    """The asker's account, if it is online."""
    being: Account | None = find_being(event.person) if event.person.startswith("*") else None
    return being if being is not None and audience.is_online(being) else None


def is_dropped(script: Assistant, event: Event) -> bool:
    """True if a stale answer is dropped instead of waiting for the asker."""
    staleness = staleness_of(script, event)
    return staleness is not None and getattr(config(script), staleness) == DROP


@dataclass(frozen=True, slots=True)
class Moments:
    """Decides for one turn what to do with a stale answer.

    Args:
        offers: returns whether the turn offers a tool of that name.
    """

    script: Assistant
    offers: Callable[[str], bool]

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
        """The call to run, or a result that replaces this call only.

        Raises:
            NobodyListensError: the answer waits, or is dropped if `is_over` is True.
        """
        has_begun_aloud = turn.effects and not turn.stale_way
        if has_begun_aloud or way_of(spec).hearers is not Hearers.ROOM:
            return call
        staleness = staleness_of(self.script, turn.event)
        way = self._choose_way(turn, staleness)
        if way == SAY:
            return call
        is_pose = spec.name == "emote" and way in _PRIVATE_WAYS
        self._note_decision(turn, staleness, DROP if is_pose else way)
        # A pose cannot be whispered or paged; the words of the answer follow.
        if is_pose:
            return ToolResult(False, UNSEEN, Fault.NOT_RUN)
        if way in (WAIT, DROP):
            raise NobodyListensError(_why(turn, staleness), is_over=way == DROP)
        words = str(call.arguments.get(way_of(spec).words[0], ""))
        arguments = {"target": self._target(turn.event, way), "message": words}
        return replace(call, name=way, arguments=arguments)

    def _choose_way(self, turn: Turn, staleness: Staleness | None) -> str:
        """The way of the turn's earlier words, or the configured one, or a fallback for it."""
        way = SAY if staleness is None else getattr(config(self.script), staleness)
        if turn.stale_way in _PRIVATE_WAYS:
            way = turn.stale_way
        if way == PAGE and not (self.offers(PAGE) and _account_of(turn.event)):
            return WAIT
        # The asker is in the room: waiting would ask the model again at once.
        return SAY if way == WHISPER and not self.offers(WHISPER) else way

    def _target(self, event: Event, way: str) -> str:
        """The name by which the tool finds the asker."""
        # An account may have been renamed since it spoke.
        account = _account_of(event) if way == PAGE else None
        return names.name_of(account, self.script.obj) if account else event.sender_name

    def _note_decision(self, turn: Turn, staleness: Staleness | None, way: str) -> None:
        numbers, id_ = [each.number for each in turn.events], turn.event.id
        detail = f"{_why(turn, staleness)}: {_WAY_TEXTS[way]}"
        self.script.work.decisions.note(numbers, "stale answer", detail)
        why = staleness.value if staleness else "begun"
        audit.record("stale_answer", self.script, id=id_, why=why, way=way)


def _why(turn: Turn, staleness: Staleness | None) -> str:
    text = staleness.text if staleness else "its beginning went to {name} alone"
    return text.format(name=turn.event.sender_name)


_PRIVATE_WAYS = (PAGE, WHISPER)
UNSEEN = "not done: its moment is over, and whoever asked would not see it; tell it in words"
_WAY_TEXTS = {
    PAGE: "it goes by page",
    WHISPER: "it goes by whisper",
    WAIT: "it waits for them to come back",
    DROP: "it was dropped",
}
