"""Episodes: one journal entry per turn, stored in the transaction that ends the turn.

An entry has what a person said to the assistant, and what it answered. Overheard words are left
out, and so are parts of the answer that the entry's audience could not hear.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from evennia_ai.core.hearing.inbox import NOTICE, OWN, TASK, Event
from evennia_ai.core.hearing.perception import CHANNEL
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory import knowledge
from evennia_ai.core.memory.importance import heuristic
from evennia_ai.core.memory.journal import cut_entry
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    SourceType,
    is_for_all,
    is_mask,
)
from evennia_ai.core.text.cleaning import cut_at_sentence, name_as_data, place_as_data, sendable
from evennia_ai.core.turn.conversation import calls_that_worked
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import indexing, profiles, talks
from evennia_ai.memory.consent import audience_of
from evennia_ai.memory_store import rows
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import ExtraWrites

# In characters. A turn answers up to ten messages of default length, and quoting may double them.
# Prompts truncate an entry again when they show it.
LONGEST_WORDS, LONGEST_ANSWER, LONGEST_RETOLD = 40_000, 200, 320
_FRAMES = {
    "whisper": "{name} whispered: {words}",
    "page": "{name} paged: {words}",
    "say": "{name} said: {words}",
    "pose": "{name} did: {words}",
    "channel": "{name} said on the channel {place}: {words}",
}
_OTHER_FRAME = "{name} caused: {words}"
# Tools that speak, with the argument that holds the words: to all at the place, or to one person.
_OPEN_TOOLS = {"say": "message", "emote": "action", "channel": "message"}
_PRIVATE_TOOLS = {"whisper": "message", "page": "message"}


@dataclass(frozen=True, slots=True)
class TurnEpisode:
    """The journal entry of one turn.

    Attributes:
        write: stores the entry, in the caller's transaction; None if nothing is to be stored.
        person: the person of the turn, as they appear where nothing is stored; "" for nobody.
        entry: the entry, dated at the end of the turn; None if nothing is stored.
        indexed_as: NO_VECTOR for an entry that is found by its words only, else "".
    """

    script: Assistant
    write: ExtraWrites | None = None
    person: str = ""
    entry: Recollection | None = None
    indexed_as: str = ""
    words: str = ""

    def index(self) -> None:
        """Schedule indexing and update the talk; called after the commit."""
        if self.entry is None:
            if self.person:  # a talk goes on all the same
                talks.note(self.script, self.person, is_remembered=False)
            return
        is_private = not is_for_all(self.entry.audience)
        at = self.entry.at
        talks.note(self.script, self.person, at, self.words, is_private=is_private)
        if self.indexed_as:
            indexing.note_entry(self.script, self.entry)
        else:
            indexing.when_quiet(self.script)


def of_turn(script: Assistant, turn: Turn, stop: Stop, answer: str) -> TurnEpisode:
    """Build the entry of a turn that is ending.

    Args:
        turn: its `is_unkept` must be decided: whether it holds words that are not to be kept.
        answer: what `answers_of` gives for the turn.
    """
    event = turn.event
    audience = audience_of(script, turn)
    # A failed turn is only worth an entry if it had effects in the game before it failed.
    is_over = not stop.is_failure or bool(turn.effects)
    if not (is_over and event.person and audience) or event.kind in (OWN, TASK, NOTICE):
        return TurnEpisode(script)
    is_unkept = turn.is_unkept and not turn.is_overheard_unkept
    if is_unkept or is_mask(event.face) or not state.memory_config(script).enabled:
        return TurnEpisode(script, person=event.face)
    memory = _entry(script, turn, audience, answer)
    # Entries that only ask get no vector: they would hide the memories that answer them.
    indexed_as = rows.NO_VECTOR if knowledge.asks_only(memory.text) else ""

    def write() -> None:
        rows.insert(script.pk, [memory], indexed_as=indexed_as)
        # Within a talk the profile is at most a minute old, and an update is saved in most turns.
        if not talks.is_just_met(script, event.person):
            profiles.meet(script, event.person, event.sender_name)

    return TurnEpisode(script, write, event.person, memory, indexed_as, sendable(event.body))


def _entry(script: Assistant, turn: Turn, audience: str, answer: str) -> Recollection:
    event = turn.event
    words = " ".join(sendable(each.body) for each in turn.events)
    return Recollection(
        key=new_key(),
        kind=MemoryKind.JOURNAL,
        text=_entry_text(script, turn, words, answer),
        audience=audience,
        person=event.person,
        place=event.place,
        source_type=SourceType.DIRECT,
        trust=min(each.trust for each in turn.events),
        importance=heuristic(words, SourceType.DIRECT),
        at=script.clock.seconds(),
    )


def _quoted_event(event: Event, words: str) -> str:
    name = name_as_data(sendable(event.sender_name))
    return _FRAMES.get(event.source, _OTHER_FRAME).format(
        name=name[:1].upper() + name[1:],
        place=place_as_data(event.place),
        words=cut_entry(words, LONGEST_WORDS),
    )


def _entry_text(script: Assistant, turn: Turn, words: str, answer: str) -> str:
    quoted = _quoted_event(turn.event, words)
    if not answer:
        return quoted
    # The name that anyone sees, not the key: the person may read the entry.
    own = name_as_data(names.name_of(script.obj, None))
    return f"{quoted} {own} answered: {cut_entry(sendable(answer), LONGEST_ANSWER)}"


def exchange_of(memory: Recollection) -> tuple[str, str]:
    """Parse an entry into the person's words and the answer; "" for a part that is missing.

    The words have at most LONGEST_RETOLD characters.
    """
    exchange = knowledge.exchange_of(memory.text)
    return cut_at_sentence(exchange.words, LONGEST_RETOLD), exchange.answer


def answers_of(turn: Turn) -> str:
    """The assistant's words that the entry's audience could hear."""
    # Nobody heard the words of a call that failed.
    worked = calls_that_worked(turn.said)
    answers = []
    for message in turn.said:
        for call in message.get("tool_calls") or ():
            argument = _audible_argument(call["function"]["name"], call["id"], turn)
            if argument and call["id"] in worked:
                arguments = json.loads(call["function"]["arguments"])
                answers.append(str(arguments.get(argument, "")))
    return " ".join(filter(None, answers))


def _audible_argument(tool: str, call_id: str, turn: Turn) -> str:
    """The argument with the spoken words, or "" if the entry's audience did not hear them."""
    event = turn.event
    if tool in _PRIVATE_TOOLS:
        is_theirs = turn.is_private and turn.asides.get(call_id) == event.face
        return _PRIVATE_TOOLS[tool] if is_theirs else ""
    if not turn.is_private and (tool == "channel") is not (event.source == CHANNEL):
        return ""
    return _OPEN_TOOLS.get(tool, "")
