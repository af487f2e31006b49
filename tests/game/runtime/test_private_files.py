"""Permissions of the game's database files."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evennia_ai.operations.monitoring import database_files
from server.play.database import keep_private


def databases(path: Path) -> dict[str, dict[str, Any]]:
    return {
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)},
        "other": {"ENGINE": "django.db.backends.postgresql", "NAME": "game"},
        "memory": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    }


@pytest.fixture
def kept() -> Iterator[Path]:
    """A database path in a folder that everybody may enter, unlike pytest's own."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "evennia.db3"


def test_hole_c14_the_demo_keeps_its_database_to_itself(kept: Path) -> None:
    """SQLite puts journal files beside the database, which count, too."""
    kept.touch(0o644)
    for _ in range(2):
        keep_private(str(kept))
        with sqlite3.connect(kept) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE IF NOT EXISTS secrets (word)")
            files = database_files.database_files(databases(kept))
            assert 3 == len(files)
            assert {0o600} == {S_IMODE(path.stat().st_mode) for path in files}
            assert [] == database_files.readable_by_others(databases(kept))
        connection.close()


def test_hole_c14_elsewhere_whoever_checks_is_warned(kept: Path) -> None:
    """Files in a folder that others cannot enter are safe."""
    kept.touch(0o644)
    kept.chmod(0o644)
    assert [str(kept)] == database_files.readable_by_others(databases(kept))
    kept.chmod(0o640)
    assert [str(kept)] == database_files.readable_by_others(databases(kept))
    kept.parent.chmod(0o700)
    assert [] == database_files.readable_by_others(databases(kept))
    kept.parent.chmod(0o755)
    kept.chmod(0o600)
    assert [] == database_files.readable_by_others(databases(kept))
