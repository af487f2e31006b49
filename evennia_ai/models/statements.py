"""SQL of what is written at every reply: made once per kind of database, and run from then on.

Django's ORM compiles each statement anew, which takes several times as long as SQLite needs to run
it. Here may live what a reply writes; everything asked for less often goes through the ORM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connections
from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    FloatField,
    IntegerField,
    TextField,
)
from django.db.models.base import ModelBase
from django.db.models.constants import OnConflict

_PLAIN = (BigIntegerField, BooleanField, CharField, FloatField, IntegerField, TextField)


def quoted(names: Iterable[str], using: str = "default") -> str:
    """Names of columns as they stand in a statement."""
    return ", ".join(map(connections[using].ops.quote_name, names))


def _insert_into(model: ModelBase, columns: Iterable[str], using: str) -> str:
    """The beginning of an INSERT, up to its rows."""
    table = connections[using].ops.quote_name(model._meta.db_table)
    return f"INSERT INTO {table} ({quoted(columns, using)}) VALUES "


@cache
def _insert_sql(model: ModelBase, names: tuple[str, ...], using: str) -> str:
    return _insert_into(model, [model._meta.get_field(name).column for name in names], using)


@cache
def _marks(count: int) -> str:
    return f"({', '.join(['%s'] * count)})"


@cache
def _fields(model: ModelBase, names: tuple[str, ...]) -> list[Any]:
    """The field of each name, or None where its values go into the database as they are."""
    fields = [model._meta.get_field(name) for name in names]
    return [None if type(field) in _PLAIN else field for field in fields]


def insert(
    model: ModelBase,
    names: tuple[str, ...],
    rows: Sequence[Sequence[Any]],
    *,
    using: str = "default",
) -> list[int]:
    """Put rows into a table by one statement.

    Args:
        names: of all fields but the id, in the order of a row's values.
        using: Django's name of the database.

    Returns:
        The ids of the new rows, where the database tells them; else [].
    """
    connection = connections[using]
    sql = _insert_sql(model, names, using) + ", ".join([_marks(len(names))] * len(rows))
    returns = connection.features.can_return_rows_from_bulk_insert
    fields = _fields(model, names)
    values = [
        value if field is None else field.get_db_prep_save(value, connection)
        for row in rows
        for field, value in zip(fields, row, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} RETURNING id" if returns else sql, values)
        return [row[0] for row in cursor.fetchall()] if returns else []


@cache
def upsert_sql(model: ModelBase, first_updated: str, using: str = "default") -> str:
    """The statement that writes a whole row, a new one or one that is there already.

    Its first column is what a row is known by.

    Args:
        first_updated: the first of the columns, to the last, that change in a row that is there.
    """
    fields = model._meta.concrete_fields
    columns = [field.column for field in fields]
    changed = columns[columns.index(first_updated) :]
    suffix = connections[using].ops.on_conflict_suffix_sql(
        fields, OnConflict.UPDATE, changed, columns[:1]
    )
    return f"{_insert_into(model, columns, using)}{_marks(len(columns))} {suffix}"
