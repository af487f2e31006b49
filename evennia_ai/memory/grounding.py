"""Grounding of a small model: the one note that fits a player's line, of all it may be told.

A large model gets all notes and chooses itself, but a small one chooses badly, so the choice is
made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from evennia.utils import logger
from twisted.internet.defer import CancelledError

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.inbox import NOTICE, OWN, TASK
from evennia_ai.core.memory.asked import UNKNOWN, AskedLine, is_about_oneself
from evennia_ai.core.memory.decoys import DECOYS
from evennia_ai.core.memory.grounding import Note, fitting, narrowed
from evennia_ai.core.memory.phrasing import (
    as_spoken,
    as_told_back,
    hint,
    split_persona,
    unaddressed,
)
from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.core.memory.recollection import Recollection, Seeker
from evennia_ai.core.memory.wording import written_out
from evennia_ai.core.text.cleaning import cut_at_sentence, name_as_data, one_line
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory import episodes, journal, lore
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import description_of, is_character, name_of

# In characters.
LONGEST_LINE = 400
LONGEST_DESCRIPTION = 160
# The embedding model reads about eighty short texts a second; their vectors are then cached.
MOST_NOTES = 480
MOST_REMEMBERED = 40
MOST_THINGS = 30
MOST_NAMED = 12
EXITS_QUESTION = "which ways lead out of here, where does that door go?"
_EXIT = "evennia.objects.objects.DefaultExit"
_ARTICLE = re.compile(r"\Aan?\s+(?=\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grounded:
    """The note that a small model gets with a player's line.

    Attributes:
        hint: one line of the prompt; "" for a turn that no player's line began.
    """

    hint: str = ""
    audiences: Held = OPEN


NOT_GROUNDED = Grounded()


async def ground(script: Assistant, turn: Turn) -> Grounded:
    """Find the note for a turn's line. Errors are logged and the turn goes on."""
    if turn.event.kind in (OWN, TASK, NOTICE):
        return NOT_GROUNDED
    try:
        return await _ground(script, turn)
    # Unlike asyncio's, Twisted's CancelledError is an Exception and must not be logged below.
    except CancelledError:
        raise
    except Exception:
        logger.log_trace(f"[assistant] {script.key} could not look for what to answer from")
        return Grounded(UNKNOWN)


async def _ground(script: Assistant, turn: Turn) -> Grounded:
    notes, asked_line = _gather(script, turn)
    texts, questions = _texts_to_embed(notes)
    likeness = await services.memory().likeness(tuple(asked_line.queries), texts, questions)
    # None if no embedding model is available: `fitting` then compares words.
    fitting_notes = fitting(notes, asked_line, likeness)
    _note_decision(script, turn, fitting_notes, is_by_words=likeness is None)
    return _grounded(fitting_notes, asked_line)


def ground_by_words(script: Assistant, turn: Turn) -> Grounded:
    """The same synchronously, by shared words only, for previews of a prompt."""
    notes, asked_line = _gather(script, turn)
    return _grounded(fitting(notes, asked_line, None), asked_line)


def texts_of(script: Assistant) -> tuple[list[str], list[str]]:
    """Texts and questions to embed in advance, before the first line of a player."""
    notes = [*_persona_notes(script, None), *_surroundings(script.obj)]
    return _texts_to_embed([*notes[:MOST_NOTES], *DECOYS])


def _texts_to_embed(notes: Sequence[Note]) -> tuple[list[str], list[str]]:
    """Distinct texts and distinct questions of notes. No text is in both lists."""
    questions = dict.fromkeys(note.question for note in notes if note.question)
    texts = dict.fromkeys(piece for note in notes for piece in note.pieces)
    return [text for text in texts if text not in questions], list(questions)


def _note_decision(
    script: Assistant, turn: Turn, notes: Sequence[Note], *, is_by_words: bool
) -> None:
    # For `assistant why`. The note itself may be secret, so only its kind is recorded.
    how = "shared words" if is_by_words else "meaning"
    count = sum(not note.is_decoy for note in notes)
    decision = f"{('no note fits', 'one note', 'two notes')[count]}, by {how}"
    script.work.decisions.note([event.number for event in turn.events], "told", decision)


def _grounded(notes: Sequence[Note], asked: AskedLine) -> Grounded:
    audiences = confined([note.audience for note in notes]) if notes else OPEN
    return Grounded(hint(notes, asked.line), audiences)


