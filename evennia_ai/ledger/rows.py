"""The ledger's SQL: a handful of statements, the same for SQLite, PostgreSQL and MySQL.

Rows are changed by adding to them, in the order of their numbers, so that server processes neither
lose each other's changes nor wait for each other in a circle. The first statement of a transaction
always writes: SQLite then gives the lock at once or makes it wait, and never refuses it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from operator import add

from django.db import connection, transaction
from django.db.models.constants import OnConflict
from django.db.utils import OperationalError, ProgrammingError

from evennia_ai.core.budget import Account, Total
from evennia_ai.core.budget_config import Scope
from evennia_ai.errors import ConfigurationError
from evennia_ai.ledger.claims import Change, Row
from evennia_ai.models import BudgetTotal, ModelCall

MISSING = "the tables of evennia_ai are missing in the game's database; type: evennia migrate"
MOST_REMEMBERED = 20_000
COUNTERS = Change._fields
_TOTALS = BudgetTotal._meta.db_table
_CALLS = ModelCall._meta.db_table
_COLUMNS = [entry.column for entry in ModelCall._meta.concrete_fields]
_READ = ["scope", "key", "period", *(entry.name for entry in fields(Total))]


class StaleRowsError(Exception):
    """What is remembered of the table is no longer so."""


def missing_tables() -> list[str]:
    """The tables of the ledger that the game's database has not."""
    return sorted({_TOTALS, _CALLS} - set(connection.introspection.table_names()))


@contextmanager
def tables_wanted() -> Iterator[None]:
    """Where they are missing, this says so.

    Raises:
        ConfigurationError: the tables do not exist.
    """
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        if missing_tables():
            raise ConfigurationError(MISSING) from error
        raise


@contextmanager
def together() -> Iterator[None]:
    """All or nothing, and for good: not inside a transaction that may still be undone.

    Raises:
        ConfigurationError: the tables do not exist.
    """
    with tables_wanted(), transaction.atomic(durable=True):
        yield


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(connection.ops.quote_name, names))


class Totals:
    """The rows of what was used. Their numbers are remembered, their contents never."""

    def __init__(self) -> None:
        self._numbers: dict[Account, int] = {}

    def forget(self) -> None:
        """Ask for all numbers anew."""
        self._numbers.clear()

    def change(self, changes: Mapping[Account, Change]) -> dict[Account, Total]:
        """Add to some totals, which begin at 0.

        Returns:
            What they are now.

        Raises:
            StaleRowsError: rows are gone; forget, and do it again.
        """
        if len(self._numbers) > MOST_REMEMBERED:
            self.forget()
        self._learn(changes.keys() - self._numbers.keys())
        rows = sorted((self._numbers[account], change) for account, change in changes.items())
        with connection.cursor() as cursor:
            values = [(*(n for n in change for _ in "ab"), number) for number, change in rows]
            cursor.executemany(self._update_sql(), values)
            if cursor.rowcount != len(rows):
                raise StaleRowsError
            cursor.execute(self._select_sql(len(rows)), [number for number, _ in rows])
            read = cursor.fetchall()
        totals = {Account(Scope(row[0]), row[1], row[2]): Total(*row[3:]) for row in read}
        if totals.keys() != changes.keys():
            raise StaleRowsError
        return totals

    @staticmethod
    def _update_sql() -> str:
        # Nothing falls below 0, even if somebody edits rows while calls are under way.
        sums = ((name, f"{name} + %s") for name in COUNTERS)
        added = ", ".join(f"{n} = CASE WHEN {s} < 0 THEN 0 ELSE {s} END" for n, s in sums)
        return f"UPDATE {_TOTALS} SET {added} WHERE id = %s"

    @staticmethod
    def _select_sql(count: int) -> str:
        marks = ", ".join(["%s"] * count)
        return f"SELECT {_quoted(_READ)} FROM {_TOTALS} WHERE id IN ({marks})"

    def _learn(self, accounts: Iterable[Account]) -> None:
        """The numbers of some rows, which are made where they do not exist."""
        wanted = sorted(accounts)
        if not wanted:
            return
        begun = [BudgetTotal(scope=a.scope, key=a.key, period=a.period) for a in wanted]
        BudgetTotal.objects.bulk_create(begun, ignore_conflicts=True)
        found = BudgetTotal.objects.filter(
            key__in={a.key for a in wanted}, period__in={a.period for a in wanted}
        )
        for number, scope, key, period in found.values_list("id", "scope", "key", "period"):
            self._numbers[Account(Scope(scope), key, period)] = number


def write_calls(rows: list[Row]) -> None:
    """Write calls as they stand now, new ones and known ones alike."""
    update = _COLUMNS[_COLUMNS.index("model") :]
    suffix = connection.ops.on_conflict_suffix_sql(
        ModelCall._meta.concrete_fields, OnConflict.UPDATE, update, [_COLUMNS[0]]
    )
    marks = ", ".join(["%s"] * len(_COLUMNS))
    sql = f"INSERT INTO {_CALLS} ({_quoted(_COLUMNS)}) VALUES ({marks}) {suffix}"
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def add_up(changes: Iterable[tuple[Iterable[Account], Change]]) -> dict[Account, Change]:
    """What several changes add to each account."""
    sums: dict[Account, Change] = {}
    for accounts, change in changes:
        for account in accounts:
            known = sums.get(account)
            sums[account] = Change(*map(add, known, change)) if known else change
    return sums
