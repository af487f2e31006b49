"""Queries and updates of the table of memories, which is authoritative over the vector store.

Nothing here commits. The caller opens the transaction, so that a memory is stored together with
the state it belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.constants import OnConflict

from evennia_ai.core.memory.recollection import NOBODY, MemoryKind, Recollection, is_audience
from evennia_ai.core.text.cleaning import sendable
from evennia_ai.models import Memory, MemoryVector
from evennia_ai.models.statements import insert as insert_rows
from evennia_ai.models.statements import marks, quoted, select, unhurried, upsert_sql

# The "assistant" of lore that all assistants share; no script has this primary key.
SHARED = 0
# Rows or parameters in one statement. SQLite limits the parameters (999 before 3.32).
MOST_AT_ONCE = 500
# Rows per kind that `spoken_at` reads: without a limit it would sort all that a person ever said.
MOST_SAID = 1_000
# All kinds except lore, which its author maintains and which is found by keywords.
SEARCHED = (MemoryKind.JOURNAL, MemoryKind.FACT, MemoryKind.INSIGHT)
_PLAIN = (
    "key",
    "kind",
    "text",
    "audience",
    "person",
    "place",
    "source_type",
    "trust",
    "importance",
    "importance_by",
    "at",
    "superseded_at",
)
_LISTS = ("tags", "cites")
# State of a new row: no facts derived from it, not indexed, not forgotten.
_NEW = {"is_consolidated": False, "indexed_as": "", "is_removed": False}
_OF_MEMORY = (*_PLAIN, *_LISTS)
_values_of = attrgetter(*_OF_MEMORY)
_COLUMNS = (*_OF_MEMORY, *_NEW, "terms", "assistant")
_TABLE = Memory._meta.db_table
# Plain SQL whose conditions match indexes in the table's Meta: change both together.
_WAITS = f"NOT is_removed AND indexed_as = '' AND kind <> '{MemoryKind.LORE}'"
_UNREAD = f"assistant = %s AND {_WAITS} ORDER BY id LIMIT %s"
# Removed rows have the audience NOBODY. Without that condition SQLite picks an index that holds
# every row of the assistant.
_GONE = f"assistant = %s AND audience = '{NOBODY}' AND is_removed ORDER BY id LIMIT %s"
# If one of these columns changes, the memory has to be indexed again.
_INDEXED = frozenset(("text", "audience", "trust"))
# `indexed_as` of a memory that is found by its words only.
NO_VECTOR = "-"
# Numbers of rows by assistant and by the signature of an embedding model.
Models = dict[int, dict[str, int]]
# Versions for caches, by assistant. They only count changes made by this process.
_epochs: Counter[int] = Counter()
_arrivals: Counter[int] = Counter()
_consolidations: Counter[int] = Counter()


def arrivals(assistant: int) -> int:
    """A counter that changes when this process adds a memory of the assistant."""
    return _arrivals[assistant]


def epoch(assistant: int) -> int:
    """A counter that changes when this process changes or forgets one of its memories."""
    return _epochs[assistant]


def consolidation_epoch(assistant: int) -> int:
    """A counter that changes when this process derives facts from its journal."""
    return _consolidations[assistant]


def _bump(counter: Counter[int], assistant: int) -> None:
    # Twice: now, for reads in this transaction, and after the commit, because the search thread
    # may read the old rows, under the new count, before it.
    counter[assistant] += 1
    transaction.on_commit(partial(counter.update, (assistant,)))


def insert(
    assistant: int,
    memories: Iterable[Recollection],
    terms: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    *,
    indexed_as: str = "",
) -> None:
    """Insert memories. Rows whose key exists already are left unchanged.

    Args:
        indexed_as: NO_VECTOR for memories that are found by their words only.
        terms: for lore, by key, the conditions under which it is used.
    """
    # Values in the order of _COLUMNS.
    new_rows = [
        (
            *_sanitized(dict(zip(_OF_MEMORY, _values_of(memory), strict=True))).values(),
            *(_NEW | {"indexed_as": indexed_as}).values(),
            terms.get(memory.key),
            assistant,
        )
        for memory in memories
    ]
    for first in range(0, len(new_rows), MOST_AT_ONCE):
        part = new_rows[first : first + MOST_AT_ONCE]
        insert_rows(Memory, _COLUMNS, part, on_conflict=OnConflict.IGNORE)
    _bump(_arrivals, assistant)


def _sanitized(columns: dict[str, Any]) -> dict[str, Any]:
    """Column values that the database accepts."""
    # A malformed audience becomes nobody, the safe side: it must not become public.
    if not is_audience(columns.get("audience", NOBODY)):
        columns["audience"] = NOBODY
    if "trust" in columns:
        columns["trust"] = min(1.0, max(0.0, columns["trust"]))
    for name, value in columns.items():
        if isinstance(value, str):
            columns[name] = _storable(value)
        elif isinstance(value, (list, tuple)):
            columns[name] = [_storable(each) for each in value]
    return columns


def _storable(text: str) -> str:
    # PostgreSQL rejects NUL in text and in JSON.
    return sendable(text).replace("\0", "")


def of(assistant: int, **conditions: Any) -> QuerySet[Memory]:
    """The rows of an assistant, without forgotten ones."""
    return Memory.objects.filter(assistant=assistant, is_removed=False, **conditions)


def of_all(assistants: Sequence[int]) -> QuerySet[Memory]:
    """The rows of several assistants, without forgotten ones."""
    return Memory.objects.filter(assistant__in=assistants, is_removed=False)


def current(assistant: int, **conditions: Any) -> QuerySet[Memory]:
    """The rows of an assistant that have not been superseded."""
    return of(assistant, superseded_at=None, **conditions)


def values(memories: Iterable[Memory]) -> list[Recollection]:
    """Convert rows to immutable values."""
    return [_value(row) for row in memories]


def _value(row: Memory) -> Recollection:
    lists: dict[str, Any] = {name: tuple(getattr(row, name)) for name in _LISTS}
    return Recollection(**{name: getattr(row, name) for name in _PLAIN}, **lists)


def by_keys(assistant: int, keys: Collection[str]) -> dict[str, Recollection]:
    """Memories by key, without forgotten ones."""
    return {row.key: _value(row) for row in _rows_by_key(assistant, keys)}


def _rows_by_key(assistant: int, keys: Collection[str]) -> Iterator[Memory]:
    # The query is by key only: with the assistant in it, SQLite picks the assistant's index and
    # reads all of its rows.
    key_list = list(keys)
    for first in range(0, len(key_list), MOST_AT_ONCE):
        part = key_list[first : first + MOST_AT_ONCE]
        for row in select(Memory, f"{quoted(['key'])} IN {marks(len(part))}", part):
            if row.assistant == assistant and not row.is_removed:
                yield row


def newest(assistant: int, keys: Collection[str]) -> int:
    """The highest primary key among rows with these keys, or 0 if there are none."""
    return max((row.pk for row in _rows_by_key(assistant, keys)), default=0)


def change(assistant: int, key: str, **columns: Any) -> bool:
    """Update a memory. Returns whether it exists."""
    numbers = [row.pk for row in _rows_by_key(assistant, [key])]
    if _INDEXED.intersection(columns):
        columns["indexed_as"] = ""
        MemoryVector.objects.filter(pk__in=numbers).delete()
    if _INDEXED.intersection(columns) or "superseded_at" in columns:
        _bump(_epochs, assistant)
    return bool(Memory.objects.filter(pk__in=numbers).update(**_sanitized(columns)))


def note_consolidated(assistant: int, keys: Sequence[str]) -> None:
    """Mark memories as consolidated: facts have been derived from them."""
    numbers = [row.pk for row in _rows_by_key(assistant, keys)]
    for first in range(0, len(numbers), MOST_AT_ONCE):
        part = numbers[first : first + MOST_AT_ONCE]
        Memory.objects.filter(pk__in=part).update(is_consolidated=True)
    _bump(_consolidations, assistant)


def supersede(assistant: int, over: QuerySet[Memory], at: float) -> None:
    """Mark rows as superseded, which excludes them from searches.

    Args:
        at: time since which they no longer hold, in seconds since 1970.
    """
    over.update(superseded_at=at)
    _bump(_epochs, assistant)


def remove(assistant: int, keys: Sequence[str]) -> int:
    """Forget memories: texts and vectors are deleted at once, on a vector server eventually."""
    numbers = [row.pk for row in _rows_by_key(assistant, keys)]
    for first in range(0, len(numbers), MOST_AT_ONCE):
        part = Memory.objects.filter(pk__in=numbers[first : first + MOST_AT_ONCE])
        # An empty row stays as a tombstone until the vector server has deleted its vector.
        part.update(
            is_removed=True, text="", audience=NOBODY, person="", place="", tags=[], cites=[]
        )
        MemoryVector.objects.filter(pk__in=part.values("pk")).delete()
    _bump(_epochs, assistant)
    return len(numbers)


def waiting(assistant: int, limit: int) -> tuple[list[Memory], list[Memory]]:
    """Work for the vector store: rows to index, and forgotten rows to delete from it."""
    return select(Memory, _UNREAD, (assistant, limit)), gone(assistant, limit)


def gone(assistant: int, limit: int) -> list[Memory]:
    """Forgotten rows that the vector store has not deleted yet."""
    return select(Memory, _GONE, (assistant, limit))


def count_waiting(assistant: int) -> tuple[int, int]:
    """Numbers of rows to index and of forgotten rows to delete from the vector store."""
    unread = of(assistant, indexed_as="").exclude(kind=MemoryKind.LORE)
    # For the audience see `_GONE`.
    removed = Memory.objects.filter(assistant=assistant, audience=NOBODY, is_removed=True)
    return unread.count(), removed.count()


def mark_indexed(
    assistant: int, read: Sequence[Memory], signature: str, vectors: Sequence[bytes] = ()
) -> None:
    """Mark rows as indexed, except those that changed since they were read.

    Args:
        vectors: bytes for the table, in the same order; empty if a server keeps them.
    """
    if not read:
        return
    # Embedding takes a while, during which a row may be changed: compare before writing.
    taken = {row.pk: (row.text, row.audience, row.trust) for row in read}
    with unhurried(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, text, audience, trust FROM {_TABLE} "
            f"WHERE assistant = %s AND {_WAITS} AND id IN {marks(len(taken))}{_for_update()}",
            (assistant, *taken),
        )
        now = cursor.fetchall()
        same = [number for number, *columns in now if tuple(columns) == taken[number]]
        if same:
            cursor.execute(
                f"UPDATE {_TABLE} SET indexed_as = %s WHERE {_WAITS} AND id IN {marks(len(same))}",
                (signature, *same),
            )
            _put_vectors(same, signature, dict(zip(taken, vectors, strict=False)))


def _for_update() -> str:
    # SQLite has no row locks, and needs none: if another connection wrote after our SELECT, our
    # UPDATE fails with SQLITE_BUSY.
    return " FOR UPDATE" if connection.features.has_select_for_update else ""


def _put_vectors(numbers: Sequence[int], signature: str, vectors: Mapping[int, bytes]) -> None:
    if not vectors:
        # A server keeps them; vectors in the table are left from another setting.
        MemoryVector.objects.filter(pk__in=numbers).delete()
        return
    binary = connection.Database.Binary
    rows = [(number, signature, binary(vectors[number])) for number in numbers]
    with connection.cursor() as cursor:
        cursor.executemany(upsert_sql(MemoryVector, "model"), rows)


def erase(assistant: int, memories: Iterable[Memory]) -> None:
    """Delete forgotten rows, after the vector store has deleted their vectors."""
    numbers = [row.pk for row in memories]
    Memory.objects.filter(assistant=assistant, is_removed=True, id__in=numbers).delete()


def other_models(assistants: Sequence[int], signature: str) -> Models:
    """The other embedding models that rows were indexed by, and how many, by assistant."""
    models: Models = {}
    for first in range(0, len(assistants), MOST_AT_ONCE):
        rows = _indexed(of_all(assistants[first : first + MOST_AT_ONCE]))
        # Two ranges of the index instead of `<>`, for which SQLite would scan all rows.
        for part in (rows.filter(indexed_as__lt=signature), rows.filter(indexed_as__gt=signature)):
            counts = part.values_list("assistant", "indexed_as").annotate(Count("id"))
            for assistant, model, count in counts.order_by("indexed_as"):
                models.setdefault(assistant, {})[model] = count
    return models


def _indexed(memories: QuerySet[Memory]) -> QuerySet[Memory]:
    return memories.exclude(indexed_as__in=("", NO_VECTOR)).exclude(kind=MemoryKind.LORE)


def count_read(assistant: int, signature: str) -> int:
    """Number of rows that are indexed by this embedding model."""
    return int(_indexed(of(assistant)).filter(indexed_as=signature).count())


def queue_again(
    assistant: int, signature: str, known: Collection[str], *, also_stale: bool = True
) -> None:
    """Queue rows for indexing whose vector is missing or of another model."""
    with transaction.atomic():
        rows = _indexed(of(assistant)).values_list("id", "key", "indexed_as")
        missing = [
            number
            for number, key, model in rows
            if (also_stale if model != signature else key not in known)
        ]
        for first in range(0, len(missing), MOST_AT_ONCE):
            part = missing[first : first + MOST_AT_ONCE]
            of(assistant, id__in=part).update(indexed_as="")


def keys_of(assistant: int) -> set[str]:
    """Keys of all rows, including forgotten ones that are not deleted yet."""
    return set(Memory.objects.filter(assistant=assistant).values_list("key", flat=True))


def spoken_at(assistant: int, person: str, limit: int) -> list[str]:
    """The rooms and channels in which a person spoke openly, most recent first.

    Only the newest thousand memories of the person are examined, for each kind.
    """
    is_open = Q(audience__startswith="room:") | Q(audience__startswith="channel:")
    pairs: list[tuple[int, str]] = []
    # One query per kind, so that the index gives the order and nothing has to be sorted.
    for kind in SEARCHED:
        entries = of(assistant, person=person, kind=kind).filter(is_open).order_by("-id")
        pairs += entries.values_list("id", "audience")[:MOST_SAID]
    newest = dict.fromkeys(audience for _, audience in sorted(pairs, reverse=True))
    return list(newest)[:limit]


def audiences(assistant: int, limit: int) -> list[str]:
    """Audiences of an assistant's memories, those with the newest memories first."""
    newest = of(assistant).values_list("audience").annotate(newest=Max("id")).order_by("-newest")
    return [audience for audience, _ in newest[:limit]]
