"""`evennia ai_move_database`: copy a whole game from its SQLite file to PostgreSQL.

Django's `dumpdata` and `loaddata` do not move an Evennia game: loading calls the hooks of new
objects and accounts, and JSON cuts the times by which Evennia recognizes an object in an attribute.
So rows are copied as they are, without any class of the game.
"""

from __future__ import annotations

import sqlite3
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import no_style
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError

# `evennia migrate` fills these; what the file has in them replaces it.
FILLED = ("auth_permission", "django_content_type", "django_site")
BATCH = 500


class Command(BaseCommand):
    """The management command."""

    help = (
        "Copies everything in a SQLite file, such as server/evennia.db3, to the PostgreSQL "
        "database that DATABASES names, after `evennia migrate` made its tables. Stop the game "
        "first. The file stays as it is."
    )
    # The checks import the game's URLs, and with them its typeclasses.
    requires_system_checks: ClassVar[list[str]] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("file", type=Path, help="the SQLite file, such as server/evennia.db3")
        parser.add_argument(
            "--database", default="default", help="the name in DATABASES to copy to, as in migrate"
        )

    def handle(self, *, file: Path, database: str, **_: Any) -> None:
        """Copy all rows in one transaction, and report how many.

        Raises:
            CommandError: nothing was copied; the text says why, and what to do.
        """
        if database not in connections:
            raise CommandError(f"DATABASES has no {database!r}")
        target = connections[database]
        if target.vendor != "postgresql":
            raise CommandError(f"DATABASES[{database!r}] is not PostgreSQL: set it first")
        if not file.is_file():
            raise CommandError(f"there is no file {file}")
        try:
            with closing(
                sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
            ) as source:
                tables = _tables(source, target)
                with transaction.atomic(database):
                    count = sum(_copy(source, target, table) for table in _emptied(target, tables))
                    _count_on(target)
        except (sqlite3.Error, DatabaseError) as error:
            raise CommandError(f"nothing was copied: {str(error).strip()}") from error
        self.stdout.write(f"{count} rows of {len(tables)} tables copied. The file is as it was.")


def _tables(source: sqlite3.Connection, target: BaseDatabaseWrapper) -> list[str]:
    """Return the tables to copy.

    Raises:
        CommandError: the two differ, or the new one is in use.
    """
    old = set(source.execute("SELECT app, name FROM django_migrations").fetchall())
    new = set(MigrationRecorder(target).applied_migrations())
    if old != new:
        app, name = min(old ^ new)
        where = "the file" if (app, name) in new else "PostgreSQL"
        raise CommandError(
            f"{where} has not had migration {app}.{name}: run `evennia migrate` on both databases "
            "with the same code and the same INSTALLED_APPS"
        )
    tables: list[str] = sorted(target.introspection.django_table_names(only_existing=True))
    with target.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT 1 FROM {target.ops.quote_name(table)} LIMIT 1")
            if table not in FILLED and cursor.fetchone():
                raise CommandError(
                    f"the new database is in use, as {table} has rows: make an empty one, run "
                    "`evennia migrate`, and do not start the game before this command"
                )
    return tables


def _emptied(target: BaseDatabaseWrapper, tables: list[str]) -> list[str]:
    with target.cursor() as cursor:
        for statement in target.ops.sql_flush(no_style(), tables):
            cursor.execute(statement)
    return tables


def _copy(source: sqlite3.Connection, target: BaseDatabaseWrapper, table: str) -> int:
    """Copy the rows of one table, and return how many there were."""
    rows = source.execute(f'SELECT * FROM "{table}"')
    quote = target.ops.quote_name
    columns = ", ".join(quote(each[0]) for each in rows.description)
    marks = ", ".join(["%s"] * len(rows.description))
    insert = f"INSERT INTO {quote(table)} ({columns}) VALUES ({marks})"
    count = 0
    with target.cursor() as cursor:
        for batch in iter(lambda: rows.fetchmany(BATCH), []):
            cursor.executemany(insert, [tuple(_values(row)) for row in batch])
            count += len(batch)
    return count


def _values(row: tuple[Any, ...]) -> Iterator[object]:
    """Values as PostgreSQL reads them: as text, it takes a number for a truth value, too."""
    for value in row:
        as_is = value is None or isinstance(value, bytes)
        yield value if as_is else str(value).replace("\0", "")


def _count_on(target: BaseDatabaseWrapper) -> None:
    """Let new rows get numbers after those that were copied."""
    existing = set(target.introspection.table_names())
    models = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.db_table in existing
    ]
    with target.cursor() as cursor:
        for statement in target.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
