"""The journal: entries and facts that the assistant's model writes itself, within fixed limits.

An entry gets no more trust than what the model was told in the turn, and the turn's audience. If it
cannot be stored, ToolError tells the model why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from django.db.models import Q

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory import journal as core
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.memory.importance import LEAST, MOST, heuristic
from evennia_ai.core.memory.journal import ToldLine
from evennia_ai.core.memory.recollection import (
    SOURCE_TRUST,
    MemoryKind,
    Recollection,
    Seeker,
    may_know,
    unmasked_id,
)
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text.cleaning import sendable, strip_control
from evennia_ai.core.turn.conversation import (
    OF,
    PRIVATE_TO,
    SAID_BY,
    UNKEPT,
    Message,
    known_messages,
)
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.memory import modes, profiles, saving
from evennia_ai.memory.consent import (
    audience_of,
    is_unstorable,
    is_unwanted,
    may_remember,
    names_of,
    place_of,
)
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.memory_store import rows
from evennia_ai.models.containing import containing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import sole_recipient

NOT_REMEMBERED = "of whom that is about nothing may be remembered; go on without"
MOST_COMPARED = 100
MOST_WORDS = 8


def check(script: Assistant, turn: Turn, text: str, longest: int) -> str:
    """Clean a text to one line, and check that it may be stored."""
    words = " ".join(strip_control(sendable(text)).split())
    if not words:
        raise ToolError("there is nothing to write down")
    if len(words) > longest:
        raise ToolError(f"that has {len(words)} characters; it may have {longest} at most")
    if about_itself(words, names_of(script)):
        raise ToolError("you keep nothing about yourself; write down what you learn of others")
    check_consent(script, turn)
    check_sources(script, turn, words)
    return words


def check_consent(script: Assistant, turn: Turn) -> None:
    """Check that something of a turn may be stored."""
    event = turn.event
    whom = {"person": event.face, "sender_id": event.sender_id, "place": place_of(script, turn)}
    if not may_remember(script, **whom):
        raise ToolError("nothing of this talk may be remembered; go on without")


def check_sources(script: Assistant, turn: Turn, text: str) -> None:
    """Check that a text neither names nor repeats somebody who is not remembered."""
    theirs: list[ToldLine] = []
    others = [ToldLine("", event.body) for event in turn.events]
    for item in turn.overheard:
        line = ToldLine(item.name, item.body, True)
        (theirs if is_unstorable(script, item) else others).append(line)
    for message in _told_before(script, turn):
        whose = (message.get(OF), message.get(PRIVATE_TO), *message.get(SAID_BY, ()))
        people = {unmasked_id(str(face)) for face in whose if face}
        mark, is_unkept = message.get(UNKEPT), is_unwanted(script, people)
        for line in core.told_lines(message):
            is_theirs = mark is not None if line.is_overheard else is_unkept or mark is True
            (theirs if is_theirs else others).append(line)
    if not theirs:
        return
    words = core.words_of(text)
    repeated, own_words = (
        core.shared(words, [line.words for line in some]) for some in (theirs, others)
    )
    if PersonNames(line.name for line in theirs).is_in(text) or repeated > own_words:
        raise ToolError(NOT_REMEMBERED)


def _told_before(script: Assistant, turn: Turn) -> list[Message]:
    """The messages that opened the turns before this one, of those that it may know."""
    known = known_messages(script.work.history, sole_recipient(script, turn.event))
    return [message for message in known if message["role"] == "user"]


def write(
    script: Assistant,
    turn: Turn,
    text: str,
    kind: MemoryKind,
    *,
    source_type: str,
    importance: int | None = None,
    tags: Iterable[str] = (),
) -> Recollection:
    """Store a text that the model writes in a turn."""
    words = check(script, turn, text, core.LONGEST_ENTRY)
    audience = audience_of(script, turn)
    if not audience:
        raise ToolError("nobody could ever be told that; there is no use in keeping it")
    known = rows.current(script.pk, audience=audience, kind=kind, text=words).first()
    if known is not None:
        raise ToolError(f"you know that already: it is [{known.key[: core.SHORT_KEY]}]")
    kept_tags, script.work.has_news = core.tags_of(tags), True
    before = chain.from_iterable(map(core.told_lines, _told_before(script, turn)))
    earlier = [(line.words, line.trust) for line in before if line.trust is not None]
    memory = Recollection(
        key=new_key(),
        kind=kind,
        text=words,
        audience=audience,
        person=turn.event.face,
        place=place_of(script, turn),
        source_type=source_type,
        trust=core.believed(words, _heard_texts(turn), SOURCE_TRUST[source_type], earlier),
        importance=_importance(importance, words, source_type, kept_tags),
        importance_by="heuristic" if importance is None else "llm",
        at=script.clock.seconds(),
        tags=kept_tags,
    )
    saving.save(script, [memory])
    return memory


def _importance(given: int | None, words: str, source_type: str, tags: Sequence[str]) -> int:
    if given is None:
        return heuristic(words, source_type, tags)
    if not LEAST <= given <= MOST:
        raise ToolError(f"importance is {given}; it must be {LEAST} (trifle) to {MOST} (vital)")
    return given


def _heard_texts(turn: Turn) -> list[tuple[str, float]]:
    """Texts that the model was told in a turn, with their trust."""
    # Not the assistant's own impulses: it must not raise its trust by quoting itself.
    events = [(event.body, event.trust) for event in turn.events if event.kind != OWN]
    return [*events, *((item.body, item.trust) for item in turn.overheard)]


# ---- reading -----------------------------------------------------------------------------------


def recent(script: Assistant, seeker: Seeker, limit: int) -> list[Recollection]:
    """The newest journal entries that a turn may know, in chronological order."""
    newest = sorted(_newest(script, seeker, Q(), limit), key=lambda row: -row.id)
    return _load_known(script, seeker, [row.key for row in newest[:limit]])[::-1]


def of_talk(script: Assistant, seeker: Seeker, limit: int) -> list[Recollection]:
    """The newest entries of the person that a turn may know, newest first."""
    entries = rows.current(script.pk, kind=MemoryKind.JOURNAL, person=seeker.person).order_by(
        "-id"
    )[:limit]
    return [memory for memory in rows.values(entries) if may_know(memory, seeker)]


def search(script: Assistant, seeker: Seeker, words: str, limit: int) -> list[Recollection]:
    """Journal entries that contain some of the words, those with the most first.

    Raises:
        ToolError: no word has three letters or more.
    """
    # Each word is a condition of the query, so only the longest, which are the most specific.
    longest = sorted(core.words_of(words), key=len, reverse=True)[:MOST_WORDS]
    if not longest:
        raise ToolError("say in words of three letters or more what you look for")
    holds = Q()
    for word in longest:
        holds |= containing("text", word)
    entries = core.ranked(_newest(script, seeker, holds, MOST_COMPARED), longest)
    return _load_known(script, seeker, [row.key for row in entries[:limit]])


def _newest(script: Assistant, seeker: Seeker, wanted: Q, limit: int) -> list[Any]:
    """The newest distinct entries of each of the seeker's audiences: (id, key, text, at)."""
    # One query per audience, so that an index gives the newest. With OR, SQLite sorts all rows.
    entries = rows.of(script.pk, kind=MemoryKind.JOURNAL).filter(wanted).order_by("-id")
    parts = [entries.filter(audience=audience) for audience in seeker.audiences]
    if seeker.person:
        in_the_open = Q(audience__startswith="room:") | Q(audience__startswith="channel:")
        parts.append(entries.filter(in_the_open, person=seeker.person))
    queries = (part.values_list("id", "key", "text", "at", named=True)[:limit] for part in parts)
    return list({row.id: row for part in queries for row in part}.values())


def _load_known(script: Assistant, seeker: Seeker, keys: Sequence[str]) -> list[Recollection]:
    """Memories by key, in the given order, filtered by `may_know`."""
    memories = rows.by_keys(script.pk, keys)
    return [memories[key] for key in keys if may_know(memories[key], seeker)]


def told(script: Assistant, turn: Turn, memories: Sequence[Recollection]) -> str:
    """Memories as text for the model. Private ones make the turn private."""
    turn.hold(*(memory.audience for memory in memories))
    labels = profiles.names_of_others(script, turn, seeker_of(script, turn), memories)
    return core.lines(memories, state.memory_config(script), modes.now(script), labels)
