"""Prepared SQL for the reads and writes of every reply and every start of an assistant.

Django's ORM compiles each statement anew, which takes several times as long as SQLite needs to run
it. Only code on these two paths may use this module; all else goes through the ORM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from itertools import chain
from threading import local
from typing import Any

from django.db import connections, transaction
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import (
    BigIntegerField,
    BinaryField,
    BooleanField,
    CharField,
    FloatField,
    IntegerField,
    SmallIntegerField,
    TextField,
)
from django.db.models.base import ModelBase
from django.db.models.constants import OnConflict

# Fields whose Python values all database drivers take as they are.
_PLAIN = (
    *(BigIntegerField, BooleanField, CharField, FloatField),
    *(IntegerField, SmallIntegerField, TextField),
)


class _OpenTransaction(local):
    """This thread's innermost `OneCursor` block."""

    block: OneCursor | None = None


# Per thread, like Django's connections.
_OPEN = _OpenTransaction()


class OneCursor(transaction.Atomic):
    """A transaction whose statements share one cursor; opening a cursor costs more than a write.

    Django decides at the opening of a cursor if its statements are logged, so a
    `CaptureQueriesContext` must begin before the transaction.

    Args:
        durable: raise if it is nested in another transaction, which might be rolled back.
    """

    def __init__(self, using: str = "default", *, durable: bool = False) -> None:
        # With a savepoint, because `state.write` retries inside a block that is still open.
        super().__init__(using, savepoint=True, durable=durable)
        self.cursor: CursorWrapper | None = None

    def __enter__(self) -> None:
        """Begin the transaction."""
        super().__enter__()
        self._outer, _OPEN.block = _OPEN.block, self

    def __exit__(self, *error: Any) -> None:
        """Commit, or roll back after an error."""
        _OPEN.block = self._outer
        super().__exit__(*error)


def open_transaction(using: str = "default") -> transaction.Atomic | None:
    """The outermost open transaction; None without one. A Django TestCase's own does not count."""
    blocks = connections[using].atomic_blocks
    own = (block for block in blocks if not getattr(block, "_from_testcase", False))
    return next(own, None)


def cursor(using: str = "default") -> CursorWrapper:
    """The cursor of the open transaction, or a new one. Callers must fetch all rows at once."""
    block = _OPEN.block
    # A shared ledger is another database, with cursors of its own.
    if block is None or block.using != using:
        return _opened(using)
    if block.cursor is None:
        block.cursor = _opened(using)
    return block.cursor


def _opened(using: str) -> CursorWrapper:
    """A new cursor; on SQLite it converts each statement's placeholders only once."""
    connection = connections[using]
    opened: CursorWrapper = connection.cursor()
    if connection.vendor == "sqlite":
        opened.cursor.convert_query = _with_question_marks
    return opened


@lru_cache(maxsize=512)
def _with_question_marks(sql: str, *, param_names: None) -> str:
    """A statement with "?" for "%s", as Django converts it.

    For a statement of 800 characters this takes longer than SQLite needs to run it.

    Args:
        param_names: always None: values are passed by position.
    """
    marked: str = SQLiteCursorWrapper.convert_query(None, sql, param_names=param_names)
    return marked


@contextmanager
def unhurried(using: str = "default") -> Iterator[None]:
    """A transaction whose commit does not wait for the disk, for data that can be made anew.

    If the machine loses power, PostgreSQL may lose the transaction as a whole, but never a part of
    it. Inside another transaction, that one decides.
    """
    connection = connections[using]
    is_whole = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic(using):
        if is_whole:
            cursor(using).execute("SET LOCAL synchronous_commit TO off")
        yield


def quoted(names: Iterable[str], using: str = "default") -> str:
    """Column names, quoted for a statement."""
    return ", ".join(map(connections[using].ops.quote_name, names))


def _insert_into(
    model: ModelBase, columns: Iterable[str], using: str, on_conflict: OnConflict | None = None
) -> str:
    operations = connections[using].ops
    begins, table = operations.insert_statement(on_conflict=on_conflict), model._meta.db_table
    return f"{begins} {operations.quote_name(table)} ({quoted(columns, using)}) VALUES "


@cache
def _insert_sql(
    model: ModelBase, names: tuple[str, ...], using: str, on_conflict: OnConflict | None
) -> tuple[str, str]:
    """The parts of an INSERT before and after its rows."""
    fields = [model._meta.get_field(name) for name in names]
    suffix = connections[using].ops.on_conflict_suffix_sql(fields, on_conflict, (), ())
    return _insert_into(model, [field.column for field in fields], using, on_conflict), suffix


@cache
def marks(count: int) -> str:
    """Placeholders for a number of values: "(%s, %s)"."""
    return f"({', '.join(['%s'] * count)})"


