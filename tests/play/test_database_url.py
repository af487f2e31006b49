"""`make play DATABASE_URL=...`: the address, and a game on a real PostgreSQL."""

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server.play import database_url
from server.play.layout import PlayError
from tests.play.copies import Copy
from tests.postgres import any_server, new_database

SECRET = "kestrel-94"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with any_server(tmp_path_factory.mktemp("postgres")) as settings:
        yield settings


def address(database: dict[str, Any], name: str = "") -> str:
    """The address of a database as an owner types it."""
    where = f"?host={database['HOST']}" if str(database["HOST"]).startswith("/") else ""
    host = "" if where else f"{database['HOST']}:{database['PORT']}"
    return f"postgresql://{database['USER']}@{host}/{name or database['NAME']}{where}"


def test_an_address_is_read_as_others_read_it() -> None:
    """Escapes such as %40 are decoded; no database is used where none is named."""
    settings = database_url.read("postgres://me:p%40ss@db.example.com:5433/game?sslmode=require")
    assert ("me", "p@ss", "db.example.com", "5433", "game") == tuple(
        settings[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")
    )
    assert "require" == settings["OPTIONS"]["sslmode"]
    assert "/run/postgresql" == database_url.read("postgresql:///g?host=/run/postgresql")["HOST"]
    assert {} == database_url.read("") == database_url.read("sqlite")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("game", "has no scheme; it must be like postgresql://"),
        (f"mysql://me:{SECRET}@db/game", "begins with mysql://"),
        (f"postgresql://me:{SECRET}@db", "must end with the name of one database"),
        (f"postgresql://me:{SECRET}@db:70000/game", "a port that is not a number from 0 to 65535"),
        (f"postgresql://me:{SECRET}[@db/game", "in a password \\[ is written %5B"),
        (f"postgresql://me:{SECRET}@[db]/game", "has brackets that hold no IPv6 address"),
        (f"postgresql://me:{SECRET}@db/game?sslmod=x", "has 'sslmod' after the \\?; there may be"),
    ],
)
def test_what_is_wrong_is_told_without_the_password(url: str, text: str) -> None:
    with pytest.raises(PlayError, match=text) as caught:
        database_url.asked_for({"DATABASE_URL": url})
    assert SECRET not in str(caught.value)


def test_it_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    """The address stays until another is given, or `sqlite` for the file beside the game."""
    url = f"postgresql://me:{SECRET}@db/game"
    database_url.store(tmp_path, url)
    database_url.store(tmp_path, None)
    assert url == database_url.stored(tmp_path)
    assert 0o600 == stat.S_IMODE((tmp_path / ".database_url").stat().st_mode)
    assert "game" == database_url.for_settings(tmp_path)["NAME"]
    database_url.store(tmp_path, "sqlite")
    assert {} == database_url.for_settings(tmp_path)


def prepare(copy: Copy, url: str) -> subprocess.CompletedProcess[str]:
    """Prepare the database of a copy of the game, as `make play` does."""
    database_url.store(copy.root / "server", url)
    copy.path("server/logs").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "server.play.database", str(copy.root)]
    return subprocess.run(
        command, cwd=copy.root, env=copy.env, capture_output=True, text=True, check=False
    )


def test_a_game_is_made_in_it(tmp_path: Path, server: dict[str, Any]) -> None:
    """Preparing it twice makes one world, and no SQLite file beside it."""
    with Copy.make(tmp_path / "checkout") as copy, new_database(server) as database:
        for _ in range(2):
            result = prepare(copy, address(database))
            assert 0 == result.returncode, result.stderr
        assert not copy.path("server/evennia.db3").exists()
        options = {key.lower(): value for key, value in server.items()}
        with psycopg.connect(**options, dbname=database["NAME"]) as connection:
            sql = "SELECT count(*) FROM objects_objectdb WHERE db_key = 'Ada'"
            assert (1,) == connection.execute(sql).fetchone()


def test_a_database_that_cannot_be_used_is_told_in_a_sentence(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """A missing database and an unreachable server are named, and nothing is made."""
    with Copy.make(tmp_path / "checkout") as copy:
        result = prepare(copy, address(server, "no_such"))
        assert 1 == result.returncode
        assert "database: There is no database no_such on" in result.stderr
        assert "createdb no_such" in result.stderr
        result = prepare(copy, "postgresql://me:secret@127.0.0.1:1/game")
        assert "database: game on 127.0.0.1:1 cannot be reached (" in result.stderr
        assert "secret" not in result.stderr
        assert not copy.path("server/evennia.db3").exists()


def test_an_address_that_does_not_open_the_game_is_not_kept(tmp_path: Path) -> None:
    """The next start uses the database of the last good one."""
    with Copy.make(tmp_path / "checkout") as copy:
        good = "postgresql://me@127.0.0.1:2/game"
        database_url.store(copy.root / "server", good)
        result = copy.make_target("play", DATABASE_URL="postgresql://me:secret@127.0.0.1:1/game")
        assert "game on 127.0.0.1:1 cannot be reached (" in result.out + result.err
        assert good == database_url.stored(copy.root / "server")
