"""Lore packs: a game's lore in a file, validated as a whole before any of it is stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from evennia_ai.core.memory.lore_terms import Also, LoreCondition, LoreTerms, Whose
from evennia_ai.core.settings.model import (
    Flag,
    MismatchError,
    Number,
    SettingsGroup,
    Text,
    Whole,
    setting,
)
from evennia_ai.core.text.cleaning import one_line, strip_control
from evennia_ai.errors import ConfigurationError, ImportFileError

# Bytes.
LONGEST_PACK = 1024 * 1024
LONGEST_TEXT, LONGEST_KEYWORD, MOST_KEYWORDS, MOST_CONDITIONS = 1_000, 40, 20, 10
MOST_ENTRIES = 5_000
# Problems that are listed in an error; the rest are counted.
MOST_TOLD_PROBLEMS = 10
PACK_NAME = r"^[a-z0-9][a-z0-9-]{0,39}$"
ID = r"^[^\s\x00-\x1f]{1,64}$"
_HEAD = {"pack", "entries"}
_EXAMPLE = (
    "{'pack': 'harbour', 'entries': [{'id': 'oil', 'text': 'It burns.', 'keywords': ['oil']}]}"
)


def _field_with_note(note: str, **bounds: Any) -> Any:
    return Field(**bounds, json_schema_extra={"note": note})


def _cleaned(text: object) -> object:
    """A text as it is stored, on one line, so that validation sees the same text as the model."""
    return " ".join(strip_control(text).split()) if isinstance(text, str) else text


_Cleaned = Annotated[Text, BeforeValidator(_cleaned)]
_Keyword = Annotated[_Cleaned, Field(pattern=r"\w", max_length=LONGEST_KEYWORD)]
_Keywords = Annotated[
    tuple[_Keyword, ...],
    _field_with_note(
        f"at most {MOST_KEYWORDS}, each with a word in it, of up to {LONGEST_KEYWORD} characters",
        max_length=MOST_KEYWORDS,
    ),
]
_Named = Annotated[Text, _field_with_note("of up to 100 characters", max_length=100)]


class PackCondition(SettingsGroup):
    """A condition in a pack: exactly one of `tag`, `attribute` and `quest` is set."""

    of: Whose = setting("person", "whose: `person`, `room` or `assistant`")
    tag: _Named = setting("", "a tag that is there")
    category: _Named | None = setting(None, "the tag's category")
    attribute: _Named = setting("", "an attribute: it counts as true, or is `value`")
    value: Flag | Whole | Number | Text | None = setting(
        None, "what the attribute has to be", note="text, a number, true or false"
    )
    quest: _Named = setting("", "a quest of the person's, which is in `state`")
    state: _Named = setting("", "the state of the quest")

    @model_validator(mode="after")
    def _check_one_kind(self) -> Self:
        """Require exactly one of the three kinds."""
        if sum(map(bool, (self.tag, self.attribute, self.quest))) != 1:
            raise ValueError("a condition with one of tag, attribute and quest")
        if self.quest and not self.state:
            raise MismatchError("state", self.state, "the state in which the quest has to be")
        if self.quest and self.of != "person":
            raise MismatchError("of", self.of, "person, where a quest is meant")
        return self

    @classmethod
    def read(cls, raw: object, place: str) -> LoreCondition:
        """Parse a condition from plain data.

        Raises:
            ConfigurationError: a value is invalid; the text begins with `place`.
        """
        return LoreCondition(**cls._read(raw, place).model_dump())


class PackEntry(SettingsGroup):
    """An entry of a lore pack."""

    id: Annotated[Text, _field_with_note("without blanks, of 1 to 64 characters", pattern=ID)] = ""
    text: Annotated[
        _Cleaned,
        _field_with_note("of 1 to 1,000 characters", pattern=r"\S", max_length=LONGEST_TEXT),
    ] = ""
    keywords: _Keywords = setting((), "it is told where one of these is said")
    audience: Annotated[Text, Field(max_length=80)] = setting(
        "world", "who may be told: `world`, `room #2` or `faction <name>`"
    )
    importance: Whole = setting(5, "1 to 10; the higher goes first", ge=1, le=10)
    also: _Keywords = setting((), "further keywords, of which `also_as` says what is needed")
    also_as: Also = setting("any", "`any`, `all`, `none` or `not all` of `also` is said too")
    constant: Flag = setting(False, "whether it is told whatever is said")
    order: Whole = setting(100, "among others the lower goes first", ge=0, le=1_000_000)
    depth: Whole = setting(1, "newest messages that are looked through", ge=1, le=50)
    when: Annotated[tuple[Any, ...], Field(max_length=MOST_CONDITIONS)] = setting(
        (), "conditions, all of which have to hold"
    )

    @model_validator(mode="after")
    def _check_reachable(self) -> Self:
        """Reject entries without text, and entries that no word could ever trigger."""
        if not self.id:
            raise MismatchError("id", "", "text by which the pack knows it")
        if not self.text:
            raise MismatchError("text", "", "what is told")
        if not (self.keywords or self.constant or self.audience.startswith("room ")):
            raise MismatchError(
                "keywords", [], "a list of words, unless it is constant or a room's"
            )
        return self

    @classmethod
    def read(cls, raw: object, place: str) -> Self:
        """Parse an entry from plain data.

        Raises:
            ConfigurationError: a value is invalid; the text begins with `place`.
        """
        return cls._read(raw, place)


@dataclass(frozen=True, slots=True)
class PackedLore:
    """An entry of a pack as it is stored.

    Attributes:
        audience: in words, such as "room #2".
    """

    text: str
    keywords: tuple[str, ...]
    audience: str
    importance: int
    terms: LoreTerms


@dataclass(frozen=True, slots=True)
class LorePack:
    """A lore pack."""

    name: str
    entries: tuple[PackedLore, ...]


def read_pack(given: object) -> LorePack:
    """Parse a pack from plain data.

    Raises:
        ImportFileError: a value is invalid; the text lists each invalid entry with its field.
    """
    if not isinstance(given, Mapping) or set(given) != _HEAD:
        raise ImportFileError(f"a pack has `pack` and `entries`, and no more, like {_EXAMPLE}")
    pack, raws = check_name(given["pack"]), given["entries"]
    if not isinstance(raws, list) or len(raws) > MOST_ENTRIES:
        what = f"{len(raws):,} entries" if isinstance(raws, list) else one_line(repr(raws), 60)
        raise ImportFileError(f"entries is {what}; it must be a list of at most {MOST_ENTRIES:,}")
    entries: list[PackedLore] = []
    problems: list[str] = []
    for number, raw in enumerate(raws, 1):
        try:
            entries.append(_read_entry(pack, raw, _place(number, raw)))
        # Collected, so that an author reads all problems at once.
        except ConfigurationError as error:
            problems.append(str(error))
    ids = Counter(lore.terms.entry for lore in entries)
    problems += [
        f"{count} entries have the id {name!r}" for name, count in ids.items() if count > 1
    ]
    if problems:
        raise ImportFileError(_listed(problems))
    return LorePack(pack, tuple(entries))


def check_name(name: object) -> str:
    """Validate the name of a pack.

    Raises:
        ImportFileError: it is invalid.
    """
    if isinstance(name, str) and re.fullmatch(PACK_NAME, name):
        return name
    form = "of 1 to 40 of a-z, 0-9 and -"
    raise ImportFileError(f"pack is {one_line(repr(name), 60)}; it must be a name {form}")


def _place(number: int, raw: object) -> str:
    called = raw.get("id") if isinstance(raw, Mapping) else None
    return f"entry {one_line(called, 64)!r}" if isinstance(called, str) else f"entry {number}"


def _read_entry(pack: str, raw: object, place: str) -> PackedLore:
    entry = PackEntry.read(raw, place)
    terms = LoreTerms(
        also=entry.also,
        also_as=entry.also_as,
        is_constant=entry.constant,
        order=entry.order,
        depth=entry.depth,
        when=tuple(
            PackCondition.read(each, f"{place}.when[{number}]")
            for number, each in enumerate(entry.when)
        ),
        book=pack,
        entry=entry.id,
    )
    return PackedLore(entry.text, entry.keywords, entry.audience, entry.importance, terms)


def _listed(problems: Sequence[str]) -> str:
    more = len(problems) - MOST_TOLD_PROBLEMS
    rest = [f"and {more} more"] if more > 0 else []
    return "; ".join([*problems[:MOST_TOLD_PROBLEMS], *rest])


def key_of(pack: str, entry: str) -> str:
    """The key of an entry in the store; the same each time the pack is imported."""
    return sha256(f"{pack}\n{entry}".encode()).hexdigest()[:32]


def written(lore: PackedLore) -> dict[str, Any]:
    """An entry in the form of a pack, without default values."""
    # model_construct skips validation: what is stored was validated when it came in.
    entry = PackEntry.model_construct(
        id=lore.terms.entry,
        text=lore.text,
        keywords=lore.keywords,
        audience=lore.audience,
        importance=lore.importance,
        also=lore.terms.also,
        also_as=lore.terms.also_as,
        constant=lore.terms.is_constant,
        order=lore.terms.order,
        depth=lore.terms.depth,
        when=tuple(map(_condition_dict, lore.terms.when)),
    )
    return entry.model_dump(mode="json", exclude_defaults=True)


def _condition_dict(condition: LoreCondition) -> dict[str, Any]:
    return PackCondition(**asdict(condition)).model_dump(exclude_defaults=True)
