"""Removal of a person from texts and history: their turns, names and overheard words.

Names are matched as whole words, as people write them: as they are, with capital letters, and with
the "s" of a German genitive. Other people's words stay, with "somebody" in place of the name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize

from evennia_ai.core.memory.recollection import unmasked_id
from evennia_ai.core.text.characters import as_word
from evennia_ai.core.text.cleaning import name_as_data, quote
from evennia_ai.core.text.words import SENTENCE_ENDS, UNSPACED_ENDS
from evennia_ai.core.turn.compaction import summary_message, summary_text
from evennia_ai.core.turn.conversation import NAMED, OF, PRIVATE_TO, SAID_BY, Message, is_of

SOMEBODY = "somebody"
# "Al" and "Al" with an "s" are too often other words.
_FEWEST_LETTERS = 3
MEANWHILE = "Meanwhile you noticed:"
SENTENCES = re.compile(
    rf"(?<=[{SENTENCE_ENDS}])[\"'”’)\]]*\s+|(?<=[{UNSPACED_ENDS}])|\n+"  # noqa: RUF001
)
# Beginnings of lines in a verbatim summary; a turn begins with the first of them.
_TOLD_LINE, _OWN_LINES = "it was told: ", ("it did: ", "it said: ", "it came to: ")
# Verbs of the frames that core.turn.conversation puts around what is said.
_SPEAKING = r"(?:whispers|pages|says|does|causes|hands)\b"
_SPOKE = r"(?:whispered|paged|said|did|caused)\b"


class PersonNames:
    """Patterns that find a person's names.

    Args:
        names: all names of the person; empty ones are ignored.

    Attributes:
        written: the names in each form that is found, for a search in a database.
    """

    def __init__(self, names: Iterable[str]) -> None:
        plain = {name.strip() for name in names if name.strip()}
        # Quotation marks in a name are escaped where it is quoted.
        known = {*plain, *(quote(each)[1:-1] for each in plain)}
        # Longest first, or removing a short name would leave the rest of a longer one.
        forms = {form for each in known for form in _forms(each)}
        self.written = sorted(forms, key=len, reverse=True)
        shown = sorted(map(name_as_data, plain), key=len, reverse=True)
        self._any = _pattern("|".join(map(as_word, self.written)), self.written)
        self._frame = _pattern(rf"(?im)^(?:{_alternatives(shown)}) {_SPEAKING}", shown)
        self._notice = _pattern(rf"(?m)^The game tells you of (?:{_alternatives(shown)}): ", shown)
        self._heard = _pattern(rf"^- (?:{_alternatives(shown)}) {_SPOKE}", shown)
        self.known, self._plain = tuple(known), plain

    def then(self, named: Mapping[str, str], people: Collection[str]) -> PersonNames:
        """The names as they were in a turn: with an earlier one, without one that was another's.

        Args:
            named: the ids of the speakers of that turn, by name.
        """
        theirs = {each for each, who in named.items() if unmasked_id(who) in people}
        names = (self._plain - named.keys()) | theirs
        return self if names == self._plain else PersonNames(names)

    def is_in(self, text: str) -> bool:
        """True if a text contains one of the names."""
        return self._any.search(text) is not None

    def spoke_in(self, text: str) -> bool:
        """True for the opening message of a turn that was theirs."""
        return bool(self._frame.search(text) or self._notice.search(text))

    def was_heard_in(self, line: str) -> bool:
        """True for a line with something they were overheard to say."""
        return self._heard.search(line) is not None

    def hidden(self, text: str) -> str:
        """The text with "somebody" in place of the names."""
        return self._any.sub(SOMEBODY, text)


def _forms(name: str) -> Iterator[str]:
    is_short = len(name) < _FEWEST_LETTERS
    # Others write "Tom" of a player who is registered as "tom".
    written = {name} if is_short else {name, name[0].upper() + name[1:], name.title()}
    for form in {normalize(kind, each) for each in written for kind in ("NFC", "NFD")} | {name}:
        yield form
        if not is_short:
            yield form.upper()
            if form[-1].isalpha():
                yield f"{form}s"


def _alternatives(names: Sequence[str]) -> str:
    return "|".join(map(re.escape, names))


def _pattern(pattern: str, names: Sequence[str]) -> re.Pattern[str]:
    # An empty alternation would match everywhere; (?!) matches nowhere.
    return re.compile(pattern if names else r"(?!)")


def without_names(value: object, name: PersonNames) -> Any:
    """Plain data with "somebody" in place of the names in its texts."""
    if isinstance(value, str):
        return name.hidden(value)
    if isinstance(value, Mapping):
        return {key: without_names(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_names(item, name) for item in value]
    return value


def without_marked(value: object, marks: frozenset[str], name: PersonNames) -> Any:
    """Plain data without a person's items, and without their names.

    Args:
        marks: the person's id and audience. Values stored under one of them as a key are removed,
            and so are rows that have one of them as a value.
    """
    if isinstance(value, Mapping):
        others = {
            k: item for k, item in value.items() if k not in marks and not _is_row(item, marks)
        }
        return {key: without_marked(item, marks, name) for key, item in others.items()}
    if isinstance(value, (list, tuple)):
        rows = (item for item in value if not _is_row(item, marks))
        return [without_marked(item, marks, name) for item in rows]
    return without_names(value, name)


def _is_row(item: object, marks: frozenset[str]) -> bool:
    """True for a person's row: one of the marks itself, or a mapping with a mark as a value."""
    values = item.values() if isinstance(item, Mapping) else (item,)
    return any(isinstance(value, str) and value in marks for value in values)


