"""Migration of vectors from the old Qdrant folder into the table, for unchanged memories.

It is idempotent and can be resumed: memories that have a vector are skipped. Vectors that are not
copied are no loss: such a memory is found by its words until it is indexed again.
"""

from __future__ import annotations

import time
from collections import Counter
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
from evennia_ai.memory_store.vectors import encoded_vector
from evennia_ai.models import Memory, MemoryVector

# Points per transaction, which locks a running game out for at most a tenth of a second.
BATCH = 500
# For a locked database: a minute of retries, in addition to Django's own timeout.
TRIES, WAIT_SECONDS = 12, 5.0
# Arguments: collection, its position, number of collections, points of it that were read.
Report = Callable[[str, int, int, int], None]


@dataclass(slots=True)
class Moved:
    """Counts of what happened to the points of a folder.

    Attributes:
        there: already in the table, or not needed.
        questions: of journal entries that only ask, which no longer have a vector.
        changed: of memories that have changed since, or are queued for indexing.
        strangers: of memories that do not exist.
        unreadable: points that could not be read.
        damaged: error messages of collections that were skipped.
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
    """Memories without a vector, which are left to indexing.

    Attributes:
        waiting: never indexed, or changed since.
        missing: marked as indexed, but no vector was found.
    """

    waiting: int
    missing: int


def move(folder: Path, report: Report, *, is_trial: bool = False) -> Moved:
    """Copy the vectors of all unchanged memories.

    Args:
        is_trial: dry run: count, but change nothing.

    Raises:
        MemoryStoreError: the folder is missing or in use, or the game's database fails.
    """
    moved = Moved()
    with old_folder.locked_collections(folder) as collections:
        for place, collection in enumerate(collections, 1):
            done, points = 0, old_folder.read(collection)
            while batch := _next_batch(points, moved):
                _copy_batch(collection, batch, moved, is_trial=is_trial)
                done += len(batch)
                report(collection.name, place, len(collections), done)
    return moved


def left() -> Left:
    """Count the memories of all assistants that need a vector and have none."""
    needing = Memory.objects.filter(is_removed=False).exclude(kind=MemoryKind.LORE)
    without = needing.exclude(indexed_as=rows.NO_VECTOR).filter(embedding=None)
    waiting = without.filter(indexed_as="").count()
    return Left(waiting, without.count() - waiting)


def _next_batch(points: Iterator[OldVector | None], moved: Moved) -> list[OldVector | None]:
    """The next points of a collection; [] at its end.

    A damaged collection ends early: what was read before the damage is still copied.
    """
    batch: list[OldVector | None] = []
    try:
        for point in islice(points, BATCH):
            batch.append(point)
    except MemoryStoreError as error:
        moved.damaged.append(str(error))
    return batch


def _copy_batch(
    collection: OldCollection, batch: Sequence[OldVector | None], moved: Moved, *, is_trial: bool
) -> None:
    """Copy a batch in one transaction, and update the counts."""
    points = [point for point in batch if point is not None]
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                vectors, questions, others = _classify(collection, points, is_trial=is_trial)
                if not is_trial:
                    MemoryVector.objects.bulk_create(vectors)
                    asking = Memory.objects.filter(pk__in=questions)
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
    moved.copied += len(vectors)
    moved.questions += len(questions)
    moved.there += others["there"]
    moved.changed += others["changed"]
    moved.strangers += others["strangers"]


def _classify(
    collection: OldCollection, points: Sequence[OldVector], *, is_trial: bool
) -> tuple[list[MemoryVector], list[int], Counter[str]]:
    """Compare points with their rows, in the current transaction.

    Returns:
        Rows to insert, primary keys of memories that need no vector, and the counts of the others.
    """
    matching_rows = Memory.objects.filter(key__in=[point.key for point in points])
    if not is_trial:
        # An update that changes nothing, to lock the rows before reading them. On SQLite, a
        # transaction that reads first may fail with SQLITE_BUSY, without waiting, when it writes.
        matching_rows.update(indexed_as=F("indexed_as"))
    there = {row.key: row for row in matching_rows.select_related("embedding")}
    vectors: list[MemoryVector] = []
    questions: list[int] = []
    others: Counter[str] = Counter()
    for point in points:
        row = there.get(point.key)
        if row is None or row.is_removed or row.assistant != collection.assistant:
            others["strangers"] += 1
        elif row.indexed_as == rows.NO_VECTOR or hasattr(row, "embedding"):
            others["there"] += 1
        elif not _is_unchanged(collection, point, row):
            others["changed"] += 1
        elif asks_only(row.text):
            questions.append(row.pk)
        else:
            encoded = encoded_vector(point.vector)
            vectors.append(MemoryVector(memory=row, model=row.indexed_as, vector=encoded))
    return vectors, questions, others


def _is_unchanged(collection: OldCollection, point: OldVector, row: Memory) -> bool:
    """True if the row has not changed since the point was made, and names the same model."""
    is_model = old_folder.mark_of(row.indexed_as) == collection.mark
    return is_model and (row.audience, row.trust) == (point.audience, point.trust)
