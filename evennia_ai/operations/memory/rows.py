"""Memories as they are shown to people and programs: rows of plain data, and lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.recollection import MemoryKind, is_private
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.memory.reaching import Reached
from evennia_ai.messages.incoming import find_being
from evennia_ai.models import Memory
from evennia_ai.operations.result import note
from evennia_ai.operations.times import day_of, iso

LONGEST_TEXT = 1000  # characters of a memory, of its line in a list, and of a name in it
LONGEST_LINE = 300
LONGEST_NAME = 60
MOST_AT_ONCE = 100  # rows


class Remembered(TypedDict):
    """A memory of an assistant."""

    key: Annotated[str, note("Identifier of the memory in URLs.")]
    number: Annotated[int, note("Number that rises with each new memory.")]
    kind: Annotated[str, note("`journal`, `fact` or `insight`.")]
    text: str
    audience: Annotated[str, note("Who may be told: `world`, or for example `person:account-3`.")]
    person: Annotated[str, note("Person who said or caused it, such as `account-3`.")]
    person_name: str
    place: str
    trust: Annotated[float, note("How far it is believed, from 0 to 1.")]
    importance: Annotated[int, note("Importance from 1 to 10.")]
    importance_by: str
    source_type: str
    at: Annotated[str, note("Time at which it was remembered (ISO 8601).")]
    tags: list[str]
    cites: Annotated[list[str], note("Keys of the memories it was concluded from.")]
    superseded: Annotated[
        str, note("Time since which it is no longer true (ISO 8601); empty if it still is.")
    ]
    is_consolidated: Annotated[bool, note("True if it was consolidated in sleep.")]
    is_indexed: Annotated[bool, note("True if it can be found by meaning.")]


class FoundMemory(Remembered):
    """A memory that a search found."""

    similarity: Annotated[
        float | None, note("Similarity from 0 to 1; null if it was found by words.")
    ]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, the newest first."""

    memories: list[Remembered]
    count: Annotated[int, note("Total number of entries.")]
    next: Annotated[int | None, note("Value of `before` for the next page; null on the last page.")]


@dataclass(frozen=True, slots=True)
class OneRemembered:
    """One memory, those it was concluded from and those concluded from it."""

    memory: Remembered
    cites: Annotated[list[Remembered], note("Memories it was concluded from.")]
    cited_by: Annotated[list[Remembered], note("Memories that were concluded from it.")]


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Memories that a search found, the most similar first."""

    memories: list[FoundMemory]
    problem: Annotated[str, note("Why the vector store could not be searched, or empty.")]


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A memory as it is now."""

    memory: Remembered


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The number of memories that were forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class ForgottenThing(Forgotten):
    """The number of forgotten memories, by their relation to the one that was meant."""

    facts: Annotated[int, note("Number of facts that said the same.")]
    entries: Annotated[int, note("Number of journal entries that said it.")]
    insights: Annotated[int, note("Number of insights that were concluded from it.")]
    attributes: Annotated[int, note("Number of profile entries that said it.")]
    kept: Annotated[
        int, note("Number of facts from the same entries that say something else and are kept.")
    ]


@dataclass(frozen=True, slots=True)
class Corrected(ForgottenThing):
    """A corrected memory, and the number of those forgotten that said the old."""

    memory: Remembered


class OwnMemory(TypedDict):
    """A memory of a person."""

    id: Annotated[str, note("Identifier by which it can be corrected or deleted.")]
    kind: str
    text: str
    at: str
    superseded: Annotated[
        str, note("Time since which it is no longer true (ISO 8601); empty if it still is.")
    ]
    is_private: Annotated[bool, note("True if nobody else is told about it.")]


@dataclass(frozen=True, slots=True)
class Known:
    """An assistant's memories of a person."""

    known: list[OwnMemory]
    count: Annotated[int, note("Total number of entries.")]
    is_remembered: Annotated[bool, note("True if new things about the person may be remembered.")]


@dataclass(frozen=True, slots=True)
class Export:
    """Everything that is stored of a person."""

    assistant: str
    person: Annotated[str, note("Such as `account-3`.")]
    is_remembered: bool
    is_muted: bool
    profile: dict[str, object] | None
    memories: list[Remembered]
    notes: list[dict[str, object]]
    conversation: Annotated[list[dict[str, object]], note("Their part of the conversation.")]
    heard: list[dict[str, object]]
    traced: Annotated[list[dict[str, object]], note("Stored traces of their messages.")]
    company: dict[str, object]


