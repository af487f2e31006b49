"""Tokens: counting, an estimate without a tokenizer, and the part of a talk that fits a context.

A `Counter` says how many tokens a text is: `estimate`, or a tokenizer where there is one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import ClassVar

from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec

Counter = Callable[[str], int]

# What the service puts around each message, call and tool before the model sees them.
TOKENS_AROUND_MESSAGE = 4
TOKENS_AROUND_CALL = 6
TOKENS_AROUND_TOOL = 6

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿĀ-ɏ"
_WORD = re.compile(f"[{_UPPER}]?[{_LOWER}]+|[{_UPPER}]+(?![{_LOWER}])")
_SIGN = r"!-/:-@\[-`{-~"
# An apostrophe within a word belongs to it.
_SIGNS = re.compile(rf"(?:(?!')[{_SIGN}]|(?<![a-zA-Z])'|'(?![a-zA-Z]))+")
_SIGN_BEFORE_WORD = re.compile(rf"(?<![{_SIGN}])[{_SIGN}](?=[a-zA-Z])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_BLANKS = re.compile(r"\s{2,}|\n| (?=[0-9])")
_LATIN_1_LETTER = re.compile("[À-ÿ]")
_FAR_LETTER = re.compile("[Ā-ɏ]")
_ENGLISH_MARKS = (
    "the and of to is that you it for with are this was he she they your have not from at by be "
    "there here who my"
)
_OTHER_MARKS = (
    "der die und ich ist nicht das ein eine wir sie mit auf wenn ja eh le la les et est une que "
    "du des pas je tu vous dans el los las un por con para pero het een van niet zijn voor och "
    "att det som är på för den til og na się nie jest il di che non sono gli della nel per uma "
    "em egy az és hogy nem ve bir için ei että"
)
_ENGLISH = frozenset(_ENGLISH_MARKS.split())
_NOT_ENGLISH = frozenset(_OTHER_MARKS.split())
_LONGEST_IN_TABLE = 40
LONGEST_COUNTED = 50_000
SAMPLES = 25


def _by_length(free: int, each_further: float, most_free: float) -> tuple[float, ...]:
    """Tokens of a word by its length: one up to `free` letters, then so much for each further."""
    further = (max(0, letters - free) for letters in range(1, _LONGEST_IN_TABLE + 1))
    return (0.0, *(most_free + each_further * letters for letters in further))


# Measured: a tokenizer knows English words whole, those of its neighbours in two or three parts.
_ENGLISH_WORDS = _by_length(6, 0.06, 1.0)[:15] + _by_length(0, 0.18, 0.0)[15:]
_WESTERN_WORDS = _by_length(5, 0.26, 1.05)
_FAR_WORDS = _by_length(3, 0.32, 1.1)

# Tokens of one character outside ASCII, from this code point on. Latin letters count as words.
_BLOCKS = (
    (0x80, 1.0), (0xC0, 0.0), (0x250, 1.0), (0x300, 0.6), (0x370, 0.46), (0x400, 0.38),
    (0x530, 0.45), (0x590, 0.46), (0x600, 0.38), (0x700, 1.0), (0x900, 0.4), (0xD00, 0.45),
    (0xE00, 0.42), (0xE80, 1.0), (0x10A0, 0.45), (0x1100, 0.8), (0x1200, 1.5), (0x1E00, 0.4),
    (0x1F00, 0.7), (0x2000, 1.0), (0x2200, 1.3), (0x3000, 0.9), (0x3040, 0.66), (0x3100, 0.8),
    (0x4E00, 0.88), (0xA000, 1.5), (0xAC00, 0.78), (0xD7B0, 1.5), (0xFE00, 0.9), (0x10000, 1.9),
)  # fmt: skip
_STARTS = [start for start, _ in _BLOCKS]
_TOKENS = [tokens for _, tokens in _BLOCKS]


def _word_table(text: str, words: Sequence[str]) -> tuple[float, ...]:
    """The tokens of words of this text by their length, for the language it seems to be in."""
    lower = " ".join(words).lower().split()
    english = len([word for word in lower if word in _ENGLISH])
    other = len([word for word in lower if word in _NOT_ENGLISH])
    if text.isascii():
        return _WESTERN_WORDS if other > english else _ENGLISH_WORDS
    near, far = len(_LATIN_1_LETTER.findall(text)), len(_FAR_LETTER.findall(text))
    if other + near + far <= english:
        return _ENGLISH_WORDS
    return _FAR_WORDS if far > near / 4 else _WESTERN_WORDS


def estimate(text: str) -> int:
    """About how many tokens a text is, without any tokenizer; never 0 unless it is empty.

    Fitted to the newest encoding of tiktoken, and a little high outside Latin script. Of a text
    that is far longer than any prompt, parts from all over it are counted.
    """
    if len(text) > LONGEST_COUNTED:
        step = len(text) // SAMPLES
        size = LONGEST_COUNTED // SAMPLES
        parts = (text[start : start + size] for start in range(0, SAMPLES * step, step))
        return round(sum(map(_estimate, parts)) * len(text) / (SAMPLES * size))
    return _estimate(text) if text else 0


def _estimate(text: str) -> int:
    words = _WORD.findall(text)
    table = _word_table(text, words)
    sizes = map(len, words)
    tokens = sum([table[size] if size <= _LONGEST_IN_TABLE else size / 5 for size in sizes])
    for size in map(len, _SIGNS.findall(text)):
        tokens += 1 + 0.35 * (size - 2) if size > 2 else 1
    tokens -= 0.3 * len(_SIGN_BEFORE_WORD.findall(text))
    tokens += len(_DIGITS.findall(text)) + len(_BLANKS.findall(text))
    if not text.isascii():
        tokens += sum(_TOKENS[bisect_right(_STARTS, ord(ch)) - 1] for ch in text if ch > "\x7f")
    return max(1, round(tokens))


def count_messages(messages: Sequence[Message], count: Counter) -> int:
    """Tokens of messages as they are sent: texts, calls, and what stands around them."""
    tokens = TOKENS_AROUND_MESSAGE * len(messages)
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            tokens += sum(count(part["text"]) for part in content if "text" in part)
        elif content:
            tokens += count(str(content))
        if "tool_calls" in message:
            for call in message["tool_calls"] or ():
                function = call["function"]
                tokens += TOKENS_AROUND_CALL + count(call["id"])
                tokens += count(function["name"]) + count(function["arguments"])
        if "tool_call_id" in message:
            tokens += count(message["tool_call_id"])
    return tokens


def count_message(message: Message, count: Counter) -> int:
    """Tokens of one message."""
    return count_messages((message,), count)


def count_tool(spec: ToolSpec, count: Counter) -> int:
    """Tokens of a tool's description as it is sent."""
    schema = json.dumps(spec.parameters, ensure_ascii=False)
    return TOKENS_AROUND_TOOL + count(spec.name) + count(spec.description) + count(schema)


