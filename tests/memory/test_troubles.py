"""Real database failures: each becomes one sentence of advice, and each can end."""

import errno
import os
import resource
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError
from django.db.utils import ConnectionHandler

from evennia_ai.memory_store import troubles
from evennia_ai.memory_store.troubles import explained, renew

PAGE = 4096
LONG = "x" * 40 * PAGE


class Game:
    """A game's database in a file, used through Django."""

    def __init__(self, path: Path) -> None:
        self.path = path
        given = {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": {"timeout": 0}}
        self.connection = ConnectionHandler({"default": given})["default"]
        self.ask("CREATE TABLE memory (text)")
        for _ in range(100):
            self.keep("y" * PAGE)

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def keep(self, text: str) -> None:
        self.ask("INSERT INTO memory VALUES (%s)", text)

    def count(self) -> int:
        """Return the number of rows, reading each of them whole."""
        return int(self.ask("SELECT count(text), sum(length(text)) FROM memory")[0][0])


@pytest.fixture
def game(tmp_path: Path) -> Iterator[Game]:
    """A database with a hundred rows."""
    result = Game(tmp_path / "game.db3")
    yield result
    result.connection.close()


Way = Callable[[Game], Any]


@contextmanager
def locked(game: Game) -> Iterator[Way]:
    """Another connection holds the write lock."""
    other = sqlite3.connect(game.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield lambda game: game.keep("late")
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def full(game: Game) -> Iterator[Way]:
    """The database may get no more pages."""
    game.ask("PRAGMA max_page_count = 10")
    yield lambda game: game.keep(LONG)
    game.ask("PRAGMA max_page_count = 100000")


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    """Limit a resource of this process."""
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


@contextmanager
def too_large(game: Game) -> Iterator[Way]:
    """The file may not grow."""

    def write(game: Game) -> None:
        with limited(resource.RLIMIT_FSIZE, game.path.stat().st_size + PAGE):
            game.keep(LONG)

    yield write


@contextmanager
def overwritten(game: Game, bad: Callable[[bytes], bytes]) -> Iterator[Way]:
    """Something overwrites the file; afterwards it is restored."""
    game.connection.close()
    whole = game.path.read_bytes()
    game.path.write_bytes(bad(whole))
    yield lambda game: game.count()
    game.connection.close()
    game.path.write_bytes(whole)


def damaged(game: Game) -> AbstractContextManager[Way]:
    """All pages but the first hold garbage."""
    return overwritten(game, lambda whole: whole[:PAGE] + b"\xff" * (len(whole) - PAGE))


def no_database(game: Game) -> AbstractContextManager[Way]:
    """The file is not SQLite's."""
    return overwritten(game, lambda _: b"not a database" * PAGE)


@contextmanager
def gone(game: Game) -> Iterator[Way]:
    """The folder is renamed for a while."""
    game.connection.close()
    folder, elsewhere = game.path.parent, game.path.parent.with_name("elsewhere")
    folder.rename(elsewhere)
    yield lambda game: game.count()
    elsewhere.rename(folder)


@contextmanager
def out_of_descriptors(game: Game) -> Iterator[Way]:
    """Every descriptor of the process is in use."""
    game.connection.close()
    before = os.dup(0)
    os.close(before)
    with limited(resource.RLIMIT_NOFILE, before):
        held = []
        try:
            while True:
                held.append(os.dup(0))
        except OSError:
            yield lambda game: game.count()
        finally:
            for each in held:
                os.close(each)


@contextmanager
def read_only(game: Game) -> Iterator[Way]:
    """The connection may only read."""
    game.ask("PRAGMA query_only = 1")
    yield lambda game: game.keep("late")
    game.ask("PRAGMA query_only = 0")


@contextmanager
def unmigrated(game: Game) -> Iterator[Way]:
    """A table does not exist yet."""
    game.ask("ALTER TABLE memory RENAME TO soon")
    yield lambda game: game.count()
    game.ask("ALTER TABLE soon RENAME TO memory")


CASES = [
    (locked, troubles.LOCKED),
    (full, troubles.FULL),
    (too_large, troubles.DISK),
    (damaged, troubles.DAMAGED),
    (no_database, troubles.DAMAGED),
    (gone, troubles.NOT_OPENED),
    (out_of_descriptors, troubles.DESCRIPTORS),
    (read_only, troubles.READ_ONLY),
    (unmigrated, troubles.NO_TABLES),
]


@pytest.mark.parametrize(
    ("trouble", "sentence"), CASES, ids=lambda part: getattr(part, "__name__", "")
)
def test_each_has_its_sentence_and_ends(game: Game, trouble: Any, sentence: str) -> None:
    """After the trouble all rows are there, and writing works."""
    with trouble(game) as way:
        with pytest.raises(DatabaseError) as raised:
            way(game)
        text = explained(raised.value)
    assert sentence == text
    assert 100 == game.count()
    game.keep("now")
    assert 101 == game.count()


def test_sentences_are_different() -> None:
    sentences = [row.sentence for row in troubles.TROUBLES]
    assert len(set(sentences)) == len(sentences)
    assert all(": " in each and not each.endswith(".") for each in sentences)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), troubles.FULL),
        (OSError(errno.EMFILE, "Too many open files"), troubles.DESCRIPTORS),
        (RuntimeError("it\nbroke"), "the game's database failed (RuntimeError: it broke)"),
    ],
)
def test_what_is_no_error_of_a_driver(error: Exception, sentence: str) -> None:
    """System errors are known by their number; unknown errors are told on one line."""
    assert sentence == explained(error)


def test_a_database_server_that_is_not_there() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    given = {"ENGINE": "django.db.backends.postgresql", "NAME": "game", "USER": "game"}
    server = {**given, "HOST": "127.0.0.1", "PORT": port}
    with pytest.raises(OperationalError) as raised:
        ConnectionHandler({"default": server})["default"].ensure_connection()
    assert troubles.NOT_THERE == explained(raised.value)


def test_a_connection_is_renewed(game: Game) -> None:
    """A file that replaced another is read, but not within a transaction."""
    other = game.path.with_name("backup.db3")
    with closing(sqlite3.connect(other)) as backup:
        backup.execute("CREATE TABLE memory (text)")
    game.ask("SELECT 1")
    other.replace(game.path)
    game.connection.in_atomic_block = True
    renew(game.connection)
    assert 100 == game.count()
    game.connection.in_atomic_block = False
    renew(game.connection)
    assert 0 == game.count()