class Names:
    """Names of beings by their ids, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": ""}

    def look_up(self, being_ids: Iterable[str]) -> None:
        """Look up the names of many beings: one statement for accounts, and one for objects."""
        ids = set(being_ids) - self._known.keys()
        for mark, model, column in (("*#", AccountDB, "username"), ("#", ObjectDB, "db_key")):
            parts = ((each, each[len(mark) :].partition("~")[0]) for each in ids)
            numbers = {
                each: int(number)
                for each, number in parts
                if each.startswith(mark) and number.isdecimal()
            }
            # `of` finds those in Evennia's identity map without a statement.
            missing = {n for n in numbers.values() if model.get_cached_instance(n) is None}
            if not missing:
                continue
            names = dict(model.objects.filter(pk__in=missing).values_list("pk", column))
            for each, number in numbers.items():
                if number in missing:
                    self._known[each] = one_line(names.get(number, ""), LONGEST_NAME)

    def of(self, being_id: str) -> str:
        """The name of a being, or "" where it no longer exists."""
        if being_id not in self._known:
            being = find_being(being_id)
            name = one_line(str(being.key), LONGEST_NAME) if being is not None else ""
            self._known[being_id] = name
        return self._known[being_id]


def row_of(memory: Memory, names: Names) -> Remembered:
    """A memory as a row; its number is never used again."""
    return {
        "key": memory.key,
        "number": memory.pk,
        "kind": memory.kind,
        "text": memory.text,
        "audience": memory.audience,
        "person": memory.person,
        "person_name": names.of(memory.person),
        "place": memory.place,
        "trust": memory.trust,
        "importance": memory.importance,
        "importance_by": memory.importance_by,
        "source_type": memory.source_type,
        "at": iso(memory.at),
        "tags": list(memory.tags),
        "cites": list(memory.cites),
        "superseded": superseded_since(memory),
        "is_consolidated": memory.is_consolidated,
        "is_indexed": bool(memory.indexed_as) or memory.kind == MemoryKind.LORE,
    }


def superseded_since(memory: Memory) -> str:
    """The time since which a memory is superseded, or ""."""
    return "" if memory.superseded_at is None else iso(memory.superseded_at)


def superseded_mark(row: Remembered | OwnMemory) -> str:
    """The mark for a superseded memory in a line, or ""."""
    return f" (no longer so since {day_of(row['superseded'])})" if row["superseded"] else ""


def own_memory_of(memory: Memory) -> OwnMemory:
    """A memory as a row for the person it is about."""
    return {
        "id": str(memory.pk),
        "kind": memory.kind,
        "text": memory.text,
        "at": iso(memory.at),
        "superseded": superseded_since(memory),
        "is_private": is_private(memory.audience),
    }


def lines_of_known(name: str, data: Known, left: int, *, is_own: bool) -> list[str]:
    """Format what an assistant remembers of a person, for that person or for staff.

    Args:
        left: number of memories after those listed.
    """
    whom = "you" if is_own else "them"
    head = f"{name} remembers {counted(data.count, 'things')} about {whom}:"
    if not data.known:
        head = f"{name} remembers nothing about {whom}."
    lines = [
        f"{row['id']:>9}  {day_of(row['at'])}  {one_line(row['text'], 500)}"
        f"{' (between you two)' if row['is_private'] else ''}{superseded_mark(row)}"
        for row in data.known
    ]
    if left > 0:
        everything = f"assistant memory export {name}" if is_own else "aimemory, export person"
        lines.append(f"{counted(left, 'more things')} are not listed. All of them: {everything}")
    if not data.is_remembered:
        they = "you" if is_own else "they"
        lines.append(f"{name} remembers nothing new about {whom}, as {they} asked.")
    if is_own and (data.known or not data.is_remembered):
        word, wish = ("off", "stop") if data.is_remembered else ("on", "resume")
        lines.append(
            f"To correct or forget one: assistant memory correct {name} <number> = <text>, "
            f"assistant forget <number> {name}. To forget all: assistant forget everything {name}. "
            f"To {wish} being remembered: assistant memory {word} {name}"
        )
    return [head, *lines]


def rows_of(memories: Iterable[Memory]) -> list[Remembered]:
    """Memories as rows; all names are looked up at once."""
    all_memories, names = list(memories), Names()
    names.look_up(memory.person for memory in all_memories)
    return [row_of(memory, names) for memory in all_memories]


def also_forgotten(reached: Reached) -> str:
    """A sentence on what was forgotten together with a memory, or ""."""
    counts = (
        (reached.facts, "fact", "facts"),
        (reached.entries, "entry of its journal", "entries of its journal"),
        (reached.insights, "conclusion", "conclusions"),
        (reached.attributes, "point of a profile", "points of a profile"),
    )
    parts = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    if not parts:
        return ""
    stays = f"; {counted(reached.kept, 'facts')} from the same entries that say something else stay"
    text = f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[1:] else parts[0]
    return f"Also forgotten: {text}{stays if reached.kept else ''}."


def audience_text(audience: str, place: str = "") -> str:
    """The audience of a memory, in words."""
    kind, _, whose = audience.partition(":")
    if kind == "person":
        sort, _, number = whose.partition("-")
        name = Names().of(f"*#{number}" if sort == "account" else f"#{number}")
        return f"private to {name or 'someone who is gone'}"
    if kind == "room":
        name = Names().of(f"#{whose.rpartition('-')[2]}")
        return f"said in {name or 'a room that is gone'}"
    if kind == "channel":
        return f"said on {place or 'a channel'}"
    return f"known to {place or 'a faction'}" if kind == "faction" else "open to all"


def line_of(row: Remembered) -> str:
    """A memory as a line in a list for staff."""
    # Of somebody who is gone the id, by which staff can ask for all that is theirs.
    name = row["person_name"] or (row["person"] if "#" in row["person"] else "")
    who = f" {name}" if name else ""
    private = " (private)" if is_private(row["audience"]) else ""
    text = one_line(row["text"], LONGEST_LINE) + superseded_mark(row)
    return f"{row['number']:>6}  {day_of(row['at'])}  {row['kind']}{who}{private}: {text}"


def cleaned(text: str) -> str:
    """A typed text in the form in which it is remembered: one line."""
    # Cut one character beyond the limit, so that `problem_of_text` notices.
    return one_line(str(text), LONGEST_TEXT + 1)


def problem_of_text(text: str) -> str:
    """The reason why a cleaned text cannot be remembered, or ""."""
    if not text:
        return "there is nothing to remember"
    if len(text) > LONGEST_TEXT:
        return f"a memory has at most {LONGEST_TEXT} characters"
    return ""


def note_viewed(
    script: AssistantScript, rows: Sequence[Mapping[str, object]], person: str = ""
) -> None:
    """Record that memories were viewed, where those of a certain person were asked for.

    Args:
        person: the person whose memories were asked for; "": nobody in particular.
    """
    owners = (row["person"] or person for row in rows if person)
    for owner, count in Counter(owners).items():
        audit.record("memory_viewed", script, person=owner, count=count)
