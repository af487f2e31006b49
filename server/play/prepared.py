"""Stored result of the last database preparation, so that the next one can be skipped.

Preparing loads all of Evennia. It is skipped only if everything it depends on is unchanged: the
game's code, the packages, the environment variables that settings read, and in the database the
migrations, the owner, the mark of the first start and the objects of the world.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from server.play import database_url, ports, summary
from server.play.game import World
from server.play.layout import Checkout
from server.play.ports import Openings

CODE = ("evennia_ai", "world", "server/conf", "server/play")
NOT_CODE = "__pycache__"
# Variables that settings may read; those that hold secrets are left out of the digest.
READ_BY_SETTINGS = ("EVENNIA_", "DJANGO_")
NOT_READ = ("EVENNIA_SUPERUSER_", "EVENNIA_AI_SUITE_RUN")
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
QUERIES = (
    "SELECT app, name FROM django_migrations ORDER BY app, name",
    "SELECT username FROM accounts_accountdb WHERE id = 1",
    "SELECT db_value FROM server_serverconfig WHERE db_key = 'last_initial_setup_step'",
    "SELECT tag.db_key, given.objectdb_id FROM typeclasses_tag AS tag"
    " JOIN objects_objectdb_db_tags AS given ON given.tag_id = tag.id"
    " WHERE tag.db_category = 'lantern_library' ORDER BY tag.db_key, given.objectdb_id",
)


def load(
    checkout: Checkout, openings: Openings, environ: Mapping[str, str] = os.environ
) -> World | None:
    """Return the result of the last preparation, or None if anything has changed since.

    For a database that is not the game's own file, always None.

    Args:
        checkout: whose game.
        openings: the game's ports.
        environ: the variables that the settings may read.
    """
    if database_url.stored(checkout.server):
        return None
    try:
        kept = json.loads(_file(checkout).read_text(encoding="utf-8"))
        world = dict(kept["world"])
        if kept["seen"] != _digest(checkout, openings, str(world["database"]), environ):
            return None
        if not Path(str(world["static"])).is_dir():
            return None
        told = ports.choose({}, world["openings"])
        return World(**{**world, "openings": told, "is_new": False})
    except (OSError, ValueError, TypeError, KeyError, sqlite3.Error):
        return None


def save(
    checkout: Checkout, openings: Openings, world: World, environ: Mapping[str, str] = os.environ
) -> None:
    """Store the result of a preparation, unless the next one might have another result.

    Args:
        checkout: whose game.
        openings: the ports that were used.
        world: the result.
        environ: the variables that the settings may read.
    """
    _file(checkout).unlink(missing_ok=True)
    # An incomplete world is not stored, so that the next start tries again.
    is_lacking = bool(summary.left_out(world.summary) or world.wrong_settings)
    if not world.database or is_lacking or _is_evennia_edited(checkout):
        return
    try:
        seen = _digest(checkout, openings, world.database, environ)
    except (OSError, sqlite3.Error):
        return
    told = {**asdict(world), "openings": world.openings.as_choices()}
    ports.keep_choices(_file(checkout), {"seen": seen, "world": told})


def _file(checkout: Checkout) -> Path:
    return checkout.choices.with_name(".play.prepared.json")


def _digest(
    checkout: Checkout, openings: Openings, database: str, environ: Mapping[str, str]
) -> str:
    """Return a digest of everything that the preparation depends on."""
    digest = hashlib.sha256(repr(sorted(openings.as_choices().items())).encode())
    for part in (*_code(checkout), *_packages(checkout), *_variables(environ), *_rows(database)):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _code(checkout: Checkout) -> Iterator[str]:
    """Yield path, size and modification time of each file of the game."""
    for name in CODE:
        for folder, within, files in os.walk(checkout.root / name):
            within[:] = sorted(set(within) - {NOT_CODE})
            for path in (Path(folder, file) for file in sorted(files)):
                facts = path.stat()
                yield f"{path} {facts.st_size} {facts.st_mtime_ns}"


def _packages(checkout: Checkout) -> list[str]:
    """Return the names and versions of all packages in the game's environment."""
    return sorted(str(path) for path in checkout.venv.glob("lib/python*/site-packages/*.dist-info"))


def _is_evennia_edited(checkout: Checkout) -> bool:
    """Return whether Evennia is installed from a checkout, whose code changes without a version."""
    installed = checkout.venv.glob("lib/python*/site-packages/evennia-[0-9]*.dist-info")
    return any((folder / "direct_url.json").exists() for folder in installed)


def _variables(environ: Mapping[str, str]) -> list[str]:
    told = {f"{ports.PREFIX}{name}" for name in (*ports.DEFAULTS, "BIND")}
    return sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if name.startswith(READ_BY_SETTINGS)
        and not name.startswith(NOT_READ)
        and name not in told
        and not any(word in name for word in SECRET_WORDS)
    )


def _rows(database: str) -> Iterator[str]:
    """Yield the rows of the database that the preparation depends on.

    Raises:
        sqlite3.Error: if the file does not exist or is not a game's database.
    """
    address = f"{Path(database).absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        for query in QUERIES:
            yield from map(repr, connection.execute(query))
