"""The table of memories: what is true of them, whatever the store of vectors holds.

Nothing here commits: whoever calls it does so in a transaction together with what belongs to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.constants import OnConflict

from evennia_ai.core.memory.recollection import NOBODY, MemoryKind, Recollection, is_audience
from evennia_ai.core.text.cleaning import sendable
from evennia_ai.models import Memory, MemoryVector
from evennia_ai.models.statements import insert as insert_rows
from evennia_ai.models.statements import marks, quoted, select, unhurried, upsert_sql

SHARED = 0
# Values of one statement, of which SQLite takes only so many.
MOST_AT_ONCE = 500
# Things a person said that are looked through for the places where they did.
MOST_SAID = 1_000
# All kinds but lore, which its author keeps, and which is found by its keywords.
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
# How a row begins: nobody has drawn facts from it, it is not indexed, and not forgotten.
_NEW = {"is_consolidated": False, "indexed_as": "", "is_removed": False}
_COLUMNS = (*_PLAIN, *_LISTS, *_NEW, "terms", "assistant")
_TABLE = Memory._meta.db_table
# Written out, as the index of each stands in the table's Meta.
_WAITS = f"NOT is_removed AND indexed_as = '' AND kind <> '{MemoryKind.LORE}'"
_UNREAD = f"assistant = %s AND {_WAITS} ORDER BY id LIMIT %s"
# Asked for those that are removed alone, SQLite looks at every row the assistant has.
_GONE = f"assistant = %s AND audience = '{NOBODY}' AND is_removed ORDER BY id LIMIT %s"
# When one of these changes, a vector of the memory has to be made again.
_INDEXED = frozenset(("text", "audience", "trust"))
# A memory that is found by its words alone.
NO_VECTOR = "-"
_epochs: Counter[int] = Counter()
_arrivals: Counter[int] = Counter()
_drawn: Counter[int] = Counter()


def arrivals(assistant: int) -> int:
    """A number that changes when this process kept another of its memories."""
    return _arrivals[assistant]


def epoch(assistant: int) -> int:
    """A number that changes when one of its memories was changed or forgotten in this process."""
    return _epochs[assistant]


def drawn(assistant: int) -> int:
    """A number that changes when facts were drawn from its journal in this process."""
    return _drawn[assistant]


def _count(counter: Counter[int], assistant: int) -> None:
    """Let what was read of an assistant's memories be read anew: now, and when this is stored."""
    counter[assistant] += 1
    transaction.on_commit(partial(counter.update, (assistant,)))


def insert(
    assistant: int,
    memories: Iterable[Recollection],
    terms: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    *,
    indexed_as: str = "",
) -> None:
    """Put memories into the table; those whose key is in it already stay as they are.

    Args:
        indexed_as: NO_VECTOR for what is to be found by its words alone.
        terms: of lore, by key, when it is told.
    """
    made = [
        (
            *_sound({name: getattr(memory, name) for name in (*_PLAIN, *_LISTS)}).values(),
            *(_NEW | {"indexed_as": indexed_as}).values(),
            terms.get(memory.key),
            assistant,
        )
        for memory in memories
    ]
    for first in range(0, len(made), MOST_AT_ONCE):
        part = made[first : first + MOST_AT_ONCE]
        insert_rows(Memory, _COLUMNS, part, on_conflict=OnConflict.IGNORE)
    _count(_arrivals, assistant)


