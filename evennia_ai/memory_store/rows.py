"""The table of memories: what is true of them, whatever the store of vectors holds.

Nothing here commits: whoever calls it does so in a transaction together with what belongs to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from evennia_ai.core.memory.recollection import NOBODY, MemoryKind, Recollection, is_audience
from evennia_ai.models import Memory, MemoryVector

SHARED = 0
MOST_AT_ONCE = 500
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
# When one of these changes, a vector of the memory has to be made again.
_INDEXED = frozenset(("text", "audience", "trust"))
# A memory that is found by its words alone.
NO_VECTOR = "-"
_epochs: Counter[int] = Counter()
_arrivals: Counter[int] = Counter()


def arrivals(assistant: int) -> int:
    """A number that changes when this process kept another of its memories."""
    return _arrivals[assistant]


def epoch(assistant: int) -> int:
    """A number that changes when one of its memories was changed or forgotten in this process."""
    return _epochs[assistant]


def _count(counter: Counter[int], assistant: int) -> None:
    """Let what was read of an assistant's memories be read anew: now, and when this is stored."""
    counter[assistant] += 1
    transaction.on_commit(partial(counter.update, (assistant,)))


def new_key() -> str:
    """A key for another memory."""
    return uuid4().hex


def insert(
    assistant: int,
    memories: Iterable[Recollection],
    terms: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Put memories into the table; those whose key is in it already stay as they are.

    Args:
        terms: of lore, by key, when it is told.
    """
    made = [
        Memory(
            assistant=assistant,
            terms=terms.get(memory.key),
            **_sound({name: getattr(memory, name) for name in _PLAIN}),
            **{name: list(getattr(memory, name)) for name in _LISTS},
        )
        for memory in memories
    ]
    Memory.objects.bulk_create(made, ignore_conflicts=True, batch_size=MOST_AT_ONCE)
    _count(_arrivals, assistant)


def _sound(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns as the store takes them: what is for no audience that there is, is for nobody."""
    if not is_audience(columns.get("audience", NOBODY)):
        columns["audience"] = NOBODY
    if "trust" in columns:
        columns["trust"] = min(1.0, max(0.0, columns["trust"]))
    return columns


def of(assistant: int, **conditions: Any) -> QuerySet[Memory]:
    """The rows of an assistant that are not forgotten.

    Args:
        conditions: as Django's `filter` takes them.
    """
    return Memory.objects.filter(assistant=assistant, is_removed=False, **conditions)


def current(assistant: int, **conditions: Any) -> QuerySet[Memory]:
    """Those of them that still hold, as far as it knows."""
    return of(assistant, superseded_at=None, **conditions)


def values(found: Iterable[Memory]) -> list[Recollection]:
    """Rows as values."""
    return [_value(row) for row in found]


def _value(row: Memory) -> Recollection:
    lists: dict[str, Any] = {name: tuple(getattr(row, name)) for name in _LISTS}
    return Recollection(**{name: getattr(row, name) for name in _PLAIN}, **lists)


def by_keys(assistant: int, keys: Collection[str]) -> dict[str, Recollection]:
    """Those of some keys that are not forgotten."""
    return {row.key: _value(row) for row in _having(assistant, keys)}


def _having(assistant: int, keys: Collection[str]) -> Iterator[Memory]:
    """The rows of some keys. They are asked for by key alone.

    Asked for the assistant as well, SQLite takes the index of the assistant, and reads all it has.
    """
    wanted = list(keys)
    for first in range(0, len(wanted), MOST_AT_ONCE):
        for row in Memory.objects.filter(key__in=wanted[first : first + MOST_AT_ONCE]):
            if row.assistant == assistant and not row.is_removed:
                yield row


def newest(assistant: int, keys: Collection[str]) -> int:
    """The highest number among the rows of some keys, 0 where there is none."""
    return max((row.pk for row in _having(assistant, keys)), default=0)


def change(assistant: int, key: str, **columns: Any) -> bool:
    """Change a memory. Returns whether there was one of that key."""
    numbers = [row.pk for row in _having(assistant, [key])]
    if _INDEXED.intersection(columns):
        columns["indexed_as"] = ""
        MemoryVector.objects.filter(pk__in=numbers).delete()
    if _INDEXED.intersection(columns) or "superseded_at" in columns:
        _count(_epochs, assistant)
    return bool(Memory.objects.filter(pk__in=numbers).update(**_sound(columns)))


def supersede(assistant: int, over: QuerySet[Memory], at: float) -> None:
    """Note that rows hold no more; they are not searched from then on.

    Args:
        over: the rows.
        at: since when, in seconds since 1970.
    """
    over.update(superseded_at=at)
    _count(_epochs, assistant)


def remove(assistant: int, keys: Sequence[str]) -> int:
    """Forget memories: words and vectors are gone at once, from a server as soon as it can.

    Returns:
        How many there were.
    """
    numbers = [row.pk for row in _having(assistant, keys)]
    for first in range(0, len(numbers), MOST_AT_ONCE):
        part = Memory.objects.filter(pk__in=numbers[first : first + MOST_AT_ONCE])
        part.update(
            is_removed=True,
            text="",
            audience=NOBODY,
            person="",
            place="",
            tags=[],
            cites=[],
        )
        MemoryVector.objects.filter(pk__in=part.values("pk")).delete()
    _count(_epochs, assistant)
    return len(numbers)


def waiting(assistant: int, limit: int) -> tuple[list[Memory], list[Memory]]:
    """Work for the store: rows it has not read, and rows to take out of it."""
    unread = _unread(assistant).order_by("id")
    return list(unread[:limit]), gone(assistant, limit)


def gone(assistant: int, limit: int) -> list[Memory]:
    """Forgotten rows that are still to be taken out of the store."""
    found = Memory.objects.filter(assistant=assistant, is_removed=True).order_by("id")
    return list(found[:limit])


def _unread(assistant: int) -> QuerySet[Memory]:
    return of(assistant, indexed_as="").exclude(kind=MemoryKind.LORE)


def count_waiting(assistant: int) -> tuple[int, int]:
    """Number of rows the store has not read, and of those it has yet to be rid of."""
    removed = Memory.objects.filter(assistant=assistant, is_removed=True).count()
    return _unread(assistant).count(), removed


def mark(
    assistant: int, read: Sequence[Memory], signature: str, vectors: Sequence[bytes] = ()
) -> int:
    """Note that vectors of these rows were made, but for those that changed since they were taken.

    Args:
        vectors: as the table is to keep them, in the same order; none where a server keeps them.

    Returns:
        How many are noted.
    """
    taken = {row.pk: (row.text, row.audience, row.trust) for row in read}
    with transaction.atomic():
        now = of(assistant, id__in=taken).values_list("id", "text", "audience", "trust")
        same = {number for number, *columns in now if tuple(columns) == taken[number]}
        noted = int(of(assistant, id__in=same, indexed_as="").update(indexed_as=signature))
        pairs = zip(read, vectors, strict=True) if vectors else ()
        made = [
            MemoryVector(memory_id=row.pk, model=signature, vector=vector)
            for row, vector in pairs
            if row.pk in same
        ]
        MemoryVector.objects.filter(pk__in=same).delete()
        MemoryVector.objects.bulk_create(made)
    return noted


def erase(assistant: int, found: Iterable[Memory]) -> None:
    """Take forgotten rows out of the table, once the store is rid of them."""
    numbers = [row.pk for row in found]
    Memory.objects.filter(assistant=assistant, is_removed=True, id__in=numbers).delete()


def stale(assistant: int, signature: str) -> int:
    """Number of rows that were read by another embedding model than this."""
    return int(_read(assistant).exclude(indexed_as=signature).count())


def models(assistant: int, signature: str) -> list[str]:
    """The other embedding models by which rows were read."""
    other = _read(assistant).exclude(indexed_as=signature)
    return list(other.order_by("indexed_as").values_list("indexed_as", flat=True).distinct())


def _read(assistant: int) -> QuerySet[Memory]:
    return of(assistant).exclude(indexed_as__in=("", NO_VECTOR)).exclude(kind=MemoryKind.LORE)


def count_read(assistant: int, signature: str) -> int:
    """Number of rows a store with this embedding model should have."""
    return int(_read(assistant).filter(indexed_as=signature).count())


def unread_again(
    assistant: int, signature: str, known: Collection[str], *, also_stale: bool = True
) -> int:
    """Let all rows wait to be read that no store has: of another model, or no longer in it.

    Args:
        known: the keys that the store has.
        also_stale: those of another model too.

    Returns:
        How many.
    """
    with transaction.atomic():
        read = _read(assistant).values_list("id", "key", "indexed_as")
        missing = [
            number
            for number, key, model in read
            if (also_stale if model != signature else key not in known)
        ]
        for first in range(0, len(missing), MOST_AT_ONCE):
            part = missing[first : first + MOST_AT_ONCE]
            of(assistant, id__in=part).update(indexed_as="")
    return len(missing)


def keys_of(assistant: int) -> set[str]:
    """The keys of all rows, also of those that are still to be taken out of the store."""
    return set(Memory.objects.filter(assistant=assistant).values_list("key", flat=True))


def spoken_at(assistant: int, person: str, limit: int) -> list[str]:
    """The audiences before which a person said something in the open, the newest first."""
    is_open = Q(audience__startswith="room:") | Q(audience__startswith="channel:")
    found = of(assistant, person=person).filter(is_open).values_list("audience")
    newest = found.annotate(newest=Max("at")).order_by("-newest")
    return [audience for audience, _ in newest[:limit]]


def audiences(assistant: int, limit: int) -> list[str]:
    """All audiences of an assistant's memories, those with the newest first."""
    newest = of(assistant).values_list("audience").annotate(newest=Max("at")).order_by("-newest")
    return [audience for audience, _ in newest[:limit]]
