"""Token counts, an estimate without a tokenizer, and the part of a history that fits a context.

A `Counter` counts the tokens of a text: `estimate`, or a tokenizer if there is one.
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

from evennia_ai.core.turn.conversation import BESIDE, TOKENS, Message
from evennia_ai.core.turn.toolspec import ToolSpec

Counter = Callable[[str], int]
Sizer = Callable[[Sequence[Message]], int]

# Tokens that a service's chat template adds to each message, call and tool.
TOKENS_AROUND_MESSAGE = 4
TOKENS_AROUND_CALL = 6
TOKENS_AROUND_TOOL = 6

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿĀ-ɏ"
_WORD = re.compile(f"[{_UPPER}]?[{_LOWER}]+|[{_UPPER}]+(?![{_LOWER}])")
_SIGN = r"!-/:-@\[-`{-~"
# An apostrophe within a word belongs to it.
_PUNCTUATION = re.compile(rf"(?:(?!')[{_SIGN}]|(?<![a-zA-Z])'|'(?![a-zA-Z]))+")
_SIGN_BEFORE_WORD = re.compile(rf"(?<![{_SIGN}])[{_SIGN}](?=[a-zA-Z])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_BLANKS = re.compile(r"\s{2,}|\n| (?=[0-9])")
_LATIN_1_LETTER = re.compile("[À-ÿ]")
_LATIN_EXTENDED_LETTER = re.compile("[Ā-ɏ]")
# Frequent words that tell English from other languages written in Latin letters.
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
# Characters that are counted; of longer texts SAMPLES parts are counted and extrapolated.
LONGEST_COUNTED = 50_000
SAMPLES = 25


def _length_table(free: int, each_further: float, most_free: float) -> tuple[float, ...]:
    """Tokens by length of a word: `most_free` up to `free` letters, then more for each letter."""
    further = (max(0, letters - free) for letters in range(1, _LONGEST_IN_TABLE + 1))
    return (0.0, *(most_free + each_further * letters for letters in further))


# Fitted to measurements: a tokenizer knows English words whole, other western ones in 2-3 parts.
_ENGLISH_TOKENS = _length_table(6, 0.06, 1.0)[:15] + _length_table(0, 0.18, 0.0)[15:]
_WESTERN_TOKENS = _length_table(5, 0.26, 1.05)
_EASTERN_TOKENS = _length_table(3, 0.32, 1.1)

# Tokens per character outside ASCII, by the code point at which a block begins. Latin letters cost
# 0 here because they are counted as words.
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
    """The table of tokens by word length for the language that a text seems to be in."""
    lower = " ".join(words).lower().split()
    english = sum(map(_ENGLISH.__contains__, lower))
    other = sum(map(_NOT_ENGLISH.__contains__, lower))
    if text.isascii():
        return _WESTERN_TOKENS if other > english else _ENGLISH_TOKENS
    near, far = len(_LATIN_1_LETTER.findall(text)), len(_LATIN_EXTENDED_LETTER.findall(text))
    if other + near + far <= english:
        return _ENGLISH_TOKENS
    return _EASTERN_TOKENS if far > near / 4 else _WESTERN_TOKENS


def estimate(text: str) -> int:
    """The approximate number of tokens of a text, without a tokenizer; 0 only if it is empty.

    Fitted to tiktoken's o200k_base, and slightly high outside Latin script. Of a text far longer
    than any prompt only samples are counted.
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
    for size in map(len, _PUNCTUATION.findall(text)):
        tokens += 1 + 0.35 * (size - 2) if size > 2 else 1
    tokens -= 0.3 * len(_SIGN_BEFORE_WORD.findall(text))
    tokens += len(_DIGITS.findall(text)) + len(_BLANKS.findall(text))
    if not text.isascii():
        tokens += sum(_TOKENS[bisect_right(_STARTS, ord(ch)) - 1] for ch in text if ch > "\x7f")
    return max(1, round(tokens))


