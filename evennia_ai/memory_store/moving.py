"""Vectors of the old folder into the table, for memories that are still what they were then.

Done twice, or broken off and begun again, it is done once: a memory that has its vector is left.
What is not copied is no loss: a memory without a vector is found by its words, and gets one when
the game is quiet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from django.db import DatabaseError, transaction
from django.db.models import F

from evennia_ai.core.memory.knowledge import asks_only
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store import old_folder, rows
from evennia_ai.memory_store.old_folder import OldCollection, OldVector
from evennia_ai.memory_store.troubles import LOCKED, explained
from evennia_ai.memory_store.vectors import as_kept
from evennia_ai.models import Memory, MemoryVector

# One transaction: a running game waits for it, a tenth of a second at most.
BATCH = 500
# For a database that another program has locked, beside the wait that Django does itself.
TRIES, WAIT_SECONDS = 12, 5.0
# Told of the collection, its place, how many there are, and how many of its points were read.
Report = Callable[[str, int, int, int], None]


@dataclass(slots=True)
class Moved:
    """The fate of a folder's points, in numbers.

    Attributes:
        copied: put into the table.
        there: had their vector in it already, or need none.
        questions: of entries that only ask, which are found by their words alone from now on.
        changed: of memories that changed since, or wait to be read again.
        strangers: of no memory that there is.
        unreadable: points that are none.
        damaged: what is wrong with the collections that were skipped.
    """

    copied: int = 0
    there: int = 0
    questions: int = 0
    changed: int = 0
    strangers: int = 0
    unreadable: int = 0
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Left:
    """Memories without a vector: what indexing makes anew.

    Attributes:
        waiting: not read yet, or changed since they were.
        missing: read, but no vector of them was found.
    """

    waiting: int
    missing: int


def move(folder: Path, report: Report, *, is_trial: bool = False) -> Moved:
    """Copy all vectors that still hold.

    Args:
        is_trial: count only, and change nothing.

    Raises:
        MemoryStoreError: the folder is none, or in use; or the game's database fails.
    """
    moved = Moved()
    with old_folder.held(folder) as collections:
        for place, collection in enumerate(collections, 1):
            done, points = 0, old_folder.read(collection)
            while batch := _next(points, moved):
                _place(collection, batch, moved, is_trial=is_trial)
                done += len(batch)
                report(collection.name, place, len(collections), done)
    return moved


def left() -> Left:
    """Number of memories of all assistants that need a vector and have none."""
    needing = Memory.objects.filter(is_removed=False).exclude(kind=MemoryKind.LORE)
    without = needing.exclude(indexed_as=rows.NO_VECTOR).filter(embedding=None)
    waiting = without.filter(indexed_as="").count()
    return Left(waiting, without.count() - waiting)


def _next(points: Iterator[OldVector | None], moved: Moved) -> list[OldVector | None]:
    """The next points of a collection; [] at its end, and where it is damaged."""
    batch: list[OldVector | None] = []
    try:
        for point in islice(points, BATCH):
            batch.append(point)
    except MemoryStoreError as error:
        moved.damaged.append(str(error))
    return batch


def _place(
    collection: OldCollection, batch: Sequence[OldVector | None], moved: Moved, *, is_trial: bool
) -> None:
    """Put a batch where it belongs, as a whole or not at all, and count it.

    Raises:
        MemoryStoreError: the game's database fails, or is locked for longer than is waited.
    """
    points = [point for point in batch if point is not None]
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                found = _judged(collection, points, is_trial=is_trial)
                if not is_trial:
                    MemoryVector.objects.bulk_create(found.vectors)
                    asking = Memory.objects.filter(pk__in=found.questions)
                    asking.update(indexed_as=rows.NO_VECTOR)
            break
        except DatabaseError as error:
            why = explained(error)
            if why != LOCKED or not tries_left:
                raise MemoryStoreError(
                    f"{why}; what was copied stays, and the same command goes on from there"
                ) from error
            time.sleep(WAIT_SECONDS)
    moved.unreadable += len(batch) - len(points)
    moved.copied += len(found.vectors)
    moved.there += found.there
    moved.questions += len(found.questions)
    moved.changed += found.changed
    moved.strangers += found.strangers


@dataclass(slots=True)
class _Judged:
    """A batch by what becomes of it.

    Attributes:
        vectors: to be kept.
        questions: numbers of the rows that need none.
    """

    vectors: list[MemoryVector] = field(default_factory=list)
    questions: list[int] = field(default_factory=list)
    there: int = 0
    changed: int = 0
    strangers: int = 0


def _judged(collection: OldCollection, points: Sequence[OldVector], *, is_trial: bool) -> _Judged:
    """Sort points by their rows as they are in this transaction."""
    wanted = Memory.objects.filter(key__in=[point.key for point in points])
    if not is_trial:
        # A write that changes nothing: whoever writes first waits for its turn, and holds the rows.
        # In SQLite a write that comes after a read may fail at once.
        wanted.update(indexed_as=F("indexed_as"))
    there = {row.key: row for row in wanted.select_related("embedding")}
    made = _Judged()
    for point in points:
        row = there.get(point.key)
        if row is None or row.is_removed or row.assistant != collection.assistant:
            made.strangers += 1
        elif row.indexed_as == rows.NO_VECTOR or hasattr(row, "embedding"):
            made.there += 1
        elif not _is_of(collection, point, row):
            made.changed += 1
        elif asks_only(row.text):
            made.questions.append(row.pk)
        else:
            kept = as_kept(point.vector)
            made.vectors.append(MemoryVector(memory=row, model=row.indexed_as, vector=kept))
    return made


def _is_of(collection: OldCollection, point: OldVector, row: Memory) -> bool:
    """True where a point was made of a row as it still is, by the model that the row names."""
    is_model = old_folder.mark_of(row.indexed_as) == collection.mark
    return is_model and (row.audience, row.trust) == (point.audience, point.trust)
