"""Free ports that stay ours: claimed by a lock file, so that parallel test workers never share one.

Asking the system for port 0 would do for one bind, but a game binds its ports again at every
restart, and the system may by then have given them to an outgoing connection. The range lies below
those.
"""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

RANGE = range(22000, 30000)


class ClaimedPorts:
    """Ports of this process alone until `release`."""

    def __init__(self, count: int) -> None:
        """Claim `count` ports.

        Raises:
            OSError: fewer than `count` of the range are free.
        """
        self._locks: list[IO[str]] = []
        self.numbers: list[int] = []
        folder = Path(tempfile.gettempdir()) / f"evennia-ai-ports-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        for number in random.sample(RANGE, len(RANGE)):
            if len(self.numbers) == count:
                return
            self._try_claim(folder, number)
        if len(self.numbers) < count:
            self.release()
            raise OSError(f"no {count} free ports between {RANGE.start} and {RANGE.stop - 1}")

    def _try_claim(self, folder: Path, number: int) -> None:
        lock = (folder / str(number)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", number))
        except OSError:
            lock.close()
            return
        self._locks.append(lock)
        self.numbers.append(number)

    def release(self) -> None:
        for lock in self._locks:
            lock.close()
        self._locks, self.numbers = [], []


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port for a server beside the game."""
    claimed = ClaimedPorts(1)
    yield claimed.numbers[0]
    claimed.release()
