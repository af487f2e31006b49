"""Ports put by for a game that is about to open, so that no other is given them meanwhile.

Between the choice of a port and its opening lie minutes of installing. A file for each port is
locked until then; the lock ends with the process that has it, however that ends.
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
    """The folder in which all launchers of this account put ports by."""
    return Path(tempfile.gettempdir()) / f"{FOLDER_NAME}-{os.getuid()}"


class Reservations:
    """The ports that one launcher has put by.

    Args:
        owner: who it is, in a few words for others.
        folder: where the locks are; where it cannot be used nothing is put by.
    """

    def __init__(self, owner: str, folder: Path | None = None) -> None:
        """Put nothing by yet."""
        self._owner = owner
        self._folder = folder or common_folder()
        self._held: dict[int, IO[str]] = {}

    def take(self, port: int) -> str:
        """Put a port by; return who has it, or "" if it is this launcher now."""
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
        """Let go of every port but these."""
        for port in set(self._held) - set(numbers.values()):
            self._held.pop(port).close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of all of them."""
        self.keep_only({})

    def _is_usable(self) -> bool:
        """Whether the folder is there and nobody else's: who made it could lock every port."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            return self._folder.stat().st_uid == os.getuid()
        except OSError:
            return False
