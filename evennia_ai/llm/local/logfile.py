"""The log that the supervisor and the model share: reading its end, and limiting its size."""

from __future__ import annotations

import os
from pathlib import Path

MAX_BYTES = 1_000_000
_KEPT_BYTES = 200_000
_TAIL_BYTES = 4_096
_CHAPTER = "---- "
_NOTHING = "it said nothing"


def trim(log: Path, max_bytes: int = MAX_BYTES, kept_bytes: int = _KEPT_BYTES) -> None:
    """Keep only the end of a log that has grown too long.

    The file is rewritten in place because its writers keep it open; as all of them append, they
    continue at the new end.
    """
    try:
        if log.stat().st_size <= max_bytes:
            return
        end = _tail(log, kept_bytes).partition(b"\n")[2]
        with log.open("r+b") as file:
            file.truncate(0)
        with log.open("ab") as file:
            file.write(end)
    except OSError:
        # The model must not end because its log cannot be trimmed.
        return


def open_chapter(log: Path, title: str) -> None:
    """Begin a new part of the log, before which `last_line` does not look."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{_CHAPTER}{title}\n")


def last_line(log: Path) -> str:
    """The last non-empty line of the newest chapter, or a text that says there is none."""
    try:
        parts = _tail(log, _TAIL_BYTES).decode("utf-8", "replace").rpartition(_CHAPTER)
    except OSError:
        return _NOTHING
    lines = parts[2].splitlines()[1 if parts[1] else 0 :]
    return next((line.strip() for line in reversed(lines) if line.strip()), _NOTHING)


def _tail(log: Path, count: int) -> bytes:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - count))
        return file.read()
