"""Answers whose moment is over: what is said instead, right before the first words leave.

Only what was asked aloud in a room is judged. A whisper waits for its person anyway, and once an
answer has begun it goes on: aloud, or to whoever asked alone where its first words went there.
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
    return _account_of(event) is not None


def _account_of(event: Event) -> Account | None:
    """The account of whoever asked, while it is online."""
    being: Account | None = find_being(event.person) if event.person.startswith("*") else None
    return being if being is not None and audience.is_online(being) else None


def is_dropped(script: Assistant, event: Event) -> bool:
    """True where an answer that nobody is there to hear waits for nobody either."""
    found = staleness_of(script, event)
    return found is not None and getattr(config(script), found) == DROP


@dataclass(frozen=True, slots=True)
class Moments:
    """Decides for one turn of an assistant, before the first words of its answer.

    Args:
        offers: whether a tool of that name is on offer in it.
    """

    script: Assistant
    offers: Callable[[str], bool]

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
        """The call as it is to be run now, or its result where it alone is not.

        Raises:
            NobodyListensError: it is not; `is_over` says that it is not for later either.
        """
        has_begun_aloud = turn.effects and not turn.stale_way
        if has_begun_aloud or way_of(spec).hearers is not Hearers.ROOM:
            return call
        found = staleness_of(self.script, turn.event)
        way = self._way(turn, found)
        if way == SAY:
            return call
        is_pose = spec.name == "emote" and way in _ALONE
        self._note(turn, found, DROP if is_pose else way)
        if is_pose:
            return ToolResult(False, UNSEEN, Fault.NOT_RUN)
        if way in (WAIT, DROP):
            raise NobodyListensError(_why(turn, found), is_over=way == DROP)
        words = str(call.arguments.get(way_of(spec).words[0], ""))
        arguments = {"target": self._target(turn.event, way), "message": words}
        return replace(call, name=way, arguments=arguments)

    def _way(self, turn: Turn, found: Staleness | None) -> str:
        """The way that was taken before, else the one that is set; or what stands in for it."""
        way = SAY if found is None else getattr(config(self.script), found)
        if turn.stale_way in _ALONE:
            way = turn.stale_way
        if way == PAGE and not (self.offers(PAGE) and _account_of(turn.event)):
            return WAIT
        # Who asked is here: to wait for them would be to ask the model again at once.
        return SAY if way == WHISPER and not self.offers(WHISPER) else way

    def _target(self, event: Event, way: str) -> str:
        """The name by which the tool of a way finds whoever asked before all others of that name.

        An account may have another name by now than what it spoke as.
        """
        account = _account_of(event) if way == PAGE else None
        return names.name_of(account, self.script.obj) if account else event.sender_name

    def _note(self, turn: Turn, found: Staleness | None, way: str) -> None:
        numbers, id_ = [each.number for each in turn.events], turn.event.id
        told = f"{_why(turn, found)}: {_TOLD[way]}"
        self.script.work.decisions.note(numbers, "stale answer", told)
        why = found.value if found else "begun"
        audit.record("stale_answer", self.script, id=id_, why=why, way=way)


def _why(turn: Turn, found: Staleness | None) -> str:
    text = found.text if found else "its beginning went to {name} alone"
    return text.format(name=turn.event.sender_name)


_ALONE = (PAGE, WHISPER)
UNSEEN = "not done: its moment is over, and whoever asked would not see it; tell it in words"
_TOLD = {
    PAGE: "it goes by page",
    WHISPER: "it goes by whisper",
    WAIT: "it waits for them to come back",
    DROP: "it was dropped",
}
