"""Mending of what a model writes as speech: Markdown, stage directions, lines of others.

Here its text is made into plain words, before it is shortened and shown. No word of ordinary prose
is lost: a star in "2 * 3", a colon in "Note: bring rope" and a list of people stay as they are.
Verbs and words by which talk is known are English; in other languages more is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

# Nested marks need a round each.
MOST_ROUNDS = 20
LONGEST_PHRASED = 4_000
NEAR = 20

# Without one of these a text has no Markdown, and no second line.
_MARKUP = re.compile(r"[\[`*_~#>+•\n-]")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\((?:https?://|mailto:|[/#])[^()\s]{0,500}\)")
_CODE = re.compile(r"(`{1,2})([^`\n]+)\1")
_BOLD = re.compile(r"(?<![A-Za-z0-9*])(\*{2,3})(?=[^\s*])([^*\n]+)(?<=\S)\1(?![A-Za-z0-9*])")
_STRUCK = re.compile(r"(?<![\w~])~~(?=[^\s~])([^~\n]+)(?<=\S)~~(?![\w~])")
_UNDERLINED = re.compile(r"(?<!\w)(_{1,2})(?=[^\s_])([^_\n]+)(?<=\S)\1(?!\w)")
_STARRED = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+)(?<=\S)\*(?!\*)")
_HEAD = re.compile(r"\A[ \t]*(?:#{1,6}|>)[ \t]+(?=\S)")
_BULLET = re.compile(r"[ \t]*[-*+•][ \t]+(?=\S)")
_BLANKS = re.compile(r"[ \t]+")

_SENTENCE_OVER = re.compile(r"(?:\A|[.!?…。！？*\n][\"”»')\]]{0,2})[ \t]*\Z")  # noqa: RUF001
_VERB = re.compile(r"[a-z]+(?:s|ing|ly)\b", re.IGNORECASE)
_NO_VERBS = frozenset(
    (
        *("yes", "this", "is", "was", "has", "as", "us", "thus", "always", "perhaps", "thanks"),
        *("less", "its", "his", "hers", "ours", "yours", "theirs", "towards", "besides"),
        *("sometimes", "does", "these", "those", "nothing", "anything", "something", "everything"),
        *("only", "really", "exactly", "truly", "hardly", "nearly", "definitely", "absolutely"),
    )
)
# Bare forms that models write for what somebody does.
_BARE = frozenset(
    (
        *("sigh", "nod", "grin", "smile", "bow", "wink", "shrug", "laugh", "chuckle", "giggle"),
        *("gasp", "cough", "yawn", "wave", "pause", "smirk", "frown", "clap", "groan", "snort"),
    )
)
# What is said to somebody, as against what is told of somebody.
_TALK = re.compile(
    r"[!?\"“«]|\b(?:i|me|my|mine|you|your|yours|we|us|our|yes|no|aye|hello|hi|hey|thanks|thank)\b",
    re.IGNORECASE,
)


class StageDirections(StrEnum):
    """Three ways to deal with `*smiles*` in what an assistant says."""

    EMOTE = "emote"
    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Phrased:
    """Words to be said, and deeds to be done before and after them.

    Attributes:
        before, after: stage directions, without their stars; "" for none.
    """

    words: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Label:
    """A name with a colon where a line or a sentence begins.

    Attributes:
        start, end: of the name with its marks.
        words: from where what follows it begins.
        opens_line: whether it stands first in its line.
    """

    name: str
    start: int
    end: int
    opens_line: bool


def phrase(
    text: str,
    own: Iterable[str] = (),
    others: Iterable[str] = (),
    directions: StageDirections = StageDirections.EMOTE,
) -> Phrased:
    """A speech as plain words, its stage directions apart, or left in it where they are kept.

    Where nothing but stage directions is there, the words are empty. Of very long texts only the
    beginning is looked at, several times what is ever said.

    Args:
        own: what the speaker is called.
        others: what those are called who stand there.
    """
    names, present = tuple(own), tuple(others)
    text = plain(text[:LONGEST_PHRASED], names, present, keeps_stars=True)
    if directions is StageDirections.KEEP:
        return Phrased(text)
    parts: list[str] = []
    before: list[str] = []
    after: list[str] = []
    place, has_words = 0, False
    for found in _STARRED.finditer(text):
        if action := _action(text, found, names):
            part = text[place : found.start()]
            has_words = has_words or bool(part.strip())
            parts.append(part)
            (after if has_words else before).append(action)
            place = found.end()
    parts.append(text[place:])
    words = "\n".join(filter(None, (part.strip() for part in parts)))
    return Phrased(plain(words, names, present), ", ".join(before), ", ".join(after))


def plain(
    text: str, own: Iterable[str] = (), others: Iterable[str] = (), *, keeps_stars: bool = False
) -> str:
    """A text without Markdown and without lines of others; of starred words the stars go too.

    Args:
        keeps_stars: leave what stands between single stars as it is.
    """
    names, present = tuple(own), tuple(others)
    before, rounds = "", 0
    while text != before and rounds < MOST_ROUNDS:
        before, rounds = text, rounds + 1
        text = without_markdown(own_part(text, names, present))
        if not keeps_stars:
            text = _STARRED.sub(r"\1", text)
    return text.strip()


def without_markdown(text: str) -> str:
    """A text without Markdown; what stands between single stars is left as it is.

    A list becomes its items with commas, a link its text, and of a rule nothing is left.
    """
    if not _MARKUP.search(text):
        return text.strip()
    text = _CODE.sub(r"\2", _LINK.sub(r"\1", text))
    text = _UNDERLINED.sub(r"\2", _STRUCK.sub(r"\1", _BOLD.sub(r"\2", text)))
    lines: list[str] = []
    was_item = False
    for raw in text.split("\n"):
        line = "" if _is_rule(raw) else _HEAD.sub("", raw, count=1)
        bullet = _BULLET.match(line)
        line = line[bullet.end() :].strip() if bullet else line.strip()
        if bullet and lines and lines[-1]:
            comma = "," if was_item and lines[-1][-1].isalnum() else ""
            lines[-1] += f"{comma} {line}"
        else:
            lines.append(line)
        was_item = bullet is not None
    return "\n".join(lines).strip()


def _is_rule(line: str) -> bool:
    """True for a line of three or more of one sign, with blanks between them or not."""
    signs = _BLANKS.sub("", line)
    return len(signs) > 2 and len(set(signs)) == 1 and signs[0] in "-*_"


def own_part(text: str, own: Iterable[str], others: Iterable[str]) -> str:
    """The part of a text that its speaker says: all from before the first line of somebody else.

    A label of its own goes. Where the text begins with a line of somebody else, the first part
    under its own label counts; where there is none, the name in front is an address.
    """
    own, others = tuple(own), tuple(others)
    labels = _labels(text, tuple(filter(str.strip, (*own, *others))))
    if not labels:
        return text.strip()
    names = {name.strip().casefold() for name in own}
    mine = [label for label in labels if label.name in names]
    foreign = [
        label
        for label in labels
        if label.name not in names and _is_line(text, label, labels, has_own=bool(mine))
    ]
    if not foreign:
        return _without(text, [label for label in mine if label.opens_line]).strip()
    first = foreign[0]
    head = _without(text[: first.start], mine).strip()
    if any(ch.isalnum() for ch in head):
        return head
    ends = [*(label.start for label in foreign), len(text)]
    parts = (
        text[label.end : next(end for end in ends if end >= label.end)].strip() for label in mine
    )
    if part := next(filter(None, parts), ""):
        return part
    end = next((each.start for each in foreign[1:] if each.name != first.name), len(text))
    marked = text[first.start : first.end].strip().strip("*_ ").rstrip(":").strip("*_ ")
    return f"{marked}, {text[first.end : end].strip()}".strip()


# A pattern takes a millisecond to make: room for each pair that talks in a large game.
@lru_cache(maxsize=4096)
def _label_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    known = sorted({name.strip() for name in names}, key=len, reverse=True)
    words = "|".join(map(re.escape, known))
    return re.compile(
        r"(?:(?P<line>\A|\n)|[.!?…。！？][\"”»')\]*]{0,2}[ \t]+)[ \t]*"  # noqa: RUF001
        rf"(?P<label>[*_]{{0,3}}(?P<name>{words})[*_]{{0,3}}[ \t]?:[*_]{{0,3}})(?=\s+\S)",
        re.IGNORECASE,
    )


def _labels(text: str, names: tuple[str, ...]) -> list[_Label]:
    if not names or ":" not in text:
        return []
    return [
        _Label(
            found["name"].casefold(),
            found.start("label"),
            found.end("label"),
            found["line"] is not None,
        )
        for found in _label_pattern(names).finditer(text)
    ]


def _is_line(text: str, label: _Label, labels: list[_Label], *, has_own: bool) -> bool:
    """True where the words after a name are its bearer's own, not told of somebody of that name."""
    end = next((other.start for other in labels if other.start > label.start), len(text))
    said = text[label.end : end].strip()
    if said[:1].islower():
        return False
    return has_own or _TALK.search(said) is not None


