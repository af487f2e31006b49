"""The ledger's SQL: a handful of statements, the same for SQLite, PostgreSQL and MySQL.

Rows are changed by adding to them, in the order of their numbers, so that server processes neither
lose each other's changes nor wait for each other in a circle. The first statement of a transaction
always writes: SQLite then gives the lock at once or makes it wait, and never refuses it later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from operator import add
from typing import Any

from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.models.constants import OnConflict
from django.db.utils import DatabaseError, InterfaceError, OperationalError, ProgrammingError

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import Row, TotalsChange
from evennia_ai.core.safety.budget import BudgetAccount, Total
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError, LedgerAwayError
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.models.statements import OneCursor, cursor, execute, insert, quoted, upsert_sql

MISSING = "the tables of evennia_ai are missing in the game's database; type: evennia migrate"
MISSING_SHARED = (
    "the tables of evennia_ai are missing in the database {alias!r}, where the ledger is; type: "
    "evennia migrate --database {alias}"
)
AWAY = (
    "the ledger that this game shares with others (database {alias!r}) cannot be reached ({why}); "
    "no model call is made before it answers"
)
LONGEST_WHY = 200
NO_TABLE = "42P01"  # as PostgreSQL says it
# So many rows of 16 columns are below the 999 values that an old SQLite takes in one statement.
MOST_REMEMBERED, MOST_AT_ONCE = 20_000, 60
COUNTERS = TotalsChange._fields
Changes = Mapping[
    TotalsChange, Collection[BudgetAccount]
]  # what is added, and to the totals of whom
Head = tuple[Any, ...]  # the number, game, scope, key and period of a row
_TOTALS = BudgetTotal._meta.db_table
_READ = ["id", "game", "scope", "key", "period", *(entry.name for entry in fields(Total))]
_COLUMNS = tuple(field.name for field in BudgetTotal._meta.concrete_fields if field.name != "id")
_NOTHING_YET = [field.get_default() for field in BudgetTotal._meta.concrete_fields[5:]]


class StaleRowsError(Exception):
    """The table is no longer as it is remembered."""


def missing_tables() -> list[str]:
    """The tables of the ledger that its database has not."""
    wanted = {table._meta.db_table for table in place.TABLES}
    return sorted(wanted - set(place.connection().introspection.table_names()))


def missing_text() -> str:
    """The remedy where tables are missing."""
    alias = place.alias()
    return MISSING_SHARED.format(alias=alias) if place.is_shared() else MISSING


class _TablesWanted:
    """Says so where the tables are missing, or a shared ledger cannot be reached.

    Raises:
        ConfigurationError: the tables do not exist.
        LedgerAwayError: the database of a shared ledger does not answer; its connection is let go.
    """

    def __enter__(self) -> None:
        """Nothing to do yet."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise what people understand instead."""
        if isinstance(error, (OperationalError, InterfaceError, ProgrammingError)):
            if _is_away(error):
                raise away(error) from error
            if _lacks_tables(error):
                raise ConfigurationError(missing_text()) from error


tables_wanted = _TablesWanted()


def _lacks_tables(error: Exception) -> bool:
    """True where that is the trouble. A connection that is dead is let go, as nobody else does."""
    if getattr(error.__cause__, "sqlstate", "") == NO_TABLE:
        return True
    database = place.connection()
    if not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()
    try:
        return bool(missing_tables())
    except DatabaseError:
        return False


def _is_away(error: Exception) -> bool:
    """True where a shared ledger does not answer, or not in time; its connection is let go then."""
    if not place.is_shared() or isinstance(error, ProgrammingError):
        return False
    database = place.connection()
    # SQLite raises for a missing table what others raise for a lost connection.
    if database.vendor == "sqlite" and "no such" in str(error):
        return False
    if not database.in_atomic_block:
        database.close()
    return True


def away(error: BaseException) -> LedgerAwayError:
    """The error of a call that is not made for it."""
    why = one_line(str(error), LONGEST_WHY)
    return LedgerAwayError(AWAY.format(alias=place.alias(), why=why))


@contextmanager
def together() -> Iterator[None]:
    """A transaction all or nothing, and for good: not inside another that may still be undone.

    Raises:
        ConfigurationError: the tables do not exist, or a shared ledger cannot be reached.
    """
    with tables_wanted, OneCursor(place.alias(), durable=True):
        yield


