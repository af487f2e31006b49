"""Text in and out of the model: cleaning, shortening, quoting. No markup of any one protocol."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

from evennia_ai.core.text.characters import JOINERS, few_marks, without_invisible
from evennia_ai.core.text.reading import JsonText

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THINK_TAIL = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.IGNORECASE | re.DOTALL)
_TOOL_TAG = re.compile(
    r"<(tool_calls?|function_calls?|tool_response|tool_code|invoke|function)\b[^<>]{0,80}>"
    r".*?(?:</\1>|\Z)|<\|[a-z_]+\|>|\[TOOL_CALLS?\]",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(
    r"```(?:(?P<kind>[a-z]*)[^\S\n]*\n)?(?P<inner>.*?)(?:```|\Z)", re.IGNORECASE | re.DOTALL
)
# What is between fences of another kind is code, and of these only where it is not an object.
_FENCED_WORDS = frozenset(("", "text", "txt", "plain", "plaintext", "markdown", "md"))
_CALL_HEAD = re.compile(
    r"\s*+(?:\[\s*+)?(?P<brace>\{)\s*+"
    r'"(?:tool|tool_calls|tool_name|name|type|action|function|arguments|parameters)"'
)
_AFTER_CALL = re.compile(r"[\] ,\n]*+")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?=\s|\Z)|[。！？]")  # noqa: RUF001
_STARS = re.compile(r"\s*+[* ]*+")
_SAYS = re.compile(r"\**+\s*+(?:(?:says|whispers|replies)\s*+[:,]|:)\**+\s*+", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")
_IN_NAMES = " '’.-\u200c\u200d"  # noqa: RUF001
MOST_WORDS_OF_A_NAME = 4
_WRITTEN_TOGETHER = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "HANGUL")
_ROLES = frozenset(
    ("system", "assistant", "user", "developer", "tool", "function", "instruction", "instructions")
)
_NO_JOINERS = dict.fromkeys(map(ord, JOINERS))
_WORD = re.compile(r"\w+")
_QUOTES = {'"': '"', "“": "”", "«": "»"}
# Ten times what is ever said, kept or summed up; of more than that nothing is looked at.
LONGEST_CLEANED = 20_000
# Where what is said may be found, behind calls and names.
LONGEST_SEARCHED = 200_000
MOST_HEADS = 500
_JSON = json.JSONEncoder(ensure_ascii=False)


def strip_control(text: str) -> str:
    """Remove control and invisible formatting characters, and marks piled up on a letter.

    Every kind of line break becomes a newline and a tab becomes a blank. The two joiners stay: some
    scripts and emoji are spelled with them.
    """
    if text.isascii() and text.isprintable():  # as most that is said, and not looked at twice
        return text
    return few_marks(without_invisible(text))


def sendable(text: str) -> str:
    """Text that can be encoded as UTF-8: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def without_thoughts(text: str) -> str:
    """Text without what the model marked as its thinking, closed or cut off."""
    return _THINK_TAIL.sub(" ", _THINK.sub(" ", text))


def one_line(text: str, limit: int = 200) -> str:
    """A name or other short text as one harmless line of at most `limit` characters."""
    if not text:
        return ""
    # More than is shown, as much of it may be stripped; a megabyte is not worth cleaning.
    head = text[: 1_000 + 10 * limit]
    line = " ".join(strip_control(head).split())
    is_whole = len(line) <= limit and len(head) == len(text)
    return line if is_whole else line[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=4096)
def name_as_data(name: str) -> str:
    """A name for the model: as it is when it is one, else quoted, so that it poses as nothing else.

    A name is up to four words of one script, with dots, hyphens and apostrophes, and no word of
    it is one that a conversation's own parts are called by ("system", "assistant").
    """
    line = one_line(name, 60)
    return (
        line if _is_plain_name(line) else f"somebody called {quote(line)}" if line else "somebody"
    )


@lru_cache(maxsize=4096)
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
    return _JSON.encode(strip_control(text))


def _behind_call(json_text: JsonText, place: int) -> int:
    """Behind a JSON object, whole or cut off, that is a tool call told as speech."""
    match = _CALL_HEAD.match(json_text.text, place)
    if match is None:
        return place
    _, end = json_text.object_at(match.start("brace"))
    after = _AFTER_CALL.match(json_text.text, end)
    return after.end() if after else end


def _behind_speaker(text: str, place: int, speaker: str) -> int:
    """Behind a leading "Ada:", "**Ada**:" or "Ada says,"."""
    stars = _STARS.match(text, place)
    start = stars.end() if stars else place
    end = start + len(speaker)
    if not speaker or text[start:end].casefold() != speaker.casefold():
        return place
    return match.end() if (match := _SAYS.match(text, end)) else place


def _spoken(text: str, speaker: str) -> str:
    """A text from where its speech begins, after some hundred calls and names at most."""
    json_text, place = JsonText(text), 0
    for _ in range(MOST_HEADS):
        before = place
        place = _behind_speaker(text, _behind_call(json_text, place), speaker)
        if place == before:
            return text[place:].strip()
    return ""


def _unfenced(fence: re.Match[str]) -> str:
    """The words of a fenced part; code and calls are not said."""
    is_prose = (fence["kind"] or "").casefold() in _FENCED_WORDS
    inner = fence["inner"].strip()
    return f" {inner} " if is_prose and inner[:1] not in ("{", "[", "<") else " "


def _tidy(text: str) -> str:
    """Text with single blanks, none at the ends of lines, and at most one empty line in a row."""
    text = _BLANKS.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _unwrap_quotes(text: str) -> str:
    closing = _QUOTES.get(text[:1])
    if closing and len(text) > 2 and text.endswith(closing):
        inner = text[1:-1]
        if text[0] not in inner and closing not in inner:
            return inner.strip()
    return text


def clean_speech(text: str, *, speaker: str = "") -> str:
    """The speech in a model's text, as plain text of at most 20,000 characters.

    Think tags, tool syntax, fenced code, control characters, a leading "Ada:" and quotes around the
    whole are removed; of fenced words the fence alone. The result may be empty: then the model said
    nothing fit to be heard.
    """
    text = without_thoughts(without_invisible(text))[:LONGEST_SEARCHED]
    text = _FENCE.sub(_unfenced, _TOOL_TAG.sub(" ", text))
    text = few_marks(_tidy(_spoken(text, speaker)[:LONGEST_CLEANED]))
    before = None
    # Until nothing changes: in the quotes may stand a name or a call once more.
    while text != before:
        before = text
        text = _unwrap_quotes(_spoken(text, speaker))
    return text


def cut_at_sentence(text: str, limit: int) -> str:
    """Shorten to at most `limit` characters, at the end of a sentence, else of a word."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    found = _SENTENCE_END.finditer(text, 0, limit + 1)
    ends = [match.end() for match in found if match.end() <= limit]
    if ends and ends[-1] >= limit // 3:
        return text[: ends[-1]].rstrip()
    head = text[: limit - 1]
    word = head.rsplit(None, 1)[0] if re.search(r"\s", head.strip()) else head
    return word.rstrip(" ,;:") + "…"