def _without(text: str, labels: list[_Label]) -> str:
    for label in reversed(labels):
        if label.end <= len(text):
            text = f"{text[: label.start]}{text[label.end :].lstrip(' ')}"
    return text


def _action(text: str, found: re.Match[str], own: tuple[str, ...]) -> str:
    """The deed that a starred part tells, where it is a stage direction; else ""."""
    if not _SENTENCE_OVER.search(text, max(0, found.start() - NEAR), found.start()):
        return ""
    told = found[1].strip()
    for name in own:
        if told.casefold().startswith(f"{name.casefold()} "):
            told = told[len(name) :].strip()
    first = (told.split() or [""])[0].rstrip(".,!?…").casefold()
    if first in _BARE:
        told = f"{told[: len(first)].lower()}s{told[len(first) :]}"
    is_verb = first in _BARE or (_VERB.fullmatch(first) is not None and first not in _NO_VERBS)
    has_several = len(told.split()) > 1
    if not (is_verb or (has_several and told[:1].islower())):
        return ""
    if not (_goes_on_anew(text[found.end() : found.end() + NEAR]) or (is_verb and has_several)):
        return ""
    return f"{told[0].lower()}{told[1:]}" if is_verb else told


def _goes_on_anew(rest: str) -> bool:
    """True where a line is over, or a new sentence begins."""
    following = rest.lstrip(" \t")
    if not following or following[0] == "\n":
        return True
    is_apart = following != rest or following[0].isupper()
    return is_apart and not following[0].islower() and following[0] not in ".,;:!?"
