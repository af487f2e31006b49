"""Databases of scenes: a copy for each moment, of an SQLite file or a PostgreSQL database.

No connection stays open here, because the process that makes copies forks.
"""

import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from tests import postgres

FILE, NOTE = "evennia.db3", "database"
PATIENCE_SECONDS = 30.0


def make(folder: Path) -> dict[str, Any]:
    """Make a new database, note its name in a folder, and return it in Django's form.

    It is empty, or has tables only, if the tests made a template with tables.
    """
    if not postgres.is_default():
        return {"NAME": str(folder / FILE)}
    server = postgres.named_server()
    _create(folder, os.environ.get(postgres.TABLES, "template1"))
    database = {"ENGINE": postgres.ENGINE, "OPTIONS": {}, **server}
    return database | {"NAME": name_of(folder)}


def has_tables() -> bool:
    """Return True where a database of `make` has tables."""
    return postgres.is_default() and postgres.TABLES in os.environ


def name_of(folder: Path) -> str:
    """Return the name of a folder's database."""
    note = folder / NOTE
    return note.read_text() if note.exists() else str(folder / FILE)


def copy(template: Path, folder: Path) -> None:
    """Copy the database of a folder into another; nobody may be connected to it."""
    if postgres.is_default():
        _create(folder, name_of(template))
    else:
        shutil.copy(template / FILE, folder / FILE)


def are_files() -> bool:
    """Return True where a scene stores everything in its folder."""
    return not postgres.is_default()


def keep(folder: Path, shelf: Path, number: int) -> None:
    """Copy a folder as it is now, without SQLite's shared memory file."""
    shutil.copytree(folder, shelf / f"{number}", ignore=shutil.ignore_patterns("*-shm"))


def _create(folder: Path, source: str) -> None:
    name = f"crash_{uuid.uuid4().hex}"
    (folder / NOTE).write_text(name)
    postgres.run_sql(postgres.named_server(), f"CREATE DATABASE {name} TEMPLATE {source}")


def await_end(folder: Path) -> None:
    """Wait until the server has noticed the end of a killed process."""
    if not postgres.is_default():
        return
    import psycopg

    options = {key.lower(): value for key, value in postgres.named_server().items()}
    until = time.monotonic() + PATIENCE_SECONDS
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    with psycopg.connect(**options, dbname="postgres", autocommit=True) as connection:
        while connection.execute(sql, [name_of(folder)]).fetchone() != (0,):
            if time.monotonic() > until:
                raise AssertionError("a killed process is still connected")
            time.sleep(0.005)


def remove(folder: Path) -> None:
    """Drop a folder's database."""
    if (folder / NOTE).exists():
        sql = f"DROP DATABASE IF EXISTS {name_of(folder)} WITH (FORCE)"
        postgres.run_sql(postgres.named_server(), sql)