class Totals:
    """The rows of what was used. Who they are is remembered, their contents never.

    Args:
        game: whose rows, in a ledger that several share; None: this game's.
    """

    def __init__(self, game: str | None = None) -> None:
        self._game = game
        self._heads: dict[BudgetAccount, Head] = {}

    def forget(self) -> None:
        """Ask for all of them anew."""
        self._heads.clear()

    def change(self, changes: Changes) -> dict[BudgetAccount, Total]:
        """Add to some totals, which begin at 0.

        Returns:
            What they are now.

        Raises:
            StaleRowsError: rows are gone; forget, and do it again.
        """
        self._learn(changes)
        if _gives_back(place.alias()):
            told = self._change_at_once(changes, _returning_sql)
            read = [row for run, _ in told for row in run.fetchall()]
        else:
            read = self._read(self._change_in_order(changes))
        found = {row[:5]: row[5:] for row in read}
        heads = {account: self._heads[account] for of in changes.values() for account in of}
        try:
            return {account: Total(*found[head]) for account, head in heads.items()}
        except KeyError:
            raise StaleRowsError from None

    def add(self, changes: Changes) -> None:
        """The same where nobody wants to know what they are now.

        Raises:
            StaleRowsError: rows are gone; forget, and do it again.
        """
        self._learn(changes)
        if not _gives_back(place.alias()):
            self._change_in_order(changes)
            return
        for run, count in self._change_at_once(changes, _adding_sql):
            if run.rowcount != count:
                raise StaleRowsError

    def _change_at_once(
        self, changes: Changes, sql_for: Callable[[int], str]
    ) -> Iterator[tuple[CursorWrapper, int]]:
        """Add to rows by one statement for all that get the same, as one call's do.

        In whatever order, which matters only where somebody else may lock some of them meanwhile.

        Args:
            sql_for: the statement for so many rows.

        Yields:
            The cursor after each statement, and for how many rows that was.
        """
        run = cursor(place.alias())
        for change, accounts in changes.items():
            numbers = [self._heads[account][0] for account in accounts]
            run.execute(sql_for(len(numbers)), [*change, *numbers])
            yield run, len(numbers)

    def _change_in_order(self, changes: Changes) -> list[int]:
        """Add to rows one by one, in the order of their numbers, which it returns."""
        rows = sorted((self._heads[a][0], change) for change, of in changes.items() for a in of)
        if rows:
            run = cursor(place.alias())
            sql = f"{_update_sql(run.db.vendor)} WHERE id = %s"
            run.executemany(sql, [(*change, number) for number, change in rows])
            if run.rowcount != len(rows):
                raise StaleRowsError
        return [number for number, _ in rows]

    @staticmethod
    def _read(numbers: list[int]) -> list[tuple[Any, ...]]:
        run = cursor(place.alias())
        run.execute(_select_sql(len(numbers)), numbers)
        return list(run.fetchall())

    def _game_of(self, scope: str) -> str:
        if self._game is None:
            return place.game_of(scope)
        return "" if scope == Scope.ALL_GAMES else self._game

    def _learn(self, changes: Changes) -> None:
        """See to it that the rows of all accounts are known, and made where they do not exist."""
        if len(self._heads) > MOST_REMEMBERED:
            self.forget()
        known = self._heads
        unknown = {a for of in changes.values() for a in of if a not in known}
        if unknown:
            wanted = sorted(unknown)
            for first in range(0, len(wanted), MOST_AT_ONCE):
                self._learn_some(wanted[first : first + MOST_AT_ONCE])

    def _learn_some(self, accounts: Iterable[BudgetAccount]) -> None:
        owned = {(self._game_of(a.scope), str(a.scope), a.key, a.period): a for a in accounts}
        begun = [(*owner, *_NOTHING_YET) for owner in owned]
        using = place.alias()
        insert(BudgetTotal, _COLUMNS, begun, using=using, on_conflict=OnConflict.IGNORE)
        run = cursor(using)
        run.execute(_numbers_sql(len(owned)), [part for owner in owned for part in owner])
        for head in run.fetchall():
            self._heads[owned[head[1:]]] = head


@cache
def _gives_back(using: str) -> bool:
    """True where an UPDATE can say what rows are now, and nobody else writes meanwhile: SQLite."""
    database = connections[using]
    gives_back: bool = database.features.can_return_columns_from_insert
    return database.vendor == "sqlite" and gives_back


@cache
def _update_sql(vendor: str) -> str:
    """The beginning of what adds to rows, up to which rows."""
    # Nothing falls below 0, even if somebody edits rows while calls are under way.
    greatest = "MAX" if vendor == "sqlite" else "GREATEST"
    added = ", ".join(f"{name} = {greatest}(0, {name} + %s)" for name in COUNTERS)
    return f"UPDATE {_TOTALS} SET {added}"


@cache
def _numbers_sql(count: int) -> str:
    is_one = " AND ".join(f"{quoted([name])} = %s" for name in _READ[1:5])
    any_of = " OR ".join([f"({is_one})"] * count)
    return f"SELECT {quoted(_READ[:5])} FROM {_TOTALS} WHERE {any_of}"


@cache
def _select_sql(count: int) -> str:
    marks = ", ".join(["%s"] * count)
    return f"SELECT {quoted(_READ)} FROM {_TOTALS} WHERE id IN ({marks})"


@cache
def _adding_sql(count: int) -> str:
    marks = ", ".join(["%s"] * count)
    return f"{_update_sql('sqlite')} WHERE id IN ({marks})"


@cache
def _returning_sql(count: int) -> str:
    return f"{_adding_sql(count)} RETURNING {quoted(_READ)}"


def write_calls(rows: list[Row]) -> None:
    """Write calls as they stand now, new ones and known ones alike."""
    using = place.alias()
    execute(upsert_sql(ModelCall, "model", using), rows, using)


def add_up(changes: Sequence[tuple[Collection[BudgetAccount], TotalsChange]]) -> Changes:
    """The sum of several changes for each account, and the accounts for each sum."""
    if len(changes) == 1:  # as where one call begins or ends
        return {change: accounts for accounts, change in changes}
    sums: dict[BudgetAccount, TotalsChange] = {}
    for accounts, change in changes:
        for account in accounts:
            known = sums.get(account)
            sums[account] = TotalsChange(*map(add, known, change)) if known else change
    whose: dict[TotalsChange, list[BudgetAccount]] = {}
    for account, total in sums.items():
        whose.setdefault(total, []).append(account)
    return whose