def count_messages(messages: Sequence[Message], count: Counter) -> int:
    """Tokens of messages as they are sent, with their calls and the template around them."""
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
        if BESIDE in message:
            tokens += sum(beside[TOKENS] for beside in message[BESIDE].values())
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


def fit_history(history: Sequence[Message], most_tokens: int, size_of: Sizer) -> list[Message]:
    """The newest messages that fit, beginning with a user message.

    A call is never separated from its results, so that every provider accepts what is left. Nothing
    older than the first message that does not fit is counted.
    """
    first, tokens = len(history), 0
    for index in range(len(history) - 1, -1, -1):
        tokens += size_of((history[index],))
        if tokens > most_tokens:
            break
        if history[index]["role"] == "user":
            first = index
    return list(history[first:])


# Shares of the context from which on the model is told to come to an end.
WARNING_RATIO = 0.6
CRITICAL_RATIO = 0.8


class Advisory(StrEnum):
    """Advice to a model about the room left in its context."""

    NONE = "none"
    WARNING = "warning"
    CRITICAL = "critical"


ADVICE = {
    Advisory.NONE: "",
    Advisory.WARNING: "More than half of your room for this talk is used. Come to an end soon.",
    Advisory.CRITICAL: "There is hardly any room left. Give your final answer now, in few words.",
}


def advise(ratio: float) -> Advisory:
    """The advice for a share of the context in use, 0 to 1."""
    if ratio < WARNING_RATIO:
        return Advisory.NONE
    return Advisory.WARNING if ratio < CRITICAL_RATIO else Advisory.CRITICAL


@dataclass(frozen=True, slots=True)
class Band:
    """A level of context use, for tables that people read."""

    level: str
    color: str
    message: str


_HEALTHY = Band("ok", "success", "Token budget healthy")
_BANDS = (  # above this percentage, the highest first
    (95.0, Band("critical", "danger", "Token limit exceeded")),
    (85.0, Band("danger", "danger", "Critical: Near token limit")),
)
_APPROACHING = Band("warning", "warning", "Approaching token limit")


def band(percent: float) -> Band:
    """The band of a utilization in percent: below 70, up to 85, up to 95, or above."""
    if percent < 70:
        return _HEALTHY
    return next((name for above, name in _BANDS if percent > above), _APPROACHING)


def calculate_utilization(tokens: int, max_tokens: int) -> float:
    """The share of a context in use, in percent."""
    return 100 * tokens / max_tokens


class _Ratios:
    """Recent ratios of counted to estimated prompt tokens, and a factor derived from them."""

    # A shorter prompt says too little about the ratio.
    FEWEST_TOKENS = 40
    REPLIES: ClassVar[int]

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=self.REPLIES)
        self.factor = 1.0


class Calibration(_Ratios):
    """Correction of estimates by what the service counted: the median ratio of the last replies.

    Single absurd figures change nothing, and zeros of a service that does not count are ignored.
    """

    LOWEST, HIGHEST = 0.5, 3.0
    REPLIES = 15

    def note(self, estimated: int, real: int) -> None:
        """Note a prompt's raw estimate and the service's count."""
        if estimated < self.FEWEST_TOKENS or not estimated / 10 < real < estimated * 10:
            return
        self._ratios.append(real / estimated)
        self.factor = min(self.HIGHEST, max(self.LOWEST, median(self._ratios)))


class Margin(_Ratios):
    """The factor by which prompts exceed their raw estimate: the highest of the last replies.

    The reservation of a call is scaled by it. A model whose tokens are underestimated then exceeds
    a cap by no more than the calls that were in flight when that was discovered.
    """

    HIGHEST = 10.0
    REPLIES = 20

    def note(self, estimated: float, real: int) -> None:
        """Note a prompt's raw estimate and the service's count."""
        if estimated >= self.FEWEST_TOKENS and real:
            self._ratios.append(real / estimated)
            self.factor = min(self.HIGHEST, max(1.0, *self._ratios))
