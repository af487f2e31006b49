"""Lines that are to be answered: questions, demands and talk, known by English words.

In other languages a question is known by its mark alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# What a small model is told where no note answers: of questions, of demands, and of talk.
UNKNOWN, UNABLE, UNASKED = "You do not know.", "You cannot do that.", "You answer kindly."
# A follow-up is found by its own words and, as much, by the exchange before.
OWN_WEIGHT = 0.5
LONGEST_FOLLOW_UP = 12
SHORTEST_PIECE = 3

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
_REQUEST = re.compile(
    r"\A\W*(?:(?:please|now|hey|so)\W{1,5}){0,3}"
    r"(?:(?:can|could|will|would) you (?:please )?(?!tell|say|explain|remember|see|hear)\w"
    r"|(?:give|open|unlock|lend|sell|teach|help|bring|hand|make|write|print|repeat|pretend|forget"
    r"|ignore|swear|steal|break|kill|attack|be|act|let|stop|do (?!you|i|we|they|people)|set)\b)",
    re.IGNORECASE,
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
_OF_YOU = re.compile(r"\byou", re.IGNORECASE)


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
    def is_order(self) -> bool:
        """True where it demands an act, as a whole or at its end."""
        return is_order(self.line) or is_order(self.question)

    @property
    def queries(self) -> Mapping[str, float]:
        """The texts to look for with their weights, which are 1 together.

        It is the whole line; of a follow-up the question, and that together with the exchange
        before it.
        """
        if not self.is_follow_up:
            return {self.line: 1.0}
        whole = f"{self.said} {self.answered} {self.question}"
        return {self.question: OWN_WEIGHT, whole: 1 - OWN_WEIGHT}


def is_order(line: str) -> bool:
    """True for a line that demands an act, not an answer."""
    return _REQUEST.match(line) is not None


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