def _gather(script: Assistant, turn: Turn) -> tuple[list[Note], AskedLine]:
    line = one_line(" ".join(event.body for event in turn.events), LONGEST_LINE)
    seeker = seeker_of(script, turn)
    known = _remembered(script, seeker)
    asked_line = _asked_line(script, written_out(line), known)
    notes = [
        *_persona_notes(script, turn),
        *(
            Note(one_line(entry.text, LONGEST_LINE), audience=entry.audience)
            for entry in lore.all_known(script, seeker, turn)
        ),
        *_surroundings(script.obj),
        *_remembered_notes(known),
    ]
    return [*narrowed(notes, asked_line, MOST_NOTES), *DECOYS], asked_line


def _persona_notes(script: Assistant, turn: Turn | None) -> Iterator[Note]:
    """Notes from the persona and from example answers."""
    _, facts = split_persona(state.read(script, "persona"))
    for fact in map(lore.moment_of(script, turn).fill, facts):
        yield Note(as_spoken(fact))
    for question, answer in state.read(script, "examples"):
        spoken = unaddressed(answer)
        for way in filter(None, map(str.strip, question.splitlines())):
            yield Note(spoken, key=f"{way} {spoken}", question=way)


def _surroundings(body: GameObject | None) -> Iterator[Note]:
    """Notes about what the assistant sees: the room, exits, characters and things."""
    room = body.location if body is not None else None
    if body is None or room is None:
        return
    here = name_of(room, body)
    yield from map(Note, _describe(room, body, f"This is {here}."))
    # A stable order keeps the texts, and so the cached vectors, the same between turns.
    visible = sorted(room.filter_visible(room.contents, body), key=attrgetter("id"))
    others = [thing for thing in visible if thing != body]
    ways = [thing for thing in others if thing.is_typeclass(_EXIT, exact=False)]
    beings = [thing for thing in others if is_character(thing)]
    if ways:
        text = f"From here one can go {_joined(_exit_text(way, body) for way in ways)}."
        yield Note(text, key=f"{EXITS_QUESTION} {text}", question=EXITS_QUESTION)
    if beings:
        names = (name_as_data(name_of(being, body)) for being in beings)
        yield Note(f"{_joined(names)} {'is' if len(beings) == 1 else 'are'} here with me.")
    things = (thing for thing in others if thing not in ways and thing not in beings)
    for thing, _ in zip(things, range(MOST_THINGS), strict=False):
        yield from map(Note, _describe(thing, body, f"{_the(thing, body)} is here."))


def _exit_text(way: GameObject, body: GameObject) -> str:
    where, name = way.destination, name_of(way, body)
    # The view lock of the destination also hides its name.
    is_seen = where is not None and where.access(body, "view", default=True)
    return f"{name} to {name_of(where, body)}" if is_seen else name


def _joined(names: Iterable[str]) -> str:
    shown = [one_line(name, 60) for name in names][:MOST_NAMED]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _describe(thing: GameObject, body: GameObject, otherwise: str) -> Iterator[str]:
    """The start of a thing's description, with its name if the description lacks it."""
    looks = one_line(description_of(thing, body), 4 * LONGEST_DESCRIPTION)
    name = one_line(name_of(thing, body), 60)
    if not looks:
        yield otherwise
    elif name.casefold() in looks.casefold():
        yield cut_at_sentence(looks, LONGEST_DESCRIPTION)
    else:
        looks = looks[:1].lower() + cut_at_sentence(looks, LONGEST_DESCRIPTION)[1:]
        yield f"{_the(thing, body)}: {looks}"


def _the(thing: GameObject, body: GameObject) -> str:
    """The name of a thing as the beginning of a sentence: "The brass lamp"."""
    name = one_line(name_of(thing, body), 60)
    return name if name.casefold().startswith("the ") else f"The {_ARTICLE.sub('', name)}"


def _remembered(script: Assistant, seeker: Seeker) -> list[Recollection]:
    if not state.memory_config(script).enabled or not seeker.person:
        return []
    return journal.of_talk(script, seeker, MOST_REMEMBERED)


def _remembered_notes(known: Sequence[Recollection]) -> Iterator[Note]:
    """Notes from a person's statements, except questions and words about the assistant."""
    for memory in known:
        words, _ = episodes.exchange_of(memory)
        if words and is_about_oneself(words):
            text = as_told_back(written_out(words))
            yield Note(text, words, audience=memory.audience, is_reminder=True)


def _asked_line(script: Assistant, line: str, known: Sequence[Recollection]) -> AskedLine:
    """The line, with the last exchange before it if that belongs to the same talk."""
    now = script.clock.seconds()
    if not known or now - known[0].at >= MEETING_SECONDS:
        return AskedLine(line)
    last_line, answered = episodes.exchange_of(known[0])
    return AskedLine(line, last_line, answered)
