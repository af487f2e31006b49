"""Recall: finds the memories for a turn's prompt, by meaning and words, within its audience.

`None` differs from `[]`: the search failed, and `problem` says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.memory.asked import AskedLine
from evennia_ai.core.memory.knowledge import exchange_of
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    is_private,
    may_know,
    person_audience,
    score,
    select_memories,
)
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.text.cleaning import quote
from evennia_ai.core.turn.conversation import is_of, texts_of
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import indexing, lore, modes, notebook, paying, profiles, projects, talks
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.memory.telling import MOST_TOLD, prompt_text
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import Hit, MemoryQuery
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

T = TypeVar("T")
# The longest that a reply waits for the store.
DEADLINE_SECONDS = 2.0
# In characters.
LONGEST_QUERY = 600
# Of an entry's words, by which it is found in the conversation.
COMPARED = 40
# Hits per memory in the prompt, as some are dropped, such as words of others in the same rooms.
OVERFETCH = 3
MOST_LOOKED_AT = 200
MOST_AUDIENCES = 1000
# Memories get a tenth of the model's context; a token has about three characters.
CHARS_OF_CONTEXT = 0.3
LEAST_TOLD = 600
CROWDED = "similar ones or more relevant ones come first (memory_config.recall_limit)"
SLOW = f"the store of memories did not answer within {DEADLINE_SECONDS:g} s"


@dataclass(frozen=True, slots=True)
class Recalled:
    """The prompt's sections from memory.

    Attributes:
        problem: the reason why the search failed, or "".
        entities: notes about the people present.
        memories: memories, with known ones and hearsay apart.
        audiences: who may know all of it; empty if it is public.
    """

    entities: str = ""
    memories: str = ""
    audiences: Held = OPEN
    problem: str = ""

    @property
    def is_private(self) -> bool:
        """True if it includes something that only this person or a faction may know."""
        return bool(self.audiences)

    @property
    def notes(self) -> dict[str, str]:
        """The values of the prompt's placeholders for it."""
        return {"entities": self.entities, "memories": self.memories}


NOTHING = Recalled()
# The hits, or None if the search failed; and the problem, or "".
Found = tuple[list[T] | None, str]
_OF_ONESELF = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|myself)\b", re.IGNORECASE)


async def recall(script: Assistant, turn: Turn) -> Recalled:
    """Recall memories for a turn. Errors are logged and the turn goes on."""
    if not state.memory_config(script).enabled:
        return NOTHING
    try:
        return await _recalled(script, turn)
    # Unlike asyncio's, Twisted's CancelledError is an Exception and must not be logged below.
    except CancelledError:
        raise
    except Exception as error:
        logger.log_trace(f"[assistant] {script.key} could not recall anything")
        return Recalled(problem=f"an error of ours: {error!r}")


