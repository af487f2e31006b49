"""DATABASE_URL, the address of the game's database: read, stored, and converted for Django.

`make play DATABASE_URL=postgresql://me:secret@db.example.com/game` is enough; `DATABASE_URL=sqlite`
goes back to the game's own file. `server/conf/settings.py` uses this module too, so that an
`evennia` typed by hand finds the same database.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from server.play.layout import PlayError

NAME, FILE = "DATABASE_URL", ".database_url"
SCHEMES = ("postgresql", "postgres", "pgsql")
BACK = "sqlite"
LIKE = "postgresql://user:password@host:5432/name"
# Options of libpq that are allowed after the question mark, besides the host.
OPTIONS = (
    *("application_name", "connect_timeout", "keepalives", "keepalives_idle", "options"),
    *("sslcert", "sslkey", "sslmode", "sslrootcert", "target_session_attrs", "tcp_user_timeout"),
)
CONNECT_SECONDS = 5


def read(url: str) -> dict[str, Any]:
    """Return the database in the form of Django's settings.

    Args:
        url: its address; for "" or "sqlite" the result is empty.

    Raises:
        PlayError: if the address is malformed; the text never contains a password.
    """
    if url.strip() in ("", BACK):
        return {}
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        told = "has brackets that hold no IPv6 address; in a password [ is written %5B, and ] %5D"
        raise PlayError(f"{NAME} {told}.") from None
    if parts.scheme not in SCHEMES:
        told = f"begins with {parts.scheme}://" if parts.scheme else "has no scheme"
        raise PlayError(f"{NAME} {told}; it must be like {LIKE}, or {BACK}.")
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise PlayError(f"{NAME} must end with the name of one database, like {LIKE}.")
    try:
        port = parts.port
    except ValueError:
        raise PlayError(f"{NAME} has a port that is not a number from 0 to 65535.") from None
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    place = asked.pop("host", "") or unquote(parts.hostname or "")
    if unknown := sorted(asked.keys() - set(OPTIONS)):
        known = ", ".join(OPTIONS)
        raise PlayError(f"{NAME} has {unknown[0]!r} after the ?; there may be host, {known}.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": place,
        "PORT": f"{port or ''}",
        "OPTIONS": {"connect_timeout": CONNECT_SECONDS, **asked},
    }


def without_password(database: Mapping[str, Any]) -> str:
    """Return name and host of a database, without the password: "game on db.example.com"."""
    port = f":{database['PORT']}" if database["PORT"] else ""
    return f"{database['NAME']} on {database['HOST'] or 'this machine'}{port}"


def asked_for(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the address in the environment, or None.

    Raises:
        PlayError: if the address is malformed.
    """
    url = environ.get(NAME)
    if url:
        read(url)
    return url or None


def stored(server: Path) -> str:
    """Return the address stored by an earlier start, "" for the game's own file.

    Args:
        server: the game's folder `server`.
    """
    with suppress(OSError):
        return (server / FILE).read_text(encoding="utf-8").strip()
    return ""


def store(server: Path, url: str | None) -> None:
    """Store an address, readable for its owner only, since it may contain a password.

    Raises:
        PlayError: if it cannot be written.
    """
    if url is None:
        return
    path = server / FILE
    try:
        path.unlink(missing_ok=True)
        if url.strip() == BACK:
            return
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{url.strip()}\n")
    except OSError as error:
        raise PlayError(f"Cannot write {path}: {error.strerror}.") from None


def for_settings(server: Path) -> dict[str, Any]:
    """Return the database for the settings module, {} for the game's own file."""
    return read(stored(server))


def problem_with(database: Mapping[str, Any]) -> str:
    """Return why a PostgreSQL database cannot be used, as a sentence, or "".

    Needs psycopg, so only the game's environment can call it.

    Args:
        database: as returned by `read`; other engines are not checked.
    """
    if not str(database["ENGINE"]).endswith("postgresql"):
        return ""
    try:
        psycopg = importlib.import_module("psycopg")
    except ImportError:
        return "PostgreSQL needs psycopg, which is not installed: pip install 'psycopg[binary]'."
    keys = {"HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    told = {name: database[key] for key, name in keys.items() if database.get(key)}
    try:
        with psycopg.connect(dbname=database["NAME"], **told, **database["OPTIONS"]) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        return _explained(str(error), without_password(database), str(database["NAME"]))
    if version < 150_000:
        found = f"{without_password(database)} is PostgreSQL {version // 10_000}"
        return f"{found}; 15 or a newer one is needed."
    return ""


def _explained(error: str, place: str, name: str) -> str:
    if "does not exist" in error and "database" in error:
        return f"There is no database {place}; make an empty one first: createdb {name}."
    if "password" in error or "authentication" in error or "role" in error:
        return f"{place} lets nobody in by this name and password; see {NAME}."
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    why = lines[0] if lines else "it gave no reason"
    return f"{place} cannot be reached ({why}); see that the server runs, and {NAME}."
