"""Repair of speech written by a model: Markdown, stage directions, other speakers' lines.

The text becomes plain words before it is shortened and shown. No word of ordinary prose is lost:
a star in "2 * 3", a colon in "Note: bring rope" and a list of people stay as they are. The verbs
and phrases that are recognized are English; other languages are left as they are more often.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from evennia_ai.core.text.words import SENTENCE_ENDS

# Nested marks need one round each.
MOST_ROUNDS = 20
# Characters; longer than any speech that is sent.
LONGEST_PHRASED = 4_000
# Characters beside a starred part that decide whether it is a stage direction.
_NEARBY = 20

# A text without any of these has no Markdown and only one line.
_MARKUP = re.compile(r"[\[`*_~#>+•\n-]")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\((?:https?://|mailto:|[/#])[^()\s]{0,500}\)")
_CODE = re.compile(r"(`{1,2})([^`\n]+)\1")
_BOLD = re.compile(r"(?<![A-Za-z0-9*])(\*{2,3})(?=[^\s*])([^*\n]+)(?<=\S)\1(?![A-Za-z0-9*])")
_STRUCK = re.compile(r"(?<![\w~])~~(?=[^\s~])([^~\n]+)(?<=\S)~~(?![\w~])")
_UNDERLINED = re.compile(r"(?<!\w)(_{1,2})(?=[^\s_])([^_\n]+)(?<=\S)\1(?!\w)")
_STARRED = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+)(?<=\S)\*(?!\*)")
_LINE_PREFIX = re.compile(r"\A[ \t]*(?:#{1,6}|>)[ \t]+(?=\S)")
# At an end of a line they are a rule that lost its line break; elsewhere perhaps a censored word.
_STRAY_RULE = re.compile(rf"(?m)^[ \t]*\*{{3,}}(?=\s)|(?<=[{SENTENCE_ENDS}\"”»*]\s)\*{{3,}}[ \t]*$")
_BULLET = re.compile(r"[ \t]*[-*+•][ \t]+(?=\S)")
_BLANKS = re.compile(r"[ \t]+")

_SENTENCE_ENDED = re.compile(rf"(?:\A|[{SENTENCE_ENDS}*\n][\"”»')\]]{{0,2}})[ \t]*\Z")
_VERB = re.compile(r"[a-z]+(?:s|ing|ly)\b", re.IGNORECASE)
# Words that look like verbs to _VERB; emphasized ("*this*"), they are speech.
_NO_VERBS = frozenset(
    (
        *("yes", "this", "is", "was", "has", "as", "us", "thus", "always", "perhaps", "thanks"),
        *("less", "its", "his", "hers", "ours", "yours", "theirs", "towards", "besides"),
        *("sometimes", "does", "these", "those", "nothing", "anything", "something", "everything"),
        *("only", "really", "exactly", "truly", "hardly", "nearly", "definitely", "absolutely"),
    )
)
# Verbs that models also write without an ending: "*sigh*".
_BARE_VERBS = frozenset(
    (
        *("sigh", "nod", "grin", "smile", "bow", "wink", "shrug", "laugh", "chuckle", "giggle"),
        *("gasp", "cough", "yawn", "wave", "pause", "smirk", "frown", "clap", "groan", "snort"),
    )
)
# Signs that words are addressed to someone, as opposed to narration about someone.
_TALK = re.compile(
    r"[!?\"“«]|\b(?:i|me|my|mine|you|your|yours|we|us|our|yes|no|aye|hello|hi|hey|thanks|thank)\b",
    re.IGNORECASE,
)


class StageDirections(StrEnum):
    """Ways to treat `*smiles*` in an assistant's speech."""

    EMOTE = "emote"
    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Phrased:
    """Speech, with the stage directions before and after it.

    Attributes:
        before, after: stage directions, without their stars; "" for none.
    """

    words: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Label:
    """A speaker's name with a colon, at the beginning of a line or a sentence.

    Attributes:
        name: casefolded.
        start, end: position of the label in the text, marks around the name included.
        opens_line: whether it stands at the beginning of a line.
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
    """Speech as plain words, with its stage directions separate unless they are kept in place.

    The words are empty if the text is nothing but stage directions. Only the first
    LONGEST_PHRASED characters are used.
    """
    names, present = tuple(own), tuple(others)
    text = plain(text[:LONGEST_PHRASED], names, present, keeps_stars=True)
    if directions is StageDirections.KEEP or "*" not in text:
        return Phrased(text)
    parts: list[str] = []
    before: list[str] = []
    after: list[str] = []
    place, has_words = 0, False
    for match in _STARRED.finditer(text):
        if action := _stage_direction(text, match, names):
            part = text[place : match.start()]
            has_words = has_words or bool(part.strip())
            parts.append(part)
            (after if has_words else before).append(action)
            place = match.end()
    parts.append(text[place:])
    words = "\n".join(filter(None, (part.strip() for part in parts)))
    return Phrased(plain(words, names, present), ", ".join(before), ", ".join(after))


def plain(
    text: str, own: tuple[str, ...], others: tuple[str, ...], *, keeps_stars: bool = False
) -> str:
    """A text without Markdown, stars and other speakers' lines.

    Args:
        keeps_stars: leave parts between single stars as they are.
    """
    before, rounds = "", 0
    while text != before and rounds < MOST_ROUNDS:
        before, rounds = text, rounds + 1
        text = without_markdown(own_part(text, own, others))
        if not keeps_stars:
            text = _STARRED.sub(r"\1", text)
    return text.strip()


def without_markdown(text: str) -> str:
    """A text without Markdown; parts between single stars are left as they are.

    List items are joined with commas, a link becomes its text, and horizontal rules are dropped.
    """
    if not _MARKUP.search(text):
        return text.strip()
    text = _CODE.sub(r"\2", _LINK.sub(r"\1", _STRAY_RULE.sub("", text)))
    text = _UNDERLINED.sub(r"\2", _STRUCK.sub(r"\1", _BOLD.sub(r"\2", text)))
    lines: list[str] = []
    was_item = False
    for raw in text.split("\n"):
        line = "" if _is_rule(raw) else _LINE_PREFIX.sub("", raw, count=1)
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
    """True for a horizontal rule: three or more of the same sign, with or without spaces."""
    signs = _BLANKS.sub("", line)
    return len(signs) > 2 and len(set(signs)) == 1 and signs[0] in "-*_"


def own_part(text: str, own: tuple[str, ...], others: tuple[str, ...]) -> str:
    """The speaker's own part of a text: everything before the first line of another speaker.

    A label with the speaker's own name is removed. If the text begins with another's line, the
    first part under an own label counts; without one, the name in front is taken as an address.
    """
    labels = _labels(text, tuple(filter(str.strip, (*own, *others))))
    if not labels:
        return text.strip()
    names = {name.strip().casefold() for name in own}
    mine = [label for label in labels if label.name in names]
    foreign = [
        label
        for label in labels
        if label.name not in names and _is_spoken_line(text, label, labels, has_own=bool(mine))
    ]
    if not foreign:
        return _without_labels(text, [label for label in mine if label.opens_line]).strip()
    first = foreign[0]
    head = _without_labels(text[: first.start], mine).strip()
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


# Compiling takes a millisecond; there is room for each pair that talks in a large game.
@lru_cache(maxsize=4096)
def _label_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    known = sorted({name.strip() for name in names}, key=len, reverse=True)
    # Longer names come first in the alternation, or "Ada" would win over "Ada Lovelace".
    words = "|".join(map(re.escape, known))
    return re.compile(
        rf"(?:(?P<line>\A|\n)|[{SENTENCE_ENDS}][\"”»')\]*]{{0,2}}[ \t]+)[ \t]*"
        rf"(?P<label>[*_]{{0,3}}(?P<name>{words})[*_]{{0,3}}[ \t]?:[*_]{{0,3}})(?=\s+\S)",
        re.IGNORECASE,
    )


def _labels(text: str, names: tuple[str, ...]) -> list[_Label]:
    if not names or ":" not in text:
        return []
    return [
        _Label(
            match["name"].casefold(),
            match.start("label"),
            match.end("label"),
            match["line"] is not None,
        )
        for match in _label_pattern(names).finditer(text)
    ]


def _is_spoken_line(text: str, label: _Label, labels: list[_Label], *, has_own: bool) -> bool:
    """True if the words after a label are spoken by its bearer rather than said about them."""
    end = next((other.start for other in labels if other.start > label.start), len(text))
    spoken = text[label.end : end].strip()
    if spoken[:1].islower():
        return False
    return has_own or _TALK.search(spoken) is not None


def _without_labels(text: str, labels: list[_Label]) -> str:
    # From the end, so that positions of labels further ahead stay valid.
    for label in reversed(labels):
        if label.end <= len(text):
            text = f"{text[: label.start]}{text[label.end :].lstrip(' ')}"
    return text


def _stage_direction(text: str, match: re.Match[str], own: tuple[str, ...]) -> str:
    """The deed in a starred part if it is a stage direction, else ""."""
    if not _SENTENCE_ENDED.search(text, max(0, match.start() - _NEARBY), match.start()):
        return ""
    direction = match[1].strip()
    for name in own:
        if direction.casefold().startswith(f"{name.casefold()} "):
            direction = direction[len(name) :].strip()
    first = (direction.split() or [""])[0].rstrip(".,!?…").casefold()
    if first in _BARE_VERBS:
        direction = f"{direction[: len(first)].lower()}s{direction[len(first) :]}"
    is_verb = first in _BARE_VERBS or (
        _VERB.fullmatch(first) is not None and first not in _NO_VERBS
    )
    has_several = len(direction.split()) > 1
    if not (is_verb or (has_several and direction[:1].islower())):
        return ""
    if not (_starts_anew(text[match.end() : match.end() + _NEARBY]) or (is_verb and has_several)):
        return ""
    return f"{direction[0].lower()}{direction[1:]}" if is_verb else direction


def _starts_anew(rest: str) -> bool:
    """True if the line ends or a new sentence begins."""
    following = rest.lstrip(" \t")
    if not following or following[0] == "\n":
        return True
    is_apart = following != rest or following[0].isupper()
    return is_apart and not following[0].islower() and following[0] not in ".,;:!?"
