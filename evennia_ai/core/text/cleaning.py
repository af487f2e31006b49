"""Cleaning, shortening and quoting of text that goes to or comes from a model."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

from evennia_ai.core.text.characters import JOINERS, few_marks, without_invisible
from evennia_ai.core.text.dialects import DIALECTS
from evennia_ai.core.text.reading import JsonText
from evennia_ai.core.text.words import SENTENCE_ENDS, UNSPACED_ENDS

# Marks of thinking that services leave in the text: tags (also of Seed and Gemini; those of other
# models are in `dialects`), and the channels of gpt-oss, of which only "final" is speech.
_TAGS_OF_THOUGHT = r"(?:seed:)?think|thinking|thoughts?|reasoning"
_THINK = re.compile(
    rf"<(?P<tag>{_TAGS_OF_THOUGHT})\s*+>.*?(?:</(?P=tag)\s*+>|\Z)"
    r"|(?:<\|start\|>\w{1,20})?<\|channel\|>final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,20})?"
    r"<\|message\|>"
    r"|(?:<\|start\|>[^<>]{1,80})?<\|channel\|>.*?"
    r"(?:<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# Models that think without an opening tag still write the closing one: all before it is thinking.
_THINK_TAIL = re.compile(rf"\A.*</(?:{_TAGS_OF_THOUGHT})\s*+>", re.IGNORECASE | re.DOTALL)
_TOOL_TAG = re.compile(
    r"<((?:\w{1,20}:)?(?:tool_calls?|function_calls?|tool_response|tool_code|invoke|function))\b"
    r"[^<>]{0,80}>.*?(?:</\1>|\Z)"
    # The end of a call whose beginning the server has read.
    r"|</(?:\w{1,20}:)?(?:tool_call|function|parameter)>"
    # Calls of Mistral, of DeepSeek and Kimi, whose server did not read them.
    r"|\[TOOL_CALLS?\]\s{0,9}[\w.]{1,64}(?:\[ARGS\])?\{.*\Z"
    r"|<[|\uff5c]tool[^<>]{0,40}begin[|\uff5c]>.*?(?:<[|\uff5c]tool[^<>]{0,40}end[|\uff5c]>|\Z)"
    # After the end of a turn, a server that did not stop there lets the model play others.
    r"|(?<=\S)\s*+<(?:\|(?:im_end|eot_id|eot|end_of_text|endoftext)\|>|end_of_turn>|turn\|>"
    r"|\uff5cend\u2581of\u2581sentence\uff5c>).*\Z"
    r"|(?<=\S)\s*+</s>\s*\Z"  # the same mark of Llama 2 and Mistral, which HTML has too
    r"|<[|\uff5c][^<>|\uff5c\s]{1,60}[|\uff5c]>|\[TOOL_CALLS?\]",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(
    r"```(?:(?P<kind>[a-z_]*)[^\S\n]*\n)?(?P<inner>.*?)(?:```|\Z)", re.IGNORECASE | re.DOTALL
)
# Only fences of these kinds hold prose to be said; anything else in a fence is code.
_FENCED_WORDS = frozenset(("", "text", "txt", "plain", "plaintext", "markdown", "md"))
# A tool call written out as speech: the first key gives it away.
_CALL_HEAD = re.compile(
    r"\s*+(?:\[\s*+)?(?P<brace>\{)\s*+"
    r'"(?:tool|tool_calls|tool_name|name|type|action|function|arguments|parameters)"'
)
_AFTER_CALL = re.compile(r"[\] ,\n]*+")
_SENTENCE_END = re.compile(
    rf"[{SENTENCE_ENDS}][\"'”’)\]]*(?=\s|\Z)|[{UNSPACED_ENDS}]"  # noqa: RUF001
)
_STARS = re.compile(r"\s*+[* ]*+")
# "says to Tom," is left out only before a quotation; without one it may be a sentence about her.
_SAYS = re.compile(
    r"\**+\s*+(?:(?:says|whispers|replies)\s*+[:,]|:"
    r"|(?:says|whispers|replies)\s++to(?:\s++[^\s,:]++){1,3}+\s*+[:,](?=\s*+[\"“«„]))\**+\s*+",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"[^\S\n]+")
_IN_NAMES = " '’.-\u200c\u200d"  # noqa: RUF001
MOST_WORDS_OF_A_NAME = 4
# A Japanese or Korean name mixes these scripts, so they count as one.
_EAST_ASIAN = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "HANGUL")
_ROLES = frozenset(
    ("system", "assistant", "user", "developer", "tool", "function", "instruction", "instructions")
)
_NO_JOINERS = dict.fromkeys(map(ord, JOINERS))
_WORD = re.compile(r"\w+")
_QUOTES = {'"': '"', "“": "”", "«": "»"}
# Characters: ten times what is ever said, stored or summarized. The rest is ignored.
LONGEST_CLEANED = 20_000
# Characters within which speech is looked for, behind written-out calls and speaker names.
LONGEST_SEARCHED = 200_000
# Calls and speaker names in front of the speech; a text with more of them holds no speech.
MOST_HEADS = 500
_JSON = json.JSONEncoder(ensure_ascii=False)


def strip_control(text: str) -> str:
    """Remove control and invisible formatting characters, and marks piled up on a letter.

    Every kind of line break becomes a newline and a tab becomes a space. The zero-width joiner and
    non-joiner stay: some scripts and emoji are spelled with them.
    """
    if text.isascii() and text.isprintable():  # the common case, at a fraction of the cost
        return text
    return few_marks(without_invisible(text))


def sendable(text: str) -> str:
    """Text that can be encoded as UTF-8: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def without_thoughts(text: str) -> str:
    """Text without the parts that the model marked as thinking, closed or cut off.

    The marks of its calls are those of `dialects`.
    """
    for pattern, mark in DIALECTS:
        text = pattern.sub(mark, text)
    return _THINK_TAIL.sub(" ", _THINK.sub(" ", text))


