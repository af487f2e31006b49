"""Ports reserved for a game that is about to open, so that no other game takes them meanwhile.

Installing takes minutes between the choice of a port and its opening. Until then, a file for each
port is locked; the lock ends with its process, even if that is killed.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self

FOLDER_NAME = "evennia-ai-play"


def common_folder() -> Path:
    """Return the folder in which all launchers of this account reserve ports."""
    return Path(tempfile.gettempdir()) / f"{FOLDER_NAME}-{os.getuid()}"


class Reservations:
    """The ports that one launcher has reserved.

    Args:
        owner: the launcher in a few words, shown to others.
        folder: the folder of the locks; if it cannot be used, nothing is reserved.
    """

    def __init__(self, owner: str, folder: Path | None = None) -> None:
        self._owner = owner
        self._folder = folder or common_folder()
        self._held: dict[int, IO[str]] = {}

    def take(self, port: int) -> str:
        """Reserve a port; return its other owner, or "" if it is ours now."""
        if port in self._held or not self._is_usable():
            return ""
        try:
            lock = (self._folder / str(port)).open("a+", encoding="utf-8")
        except OSError:
            return ""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            with lock:
                lock.seek(0)
                return lock.read(300).strip() or "another game that is about to open"
        lock.truncate(0)
        lock.write(self._owner)
        lock.flush()
        self._held[port] = lock
        return ""

    def keep_only(self, numbers: Mapping[str, int]) -> None:
        """Release every port except these."""
        for port in set(self._held) - set(numbers.values()):
            self._held.pop(port).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.keep_only({})

    def _is_usable(self) -> bool:
        # A folder of another account is not trusted: its owner could lock every port.
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            return self._folder.stat().st_uid == os.getuid()
        except OSError:
            return False
