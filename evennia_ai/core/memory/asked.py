"""Classification of lines to answer: questions, demands and small talk, by English words.

In other languages a question is recognized by its question mark alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evennia_ai.core.memory.wording import telling_words
from evennia_ai.core.text.words import QUESTION_MARKS

# What a small model is told if no note answers a question, a demand, or small talk.
UNKNOWN, UNABLE, UNASKED = "You do not know.", "You cannot do that.", "You answer kindly."
# A follow-up is searched for by its own words and by the previous exchange; one that names nothing
# ("and since when?") mostly by the exchange.
OWN_WEIGHT, BARE_WEIGHT = 0.45, 0.3
# Words of the longest line that counts as a follow-up, and of the shortest part of a line.
LONGEST_FOLLOW_UP = 12
SHORTEST_PIECE = 3

# Words that refer back to what was said before.
_REFERS_BACK = re.compile(
    r"\b(?:it|its|he|him|his|she|her|they|them|their|that|those|these|ones?)\b"
    r"|(?<!is )(?<!are )(?<!was )\bthere\b|\A\W*(?:and |but |so )?(?:why|how come)\b"
    r"|\b(?:some|others?|else)\W*\Z",
    re.IGNORECASE,
)
_CONTINUES = re.compile(r"\A\W*(?:and|but|not even|what about|how about|even)\b", re.IGNORECASE)
# Words that name nothing. A line without any others, common words aside, does not stand alone.
_VAGUE_TEXT = (
    "ah again ago almost already also aww big early else even ever exactly far high hm hmm just "
    "kind late long many more much no now often oh ok okay old only quite really since soon sort "
    "still then time too until well way yes"
)
_VAGUE = frozenset(_VAGUE_TEXT.split())
_STANDS_ALONE = re.compile(r"\b(?:you|your|i|am|my|me|here|this|we)\b", re.IGNORECASE)
_SEEKING = re.compile(
    r"\b(?:look(?:ing)? for|(?:i'm|i am) (?:after|curious)|(?:i'd|i would) (?:like|love) to"
    r"|i'd like|i would like|i want|i need|wonder(?:ing)?|any (?:idea|clue|chance))\b",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?<=[.!?])\s+|,\s+(?=(?:who|what|where|when|which|how|is|are|do|does|may|can|could)\b)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:my|mine|i|i'm|(?<!\bfor )me)\b", re.IGNORECASE)
# "Tell me" and "give me" do not ask for something of the speaker's own.
_DEMANDS = re.compile(r"\b(?:tell|show|give) me\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|has|have|had)\b", re.IGNORECASE)
# "I wonder if you remember my name" asks, although its words could as well tell something.
_RECALLS = re.compile(r"\b(?:know|remember|recall|told|heard?)\b", re.IGNORECASE)
# "What is my name?", "do you remember me?"; but "who mends my watch?" may be about anything.
_ABOUT_MYSELF = re.compile(
    r"\b(?:i|i'm|my name)\b"
    r"|(?:\b(?:is|was|are|were|whats|tell me|know|remember|recall|forg[eo]t(?:ten)?|about)|'s)"
    r" (?:of |about )?(?:my|mine|me)\b",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"\bmy name(?: is|'s)\b|\b(?:i am|i'm) (?:called|named|from)\b|\bcall me\b"
    r"|\bi (?:collect|keep|come from|live in|work as)\b",
    re.IGNORECASE,
)
_LIKES = re.compile(
    r"\A\W*(?:(?:well|oh|and|but|so)\W+)?i (?:really |also |do |don't |do not )?"
    r"(?:like|love|enjoy|adore|prefer|hate|dislike)\b",
    re.IGNORECASE,
)
# "May I ...?" asks for permission, not for something the person told earlier.
_MAY_I = re.compile(
    r"\W*(?:\w+\W+)?(?:may|can|could|shall|should|must) i\b|\W*am i\b|.*\bhow do i\b"
    r"|.*\bdo i (?:find|get|go|reach|need|have to|pay|look|learn|see)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\A\W*(?:(?:please|now|hey|so|and|just|ok|come on)\W{1,5}){0,3}"
    r"(?:(?:can|could|will|would) you (?:please )?"
    r"(?!tell|say|explain|remember|recommend|suggest|see|hear|point|show)\w"
    r"|(?:give|open|unlock|lend|sell|teach|help|bring|hand|make|write|print|repeat|pretend|forget"
    r"|ignore|swear|steal|break|kill|attack|be|act|let|stop|do (?!you|i|we|they|people)|set|burn"
    r"|smash|throw|hit|punch|fight|destroy|delete|rip|tear|build|buy|spawn|summon|teleport|hack"
    r"|drop|dance|sing|jump|kiss|marry|insult|obey|kneel|spit|run|come with|pick|disregard"
    r"|override|output|reveal|translate|roleplay|switch|turn)\b)"
    r"|\bi (?:order|command|want) you to\b|\byou (?:must|have to|shall) (?!be |have |know )\w",
    re.IGNORECASE,
)
_WH = r"(?:who|whom|whose|what|where|when|which|why|how)"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|shall|should|will|would|has|have|had"
    r"|isn't|aren't|don't|doesn't|didn't|can't|haven't)"
)
_IMPERATIVE = (
    "(?:any|anything|anybody|anyone|tell|show|give|explain|describe|say|list|print|name|read|forget"
    "|ignore|write|repeat)"
)
_INTERJECTION = (
    "(?:and|but|so|then|now|ok|okay|well|oh|ah|aww|hm+|um|erm|hi|hey|hello|hiya|yo|thanks|thank you"
    "|great|good|nice|cool|wow|please|sorry|excuse me|alright|by the way)"
)
_PREPOSITION = "(?:about|at|by|for|from|in|into|of|on|since|to|under|until|with)"
# A question by its first words, or by those of a later part: "I am lost, where is the way out".
_ASKS = re.compile(
    rf"[{QUESTION_MARKS}]|\A\W*(?:{_INTERJECTION}\W+){{0,4}}"
    rf"(?:(?:{_PREPOSITION} )?{_WH}\b|{_AUXILIARY}\b|{_IMPERATIVE}\b)"
    rf"|[,.!;:] +(?:and |but |so )?(?:{_WH}(?:'s| {_AUXILIARY}| many| much| long| old)\b"
    rf"|{_AUXILIARY} (?:i|you|he|she|it|we|they|there|the|that|this|any)\b)",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(r"\byou", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A line to answer, with the last exchange with that person.

    Attributes:
        said, answered: the previous exchange; "" if there was none recently.
    """

    line: str
    said: str = ""
    answered: str = ""

    @property
    def is_follow_up(self) -> bool:
        """True for a short line after an exchange with "it", "him", "there", or naming nothing."""
        is_short = len(self.line.split()) <= LONGEST_FOLLOW_UP
        return (
            bool(self.said)
            and is_short
            and (_REFERS_BACK.search(self.line) is not None or self._is_fragment)
        )

    @property
    def _is_fragment(self) -> bool:
        """True for a line that continues another without naming what it is about."""
        is_part = (is_question(self.line) and self.is_bare) or _CONTINUES.search(self.line)
        return bool(is_part) and _STANDS_ALONE.search(self.line) is None

    @property
    def is_bare(self) -> bool:
        """True for a line that names nothing of what it asks for: "and since when?"."""
        return telling_words(self.line) <= _VAGUE

    @property
    def question(self) -> str:
        """The last part of the line that asks something; greetings and reasons come before it."""
        parts = [part for part in _PARTS.split(self.line) if len(part.split()) >= SHORTEST_PIECE]
        return next(filter(is_question, reversed(parts)), self.line)

    @property
    def asks_back(self) -> bool:
        """True if the person may be asking for something they told about themselves."""
        line = self.line
        asks = _asks(line) or (is_question(line) and _RECALLS.search(line) is not None)
        own = line if _PAST.search(line) else _DEMANDS.sub("", line)
        return asks and _FIRST_PERSON.search(own) is not None and _MAY_I.match(line) is None

    @property
    def asks_of_oneself(self) -> bool:
        """True if the person can only be asking about themselves: "what is my name?"."""
        return self.asks_back and _ABOUT_MYSELF.search(self.line) is not None

    @property
    def introduces(self) -> bool:
        """True if the person introduces themselves and asks nothing."""
        return not is_question(self.line) and _INTRODUCES.search(self.line) is not None

    @property
    def tells_taste(self) -> bool:
        """True if the person tells what they like or hate and asks nothing."""
        return not is_question(self.line) and _LIKES.search(self.line) is not None

    @property
    def is_order(self) -> bool:
        """True if the line, or its last question, demands an act."""
        return is_order(self.line) or is_order(self.question)

    @property
    def queries(self) -> Mapping[str, float]:
        """Search texts with their weights, which add up to 1.

        The whole line; for a follow-up its question, and that question together with the previous
        exchange.
        """
        if not self.is_follow_up:
            return {self.line: 1.0}
        whole = f"{self.said} {self.answered} {self.question}"
        own = BARE_WEIGHT if self.is_bare else OWN_WEIGHT
        return {self.question: own, whole: 1 - own}


def is_order(line: str) -> bool:
    """True for a line that demands an act rather than an answer."""
    return _REQUEST.search(line) is not None


def is_about_oneself(line: str) -> bool:
    """True for words that tell something, and nothing about the listener."""
    return not _asks(line) and _SECOND_PERSON.search(line) is None


def is_question(line: str) -> bool:
    """True for a line that asks or demands something."""
    return _asks(line) or _SEEKING.search(line) is not None


def _asks(line: str) -> bool:
    """True for a question by its mark or first words; "I am looking for ..." is not one here."""
    return _ASKS.search(line) is not None
