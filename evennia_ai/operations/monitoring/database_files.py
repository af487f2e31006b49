"""Files of the game's SQLite databases, and which of them other users can read."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

# Files that SQLite makes beside a database; they hold the same data.
SUFFIXES = ("", "-wal", "-shm", "-journal")
OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
# Without it on each folder above, nobody else gets to a file whatever its own mode is.
OTHERS_PASS = stat.S_IXGRP | stat.S_IXOTH


def database_files(databases: Mapping[str, Any] | None = None) -> list[Path]:
    """List the existing files of SQLite databases.

    Args:
        databases: a mapping like DATABASES; None: the game's own.
    """
    chosen = (settings.DATABASES if databases is None else databases).values()
    names = [str(one.get("NAME", "")) for one in chosen if "sqlite3" in one.get("ENGINE", "")]
    whole = [Path(f"{name}{suffix}") for name in names if name for suffix in SUFFIXES]
    return [path for path in whole if path.is_file()]


def readable_by_others(databases: Mapping[str, object] | None = None) -> list[str]:
    """List the files of SQLite databases that other users of the machine can read.

    Args:
        databases: a mapping like DATABASES; None: the game's own.
    """
    return [str(path) for path in database_files(databases) if _is_open(path.absolute())]


def _is_open(path: Path) -> bool:
    try:
        passes = [folder.stat().st_mode & OTHERS_PASS for folder in path.parents]
        return bool(path.stat().st_mode & OTHERS_READ) and all(passes)
    except OSError:
        return False
