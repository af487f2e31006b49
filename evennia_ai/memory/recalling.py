"""Recall: the memories told in a turn, found by meaning and by words, fit for whom it is for.

`None` is not `[]`: where nothing could be looked for, nothing is told of it, and `problem` says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.memory.asked import AskedLine
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    chosen,
    is_private,
    may_know,
    person_audience,
    score,
)
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import indexing, lore, modes, notebook, paying, profiles, projects, talks
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.memory.telling import MOST_TOLD, told
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import Hit, MemoryQuery
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

__all__ = ["NOTHING", "Recalled", "everything", "recall", "search", "seeker_of", "told"]

T = TypeVar("T")
# A reply waits no longer than this for the store.
DEADLINE_SECONDS = 2.0
MOST_SOUGHT = 600
# So many are looked at for each that is told: what was said by others where the person was, too.
LOOKED_AT = 3
MOST_LOOKED_AT = 200
MOST_AUDIENCES = 1000
# A prompt has a tenth of the model's context for them; a token has some three characters.
CHARS_OF_CONTEXT = 0.3
LEAST_TOLD = 600
CROWDED = "others say the same, rest on it, or weigh more (memory_config.recall_limit)"
SLOW = f"the store of memories did not answer within {DEADLINE_SECONDS:g} s"


@dataclass(frozen=True, slots=True)
class Recalled:
    """Texts for the prompt of a turn that tell it of earlier.

    Attributes:
        entities: what is known of those it talks with.
        memories: what it remembers, known and heard apart.
        audiences: of all that, where it is not open.
        problem: why nothing could be looked for, or "".
    """

    entities: str = ""
    memories: str = ""
    audiences: Held = OPEN
    problem: str = ""

    @property
    def is_private(self) -> bool:
        """True where only this person, or a faction, may know something of it."""
        return bool(self.audiences)

    @property
    def notes(self) -> dict[str, str]:
        """The values of the placeholders that stand for it."""
        return {"entities": self.entities, "memories": self.memories}


NOTHING = Recalled()
# What was found, None where it could not be looked for; and the problem.
Found = tuple[list[T] | None, str]
_OF_ONESELF = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|myself)\b", re.IGNORECASE)


async def recall(script: Assistant, turn: Turn) -> Recalled:
    """Recall what a turn is told of earlier; whatever goes wrong, the turn goes on.

    Raises:
        CancelledError: the turn is over.
    """
    if not state.memory_config(script).enabled:
        return NOTHING
    try:
        return await _recalled(script, turn)
    # Twisted's is an Exception, and would else be logged as a fault.
    except CancelledError:
        raise
    except Exception as error:
        logger.log_trace(f"[assistant] {script.key} could not recall anything")
        return Recalled(problem=f"an error of ours: {error!r}")


async def _recalled(script: Assistant, turn: Turn) -> Recalled:
    config = state.memory_config(script)
    seeker, sought = seeker_of(script, turn), _sought(script, turn)
    found, problem = await _seek(script, sought, seeker, config, fits=config.recall_limit)
    told_lore = _within(lore.matching(script, sought, seeker, turn), _room(script) // 2)
    memories = [*told_lore, *(found or ())]
    notes = notebook.newest(script, turn)
    text = told(memories, config, modes.hour(script), about=sought, most=_room(script))
    parts = text, notebook.told(notes), projects.told(script, turn)
    recalled = Recalled(
        entities=profiles.told(script, turn, seeker, memories),
        memories="\n".join(filter(None, parts)),
        audiences=confined(
            (
                *(memory.audience for memory in memories),
                *(person_audience(note["person"]) for note in notes if note["is_private"]),
            )
        ),
        problem=problem,
    )
    _note(script, turn, memories, problem)
    return recalled


def _within(lore_told: Sequence[Recollection], most: int) -> Sequence[Recollection]:
    """The first of some lore, and what follows within so many characters: the rest is memories'."""
    sizes = accumulate(len(entry.text) for entry in lore_told)
    return [
        e for n, (e, size) in enumerate(zip(lore_told, sizes, strict=True)) if not n or size <= most
    ]


