"""The note that a small model answers from: the one that fits, of all that may be told there.

A large model is told everything and chooses itself; the demo brain is told what was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from evennia.utils import logger
from evennia.utils.ansi import strip_ansi
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
from evennia_ai.memory.lore_conditions import asking
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of

LONGEST_LINE = 400
LONGEST_LOOK = 160
# A model of vectors reads some eighty short texts a second when it meets them first.
MOST_NOTES = 480
MOST_REMEMBERED = 40
MOST_THINGS = 30
MOST_NAMED = 12
ASKED_FOR_WAYS = "which ways lead out of here, where does that door go?"
_BEING = "evennia.objects.objects.DefaultCharacter"
_EXIT = "evennia.objects.objects.DefaultExit"


@dataclass(frozen=True, slots=True)
class Grounded:
    """The note that a small model is told beside a line.

    Attributes:
        hint: one line of the prompt; "" for a turn that nobody's line began.
        audiences: who may know what it tells.
    """

    hint: str = ""
    audiences: Held = OPEN


NOT_GROUNDED = Grounded()


async def ground(script: Assistant, turn: Turn) -> Grounded:
    """The note that a turn's line is answered from; whatever goes wrong, the turn goes on.

    Raises:
        CancelledError: the turn is over.
    """
    if turn.event.kind in (OWN, TASK, NOTICE):
        return NOT_GROUNDED
    try:
        return await _found(script, turn)
    # Twisted's is an Exception, and would else be logged as a fault.
    except CancelledError:
        raise
    except Exception:
        logger.log_trace(f"[assistant] {script.key} could not look for what to answer from")
        return Grounded(UNKNOWN)


async def _found(script: Assistant, turn: Turn) -> Grounded:
    """The note by the likeness of meaning, else by shared words."""
    notes, asked = _gathered(script, turn)
    texts, questions = _compared(notes)
    likeness = await services.memory().likeness(tuple(asked.queries), texts, questions)
    found = fitting(notes, asked, likeness)
    _tell(script, turn, found, is_by_words=likeness is None)
    return _grounded(found, asked)


def ground_by_words(script: Assistant, turn: Turn) -> Grounded:
    """The same at once, by shared words alone: for who looks at a prompt that is not sent."""
    notes, asked = _gathered(script, turn)
    return _grounded(fitting(notes, asked, None), asked)


def texts_of(script: Assistant) -> tuple[list[str], list[str]]:
    """The texts and questions that lines are compared with before anybody has said one."""
    return _compared([*[*_own(script, None), *_around(script.obj)][:MOST_NOTES], *DECOYS])


def _compared(notes: Sequence[Note]) -> tuple[list[str], list[str]]:
    """The texts by which notes are found, each once, and the questions by which they are."""
    questions = dict.fromkeys(note.question for note in notes if note.question)
    texts = dict.fromkeys(piece for note in notes for piece in note.pieces)
    return [text for text in texts if text not in questions], list(questions)


def _tell(script: Assistant, turn: Turn, notes: Sequence[Note], *, is_by_words: bool) -> None:
    """Let `assistant why` tell what a small model was shown; not its words, which may be secret."""
    how = "shared words" if is_by_words else "meaning"
    count = sum(not note.is_decoy for note in notes)
    found = f"{('no note fits', 'one note', 'two notes')[count]}, by {how}"
    script.work.decisions.note([event.number for event in turn.events], "told", found)


def _grounded(notes: Sequence[Note], asked: AskedLine) -> Grounded:
    audiences = confined([note.audience for note in notes]) if notes else OPEN
    return Grounded(hint(notes, asked.line), audiences)


def _gathered(script: Assistant, turn: Turn) -> tuple[list[Note], AskedLine]:
    said = one_line(" ".join(event.body for event in turn.events), LONGEST_LINE)
    seeker = seeker_of(script, turn)
    known = _remembered(script, seeker)
    asked = _asked(script, written_out(said), known)
    notes = [*_own(script, turn), *_lore(script, seeker, turn), *_around(script.obj), *_said(known)]
    return [*narrowed(notes, asked, MOST_NOTES), *DECOYS], asked


def _own(script: Assistant, turn: Turn | None) -> Iterator[Note]:
    """Notes of its persona and facts, and of the answers in its examples."""
    _, told = split_persona(state.read(script, "persona"))
    for fact in map(asking(script, turn).fill, told):
        yield Note(as_spoken(fact))
    for asked, answer in state.read(script, "examples"):
        spoken = unaddressed(answer)
        for way in filter(None, map(str.strip, asked.splitlines())):
            yield Note(spoken, key=f"{way} {spoken}", question=way)


def _lore(script: Assistant, seeker: Seeker, turn: Turn) -> Iterator[Note]:
    for entry in lore.known(script, seeker, turn):
        yield Note(one_line(entry.text, LONGEST_LINE), audience=entry.audience)


def _around(body: GameObject | None) -> Iterator[Note]:
    """Notes of all it sees where it stands: the place, ways, things and beings."""
    room = body.location if body is not None else None
    if room is None:
        return
    here = name_of(room, body)
    yield from map(Note, _look(room, f"This is {here}."))
    visible = sorted(room.filter_visible(room.contents, body), key=attrgetter("id"))
    seen = [thing for thing in visible if thing != body]
    ways = [thing for thing in seen if thing.is_typeclass(_EXIT, exact=False)]
    beings = [thing for thing in seen if thing.is_typeclass(_BEING, exact=False)]
    if ways:
        told = f"From here one can go {_list(map(_way, ways))}."
        yield Note(told, key=f"{ASKED_FOR_WAYS} {told}", question=ASKED_FOR_WAYS)
    if beings:
        names = (name_as_data(name_of(being, body)) for being in beings)
        yield Note(f"{_list(names)} {'is' if len(beings) == 1 else 'are'} here with me.")
    things = (thing for thing in seen if thing not in ways and thing not in beings)
    for thing, _ in zip(things, range(MOST_THINGS), strict=False):
        yield from map(Note, _look(thing, f"The {name_of(thing, body)} is here."))


def _way(way: GameObject) -> str:
    where = way.destination
    return f"{way.key} to {where.key}" if where is not None else str(way.key)


def _list(names: Iterable[str]) -> str:
    told = [one_line(name, 60) for name in names][:MOST_NAMED]
    return f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]


def _look(thing: GameObject, otherwise: str) -> Iterator[str]:
    """The beginning of what a thing looks like, with its name where that does not tell it."""
    looks = one_line(str(strip_ansi(str(thing.db.desc or ""))), 4 * LONGEST_LOOK)
    name = one_line(str(thing.key), 60)
    if not looks:
        yield otherwise
    elif name.casefold() in looks.casefold():
        yield cut_at_sentence(looks, LONGEST_LOOK)
    else:
        name = name if name.casefold().startswith("the ") else f"The {name}"
        yield f"{name}: {looks[:1].lower()}{cut_at_sentence(looks, LONGEST_LOOK)[1:]}"


def _remembered(script: Assistant, seeker: Seeker) -> list[Recollection]:
    """Entries of talks with this person that may be told here, the newest first."""
    if not state.memory_config(script).enabled or not seeker.person:
        return []
    return journal.of_talk(script, seeker, MOST_REMEMBERED)


def _said(known: Sequence[Recollection]) -> Iterator[Note]:
    """Notes of all a person told; not of questions, nor of words about the assistant."""
    for memory in known:
        words, _ = episodes.exchange_of(memory)
        if words and is_about_oneself(words):
            told = as_told_back(written_out(words))
            yield Note(told, words, audience=memory.audience, is_reminder=True)


def _asked(script: Assistant, line: str, known: Sequence[Recollection]) -> AskedLine:
    """The line after the last exchange, where that was a moment ago."""
    now = script.clock.seconds()
    if not known or now - known[0].at >= MEETING_SECONDS:
        return AskedLine(line)
    said, answered = episodes.exchange_of(known[0])
    return AskedLine(line, said, answered)
