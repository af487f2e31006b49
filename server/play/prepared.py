"""What the last look into the database found, kept so that the next one can be left out.

The look loads all of Evennia. It is left out only where everything it would look at is as it left
it: the code of the game, the packages, the settings' variables, and in the database the migrations,
the owner, the mark of the first start and all that the world is made of.
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
# Of the variables that settings may heed, those that hold no secret.
HEEDED = ("EVENNIA_", "DJANGO_")
UNHEEDED = ("EVENNIA_SUPERUSER_", "EVENNIA_AI_SUITE_RUN")
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
QUERIES = (
    "SELECT app, name FROM django_migrations ORDER BY app, name",
    "SELECT username FROM accounts_accountdb WHERE id = 1",
    "SELECT db_value FROM server_serverconfig WHERE db_key = 'last_initial_setup_step'",
    "SELECT tag.db_key, given.objectdb_id FROM typeclasses_tag AS tag"
    " JOIN objects_objectdb_db_tags AS given ON given.tag_id = tag.id"
    " WHERE tag.db_category = 'lantern_library' ORDER BY tag.db_key, given.objectdb_id",
)


def remembered(
    checkout: Checkout, openings: Openings, environ: Mapping[str, str] = os.environ
) -> World | None:
    """Return what the last look found, or None if anything is not as it was then.

    Nothing is known of a database that is not a file beside the game.

    Args:
        checkout: whose game.
        openings: where it is to listen.
        environ: the variables that the settings may heed.
    """
    if database_url.kept(checkout.server):
        return None
    try:
        kept = json.loads(_file(checkout).read_text(encoding="utf-8"))
        world = dict(kept["world"])
        if kept["seen"] != _seen(checkout, openings, str(world["database"]), environ):
            return None
        if not Path(str(world["static"])).is_dir():
            return None
        told = ports.choose({}, world["openings"])
        return World(**{**world, "openings": told, "is_new": False})
    except (OSError, ValueError, TypeError, KeyError, sqlite3.Error):
        return None


def remember(
    checkout: Checkout, openings: Openings, world: World, environ: Mapping[str, str] = os.environ
) -> None:
    """Keep what a look has just found, unless the next one might find something else.

    Args:
        checkout: whose game.
        openings: what the look was told.
        world: what it found.
        environ: the variables that the settings may heed.
    """
    _file(checkout).unlink(missing_ok=True)
    is_lacking = bool(summary.left_out(world.summary) or world.wrong_settings)
    if not world.database or is_lacking or _is_evennia_edited(checkout):
        return
    try:
        seen = _seen(checkout, openings, world.database, environ)
    except (OSError, sqlite3.Error):
        return
    told = {**asdict(world), "openings": world.openings.as_choices()}
    ports.keep_choices(_file(checkout), {"seen": seen, "world": told})


def _file(checkout: Checkout) -> Path:
    return checkout.choices.with_name(".play.prepared.json")


def _seen(checkout: Checkout, openings: Openings, database: str, environ: Mapping[str, str]) -> str:
    """Return a digest of all that a look depends on."""
    digest = hashlib.sha256(repr(sorted(openings.as_choices().items())).encode())
    for part in (*_code(checkout), *_packages(checkout), *_variables(environ), *_rows(database)):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _code(checkout: Checkout) -> Iterator[str]:
    """Path, size and time of each file of the game."""
    for name in CODE:
        for folder, within, files in os.walk(checkout.root / name):
            within[:] = sorted(set(within) - {NOT_CODE})
            for path in (Path(folder, file) for file in sorted(files)):
                facts = path.stat()
                yield f"{path} {facts.st_size} {facts.st_mtime_ns}"


def _packages(checkout: Checkout) -> list[str]:
    """The names and versions of all packages in the game's environment."""
    return sorted(str(path) for path in checkout.venv.glob("lib/python*/site-packages/*.dist-info"))


def _is_evennia_edited(checkout: Checkout) -> bool:
    """Tell whether Evennia is somebody's own checkout, which changes without its version."""
    installed = checkout.venv.glob("lib/python*/site-packages/evennia-[0-9]*.dist-info")
    return any((folder / "direct_url.json").exists() for folder in installed)


def _variables(environ: Mapping[str, str]) -> list[str]:
    told = {f"{ports.PREFIX}{name}" for name in (*ports.DEFAULTS, "BIND")}
    return sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if name.startswith(HEEDED)
        and not name.startswith(UNHEEDED)
        and name not in told
        and not any(word in name for word in SECRET_WORDS)
    )


def _rows(database: str) -> Iterator[str]:
    """What the look asks the database, row by row.

    Raises:
        sqlite3.Error: it is not there, or is no such database.
    """
    address = f"{Path(database).absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        for query in QUERIES:
            yield from map(repr, connection.execute(query))