def _room(script: Assistant) -> int:
    """Characters of memories that the prompt has room for."""
    room = int(script.work.max_context_tokens * CHARS_OF_CONTEXT)
    # 0 before the first prompt, when nothing is known of the model's context.
    return min(MOST_TOLD, max(LEAST_TOLD, room)) if room else MOST_TOLD


def search(
    script: Assistant, query: str, seeker: Seeker, *, limit: int | None = None
) -> Deferred[list[Recollection] | None]:
    """The memories that a text is about and that may be told to somebody, the best first.

    Args:
        limit: how many at most, 1 to 50; None: as many as are told in a turn.

    Returns:
        None: it could not be looked for; [] means: looked, and found nothing.
    """
    config = state.memory_config(script)
    if limit is not None:
        config = config.model_copy(update={"recall_limit": min(50, max(1, limit))})
    looking = Deferred.fromCoroutine(_seek(script, query[:MOST_SOUGHT], seeker, config))
    return looking.addCallback(lambda outcome: outcome[0])


def everything(
    script: Assistant, query: str, *, limit: int = 10
) -> Deferred[list[Recollection] | None]:
    """All that a text is about, whoever may know it, the most alike first: for staff.

    Returns:
        None: it could not be looked for.
    """
    return Deferred.fromCoroutine(_everything(script, query[:MOST_SOUGHT], limit))


async def _everything(script: Assistant, query: str, limit: int) -> list[Recollection] | None:
    audiences = rows.audiences(script.pk, MOST_AUDIENCES)
    hits, _ = await _hits(script, MemoryQuery(script.pk, query, tuple(audiences), limit), person="")
    return None if hits is None else _told_of(script, hits)


def _told_of(script: Assistant, hits: Sequence[Hit]) -> list[Recollection]:
    """The memories that were found, as the table has them now, in the same order."""
    known = rows.by_keys(script.pk, [hit.key for hit in hits])
    return [replace(known[hit.key], similarity=hit.similarity) for hit in hits if hit.key in known]


def _sought(script: Assistant, turn: Turn) -> str:
    """The words that are looked for: what was said, the newest of it where it is much.

    Whoever speaks of themselves is named: so are they in what they said before. A short line that
    goes on from the last one is sought together with it.
    """
    lines = [_line(event) for event in turn.events]
    talk = talks.going_on(script, turn.event.person)
    before = talk.words if talk is not None else ""
    if before and AskedLine(lines[-1], before).is_follow_up:
        lines.insert(0, before)
    return "\n".join(lines)[-MOST_SOUGHT:]


def _line(event: Event) -> str:
    is_of_oneself = event.kind != OWN and _OF_ONESELF.search(event.body) is not None
    return f"{event.sender_name}: {event.body}" if is_of_oneself else event.body


async def _seek(
    script: Assistant, query: str, seeker: Seeker, config: MemoryConfig, *, fits: int = 0
) -> Found[Recollection]:
    """Find what fits in two stages: by meaning and words, then by trust, audience and score."""
    payer = seeker.payer or seeker.person
    hits, problem = await _audible(script, query, seeker, config, payer=payer, fits=fits)
    if hits is None:
        return None, problem
    fit = [hit for hit in hits if _is_alike(hit, config)]
    found = (memory for memory in _told_of(script, fit) if not _is_in_conversation(script, memory))
    return chosen(found, seeker, script.clock.seconds(), config), ""


async def _audible(
    script: Assistant, query: str, seeker: Seeker, config: MemoryConfig, *, payer: str, fits: int
) -> Found[Hit]:
    """The memories that a text is about, of the audiences that a seeker may be told of."""
    if not config.enabled:
        return None, "it remembers nothing: memory_config.enabled is False"
    # What the person said in the open elsewhere is theirs; that of others there is left out later.
    audiences = (*seeker.audiences, *indexing.spoken_at(script, seeker.person))
    sought = MemoryQuery(
        script.pk,
        query,
        tuple(dict.fromkeys(audiences)),
        min(MOST_LOOKED_AT, LOOKED_AT * config.recall_limit),
        config.rumour_trust,
        fits,
    )
    return await _hits(script, sought, payer)


