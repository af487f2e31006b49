"""The ledger's SQL: a handful of statements, the same for SQLite, PostgreSQL and MySQL.

Rows are changed by adding to them, in the order of their numbers, so that server processes neither
lose each other's changes nor wait for each other in a circle. The first statement of a transaction
always writes: SQLite then gives the lock at once or makes it wait, and never refuses it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from operator import add
from typing import Any

from django.db import transaction
from django.db.models.constants import OnConflict
from django.db.utils import DatabaseError, InterfaceError, OperationalError, ProgrammingError

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import Change, Row
from evennia_ai.core.safety.budget import BudgetAccount, Total
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError, LedgerAwayError
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.models.statements import insert, quoted, upsert_sql

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
COUNTERS = Change._fields
Added = tuple[int, Change, BudgetAccount]  # what is added to a row, of which number and whose
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


@contextmanager
def tables_wanted() -> Iterator[None]:
    """Say so where the tables are missing, or a shared ledger cannot be reached.

    Raises:
        ConfigurationError: the tables do not exist.
        LedgerAwayError: the database of a shared ledger does not answer; its connection is let go.
    """
    try:
        yield
    except (OperationalError, InterfaceError, ProgrammingError) as error:
        if _is_away(error):
            raise away(error) from error
        if _lacks_tables(error):
            raise ConfigurationError(missing_text()) from error
        raise


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
    """All or nothing, and for good: not inside a transaction that may still be undone.

    Raises:
        ConfigurationError: the tables do not exist, or a shared ledger cannot be reached.
    """
    with tables_wanted(), transaction.atomic(using=place.alias(), durable=True):
        yield


class Totals:
    """The rows of what was used. Their numbers are remembered, their contents never.

    Args:
        game: whose rows, in a ledger that several share; None: this game's.
    """

    def __init__(self, game: str | None = None) -> None:
        self._game = game
        self._numbers: dict[BudgetAccount, int] = {}

    def forget(self) -> None:
        """Ask for all numbers anew."""
        self._numbers.clear()

    def change(self, changes: Mapping[BudgetAccount, Change]) -> dict[BudgetAccount, Total]:
        """Add to some totals, which begin at 0.

        Returns:
            What they are now.

        Raises:
            StaleRowsError: rows are gone; forget, and do it again.
        """
        rows = self._rows(changes)
        if _gives_back():
            return self._totals(rows, _changed_at_once(rows))
        self._add(rows)
        with place.connection().cursor() as cursor:
            cursor.execute(_select_sql(len(rows)), [number for number, _, _ in rows])
            return self._totals(rows, cursor.fetchall())

    def add(self, changes: Mapping[BudgetAccount, Change]) -> None:
        """The same where nobody wants to know what they are now.

        Raises:
            StaleRowsError: rows are gone; forget, and do it again.
        """
        rows = self._rows(changes)
        if _gives_back():
            self._totals(rows, _changed_at_once(rows))
        else:
            self._add(rows)

    def _rows(self, changes: Mapping[BudgetAccount, Change]) -> list[Added]:
        """The rows to change and by how much, in the order of their numbers."""
        if len(self._numbers) > MOST_REMEMBERED:
            self.forget()
        self._learn(changes.keys() - self._numbers.keys())
        return sorted(
            (self._numbers[account], change, account) for account, change in changes.items()
        )

    @staticmethod
    def _add(rows: list[Added]) -> None:
        with place.connection().cursor() as cursor:
            values = [(*change, number) for number, change, _ in rows]
            cursor.executemany(f"{_update_sql(place.connection().vendor)} WHERE id = %s", values)
            if cursor.rowcount != len(rows):
                raise StaleRowsError

    def _totals(self, rows: list[Added], read: list[tuple[Any, ...]]) -> dict[BudgetAccount, Total]:
        accounts = {number: account for number, _, account in rows}
        whose = {number: (self._game_of(a.scope), *a) for number, a in accounts.items()}
        if len(read) != len(rows) or any(whose[row[0]] != row[1:5] for row in read):
            raise StaleRowsError
        return {accounts[row[0]]: Total(*row[5:]) for row in read}

    def _game_of(self, scope: str) -> str:
        if self._game is None:
            return place.game_of(scope)
        return "" if scope == Scope.ALL_GAMES else self._game

    def _learn(self, accounts: Iterable[BudgetAccount]) -> None:
        """The numbers of some rows, which are made where they do not exist."""
        wanted = sorted(accounts)
        for first in range(0, len(wanted), MOST_AT_ONCE):
            self._learn_some(wanted[first : first + MOST_AT_ONCE])

    def _learn_some(self, accounts: Iterable[BudgetAccount]) -> None:
        owned = {(self._game_of(a.scope), str(a.scope), a.key, a.period): a for a in accounts}
        begun = [(*owner, *_NOTHING_YET) for owner in owned]
        using = place.alias()
        insert(BudgetTotal, _COLUMNS, begun, using=using, on_conflict=OnConflict.IGNORE)
        with place.connection().cursor() as cursor:
            cursor.execute(_numbers_sql(len(owned)), [part for owner in owned for part in owner])
            for number, *owner in cursor.fetchall():
                self._numbers[owned[tuple(owner)]] = number


def _gives_back() -> bool:
    """True where an UPDATE can say what rows are now, and nobody else writes meanwhile: SQLite."""
    database = place.connection()
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
def _returning_sql(count: int) -> str:
    marks = ", ".join(["%s"] * count)
    return f"{_update_sql('sqlite')} WHERE id IN ({marks}) RETURNING {quoted(_READ)}"


def _changed_at_once(rows: list[Added]) -> list[tuple[Any, ...]]:
    """Add to rows and read them: one statement for all that get the same, as one call's do.

    In whatever order, which matters only where somebody else may lock some of them meanwhile.
    """
    numbers: dict[Change, list[int]] = {}
    for number, change, _ in rows:
        numbers.setdefault(change, []).append(number)
    read: list[tuple[Any, ...]] = []
    with place.connection().cursor() as cursor:
        for change, theirs in numbers.items():
            cursor.execute(_returning_sql(len(theirs)), [*change, *theirs])
            read += cursor.fetchall()
    return read


def write_calls(rows: list[Row]) -> None:
    """Write calls as they stand now, new ones and known ones alike."""
    using = place.alias()
    with place.connection().cursor() as cursor:
        cursor.executemany(upsert_sql(ModelCall, "model", using), rows)


def add_up(
    changes: Iterable[tuple[Iterable[BudgetAccount], Change]],
) -> dict[BudgetAccount, Change]:
    """The sum of several changes for each account."""
    sums: dict[BudgetAccount, Change] = {}
    for accounts, change in changes:
        for account in accounts:
            known = sums.get(account)
            sums[account] = Change(*map(add, known, change)) if known else change
    return sums
