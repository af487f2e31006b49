"""Episodes: one entry of the journal for each turn, written with its end.

It holds what a person said to the assistant and what it answered. What it only overheard is not
kept, and of its answer only what whoever may know of the entry could hear.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.hearing.inbox import NOTICE, OWN, TASK, Event
from evennia_ai.core.hearing.perception import CHANNEL
from evennia_ai.core.memory import knowledge
from evennia_ai.core.memory.importance import heuristic
from evennia_ai.core.memory.journal import cut_entry
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, SourceType
from evennia_ai.core.text.cleaning import cut_at_sentence, name_as_data, place_as_data, sendable
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import indexing, profiles, talks
from evennia_ai.memory.consent import audience_of, may_remember
from evennia_ai.memory_store import rows
from evennia_ai.models.keys import new_key
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import ExtraWrites

# A burst is ten messages, each as long as one is heard by default: twice that loses nothing of them
# when it is quoted. What a prompt shows of an entry is cut where it is shown.
LONGEST_WORDS, LONGEST_ANSWER, LONGEST_RETOLD = 40_000, 200, 320
_SAID = {
    "whisper": "{name} whispered: {words}",
    "page": "{name} paged: {words}",
    "say": "{name} said: {words}",
    "pose": "{name} did: {words}",
    "channel": "{name} said on the channel {place}: {words}",
}
_CAUSED = "{name} caused: {words}"
# The words of each way to speak, and who hears them: those at the place, or one alone.
_WORDS = {"say": "message", "emote": "action", "channel": "message"}
_ALONE = {"whisper": "message", "page": "message"}


@dataclass(frozen=True, slots=True)
class TurnEpisode:
    """The entry of one turn, and how it is written.

    Attributes:
        write: puts it into the tables, within a transaction of the caller's; None for nothing.
        person: with whom the turn was, "" for nobody of whom anything is remembered.
        entry: it, with when the turn ended; None for nothing.
        words: what the person said last.
    """

    script: Assistant
    write: ExtraWrites | None = None
    person: str = ""
    entry: Recollection | None = None
    words: str = ""

    def index(self) -> None:
        """Let it be found by its meaning, and the talk go on; called when it is stored."""
        if self.entry is not None:
            talks.note(self.script, self.person, self.entry.at, self.words)
            if _mark_of(self.entry):
                indexing.take(self.script, self.entry)
            else:
                indexing.when_quiet(self.script)


def of_turn(script: Assistant, turn: Turn, stop: Stop) -> TurnEpisode:
    """The entry of a turn that ends."""
    event = turn.event
    audience = audience_of(script, turn)
    is_over = not stop.is_failure or bool(turn.effects)
    if not (is_over and event.person and audience) or event.kind in (OWN, TASK, NOTICE):
        return TurnEpisode(script)
    whom = {"person": event.face, "sender_id": event.sender_id, "place": event.place}
    if not may_remember(script, **whom):
        return TurnEpisode(script)
    memory = _entry(script, turn, audience)

    def write() -> None:
        rows.insert(script.pk, [memory], indexed_as=_mark_of(memory))
        # In most turns of a talk the profile says so to the minute, and a statement is saved.
        if not talks.is_just_met(script, event.person):
            profiles.meet(script, event.person, event.sender_name)

    return TurnEpisode(script, write, event.person, memory, sendable(turn.events[-1].body))


def _entry(script: Assistant, turn: Turn, audience: str) -> Recollection:
    event = turn.event
    words = " ".join(sendable(each.body) for each in turn.events)
    return Recollection(
        key=new_key(),
        kind=MemoryKind.JOURNAL,
        text=_told(script, turn, words),
        audience=audience,
        person=event.person,
        place=event.place,
        source_type=SourceType.DIRECT,
        trust=min(each.trust for each in turn.events),
        importance=heuristic(words, SourceType.DIRECT),
        at=script.clock.seconds(),
    )


def _mark_of(entry: Recollection) -> str:
    """The mark with which an entry comes into the table: of mere questions no vector is made."""
    return rows.NO_VECTOR if knowledge.asks_only(entry.text) else ""


def _said(event: Event, words: str) -> str:
    name = name_as_data(sendable(event.sender_name))
    return _SAID.get(event.source, _CAUSED).format(
        name=name[:1].upper() + name[1:],
        place=place_as_data(event.place),
        words=cut_entry(words, LONGEST_WORDS),
    )


def _told(script: Assistant, turn: Turn, words: str) -> str:
    """The question, whole, and the beginning of the answer."""
    said = _said(turn.event, words)
    answer = " ".join(map(sendable, answers_of(turn)))
    # The person may read the entry, and need not know the assistant by its key.
    own = name_as_data(names.name_of(script.obj, None))
    return f"{said} {own} answered: {cut_entry(answer, LONGEST_ANSWER)}" if answer else said


def exchange_of(memory: Recollection) -> tuple[str, str]:
    """The words and the answer that an entry of a talk tells; "" for what it does not hold.

    The words have at most LONGEST_RETOLD characters.
    """
    found = knowledge.exchange_of(memory.text)
    return cut_at_sentence(found.words, LONGEST_RETOLD), found.answer


def answers_of(turn: Turn) -> Iterator[str]:
    """The words it said for those who may know of the entry, in the order in which it did."""
    # What failed was heard by nobody.
    worked = {
        message["tool_call_id"]
        for message in turn.said
        if message["role"] == "tool" and json.loads(message["content"])["success"]
    }
    for call in _calls(turn.said):
        if call["id"] in worked:
            given = json.loads(call["function"]["arguments"])
            argument = _heard_by_them(call["function"]["name"], call["id"], turn)
            yield from filter(None, (str(given.get(argument, "")),))


def _calls(said: list[Message]) -> Iterator[dict[str, Any]]:
    for message in said:
        yield from message.get("tool_calls") or ()


def _heard_by_them(tool: str, call_id: str, turn: Turn) -> str:
    """The argument that holds the words, or "" where others than these heard them."""
    event = turn.event
    if tool in _ALONE:
        is_theirs = turn.is_private and turn.asides.get(call_id) == event.face
        return _ALONE[tool] if is_theirs else ""
    if not turn.is_private and (tool == "channel") is not (event.source == CHANNEL):
        return ""
    return _WORDS.get(tool, "")
