"""The parts of a bundle file: names, limits, and the models by which they are validated."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evennia.utils.ansi import ANSI_PARSER
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evennia_ai.core.cards.character_card import MOST_BYTES
from evennia_ai.core.memory.recollection import MemoryKind, SourceType
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ImportFileError

FORMAT = 1
MANIFEST = "manifest.json"
SETTINGS, STATE, WHO, MEMORIES = "settings.json", "state.json", "who.jsonl", "memories.jsonl"
PROFILES, CARD, RECORD = "profiles.jsonl", "card.json", "record.jsonl"
MEMBERS = (SETTINGS, STATE, WHO, MEMORIES, PROFILES, CARD, RECORD)
MEGABYTE = 1_000_000
MOST_PACKED, MOST_UNPACKED = 64 * MEGABYTE, 256 * MEGABYTE
MOST_LINES = 200_000
# Bytes of one line, which is parsed in one step: parsed, they take a hundred times as many.
MOST_LINE = MEGABYTE
# Fewer than lines, since each is looked up among this game's accounts.
MOST_WHO = 50_000
# The zip's end of central directory record, its signature, and that of the ZIP64 locator, which
# moves the true end elsewhere.
_END, _END_MARK, _LARGE_MARK = struct.Struct("<4s4H2LH"), b"PK\5\6", b"PK\6\7"
MOST_DIRECTORY = 10_000  # bytes of the central directory
# Bytes of parts that are parsed in one step of the game's thread, not line by line.
MOST_OF = {
    SETTINGS: 4 * MEGABYTE,
    STATE: 4 * MEGABYTE,
    CARD: 2 * MOST_BYTES,
}
_AUDIENCE = re.compile(r"world|nobody|(?:person|room|channel|faction):([1-9]\d{0,6})")


class Strict(BaseModel):
    """Base of all parts: unknown fields are refused, and types are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def unlinked(text: str) -> str:
    """A text with its colours, but without links: a click on one types a command."""
    while (without := str(ANSI_PARSER.strip_mxp(text))) != text:
        text = without
    return text


LONGEST_NAME = 255
Text = Annotated[str, Field(max_length=100_000)]
# One line: a name from a file must not be able to imitate lines of our own.
Name = Annotated[
    str,
    Field(max_length=LONGEST_NAME),
    AfterValidator(lambda name: one_line(name, LONGEST_NAME)),
]
Look = Annotated[str, Field(max_length=4000), AfterValidator(unlinked)]
Ref = Annotated[int, Field(ge=1, le=9_999_999)]
Part = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
# The years 68 to 5138: a datetime cannot hold those before 1.
Moment = Annotated[float, Field(ge=-6e10, le=1e11, allow_inf_nan=False)]
Audience = Annotated[str, Field(pattern=_AUDIENCE.pattern, max_length=20)]
Plain = dict[str, Any]