def one_line(text: str, limit: int = 200) -> str:
    """A name or other short text as one harmless line of at most `limit` characters."""
    if not text:
        return ""
    # Some characters may be stripped, so a bit more than `limit` is read; cleaning a megabyte is
    # waste.
    head = text[: 1_000 + 10 * limit]
    line = " ".join(strip_control(head).split())
    is_whole = len(line) <= limit and len(head) == len(text)
    return line if is_whole else line[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=4096)
def name_as_data(name: str) -> str:
    """A name for a prompt: as it is if it looks like a name, else quoted so that it cannot pose.

    A plain name has up to four words of one script, with dots, hyphens and apostrophes, and none
    of its words names a part of a conversation ("system", "assistant").
    """
    line = one_line(name, 60)
    if not line:
        return "somebody"
    return line if _is_plain_name(line) else f"somebody called {quote(line)}"


@lru_cache(maxsize=4096)
def place_as_data(name: str) -> str:
    """A channel's or room's name for a prompt: as it is if it looks like a name, else quoted."""
    line = one_line(name, 60)
    return line if _is_plain_name(line) else quote(line)


def _script_of(letter: str) -> str:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if first in _EAST_ASIAN else first


def _is_plain_name(line: str) -> bool:
    # NFKC and casefold, so that full-width or upper-case spellings of a role do not slip through.
    words = _WORD.findall(unicodedata.normalize("NFKC", line).casefold().translate(_NO_JOINERS))
    is_plain = line[:1].isalpha() and all(
        ch.isalnum() or ch in _IN_NAMES or unicodedata.category(ch).startswith("M") for ch in line
    )
    scripts = {_script_of(ch) for ch in line if ch.isalpha()}
    is_short = len(line.split()) <= MOST_WORDS_OF_A_NAME and len(scripts) == 1
    return is_plain and is_short and not _ROLES.intersection(words)


def quote(text: str) -> str:
    """Text as a quoted string. JSON's escapes keep it from closing the quotes itself."""
    return _JSON.encode(strip_control(text))


def _after_call(json_text: JsonText, place: int) -> int:
    """Position after a tool call that was written out as speech; `place` if there is none."""
    match = _CALL_HEAD.match(json_text.text, place)
    if match is None:
        return place
    _, end = json_text.object_at(match.start("brace"))
    after = _AFTER_CALL.match(json_text.text, end)
    return after.end() if after else end


def _after_speaker(text: str, place: int, speaker: str) -> int:
    """Position after a leading "Ada:", "**Ada**:" or "Ada says,"; `place` if there is none."""
    stars = _STARS.match(text, place)
    start = stars.end() if stars else place
    end = start + len(speaker)
    if not speaker or text[start:end].casefold() != speaker.casefold():
        return place
    return match.end() if (match := _SAYS.match(text, end)) else place


def _speech_part(text: str, speaker: str) -> str:
    """Text from where its speech begins; "" if calls and names never end."""
    json_text, place = JsonText(text), 0
    for _ in range(MOST_HEADS):
        before = place
        place = _after_speaker(text, _after_call(json_text, place), speaker)
        if place == before:
            return text[place:].strip()
    return ""


def _unfenced(fence: re.Match[str]) -> str:
    is_prose = (fence["kind"] or "").casefold() in _FENCED_WORDS
    # An object, list or tag within a fence for prose is a call all the same.
    inner = fence["inner"].strip()
    return f" {inner} " if is_prose and inner[:1] not in ("{", "[", "<") else " "


def _tidy(text: str) -> str:
    """Text with single spaces, no spaces at line ends, and at most one empty line in a row."""
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

    Think tags, tool syntax, code fences with their code, control characters, a leading "Ada:" and
    quotes around the whole are removed; of fenced prose only the fence is. The result is empty if
    the model said nothing that others should hear.
    """
    text = without_thoughts(without_invisible(text))[:LONGEST_SEARCHED]
    text = _FENCE.sub(_unfenced, _TOOL_TAG.sub(" ", text))
    text = few_marks(_tidy(_speech_part(text, speaker)[:LONGEST_CLEANED]))
    before = None
    # Repeated until nothing changes: within the quotes there may be another name or call.
    while text != before:
        before = text
        text = _unwrap_quotes(_speech_part(text, speaker))
    return text


def cut_at_sentence(text: str, limit: int) -> str:
    """Text shortened to at most `limit` characters, at the end of a sentence or else of a word."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    matches = _SENTENCE_END.finditer(text, 0, limit + 1)
    ends = [match.end() for match in matches if match.end() <= limit]
    # A first sentence that is too short would lose most of the text: cut at a word then.
    if ends and ends[-1] >= limit // 3:
        return text[: ends[-1]].rstrip()
    head = text[: limit - 1]
    word = head.rsplit(None, 1)[0] if re.search(r"\s", head.strip()) else head
    return word.rstrip(" ,;:") + "…"
