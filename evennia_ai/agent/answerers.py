"""The choice of who answers a line that several assistants hear.

All who hear a line learn of it within one turn of the reactor. Those whom it names answer at once;
if it names none, the others wait until that turn is over, and then some of them are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai.agent.admission import overhear, place_of, queue
from evennia_ai.core.hearing.calling import MOST_ANSWERS, Offer
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import talk_of
from evennia_ai.core.hearing.perception import CHANNEL, SPOKEN, Heard
from evennia_ai.core.settings.model import read_value
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import has_assistant
from evennia_ai.runtime.work import Work

PER_ROOM = "ai_answers_per_line"
LEFT = "left to others"
# Numbers the choices, so that the assistant chosen longest ago ranks first.
_numbers = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An assistant that would answer a line, and the message as it heard it."""

    script: Assistant
    work: Work
    record: DecisionTrace
    heard: Heard

    @property
    def is_alive(self) -> bool:
        """True where the assistant is still the same run that heard the line."""
        return self.script.work is self.work and not self.work.is_closing

    def offer(self) -> Offer:
        """Its rank among several that would answer."""
        known = self.work.senders.people.get(self.heard.person)
        began = float("-inf") if known is None else known.turn_began
        is_talking = self.record.verdict.name == "continued_address"
        return Offer(is_talking, self.script.clock.seconds() - began, self.work.chosen)


@dataclass(slots=True, eq=False)
class HeardLine:
    """One line, as several assistants hear it.

    Attributes:
        candidates: those that would answer although it does not name them.
    """

    called: list[str] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)


# Lines of this turn of the reactor, by place, source, sender and words.
_lines: dict[tuple[str, ...], HeardLine] = {}


def answer(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    """Let an assistant answer what triggers it: at once, or if it is chosen among several.

    A private message is for one assistant; an open line that names one is left to those it names.
    """
    if heard.source is not CHANNEL and heard.source not in SPOKEN:
        queue(script, record, heard)
    elif record.verdict.name == "direct_address":
        _line_of(script, heard).called.append(script.key)
        queue(script, record, heard)
    elif _may_have_rivals(script, heard):
        _line_of(script, heard).candidates.append(Candidate(script, script.work, record, heard))
    else:
        queue(script, record, heard)


def _may_have_rivals(script: Assistant, heard: Heard) -> bool:
    """True where other assistants may hear the same line."""
    if heard.source is CHANNEL:
        return True
    room = script.obj.location
    here = room.contents if room is not None else ()
    return any(has_assistant(thing) for thing in here if thing is not script.obj)


def _line_of(script: Assistant, heard: Heard) -> HeardLine:
    """The entry for a line; it is decided once all who hear it have been told."""
    talk = talk_of(heard.source, place_of(script, heard))
    key = (talk, heard.source, heard.sender_id, heard.body)
    if key not in _lines:
        _lines[key] = HeardLine()
        # Evennia tells all who are in a room, or on a channel, without returning to the reactor.
        reactor.callLater(0, _decide, key)
    return _lines[key]


def _decide(key: tuple[str, ...]) -> None:
    line = _lines.pop(key)
    candidates = [each for each in line.candidates if each.is_alive]
    if line.called:
        _leave_to_others(candidates, f"to {' and '.join(line.called)}, whom it calls")
        return
    candidates.sort(key=lambda each: each.offer().rank)
    chosen: list[Candidate] = []
    while candidates:
        most = _answer_limit(candidates[0])
        if 0 < most <= len(chosen):
            break
        first = candidates.pop(0)
        # One that rejects the message, as for its rate limit, leaves its place to the next.
        if queue(first.script, first.record, first.heard):
            first.work.chosen = next(_numbers)
            chosen.append(first)
    _leave_to_others(candidates, f"to {' and '.join(str(each.script.key) for each in chosen)}")


def _leave_to_others(candidates: Sequence[Candidate], whom: str) -> None:
    """Let others answer; these assistants remember the line for when they answer next."""
    for each in candidates:
        each.record.note(LEFT, whom)
        overhear(each.script, each.record, each.heard)


def _answer_limit(candidate: Candidate) -> int:
    """The most assistants that may answer a line, for the room or channel where this one heard it.

    A setting that makes no sense counts as the default, and is logged.
    """
    room = candidate.script.obj.location
    try:
        if candidate.heard.source is not CHANNEL and room is not None:
            own = room.attributes.get(PER_ROOM)
            if own is not None:
                return read_value(MOST_ANSWERS, f"{room.key} ({room.dbref}): db.{PER_ROOM}", own)
        return services.answers_per_line()
    except ConfigurationError as error:
        logger.log_err(f"[assistant] {error}; one assistant answers")
        return 1