def _sound(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns as the store takes them: what is for no audience that there is, is for nobody."""
    if not is_audience(columns.get("audience", NOBODY)):
        columns["audience"] = NOBODY
    if "trust" in columns:
        columns["trust"] = min(1.0, max(0.0, columns["trust"]))
    return {name: _storable(value) for name, value in columns.items()}


def _storable(value: object) -> Any:
    """A column without NUL, which PostgreSQL takes in no text and in no JSON."""
    if isinstance(value, str):
        return sendable(value).replace("\0", "")
    return [_storable(each) for each in value] if isinstance(value, (list, tuple)) else value


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
        part = wanted[first : first + MOST_AT_ONCE]
        for row in select(Memory, f"{quoted(['key'])} IN {marks(len(part))}", part):
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


def note_consolidated(assistant: int, keys: Sequence[str]) -> None:
    """Note that facts were drawn from memories, here or before they were brought in."""
    numbers = [row.pk for row in _having(assistant, keys)]
    for first in range(0, len(numbers), MOST_AT_ONCE):
        part = numbers[first : first + MOST_AT_ONCE]
        Memory.objects.filter(pk__in=part).update(is_consolidated=True)
    _count(_drawn, assistant)


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
    return select(Memory, _UNREAD, (assistant, limit)), gone(assistant, limit)


def gone(assistant: int, limit: int) -> list[Memory]:
    """Forgotten rows that are still to be taken out of the store."""
    return select(Memory, _GONE, (assistant, limit))


def _gone(assistant: int) -> QuerySet[Memory]:
    """The forgotten rows of an assistant, which are nobody's."""
    return Memory.objects.filter(assistant=assistant, audience=NOBODY, is_removed=True)


def _unread(assistant: int) -> QuerySet[Memory]:
    return of(assistant, indexed_as="").exclude(kind=MemoryKind.LORE)


def count_waiting(assistant: int) -> tuple[int, int]:
    """Number of rows the store has not read, and of those it has yet to be rid of."""
    return _unread(assistant).count(), _gone(assistant).count()


def mark(
    assistant: int, read: Sequence[Memory], signature: str, vectors: Sequence[bytes] = ()
) -> int:
    """Note that vectors of these rows were made, but for those that changed since they were taken.

    Args:
        vectors: as the table is to keep them, in the same order; none where a server keeps them.

    Returns:
        How many are noted.
    """
    if not read:
        return 0
    taken = {row.pk: (row.text, row.audience, row.trust) for row in read}
    with unhurried(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, text, audience, trust FROM {_TABLE} "
            f"WHERE assistant = %s AND {_WAITS} AND id IN {marks(len(taken))}{_held()}",
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
    return len(same)


def _held() -> str:
    """The end of a query whose rows nobody else may change until the transaction is over."""
    # SQLite has none; where somebody else wrote after the query, it refuses what we write.
    return " FOR UPDATE" if connection.features.has_select_for_update else ""


def _put_vectors(numbers: Sequence[int], signature: str, vectors: Mapping[int, bytes]) -> None:
    """Keep the vectors of some rows; where there are none, those of before go."""
    if not vectors:
        MemoryVector.objects.filter(pk__in=numbers).delete()
        return
    binary = connection.Database.Binary
    rows = [(number, signature, binary(vectors[number])) for number in numbers]
    with connection.cursor() as cursor:
        cursor.executemany(upsert_sql(MemoryVector, "model"), rows)


def erase(assistant: int, found: Iterable[Memory]) -> None:
    """Take forgotten rows out of the table, once the store is rid of them."""
    numbers = [row.pk for row in found]
    Memory.objects.filter(assistant=assistant, is_removed=True, id__in=numbers).delete()


def stale(assistant: int, signature: str) -> int:
    """Number of rows that were read by another embedding model than this."""
    return sum(part.count() for part in _others(assistant, signature))


def models(assistant: int, signature: str) -> list[str]:
    """The other embedding models by which rows were read."""
    found = (part.values_list("indexed_as", flat=True) for part in _others(assistant, signature))
    return sorted(set(chain.from_iterable(part.distinct() for part in found)))


def _others(assistant: int, signature: str) -> tuple[QuerySet[Memory], QuerySet[Memory]]:
    """Rows that were read by another model: the stretches of the index on both sides of its own."""
    read = _read(assistant)
    return read.filter(indexed_as__lt=signature), read.filter(indexed_as__gt=signature)


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
    """The audiences before which a person said something in the open, the newest first.

    Of more than a thousand things that were said by somebody, and of as many facts, the newest are
    looked at.
    """
    is_open = Q(audience__startswith="room:") | Q(audience__startswith="channel:")
    found: list[tuple[int, str]] = []
    # By kind, as the index has them: else all that the person ever said would be sorted.
    for kind in SEARCHED:
        said = of(assistant, person=person, kind=kind).filter(is_open).order_by("-id")
        found += said.values_list("id", "audience")[:MOST_SAID]
    newest = dict.fromkeys(audience for _, audience in sorted(found, reverse=True))
    return list(newest)[:limit]


def audiences(assistant: int, limit: int) -> list[str]:
    """All audiences of an assistant's memories, those with the newest first."""
    newest = of(assistant).values_list("audience").annotate(newest=Max("id")).order_by("-newest")
    return [audience for audience, _ in newest[:limit]]
