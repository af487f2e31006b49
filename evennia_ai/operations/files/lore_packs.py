"""Lore packs: imported whole or not at all, updated by importing them again, and exported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.db import transaction
from twisted.internet import reactor
from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.core.cards.lore_pack import (
    LONGEST_PACK,
    LorePack,
    PackedLore,
    check_name,
    key_of,
    read_pack,
    written,
)
from evennia_ai.core.memory.lore_terms import PLAIN, LoreTerms
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.text.words import counted
from evennia_ai.errors import ImportFileError
from evennia_ai.memory import lore
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.operations.files.exports import save_export
from evennia_ai.operations.files.imports import parse_plain
from evennia_ai.operations.memory.lore import MOST_LORE, audience_of, words_of_audience
from evennia_ai.operations.memory.rows import cleaned
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import signed

# Name of the pack in which lore is exported that staff wrote in this game.
OWN = "written-here"
MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class PackChange:
    """Numbers of lore entries that the import of a pack changes."""

    pack: str
    added: int
    changed: int
    removed: Annotated[
        int, note("Number of entries of an earlier version of the pack that are no longer in it.")
    ]
    unchanged: int


@dataclass(frozen=True, slots=True)
class Packs:
    """The packs of the game, with the number of entries of each."""

    packs: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Plan:
    # The changes by which the stored lore becomes as in a pack's file; `other` are changed columns
    # by key, `gone` keys to remove, `same` the number of unchanged entries.
    new: list[tuple[Recollection, LoreTerms]]
    other: list[tuple[str, dict[str, Any]]]
    gone: list[str]
    same: int


class PackFile(TypedDict):
    """A pack in the form of its file."""

    pack: str
    entries: list[dict[str, object]]


def read(raw: bytes) -> Result[LorePack]:
    """Read and check a pack from a YAML or JSON file."""
    try:
        data = parse_plain(raw, LONGEST_PACK)
    except ImportFileError as error:
        return Result(False, f"That lore pack cannot be used: {error}.")
    return read_given(data)


def read_given(given: object) -> Result[LorePack]:
    """Read and check a pack from plain data."""
    try:
        pack = read_pack(given)
    except ImportFileError as error:
        return Result(False, f"That lore pack cannot be used: {error}.")
    return Result(True, f"The lore pack {pack.name}", pack)


def import_pack(pack: LorePack, *, by: str = "", is_tried: bool = False) -> Result[PackChange]:
    """Make the stored lore of a pack equal to its file: entries are added, changed and removed.

    Args:
        is_tried: store nothing; the result says what would change.
    """
    try:
        plan = _plan(pack)
    except ImportFileError as error:
        return Result(False, f"The lore pack {pack.name} is not imported: {error}.")
    data = PackChange(pack.name, len(plan.new), len(plan.other), len(plan.gone), plan.same)
    if not is_tried:
        with signed(by), transaction.atomic():
            lore.insert(rows.SHARED, plan.new)
            for key, columns in plan.other:
                lore.change(key, **columns)
            for key in plan.gone:
                lore.remove(key)
            audit.record("lore_changed", audit.GAME, change="brought in", key=pack.name)
    return Result(True, _message(data, is_tried=is_tried), data)


def _message(data: PackChange, *, is_tried: bool) -> str:
    verb = "would be" if is_tried else "are"
    parts = f"{data.added} added, {data.changed} changed, {data.removed} removed"
    return (
        f"The lore pack {data.pack}: of its entries {verb} {parts}; {data.unchanged} are unchanged."
    )


def _plan(pack: LorePack) -> _Plan:
    """Compare a pack with the stored lore.

    Raises:
        ImportFileError: an entry's audience does not exist, or there would be too much lore.
    """
    stored = {row.key: row for row in rows.of(rows.SHARED, kind=MemoryKind.LORE)}
    plan, problems, keys = _Plan([], [], [], 0), list[str](), set[str]()
    for packed in pack.entries:
        audience, place, problem = audience_of(packed.audience)
        if problem:
            problems.append(f"entry {packed.terms.entry!r}.audience: {problem}")
            continue
        key, terms = _key_and_terms(pack.name, packed, stored)
        keys.add(key)
        columns = _columns(packed, terms, audience, place)
        row = stored.get(key)
        if row is None:
            entry = lore.build(
                columns["text"],
                keywords=packed.keywords,
                audience=audience,
                at=reactor.seconds(),
                importance=packed.importance,
                key=key,
                place=place,
            )
            plan.new.append((entry, terms))
        elif any(getattr(row, name) != value for name, value in columns.items()):
            plan.other.append((key, columns))
    if problems:
        raise ImportFileError("; ".join(problems[:MOST_PROBLEMS]))
    if pack.name != OWN:  # staff write that one here, so no file need have all of it
        book = lore.of_book(rows.SHARED, pack.name)
        plan.gone.extend(row.key for row in book if row.key not in keys)
    if len(stored) + len(plan.new) - len(plan.gone) > MOST_LORE:
        raise ImportFileError(f"there would be more than {MOST_LORE:,} entries of lore")
    return replace(plan, same=len(pack.entries) - len(plan.new) - len(plan.other))


def _key_and_terms(
    pack: str, packed: PackedLore, stored: Mapping[str, Memory]
) -> tuple[str, LoreTerms]:
    # An entry that was written here, exported and imported again is found by its own key. What
    # staff of another game wrote counts as written here from then on.
    own, written_here = stored.get(packed.terms.entry), replace(packed.terms, book="", entry="")
    if own is not None and not lore.terms_of(own.terms).book:
        return own.key, written_here
    return key_of(pack, packed.terms.entry), written_here if pack == OWN else packed.terms


def _columns(packed: PackedLore, terms: LoreTerms, audience: str, place: str) -> dict[str, Any]:
    return {
        "text": cleaned(packed.text),
        "tags": list(packed.keywords),
        "audience": audience,
        "place": place,
        "importance": packed.importance,
        "terms": None if terms == PLAIN else lore.stored(terms),
    }


# ---- export ------------------------------------------------------------------------------------


def list_packs() -> Result[Packs]:
    """List the packs of the game."""
    counts: dict[str, int] = {}
    for terms in rows.of(rows.SHARED, kind=MemoryKind.LORE).values_list("terms", flat=True):
        name = lore.terms_of(terms).book or OWN
        counts[name] = counts.get(name, 0) + 1
    lines = [f"  {name}: {counted(count, 'entries')}" for name, count in sorted(counts.items())]
    text = "\n".join(["Lore packs:", *lines]) if lines else "There is no lore yet."
    return Result(True, f"{text}\nOne by one: aimemory lore", Packs(counts))


def export_pack(name: str = OWN) -> Result[PackFile]:
    """Export a pack in the form of its file.

    Args:
        name: name of a pack; OWN: all lore that was written in this game.
    """
    try:
        check_name(name)
    except ImportFileError as error:
        return Result(False, f"{error}.")
    memories = rows.of(rows.SHARED, kind=MemoryKind.LORE).order_by("id")
    terms = ((row, lore.terms_of(row.terms)) for row in memories)
    entries = [written(_packed(row, each)) for row, each in terms if (each.book or OWN) == name]
    if not entries and name != OWN:
        message = f"There is no lore pack {name}. {list_packs().message}"
        return Result.not_found(message)
    return Result(True, f"The lore pack {name}", {"pack": name, "entries": entries})


def _packed(row: Memory, terms: LoreTerms) -> PackedLore:
    own_terms = replace(terms, entry=terms.entry or row.key)
    audience = words_of_audience(row.audience, row.place)
    return PackedLore(row.text, tuple(row.tags), audience, row.importance, own_terms)


def save_pack(name: str = OWN) -> Result[str]:
    """Write a pack into a new JSON file; the data is its path."""
    pack = export_pack(name)
    if not pack.ok:
        return pack.as_refusal()
    content = json.dumps(pack.data, ensure_ascii=False, indent=1).encode()
    return save_export(f"lore-{name}", "json", content).after(f"{pack.message}.")