async def _recalled(script: Assistant, turn: Turn) -> Recalled:
    config = state.memory_config(script)
    seeker = seeker_of(script, turn)
    query = _query_text(script, turn, seeker)
    hits, problem = await _seek(script, query, seeker, config, fits=config.recall_limit)
    most = _chars_available(script)
    # Lore gets half of the space, so that it does not crowd out memories.
    told_lore = _within_budget(lore.matching(script, query, seeker, turn), most // 2)
    known = [*told_lore, *(hits or ())]
    labels, now = profiles.names_of_others(script, turn, seeker, known), modes.now(script)
    text, memories = prompt_text(known, config, now, about=query, most=most, labels=labels)
    notes = notebook.newest(script, turn)
    parts = text, notebook.prompt_text(notes), projects.prompt_text(script, turn)
    recalled = Recalled(
        entities=profiles.prompt_text(script, turn, seeker, memories),
        memories="\n".join(filter(None, parts)),
        audiences=confined(
            (
                *(memory.audience for memory in memories),
                *(person_audience(note["person"]) for note in notes if note["is_private"]),
            )
        ),
        problem=problem,
    )
    _note_decision(script, turn, memories, problem)
    return recalled


def _within_budget(lore_told: Sequence[Recollection], most: int) -> Sequence[Recollection]:
    """The first entries that fit into so many characters, but at least one."""
    size = 0
    for count, entry in enumerate(lore_told):
        size += len(entry.text)
        if size > most and count:
            return lore_told[:count]
    return lore_told


def _chars_available(script: Assistant) -> int:
    """Characters that a prompt has for memories."""
    room = int(script.work.max_context_tokens * CHARS_OF_CONTEXT)
    # 0 before the first prompt, when the size of the model's context is not known yet.
    return min(MOST_TOLD, max(LEAST_TOLD, room)) if room else MOST_TOLD


def search(script: Assistant, query: str, seeker: Seeker) -> Deferred[list[Recollection] | None]:
    """Search memories that the seeker may know, best first, as many as in a prompt.

    Returns:
        None if the search failed; [] if nothing was found.
    """
    config = state.memory_config(script)
    looking = Deferred.fromCoroutine(_seek(script, query[:LONGEST_QUERY], seeker, config))
    return looking.addCallback(lambda outcome: outcome[0])


def everything(script: Assistant, query: str, *, limit: int) -> Deferred[list[Recollection] | None]:
    """Search the memories of all audiences, most similar first; for staff only."""
    return Deferred.fromCoroutine(_everything(script, query[:LONGEST_QUERY], limit))


async def _everything(script: Assistant, query: str, limit: int) -> list[Recollection] | None:
    audiences = rows.audiences(script.pk, MOST_AUDIENCES)
    hits, _ = await _hits(script, MemoryQuery(script.pk, query, tuple(audiences), limit), person="")
    return None if hits is None else _load(script, hits)


def _load(script: Assistant, hits: Sequence[Hit]) -> list[Recollection]:
    """Load the current rows of hits, in the same order."""
    # The index may lag behind: hits of forgotten memories are dropped.
    known = rows.by_keys(script.pk, [hit.key for hit in hits])
    return [replace(known[hit.key], similarity=hit.similarity) for hit in hits if hit.key in known]


def _query_text(script: Assistant, turn: Turn, seeker: Seeker) -> str:
    """The query for a turn: what was said, or the end of it if it is long.

    Lines in the first person are prefixed with the speaker's name, as journal entries are. A short
    follow-up is searched together with the line before it, unless others would hear in the answer
    what that was about.
    """
    lines = [_line(event) for event in turn.events]
    talk = talks.going_on(script, turn.event.person)
    if talk is not None and talk.is_private and not seeker.is_private:
        talk = None
    before = talk.words if talk is not None else ""
    if before and AskedLine(lines[-1], before).is_follow_up:
        lines.insert(0, before)
    return "\n".join(lines)[-LONGEST_QUERY:]


def _line(event: Event) -> str:
    is_of_oneself = event.kind != OWN and _OF_ONESELF.search(event.body) is not None
    return f"{event.sender_name}: {event.body}" if is_of_oneself else event.body


async def _seek(
    script: Assistant, query: str, seeker: Seeker, config: MemoryConfig, *, fits: int = 0
) -> Found[Recollection]:
    """Search by meaning and words, then filter and rank by trust, audience and score."""
    payer = seeker.payer or seeker.person
    hits, problem = await _search_audiences(script, query, seeker, config, payer=payer, fits=fits)
    if hits is None:
        return None, problem
    if not hits:
        return [], ""
    fit = [hit for hit in hits if _is_similar_enough(hit, config)]
    candidates = [each for each in _load(script, fit) if not _is_in_conversation(script, each)]
    return select_memories(candidates, seeker, script.clock.seconds(), config), ""


async def _search_audiences(
    script: Assistant, query: str, seeker: Seeker, config: MemoryConfig, *, payer: str, fits: int
) -> Found[Hit]:
    """Search all audiences of which the seeker may know something."""
    if not config.enabled:
        return None, "it remembers nothing: memory_config.enabled is False"
    # The person may be told what they said openly elsewhere. These audiences also contain words of
    # others, which `select_memories` drops later.
    audiences = (*seeker.audiences, *indexing.spoken_at(script, seeker.person))
    search = MemoryQuery(
        script.pk,
        query,
        tuple(dict.fromkeys(audiences)),
        min(MOST_LOOKED_AT, OVERFETCH * config.recall_limit),
        config.rumour_trust,
        fits,
    )
    return await _hits(script, search, payer)


def _is_similar_enough(hit: Hit, config: MemoryConfig) -> bool:
    """True if a hit is similar enough to the query. Without a vector, it always is."""
    least = config.min_similarity
    if least is None:
        least = services.memory().least_similarity
    return hit.meaning is None or hit.meaning + hit.words >= least


def _is_in_conversation(script: Assistant, memory: Recollection) -> bool:
    """True for an entry of the current talk whose words are in the conversation anyway."""
    if memory.kind != MemoryKind.JOURNAL or not script.work.history:
        return False
    talk = talks.going_on(script, memory.person)
    if talk is None or memory.at < talk.began_at:
        return False
    history, person = script.work.history, {memory.person}
    if sum(each["role"] == "user" and is_of(each, person) for each in history) >= talk.turns:
        return True
    # Of a long talk the conversation holds only the end, or a summary. An entry is on one line.
    words = quote(exchange_of(memory.text).words or memory.text)[1:-1]
    conversation = " ".join(texts_of(history)).replace("\\n", " ")
    return words[:COMPARED] in " ".join(conversation.split())


@dataclass(frozen=True, slots=True)
class Weighed:
    """A hit with its scores, for staff.

    Attributes:
        score: the score by which memories are chosen, 0 to 1.
        meaning: semantic similarity to the query, 0 to 1; None without a vector.
        words: keyword score, 0 to 1.
        why_not: the reason why it would not be in the prompt; "" if it would.
    """

    memory: Recollection
    score: float
    meaning: float | None
    words: float
    why_not: str


def weigh(script: Assistant, turn: Turn) -> Deferred[Found[Weighed]]:
    """Explain recall for a turn: all hits, those that would be told first. Records nothing.

    Returns:
        The hits and ""; or None and the problem if the search failed.
    """
    return Deferred.fromCoroutine(_weighed(script, turn))


async def _weighed(script: Assistant, turn: Turn) -> Found[Weighed]:
    config, now = state.memory_config(script), script.clock.seconds()
    seeker = seeker_of(script, turn)
    query = _query_text(script, turn, seeker)
    # Staff try a message as somebody else, who must not be charged for it.
    hits, problem = await _search_audiences(
        script, query, seeker, config, payer="", fits=config.recall_limit
    )
    if hits is None:
        return None, problem
    by_key = {hit.key: hit for hit in hits}
    memories = _load(script, hits)
    why = {m.key: _obstacle(script, m, by_key[m.key], seeker, config) for m in memories}
    chosen = [
        m.key for m in select_memories((m for m in memories if not why[m.key]), seeker, now, config)
    ]
    weighed = [
        Weighed(
            memory,
            score(memory, now, config),
            by_key[memory.key].meaning,
            by_key[memory.key].words,
            "" if memory.key in chosen else why[memory.key] or CROWDED,
        )
        for memory in memories
    ]
    return sorted(weighed, key=lambda each: (bool(each.why_not), -each.score)), ""


def _obstacle(
    script: Assistant, memory: Recollection, hit: Hit, seeker: Seeker, config: MemoryConfig
) -> str:
    """The reason why a memory is never told in this turn, or ""."""
    checks = (
        (_is_similar_enough(hit, config), "it is not alike enough (memory_config.min_similarity)"),
        (may_know(memory, seeker), "whoever is told may not know it"),
        (not _is_in_conversation(script, memory), "the talk that goes on tells it already"),
    )
    return next((reason for is_right, reason in checks if not is_right), "")


async def _hits(script: Assistant, query: MemoryQuery, person: str) -> Found[Hit]:
    """Search within the deadline. Returns the hits, or None and the problem."""
    service = services.memory()
    if service.absence:
        return None, service.absence
    looking = Deferred.fromCoroutine(paying.search(script, service, query, person))
    has_waited = not looking.called
    try:
        hits, problem = await looking.addTimeout(DEADLINE_SECONDS, script.clock), ""
    except DeadlineError:
        hits, problem = None, SLOW
    if has_waited:
        # Many recalls may end at the same moment, as when the store opens: go on one by one.
        await services.pacer().turn()
    if hits is None:
        problem = problem or service.problem or "nothing could be looked for"
    return hits, problem


def _note_decision(
    script: Assistant, turn: Turn, memories: Sequence[Recollection], problem: str
) -> None:
    # For `assistant why`: only counts, because memories may be private.
    numbers = [event.number for event in turn.events]
    if problem:
        script.work.decisions.note(numbers, "could not look into its memory", problem)
    if memories:
        alone = sum(is_private(memory.audience) for memory in memories)
        detail = f"memories: {len(memories)}, private: {alone}"
        script.work.decisions.note(numbers, "recalled", detail)