@cache
def _prepared(model: ModelBase, names: tuple[str, ...]) -> list[tuple[int, Any]]:
    """Positions and fields of values that must be converted for the database."""
    fields = enumerate(model._meta.get_field(name) for name in names)
    # Not isinstance: a subclass may convert its values.
    return [(at, field) for at, field in fields if type(field) not in _PLAIN]


def execute(sql: str, rows: Sequence[Sequence[object]], using: str = "default") -> None:
    """Run a statement once for each row of values."""
    if len(rows) == 1:  # `execute` is cheaper than `executemany`
        cursor(using).execute(sql, rows[0])
    else:
        cursor(using).executemany(sql, rows)


@cache
def _exists_sql(model: ModelBase, names: tuple[str, ...], using: str) -> str:
    quote = connections[using].ops.quote_name
    conditions = (f"{quote(model._meta.get_field(name).column)} = %s" for name in names)
    return f"SELECT 1 FROM {quote(model._meta.db_table)} WHERE {' AND '.join(conditions)} LIMIT 1"


def exists(model: ModelBase, using: str = "default", **values: object) -> bool:
    """True if the table has a row with these values."""
    run, names, parameters = cursor(using), tuple(values), list(values.values())
    for at, field in _prepared(model, names):
        parameters[at] = field.get_db_prep_save(parameters[at], connection=run.db)
    run.execute(_exists_sql(model, names, using), parameters)
    return bool(run.fetchall())


def insert(
    model: ModelBase,
    names: tuple[str, ...],
    rows: Sequence[Sequence[object]],
    *,
    using: str = "default",
    on_conflict: OnConflict | None = None,
    are_ids_wanted: bool = False,
) -> list[int]:
    """Insert rows with one statement.

    Args:
        names: all fields but the id, in the order of a row's values.
        using: alias of the database in Django.
        on_conflict: IGNORE leaves existing rows unchanged; do not ask for ids then.

    Returns:
        The ids of the new rows, if they are wanted and the database returns them; else [].
    """
    run, count = cursor(using), len(names)
    begins, suffix = _insert_sql(model, names, using, on_conflict)
    sql = f"{begins}{', '.join([marks(count)] * len(rows))} {suffix}"
    values = list(chain.from_iterable(rows))
    for at, field in _prepared(model, names):
        is_binary = type(field) is BinaryField  # spares seven calls of Django per value
        prepare = partial(field.get_db_prep_save, connection=run.db)
        values[at::count] = map(run.db.Database.Binary if is_binary else prepare, values[at::count])
    if not (are_ids_wanted and run.db.features.can_return_rows_from_bulk_insert):
        run.execute(sql, values)
        return []
    run.execute(f"{sql} RETURNING id", values)
    return [row[0] for row in run.fetchall()]


@cache
def upsert_sql(model: ModelBase, first_updated: str, using: str = "default") -> str:
    """The statement that inserts a row, or updates the one with the same first column.

    Args:
        first_updated: the first column to update; all after it are updated too.
    """
    fields = model._meta.concrete_fields
    columns = [field.column for field in fields]
    changed = columns[columns.index(first_updated) :]
    suffix = connections[using].ops.on_conflict_suffix_sql(
        fields, OnConflict.UPDATE, changed, columns[:1]
    )
    return f"{_insert_into(model, columns, using)}{marks(len(columns))} {suffix}"


@cache
def _selection(model: ModelBase, where: str, using: str) -> tuple[str, list[str], list[Any]]:
    """A SELECT of whole rows, their field names, and the converters of columns that have any."""
    connection, table = connections[using], model._meta.db_table
    fields = model._meta.concrete_fields
    columns = quoted((field.column for field in fields), using)
    sql = f"SELECT {columns} FROM {connection.ops.quote_name(table)} WHERE {where}"
    converters = []
    for place, column in enumerate(field.get_col(table) for field in fields):
        readers = connection.ops.get_db_converters(column) + column.get_db_converters(connection)
        if readers:
            converters.append((place, column, readers))
    return sql, [field.attname for field in fields], converters


def select(
    model: ModelBase, where: str, values: Sequence[object], *, using: str = "default"
) -> list[Any]:
    """Model instances, selected by a statement that is compiled once.

    Args:
        where: the condition, in SQL that every database understands.
        values: of its placeholders.
    """
    connection = connections[using]
    sql, names, converters = _selection(model, where, using)
    run = cursor(using)
    run.execute(sql, values)
    rows = list(map(list, run.fetchall()))
    for row in rows:
        for place, column, readers in converters:
            for reader in readers:
                row[place] = reader(row[place], column, connection)
    return [model.from_db(using, names, row) for row in rows]
