"""The ledger's SQL: a few statements for SQLite, PostgreSQL and MySQL.

Totals are changed by adding to them in SQL, so that no process overwrites another's change, and in
the order of their ids, so that processes cannot deadlock. The first statement of a transaction is
always a write: SQLite then waits for its write lock at the start, while a transaction that begins
with a read is refused ("database is locked") when it writes later.
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
NO_TABLE = "42P01"  # PostgreSQL's SQLSTATE "undefined_table"
MOST_REMEMBERED = 20_000  # ids of rows in memory
# Rows of 16 columns in one statement: older SQLite allows 999 parameters.
MOST_AT_ONCE = 60
COUNTERS = TotalsChange._fields
# Each change, with the accounts to whose totals it is added.
Changes = Mapping[TotalsChange, Collection[BudgetAccount]]
Head = tuple[Any, ...]  # id, game, scope, key and period of a row
_TOTALS = BudgetTotal._meta.db_table
_READ = ["id", "game", "scope", "key", "period", *(entry.name for entry in fields(Total))]
_COLUMNS = tuple(field.name for field in BudgetTotal._meta.concrete_fields if field.name != "id")
# Defaults of all columns after id, game, scope, key and period.
_NOTHING_YET = [field.get_default() for field in BudgetTotal._meta.concrete_fields[5:]]


class StaleRowsError(Exception):
    """Rows whose ids are remembered no longer exist."""


def missing_tables() -> list[str]:
    """The tables of the ledger that are missing in its database."""
    wanted = {table._meta.db_table for table in place.TABLES}
    return sorted(wanted - set(place.connection().introspection.table_names()))


def missing_text() -> str:
    """The error text for missing tables."""
    alias = place.alias()
    return MISSING_SHARED.format(alias=alias) if place.is_shared() else MISSING


class _TranslatedErrors:
    """Context that translates database errors into errors with a remedy."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the translated error."""
        if isinstance(error, (OperationalError, InterfaceError, ProgrammingError)):
            if _is_away(error):
                raise away(error) from error
            if _lacks_tables(error):
                raise ConfigurationError(missing_text()) from error


translated_errors = _TranslatedErrors()


def _lacks_tables(error: Exception) -> bool:
    if getattr(error.__cause__, "sqlstate", "") == NO_TABLE:
        return True
    database = place.connection()
    # Django closes dead connections only at the start and end of web requests.
    if not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()
    try:
        return bool(missing_tables())
    except DatabaseError:
        return False


def _is_away(error: Exception) -> bool:
    """True if a shared ledger does not answer in time; its connection is then closed."""
    if not place.is_shared() or isinstance(error, ProgrammingError):
        return False
    database = place.connection()
    # SQLite raises OperationalError for a missing table, as others do for a lost connection.
    if database.vendor == "sqlite" and "no such" in str(error):
        return False
    if not database.in_atomic_block:
        database.close()
    return True


def away(error: BaseException) -> LedgerAwayError:
    """The error for a ledger that does not answer."""
    why = one_line(str(error), LONGEST_WHY)
    return LedgerAwayError(AWAY.format(alias=place.alias(), why=why))


@contextmanager
def together() -> Iterator[None]:
    """A durable transaction: it must not be nested in another one that may be rolled back."""
    with translated_errors, OneCursor(place.alias(), durable=True):
        yield


class Totals:
    """The rows of totals. Their ids are remembered, their contents never.

    Args:
        game: the game whose rows these are in a shared ledger; None: this game.
    """

    def __init__(self, game: str | None = None) -> None:
        self._game = game
        self._heads: dict[BudgetAccount, Head] = {}

    def forget(self) -> None:
        """Forget all ids."""
        self._heads.clear()

    def change(self, changes: Changes) -> dict[BudgetAccount, Total]:
        """Add to some totals, creating missing ones at 0; return their new values.

        Raises:
            StaleRowsError: rows are gone; call `forget` and try again.
        """
        self._learn(changes)
        if _gives_back(place.alias()):
            results = self._change_at_once(changes, _returning_sql)
            rows = [row for run, _ in results for row in run.fetchall()]
        else:
            rows = self._read(self._change_in_order(changes))
        sums = {row[:5]: row[5:] for row in rows}
        heads = {account: self._heads[account] for of in changes.values() for account in of}
        try:
            return {account: Total(*sums[head]) for account, head in heads.items()}
        except KeyError:
            raise StaleRowsError from None

    def add(self, changes: Changes) -> None:
        """Add to some totals without reading their new values.

        Raises:
            StaleRowsError: rows are gone; call `forget` and try again.
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
        """Add to rows with one statement per distinct change; all totals of a call get the same.

        The order of rows is undefined. Only for SQLite, where a writer locks the whole database.

        Args:
            sql_for: gives the statement for a number of rows.

        Yields:
            The cursor after each statement, and the number of rows it was for.
        """
        run = cursor(place.alias())
        for change, accounts in changes.items():
            numbers = [self._heads[account][0] for account in accounts]
            run.execute(sql_for(len(numbers)), [*change, *numbers])
            yield run, len(numbers)

    def _change_in_order(self, changes: Changes) -> list[int]:
        """Add to rows one by one in the order of their ids, which it returns."""
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
        """Make the ids of all accounts' rows known; create rows that do not exist."""
        if len(self._heads) > MOST_REMEMBERED:
            self.forget()
        known = self._heads
        unknown = {a for of in changes.values() for a in of if a not in known}
        if unknown:
            # Sorted, as inserts of two processes in different orders could deadlock.
            accounts = sorted(unknown)
            for first in range(0, len(accounts), MOST_AT_ONCE):
                self._learn_some(accounts[first : first + MOST_AT_ONCE])

    def _learn_some(self, accounts: Iterable[BudgetAccount]) -> None:
        owned = {(self._game_of(a.scope), str(a.scope), a.key, a.period): a for a in accounts}
        new_rows = [(*owner, *_NOTHING_YET) for owner in owned]
        using = place.alias()
        # Ids are selected afterwards: an insert that was ignored returns none.
        insert(BudgetTotal, _COLUMNS, new_rows, using=using, on_conflict=OnConflict.IGNORE)
        run = cursor(using)
        run.execute(_numbers_sql(len(owned)), [part for owner in owned for part in owner])
        for head in run.fetchall():
            self._heads[owned[head[1:]]] = head


@cache
def _gives_back(using: str) -> bool:
    """True for SQLite with RETURNING; its write lock makes the order of rows irrelevant."""
    database = connections[using]
    gives_back: bool = database.features.can_return_columns_from_insert
    return database.vendor == "sqlite" and gives_back


@cache
def _update_sql(vendor: str) -> str:
    """The UPDATE that adds to rows, without its WHERE."""
    # Totals never fall below 0, even if a person edits rows while calls are open.
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
    """Insert or update the rows of calls."""
    using = place.alias()
    execute(upsert_sql(ModelCall, "model", using), rows, using)


def add_up(changes: Sequence[tuple[Collection[BudgetAccount], TotalsChange]]) -> Changes:
    """Sum the changes of each account, and group the accounts by their sum."""
    if len(changes) == 1:  # the usual case: one call begins or ends
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
