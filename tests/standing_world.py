"""Evennia's test world, built once a process; each test finds it as it was built.

Evennia's own classes build two accounts, two rooms, two characters and more for each test, and
delete the accounts again, which takes more than half of the time of a small test. Here they are
built in the transaction of a class; changes of a test are rolled back, and each test reads the rows
again. A later class that would build the same world gets the rows of the first.
"""

from typing import Any, ClassVar, Self
from unittest import mock

import evennia
from django.apps import apps
from django.core.management.color import no_style
from django.db import connection
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultObject
from evennia.scripts.models import ScriptDB
from evennia.server.serversession import ServerSession
from evennia.server.signals import SIGNAL_OBJECT_POST_PUPPET
from evennia.typeclasses.attributes import Attribute
from evennia.utils.test_resources import EvenniaTestMixin

NAMES = (
    *("account", "account2", "room1", "room2", "exit"),
    *("obj1", "obj2", "char1", "char2", "script"),
)


def forget_instances() -> None:
    """Empty Evennia's caches, including objects that it keeps because they have `ndb` values."""
    for model in (AccountDB, Attribute, ChannelDB, ObjectDB, ScriptDB):
        model.flush_instance_cache(force=True)


# Rows by table name, with values in the database's own format.
Rows = dict[str, list[str]]
# Key for the state of PostgreSQL's sequences, which a rollback does not restore.
COUNTED = "sequences"


def read_rows() -> Rows:
    """Return all rows of the database; tables come before the state of their sequences."""
    return _read_sqlite() if connection.vendor == "sqlite" else _read_postgresql()


def write_rows(rows: Rows) -> None:
    """Make tables contain exactly these rows."""
    write = _write_sqlite if connection.vendor == "sqlite" else _write_postgresql
    with connection.cursor() as cursor:
        for name, items in rows.items():
            if name == COUNTED:
                count_on(items)
                continue
            cursor.execute(f'DELETE FROM "{name}"')
            if items:
                write(cursor, name, items)


def count_on(places: list[str]) -> None:
    """Restore PostgreSQL's sequences to a recorded state; SQLite needs nothing."""
    counters = (place.split() for place in places)
    calls = (f"setval('{name}', {last}, {is_used})" for name, last, is_used in counters)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(calls)}")


def count_anew() -> None:
    """Set PostgreSQL's sequences behind the existing rows; SQLite needs nothing."""
    kinds = apps.get_models(include_auto_created=True)
    if sql := connection.ops.sequence_reset_sql(no_style(), kinds):
        with connection.cursor() as cursor:
            cursor.execute("".join(sql))


def counted() -> list[str]:
    """Return PostgreSQL's sequences: name, number, and whether it was used; else []."""
    if connection.vendor == "sqlite":
        return []
    sql = "SELECT schemaname || '.' || sequencename FROM pg_sequences ORDER BY 1"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [name for (name,) in cursor.fetchall()]
        parts = (f"SELECT '{n} ' || last_value || ' ' || is_called FROM {n}" for n in names)
        cursor.execute(" UNION ALL ".join(parts))
        return [place for (place,) in cursor.fetchall()]


def _read_sqlite() -> Rows:
    names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIKE 'sqlite%'"
    with connection.cursor() as cursor:
        rows: Rows = {name: [] for (name,) in cursor.execute(names).fetchall()}
        for name, items in rows.items():
            columns = cursor.execute(f'PRAGMA table_info("{name}")').fetchall()
            values = " || ',' || ".join(f'quote("{column[1]}")' for column in columns)
            items += [row for (row,) in cursor.execute(f'SELECT {values} FROM "{name}"').fetchall()]
    return rows


def _write_sqlite(cursor: Any, name: str, found: list[str]) -> None:
    values = ", ".join(f"({row})" for row in found)
    cursor.execute(f'INSERT INTO "{name}" VALUES {values}')


def _read_postgresql() -> Rows:
    rows: Rows = {name: [] for name in connection.introspection.table_names()}
    with connection.cursor() as cursor:
        for name, items in rows.items():
            cursor.execute(f'SELECT t::text FROM "{name}" AS t')
            items += [row for (row,) in cursor.fetchall()]
    return rows | {COUNTED: counted()}