class Member(Strict):
    """The manifest's entry of a part of the file."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0, le=MOST_UNPACKED)]
    count: Annotated[int, Field(ge=0, le=10 * MOST_LINES)]


class Manifest(Strict):
    """The first part of the file, which says what is in it.

    Attributes:
        format: version of the file format.
        version: version of the package that wrote it.
        game: name of the game it comes from.
        exported_at: seconds since 1970.
        stopped: reason why the assistant was stopped there; None: it was not stopped.
    """

    format: int
    version: Name
    game: Name
    exported_at: Moment
    name: Name
    desc: Look
    aliases: Annotated[list[Name], Field(max_length=10)]
    stopped: Annotated[str, Field(max_length=2000)] | None
    left_out: Annotated[list[Name], Field(max_length=200)]
    files: dict[str, Member]


class Who(Strict):
    """A person or a place of the other game; its number is that of its line."""

    kind: Literal["account", "object", "mask", "room", "channel", "faction"]
    name: Name


class MemoryLine(Strict):
    """One memory; its number is that of its line."""

    kind: Annotated[str, Field(pattern=f"^({'|'.join(MemoryKind)})$")]
    text: Text
    audience: Audience
    person: Ref | None
    place: Ref | None
    source_type: Annotated[str, Field(pattern=f"^({'|'.join(SourceType)})$")]
    trust: Part
    importance: Annotated[int, Field(ge=1, le=10)]
    importance_by: Annotated[str, Field(max_length=16)]
    at: Moment
    tags: Annotated[list[Name], Field(max_length=200)]
    cites: Annotated[list[Ref], Field(max_length=1000)]
    superseded_at: Moment | None
    is_consolidated: bool
    terms: Plain | None


@dataclass(frozen=True, slots=True)
class MemoryLines(Sequence[MemoryLine]):
    """All lines of memories, kept as validated JSON and parsed when they are used.

    Millions of parsed objects would be traversed in one go at each full garbage collection.
    """

    raw: list[bytes]

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [MemoryLine.model_validate_json(line) for line in self.raw[index]]
        return MemoryLine.model_validate_json(self.raw[index])


# Columns of a memory and of a profile that are the same in the file; the others name people, places
# or other lines.
OF_MEMORY = (
    *("kind", "text", "source_type", "trust", "importance", "importance_by"),
    *("at", "superseded_at"),
)
OF_PROFILE = ("entity_type", "name", "favour", "meetings", "first_at", "last_at")


def taken(source: object, names: Sequence[str]) -> Plain:
    """The values of these columns or fields, by name."""
    return {name: getattr(source, name) for name in names}


class BundledAttribute(Strict):
    """One attribute of a profile."""

    text: Text
    audience: Audience
    at: Moment


class ProfileLine(Strict):
    """A profile: what the assistant knows of one being.

    Attributes:
        who: number of the being.
        consolidated: number of the last memory that was worked into the profile, or 0.
    """

    who: Ref
    entity_type: Annotated[str, Field(max_length=16)]
    name: Name
    attributes: Annotated[list[BundledAttribute], Field(max_length=1000)]
    favour: Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
    # Less than the column holds, since it is counted on.
    meetings: Annotated[int, Field(ge=0, le=10**9)]
    first_at: Moment
    last_at: Moment
    consolidated: Annotated[int, Field(ge=0, le=MOST_LINES)]


class Owned(Strict):
    """Something that belongs to a person, given by number; 0: to nobody."""

    person: Annotated[int, Field(ge=0)]
    is_private: bool


class NoteKept(Owned):
    """A note."""

    number: Annotated[int, Field(ge=0)]
    text: Text
    at: Moment
    kind: Name = ""


class ProjectKept(Owned):
    """A project."""

    summary: Text
    context: Text
    status: Literal["active", "paused", "completed"]
    created_at: Moment
    last_active: Moment


class ProjectsKept(Strict):
    """All projects of an assistant."""

    active: Name = ""
    slots: dict[Name, ProjectKept] = {}


class TimingKept(Strict):
    """The timing of a goal: `core.turn.goal_times.Timing`."""

    when: Name
    clock: Literal["real", "game"]
    at: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", max_length=5)]
    is_daily: bool
    due: Moment
    is_begun: bool


class GoalKept(Strict):
    """A goal: `core.turn.goals.StoredGoal`."""

    id: Annotated[int, Field(ge=1)]
    text: Text
    priority: Annotated[int, Field(ge=1, le=10)]
    status: Literal["active", "completed", "dropped"]
    outcome: Text = ""
    parent: int | None = None
    by: Literal["staff", "self"] = "staff"
    timing: TimingKept | None = None


class GoalsKept(Strict):
    """All goals: `core.turn.goals.StoredGoals`."""

    version: int = 1
    count: Annotated[int, Field(ge=0)] = 0
    goals: Annotated[list[GoalKept], Field(max_length=1000)] = []


class BundledState(Strict):
    """The state of an assistant other than its memories and profiles."""

    goals: GoalsKept
    notes: Annotated[list[NoteKept], Field(max_length=10_000)]
    projects: ProjectsKept
    unremembered: Annotated[list[Ref], Field(max_length=MOST_LINES)]
    muted_by: Annotated[list[Ref], Field(max_length=MOST_LINES)]


class Card(Strict):
    """The character card of an assistant; the picture is in base64."""

    chara: str
    ccv3: str
    picture: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle file, read and checked.

    Attributes:
        settings: stored values by name.
        card: None where it never had one.
        record: its audit log in the other game, as JSON lines for people to read.
        digest: SHA-256 over the hashes of all parts.
    """

    manifest: Manifest
    settings: Plain
    state: BundledState
    who: list[Who]
    memories: MemoryLines
    profiles: list[ProfileLine]
    card: Card | None
    record: bytes
    digest: str


def check_directory(raw: bytes) -> None:
    """Refuse a zip with a long central directory, which `zipfile` would read in one go.

    Raises:
        ImportFileError: it is too long, or the file is ZIP64.
    """
    # The same search as in `zipfile`: a file that shows this one another directory gets nowhere.
    tail = raw[-(_END.size + (1 << 16)) :]
    is_bare = tail[-_END.size :].startswith(_END_MARK) and tail.endswith(b"\0\0")
    start = len(tail) - _END.size if is_bare else tail.rfind(_END_MARK)
    if start < 0 or len(tail) - start < _END.size:
        return  # `zipfile` refuses such a file itself
    if _END.unpack_from(tail, start)[5] > MOST_DIRECTORY:
        raise ImportFileError("its list of parts is longer than that of any assistant")
    end = len(raw) - len(tail) + start
    if raw[max(0, end - 20) : end].startswith(_LARGE_MARK):
        raise ImportFileError("it is a zip file of the large kind (ZIP64), which no assistant's is")
