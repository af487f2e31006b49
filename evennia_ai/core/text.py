"""Text in and out of the model: cleaning, shortening, quoting. No markup of any one protocol."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THINK_TAIL = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.IGNORECASE | re.DOTALL)
_TOOL_TAG = re.compile(
    r"<(tool_calls?|function_calls?|tool_response|tool_code|invoke|function)\b[^<>]{0,80}>"
    r".*?(?:</\1>|\Z)|<\|[a-z_]+\|>|\[TOOL_CALLS?\]",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"```[a-z]*\n?.*?(?:```|\Z)", re.IGNORECASE | re.DOTALL)
_CALL_HEAD = re.compile(
    r'\[?\s*\{\s*"(?:tool|tool_calls|tool_name|name|type|action|function|arguments|parameters)"'
)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?=\s|\Z)|[。！？]")  # noqa: RUF001
_LINE_BREAK = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SAYS = re.compile(r"\**\s*(?:(?:says|whispers|replies)\s*[:,]|:)\**\s*", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")
_IN_NAMES = " '’.-\u200c\u200d"  # noqa: RUF001
MOST_WORDS_OF_A_NAME = 4
_WRITTEN_TOGETHER = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "HANGUL")
_ROLES = frozenset(
    ("system", "assistant", "user", "developer", "tool", "function", "instruction", "instructions")
)
_INVISIBLE = ("Cc", "Cf", "Cs", "Co")
_JOINERS = "\u200c\u200d"
_NO_JOINERS = dict.fromkeys(map(ord, _JOINERS))
_WORD = re.compile(r"\w+")
_QUOTES = {'"': '"', "“": "”", "«": "»"}


def strip_control(text: str) -> str:
    """Remove control and invisible formatting characters.

    Every kind of line break becomes a newline and a tab becomes a blank. The two joiners stay: some
    scripts and emoji are spelled with them.
    """
    if text.isprintable():
        return text
    text = _LINE_BREAK.sub("\n", text).replace("\t", " ")
    return "".join(
        ch
        for ch in text
        if ch == "\n" or ch in _JOINERS or unicodedata.category(ch) not in _INVISIBLE
    )


def sendable(text: str) -> str:
    """Text that can be encoded as UTF-8: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def without_thoughts(text: str) -> str:
    """Text without what the model marked as its thinking, closed or cut off."""
    return _THINK_TAIL.sub(" ", _THINK.sub(" ", text))


def json_object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The JSON object that begins at `start`, or None, and where it ends."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, len(text)
    return (value if isinstance(value, dict) else None), end


def one_line(text: str, limit: int = 200) -> str:
    """A name or other short text as one harmless line of at most `limit` characters."""
    line = " ".join(strip_control(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=1024)
def name_as_data(name: str) -> str:
    """A name for the model: as it is when it is one, else quoted, so that it poses as nothing else.

    A name is up to four words of one script, with dots, hyphens and apostrophes, and no word of
    it is one that a conversation's own parts are called by ("system", "assistant").
    """
    line = one_line(name, 60)
    return (
        line if _is_plain_name(line) else f"somebody called {quote(line)}" if line else "somebody"
    )


def place_as_data(name: str) -> str:
    """A channel's or a room's name for the model: as it is, or quoted."""
    line = one_line(name, 60)
    return line if _is_plain_name(line) else quote(line)


def _script_of(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if first in _WRITTEN_TOGETHER else first


def _is_plain_name(line: str) -> bool:
    words = _WORD.findall(unicodedata.normalize("NFKC", line).casefold().translate(_NO_JOINERS))
    is_plain = line[:1].isalpha() and all(
        ch.isalnum() or ch in _IN_NAMES or unicodedata.category(ch).startswith("M") for ch in line
    )
    scripts = {_script_of(ch) for ch in line if ch.isalpha()}
    is_short = len(line.split()) <= MOST_WORDS_OF_A_NAME and len(scripts) == 1
    return is_plain and is_short and not _ROLES.intersection(words)


def quote(text: str) -> str:
    """Text as a quoted string: whatever it holds, it cannot end the quotes itself."""
    return json.dumps(strip_control(text), ensure_ascii=False)


def _drop_tool_json(text: str) -> str:
    """Remove a JSON object at the start, whole or cut off, that is a tool call told as speech."""
    start = text.lstrip()
    if not _CALL_HEAD.match(start):
        return text
    _, end = json_object_at(start, start.index("{"))
    return start[end:].lstrip(" ],\n")


def _drop_speaker(text: str, speaker: str) -> str:
    """Remove a leading "Ada:", "**Ada**:" or "Ada says,"."""
    start = text.lstrip("* ")
    if not speaker or start[: len(speaker)].casefold() != speaker.casefold():
        return text
    return start[match.end() :] if (match := _SAYS.match(start, len(speaker))) else text


def _unwrap_quotes(text: str) -> str:
    closing = _QUOTES.get(text[:1])
    if closing and len(text) > 2 and text.endswith(closing):
        inner = text[1:-1]
        if text[0] not in inner and closing not in inner:
            return inner.strip()
    return text


def clean_speech(text: str, *, speaker: str = "") -> str:
    """What the model wants to say, as plain text.

    Think tags, tool syntax, control characters, a leading "Ada:" and quotes around the whole are
    removed. The result may be empty: then the model said nothing fit to be heard.
    """
    text = without_thoughts(strip_control(text))
    text = _FENCE.sub(" ", _TOOL_TAG.sub(" ", text))
    lines = [_BLANKS.sub(" ", line).strip() for line in text.splitlines()]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    before = None
    while text != before:
        before = text
        text = _unwrap_quotes(_drop_speaker(_drop_tool_json(text), speaker).strip())
    return text


def cut_at_sentence(text: str, limit: int) -> str:
    """Shorten to at most `limit` characters, at the end of a sentence, else of a word."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    ends = [match.end() for match in _SENTENCE_END.finditer(text) if match.end() <= limit]
    if ends and ends[-1] >= limit // 3:
        return text[: ends[-1]].rstrip()
    head = text[: limit - 1]
    word = head.rsplit(None, 1)[0] if re.search(r"\s", head.strip()) else head
    return word.rstrip(" ,;:") + "…"