def fit_history(history: Sequence[Message], most_tokens: int, count: Counter) -> list[Message]:
    """The newest messages that fit, cut where a user message begins.

    A call is never parted from its results, so every provider accepts what is left. Looks at no
    message older than the first that does not fit.
    """
    first, tokens = len(history), 0
    for index in range(len(history) - 1, -1, -1):
        tokens += count_message(history[index], count)
        if tokens > most_tokens:
            break
        if history[index]["role"] == "user":
            first = index
    return list(history[first:])


WARNING_RATIO = 0.6
CRITICAL_RATIO = 0.8


class Advisory(StrEnum):
    """The advice to a model about the room that is left."""

    NONE = "none"
    WARNING = "warning"
    CRITICAL = "critical"


ADVICE = {
    Advisory.NONE: "",
    Advisory.WARNING: "More than half of your room for this talk is used. Come to an end soon.",
    Advisory.CRITICAL: "There is hardly any room left. Give your final answer now, in few words.",
}


def advise(ratio: float) -> Advisory:
    """The advice to a model whose context is so full; 1 is full."""
    if ratio < WARNING_RATIO:
        return Advisory.NONE
    return Advisory.WARNING if ratio < CRITICAL_RATIO else Advisory.CRITICAL


@dataclass(frozen=True, slots=True)
class Band:
    """The fill of a context, for people who look at a table."""

    level: str
    color: str
    message: str


_HEALTHY = Band("ok", "success", "Token budget healthy")
_BANDS = (  # above this many percent, the highest first
    (95.0, Band("critical", "danger", "Token limit exceeded")),
    (85.0, Band("danger", "danger", "Critical: Near token limit")),
)
_APPROACHING = Band("warning", "warning", "Approaching token limit")


def band(percent: float) -> Band:
    """The band of a utilisation: below 70, up to 85, up to 95, and above."""
    if percent < 70:
        return _HEALTHY
    return next((found for above, found in _BANDS if percent > above), _APPROACHING)


def calculate_utilization(tokens: int, max_tokens: int) -> float:
    """The fill of a context, in percent."""
    return 100 * tokens / max_tokens


class _Ratios:
    """The newest ratios of counted to estimated prompts, and the factor that follows from them."""

    FEWEST_TOKENS = 40
    REPLIES: ClassVar[int]

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=self.REPLIES)
        self.factor = 1.0


class Calibration(_Ratios):
    """Corrects an estimate by what the service counted: the median of the last replies.

    Single absurd figures change nothing, and a service that counts nothing is not heard.
    """

    LOWEST, HIGHEST = 0.5, 3.0
    REPLIES = 15

    def note(self, estimated: int, real: int) -> None:
        """A prompt that was estimated, uncorrected, and counted by the service."""
        if estimated < self.FEWEST_TOKENS or not estimated / 10 < real < estimated * 10:
            return
        self._ratios.append(real / estimated)
        self.factor = min(self.HIGHEST, max(self.LOWEST, median(self._ratios)))


class Margin(_Ratios):
    """The factor by which prompts come out longer than a raw estimate of them: the most of late.

    What is held for a call is at least that much, so that a model whose tokens are counted too low
    passes a cap by no more than the calls that were under way when that was found out.
    """

    HIGHEST = 10.0
    REPLIES = 20

    def note(self, estimated: float, real: int) -> None:
        """A prompt as it was estimated, uncorrected, and as the service counted it."""
        if estimated >= self.FEWEST_TOKENS and real:
            self._ratios.append(real / estimated)
            self.factor = min(self.HIGHEST, max(1.0, *self._ratios))
