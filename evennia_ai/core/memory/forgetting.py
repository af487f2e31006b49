"""Taking a person out of texts and talk: their turns, what names them, what they were heard say.

Names are looked for as whole words, as they are written. What others said stays, with "somebody"
in place of the name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from evennia_ai.core.text.cleaning import name_as_data
from evennia_ai.core.turn.compaction import summary_message, summary_text
from evennia_ai.core.turn.conversation import OF, PRIVATE_TO, Message, is_of

SOMEBODY = "somebody"
MEANWHILE = "Meanwhile you noticed:"
_SENTENCES = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")  # noqa: RUF001
# What the lines of a summary begin with that no model wrote; a turn begins with the first of them.
_TOLD, _CAME = "it was told: ", ("it did: ", "it said: ", "it came to: ")
_SPOKE = r"(?:whispers|pages|says|does|causes|hands)\b"
_SAID = r"(?:whispered|paged|said|did|caused)\b"


class PersonNames:
    """A person's names, to be looked for.

    Args:
        names: all of them; empty ones count for nothing.
    """

    def __init__(self, names: Iterable[str]) -> None:
        # The longest first, or a short name would leave the rest of a longer one standing.
        known = sorted({name.strip() for name in names if name.strip()}, key=len, reverse=True)
        told = sorted({name_as_data(name) for name in known}, key=len, reverse=True)
        self._any = _pattern(rf"(?<!\w)(?:{_either(known)})(?!\w)", known)
        self._frame = _pattern(rf"(?im)^(?:{_either(told)}) {_SPOKE}", told)
        self._notice = _pattern(rf"(?m)^The game tells you of (?:{_either(told)}): ", told)
        self._heard = _pattern(rf"^- (?:{_either(told)}) {_SAID}", told)
        self.known = tuple(known)

    def is_in(self, text: str) -> bool:
        """True for a text that names them."""
        return self._any.search(text) is not None

    def spoke_in(self, text: str) -> bool:
        """True for the beginning of a turn that was theirs."""
        return bool(self._frame.search(text) or self._notice.search(text))

    def was_heard_in(self, line: str) -> bool:
        """True for a line that tells of a thing they were overheard to say."""
        return self._heard.search(line) is not None

    def hidden(self, text: str) -> str:
        """A text that names nobody of these names."""
        return self._any.sub(SOMEBODY, text)


def _either(names: Sequence[str]) -> str:
    return "|".join(map(re.escape, names))


def _pattern(pattern: str, names: Sequence[str]) -> re.Pattern[str]:
    # Of no names nothing is found; an empty alternative would be found everywhere.
    return re.compile(pattern if names else r"(?!)")


def without_names(value: object, name: PersonNames) -> Any:
    """Plain data whose texts name nobody of these names."""
    if isinstance(value, str):
        return name.hidden(value)
    if isinstance(value, Mapping):
        return {key: without_names(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_names(item, name) for item in value]
    return value


def without_marked(value: object, marks: frozenset[str], name: PersonNames) -> Any:
    """Plain data without what is a person's in it, and without their names.

    Args:
        marks: their id and their audience: what is kept under one of them, and each row that has
            one as a value, leaves.
    """
    if isinstance(value, Mapping):
        kept = {k: item for k, item in value.items() if k not in marks and not _is_row(item, marks)}
        return {key: without_marked(item, marks, name) for key, item in kept.items()}
    if isinstance(value, (list, tuple)):
        rows = (item for item in value if not _is_row(item, marks))
        return [without_marked(item, marks, name) for item in rows]
    return without_names(value, name)


def _is_row(item: object, marks: frozenset[str]) -> bool:
    """True for a person's row: a mark itself, or a mapping with one as a value."""
    values = item.values() if isinstance(item, Mapping) else (item,)
    return any(isinstance(value, str) and value in marks for value in values)


# ---- talk --------------------------------------------------------------------------------------


def history_without(
    history: Sequence[Message], people: Collection[str], name: PersonNames
) -> list[Message]:
    """A conversation without a person: their turns, their summaries, and what names them.

    A turn leaves as a whole, so that no call is parted from its result.

    Args:
        people: their ids; of turns that do not say whose they are, the frame with the name does.
    """
    kept: list[Message] = []
    is_theirs = False
    for message in history:
        # A turn begins with a user message; what follows it is part of it.
        if message["role"] == "user":
            is_theirs = _begins_theirs(message, name)
        if is_of(message, people) or (
            is_theirs and OF not in message and PRIVATE_TO not in message
        ):
            continue
        kept += _told_without(message, name)
    return kept


def _begins_theirs(message: Message, name: PersonNames) -> bool:
    return not summary_text(message) and name.spoke_in(str(message.get("content") or ""))


def _told_without(message: Message, name: PersonNames) -> list[Message]:
    """A message of somebody else; none where it was a summary of nothing but them."""
    if summary := summary_text(message):
        text = summary_without(summary, name)
        return [summary_message(text, message.get(PRIVATE_TO))] if text else []
    changed = dict(message)
    if isinstance(content := message.get("content"), str):
        heard = message["role"] == "user"
        changed["content"] = name.hidden(_unheard(content, name) if heard else content)
    if calls := message.get("tool_calls"):
        changed["tool_calls"] = [_call_without(call, name) for call in calls]
    # Whoever makes a summary meanwhile finds what it began with by its identity.
    return [changed if changed != message else message]


def _call_without(call: Mapping[str, Any], name: PersonNames) -> dict[str, Any]:
    function = call["function"]
    arguments = name.hidden(function["arguments"])
    return {**call, "function": {**function, "arguments": arguments}}


def _unheard(content: str, name: PersonNames) -> str:
    """The beginning of a turn, without the things they were overheard to say before it."""
    lines = content.split("\n")
    if lines[0] != MEANWHILE or "" not in lines:
        return content
    end = lines.index("")
    before = [line for line in lines[1:end] if not name.was_heard_in(line)]
    head = [MEANWHILE, *before, ""] if before else []
    return "\n".join([*head, *lines[end + 1 :]])


def summary_without(summary: str, name: PersonNames) -> str:
    """A summary without the sentences that name them; of plain lines, without their turns."""
    kept: list[str] = []
    is_theirs = False
    for line in summary.split("\n"):
        if line.startswith(_TOLD):
            is_theirs = name.is_in(line)
        elif not line.startswith(_CAME):
            is_theirs = False
        if is_theirs or (line.startswith((_TOLD, *_CAME)) and name.is_in(line)):
            continue
        kept.append(_sentences_without(line, name))
    return "\n".join(filter(None, kept)).strip()


def _sentences_without(line: str, name: PersonNames) -> str:
    if not name.is_in(line):
        return line
    return " ".join(s for s in _SENTENCES.split(line) if s and not name.is_in(s))