# ---- history -----------------------------------------------------------------------------------


def history_without(
    history: Sequence[Message], people: Collection[str], name: PersonNames
) -> list[Message]:
    """A history without a person: without their turns and summaries, and without their names.

    A turn is removed as a whole, so that no call is separated from its result.

    Args:
        people: the person's ids. Turns stored without an id are recognized by the name in front.
    """
    remaining: list[Message] = []
    is_theirs, name_then = False, name
    for message in history:
        # A turn begins with a user message, and lasts until the next one.
        if message["role"] == "user":
            content = str(message.get("content") or "")
            is_theirs = not summary_text(message) and name.spoke_in(content)
            name_then = name.then(message.get(NAMED, {}), people)
        if is_of(message, people) or (
            is_theirs and OF not in message and PRIVATE_TO not in message
        ):
            continue
        remaining += _message_without(message, people, name_then)
    return remaining


def _message_without(message: Message, people: Collection[str], name: PersonNames) -> list[Message]:
    """Another person's message without the names; empty for a summary of nothing else."""
    if NAMED in message:
        named = {k: who for k, who in message[NAMED].items() if unmasked_id(who) not in people}
        message = message if named == message[NAMED] else {**message, NAMED: named}
    if summary := summary_text(message):
        text = summary_without(summary, name)
        said_by = [who for who in message.get(SAID_BY, ()) if unmasked_id(who) not in people]
        marks = {**message, SAID_BY: said_by} if SAID_BY in message else message
        return [{**marks, **summary_message(text)}] if text else []
    changed = dict(message)
    if isinstance(content := message.get("content"), str):
        heard = message["role"] == "user"
        changed["content"] = name.hidden(_without_overheard(content, name) if heard else content)
    if calls := message.get("tool_calls"):
        changed["tool_calls"] = [_call_without(call, name) for call in calls]
    # The same object if nothing changed: a running compaction finds its place by identity.
    return [changed if changed != message else message]


def _call_without(call: Mapping[str, Any], name: PersonNames) -> dict[str, Any]:
    function = call["function"]
    # As data: in JSON text a person called "null" would be found where no name is.
    arguments = without_names(json.loads(function["arguments"]), name)
    text = json.dumps(arguments, ensure_ascii=False)
    return {**call, "function": {**function, "arguments": text}}


def _without_overheard(content: str, name: PersonNames) -> str:
    """The opening of a turn, without what the person was overheard to say before it."""
    lines = content.split("\n")
    if lines[0] != MEANWHILE or "" not in lines:
        return content
    end = lines.index("")
    before = [line for line in lines[1:end] if not name.was_heard_in(line)]
    head = [MEANWHILE, *before, ""] if before else []
    return "\n".join([*head, *lines[end + 1 :]])


def summary_without(summary: str, name: PersonNames) -> str:
    """A summary without the sentences that name the person; if verbatim, without their turns."""
    lines: list[str] = []
    is_theirs = False
    for line in summary.split("\n"):
        if line.startswith(_TOLD_LINE):
            is_theirs = name.is_in(line)
        elif not line.startswith(_OWN_LINES):
            is_theirs = False
        if is_theirs or (line.startswith((_TOLD_LINE, *_OWN_LINES)) and name.is_in(line)):
            continue
        lines.append(_sentences_without(line, name))
    return "\n".join(filter(None, lines)).strip()


def _sentences_without(line: str, name: PersonNames) -> str:
    if not name.is_in(line):
        return line
    return " ".join(s for s in SENTENCES.split(line) if s and not name.is_in(s))