def _write_postgresql(cursor: Any, name: str, found: list[str]) -> None:
    read = f'SELECT (whole).* FROM (SELECT unnest(%s::text[])::"{name}" AS whole) AS rows'
    cursor.execute(f'INSERT INTO "{name}" {read}', [found])


class StandingWorld(EvenniaTestMixin):
    """A mixin before one of Evennia's test classes: its world is built only once.

    Attributes:
        built_by: names of all class attributes that `build_once` reads. Classes with equal values
            and the same settings share a world.
    """

    built_by: ClassVar[tuple[str, ...]] = (
        *("build_once", "account_typeclass", "object_typeclass", "character_typeclass"),
        *("exit_typeclass", "room_typeclass", "script_typeclass"),
    )
    _built: ClassVar[dict[str, tuple[type[Any], int]]]
    _worlds: ClassVar[dict[str, tuple[Rows, dict[str, Any]]]] = {}

    @classmethod
    def setUpTestData(cls) -> None:
        """Build the world of Evennia's test class, or restore one that was built before."""
        super().setUpTestData()
        parts = [getattr(cls, name) for name in cls.built_by]
        recipe = repr((cls._overridden_settings, [getattr(p, "__func__", p) for p in parts]))
        if recipe not in cls._worlds:
            count_anew()
            empty, noted = read_rows(), set(vars(cls))
            builder = cls()
            cls.build_once(builder)
            builder.log_in_once()
            rows = {name: rows for name, rows in read_rows().items() if rows != empty[name]}
            notes = {name: value for name, value in vars(cls).items() if name not in noted}
            cls._worlds[recipe] = rows, notes
            return
        rows, notes = cls._worlds[recipe]
        write_rows(rows)
        for name, value in notes.items():
            setattr(cls, name, value)

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Build the world with one instance of the class; subclasses may add to it."""
        for part in ("accounts", "rooms", "objs", "chars", "script"):
            getattr(super(StandingWorld, builder), f"create_{part}")()
        cls._built = {n: (type(getattr(builder, n)), getattr(builder, n).pk) for n in NAMES}

    def create_accounts(self) -> None:
        """Read everything that was built, like a game that is started again."""
        forget_instances()
        for model in (AccountDB, ObjectDB, ScriptDB):
            built = self._built.items()
            places = {pk: name for name, (kind, pk) in built if issubclass(kind, model)}
            for being in model.objects.filter(pk__in=places):
                setattr(self, places[being.pk], being)

    def create_rooms(self) -> None:
        """Do nothing: the rooms exist."""

    create_objs = create_chars = create_script = create_rooms

    def log_in_once(self) -> None:
        """Log in as a player does, for the rows that this changes; the room is not shown."""
        self.create_accounts()
        handler = evennia.SESSION_HANDLER
        quiet = mock.patch.multiple(handler, data_out=mock.DEFAULT, disconnect=mock.DEFAULT)
        with quiet, mock.patch.object(DefaultObject, "at_look", return_value=""):
            super().setup_session()
        self.teardown_accounts()

    def setup_session(self) -> None:
        """Log in, with the rows of a login that was built; it takes a third of the set-up time."""
        with mock.patch.object(type(self.account), "at_post_login", self._puppet):
            super().setup_session()

    def _puppet(self, session: ServerSession) -> None:
        session.puid, session.puppet = self.char1.id, self.char1
        self.char1.sessions.add(session)
        self.char1.locks.cache_lock_bypass(self.char1)
        SIGNAL_OBJECT_POST_PUPPET.send(sender=self.char1, account=self.account, session=session)

    def enter_again(self) -> None:
        """Read everything again in mid-test, with the same people online as at its start."""
        evennia.SESSION_HANDLER.clear()
        self.create_accounts()
        self.setup_session()

    def teardown_accounts(self) -> None:
        """Log out; the accounts themselves are rolled back."""
        evennia.SESSION_HANDLER.clear()
