"""Files of the game's SQLite databases, and those of them that others can read."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

SUFFIXES = ("", "-wal", "-shm", "-journal")
OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
OTHERS_PASS = stat.S_IXGRP | stat.S_IXOTH


def database_files(databases: Mapping[str, Any] | None = None) -> list[Path]:
    """The files of the game's SQLite databases that are there.

    Args:
        databases: as DATABASES names them; None: those of the game.
    """
    chosen = (settings.DATABASES if databases is None else databases).values()
    names = [str(one.get("NAME", "")) for one in chosen if "sqlite3" in one.get("ENGINE", "")]
    whole = [Path(f"{name}{suffix}") for name in names if name for suffix in SUFFIXES]
    return [path for path in whole if path.is_file()]


def readable_by_others(databases: Mapping[str, object] | None = None) -> list[str]:
    """Those of these files that other users of the machine may read, and can get at.

    Args:
        databases: as DATABASES names them; None: those of the game.
    """
    return [str(path) for path in database_files(databases) if _is_open(path.absolute())]


def _is_open(path: Path) -> bool:
    try:
        passes = [folder.stat().st_mode & OTHERS_PASS for folder in path.parents]
        return bool(path.stat().st_mode & OTHERS_READ) and all(passes)
    except OSError:
        return False
