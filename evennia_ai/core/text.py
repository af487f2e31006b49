"""Text in and out of the model: cleaning, shortening, quoting. No markup of any one protocol."""

from __future__ import annotations

import json
import re
import unicodedata

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THINK_TAIL = re.compile(r"\A.*?</(?:think|thinking|reasoning)>", re.IGNORECASE | re.DOTALL)
_TOOL_TAG = re.compile(
    r"<(tool_call|function_call|tool_response)>.*?(?:</\1>|\Z)|<\|[a-z_]+\|>",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"```[a-z]*\n?.*?(?:```|\Z)", re.IGNORECASE | re.DOTALL)
_CALL_HEAD = re.compile(r'\{\s*"(?:tool|tool_calls|name|function|arguments|parameters)"')
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?=\s|\Z)|[。！？]")
_BLANKS = re.compile(r"[^\S\n]+")
_QUOTES = {'"': '"', "“": "”", "«": "»"}


def strip_control(text: str) -> str:
    """Remove control and invisible formatting characters; line breaks stay."""
    return "".join(
        ch
        for ch in text
        if ch == "\n" or ch == "\u200d" or unicodedata.category(ch) not in ("Cc", "Cf", "Cs", "Co")
    )


def one_line(text: str, limit: int = 200) -> str:
    """A name or other short text as one harmless line of at most `limit` characters."""
    line = " ".join(strip_control(text.replace("\t", " ")).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quote(text: str) -> str:
    """Text as a quoted string: whatever it holds, it cannot end the quotes itself."""
    return json.dumps(strip_control(text), ensure_ascii=False)


def _drop_tool_json(text: str) -> str:
    """Remove a JSON object at the start, whole or cut off, that is a tool call told as speech."""
    start = text.lstrip()
    if not start.startswith("{"):
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(start)
    except ValueError:
        end = len(start)
    return start[end:] if _CALL_HEAD.match(start) else text


def _drop_speaker(text: str, speaker: str) -> str:
    if not speaker:
        return text
    pattern = rf"\A\s*\**{re.escape(speaker)}\**\s*(?:says|whispers|replies)?\s*[:,]\**\s*"
    return re.sub(pattern, "", text, count=1, flags=re.IGNORECASE)


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
    text = _THINK.sub(" ", text)
    text = _THINK_TAIL.sub(" ", text)
    text = _TOOL_TAG.sub(" ", text)
    text = _FENCE.sub(" ", text)
    text = _drop_tool_json(text)
    lines = [_BLANKS.sub(" ", line).strip() for line in strip_control(text).splitlines()]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return _unwrap_quotes(_drop_speaker(text, speaker).strip())


def cut_at_sentence(text: str, limit: int) -> str:
    """Shorten to at most `limit` characters, at the end of a sentence, else of a word."""
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text) if match.end() <= limit]
    if ends and ends[-1] >= limit // 3:
        return text[: ends[-1]].rstrip()
    head = text[: max(1, limit - 1)]
    word = head.rsplit(None, 1)[0] if re.search(r"\s", head.strip()) else head
    return word.rstrip(" ,;:") + "…"