def _is_alike(hit: Hit, config: MemoryConfig) -> bool:
    """True where a memory is alike enough to be told at all."""
    least = config.min_similarity
    if least is None:
        least = services.memory().least_similarity
    return hit.meaning is None or hit.meaning + hit.words >= least


def _is_in_conversation(script: Assistant, memory: Recollection) -> bool:
    """True where it is an entry of a talk that goes on: the conversation itself tells it."""
    if memory.kind != MemoryKind.JOURNAL or not script.work.history:
        return False
    talk = talks.going_on(script, memory.person)
    return talk is not None and memory.at >= talk.began_at


@dataclass(frozen=True, slots=True)
class Weighed:
    """A memory that was found for a turn, with what it weighs.

    Attributes:
        score: by which the best are told, 0 to 1.
        meaning: how alike it is to what was sought, 0 to 1; None where nobody knows.
        words: how well it fits by its words, 0 to 1.
        why_not: why it would not be told; "": it would.
    """

    memory: Recollection
    score: float
    meaning: float | None
    words: float
    why_not: str


def weigh(script: Assistant, turn: Turn) -> Deferred[Found[Weighed]]:
    """The memories that are found for a turn, those that it would be told first; nothing is noted.

    Returns:
        None, and why, where nothing could be looked for.
    """
    return Deferred.fromCoroutine(_weighed(script, turn))


async def _weighed(script: Assistant, turn: Turn) -> Found[Weighed]:
    config, now = state.memory_config(script), script.clock.seconds()
    seeker, sought = seeker_of(script, turn), _sought(script, turn)
    # Whoever it is tried as pays nothing.
    hits, problem = await _audible(
        script, sought, seeker, config, payer="", fits=config.recall_limit
    )
    if hits is None:
        return None, problem
    by_key = {hit.key: hit for hit in hits}
    found = _told_of(script, hits)
    why = {m.key: _obstacle(script, m, by_key[m.key], seeker, config) for m in found}
    told = [m.key for m in chosen((m for m in found if not why[m.key]), seeker, now, config)]
    weighed = [
        Weighed(
            memory,
            score(memory, now, config),
            by_key[memory.key].meaning,
            by_key[memory.key].words,
            "" if memory.key in told else why[memory.key] or CROWDED,
        )
        for memory in found
    ]
    return sorted(weighed, key=lambda each: (bool(each.why_not), -each.score)), ""


def _obstacle(
    script: Assistant, memory: Recollection, hit: Hit, seeker: Seeker, config: MemoryConfig
) -> str:
    """The reason why a memory is not told whatever else there is, or ""."""
    checks = (
        (_is_alike(hit, config), "it is not alike enough (memory_config.min_similarity)"),
        (may_know(memory, seeker), "whoever is told may not know it"),
        (not _is_in_conversation(script, memory), "the talk that goes on tells it already"),
    )
    return next((told for is_right, told in checks if not is_right), "")


async def _hits(script: Assistant, sought: MemoryQuery, person: str) -> Found[Hit]:
    """The memories found within the deadline, and the reason it could not be looked for, or ""."""
    if problem := indexing.problem(script):
        return None, problem
    service = services.memory()
    looking = Deferred.fromCoroutine(paying.search(script, service, sought, person))
    has_waited = not looking.called
    try:
        hits, problem = await looking.addTimeout(DEADLINE_SECONDS, script.clock), ""
    except DeadlineError:
        hits, problem = None, SLOW
    if has_waited:  # perhaps with many others, who are answered, or not, at the same moment
        await services.pacer().turn()
    if hits is None:
        problem = problem or service.problem or "nothing could be looked for"
    return hits, problem


def _note(script: Assistant, turn: Turn, memories: Sequence[Recollection], problem: str) -> None:
    """Let `assistant why` tell what an answer was made with."""
    numbers = [event.number for event in turn.events]
    if problem:
        script.work.decisions.note(numbers, "could not look into its memory", problem)
    if memories:
        alone = sum(is_private(memory.audience) for memory in memories)
        detail = f"memories: {len(memories)}, private: {alone}"
        script.work.decisions.note(numbers, "recalled", detail)
