"""Import `inflect`, Evennia's English grammar, without its run-time type checks.

At every import, `inflect` lets typeguard parse and compile its whole source once for each of 23
functions, which is three quarters of the time a process of the game needs to load Evennia. The
checks refuse arguments of a wrong type, which Evennia does not pass. Other users of typeguard are
not affected.

On a reload the checks stay: the portal starts the new server while the old one still ends, and a
server that loads too fast finds its port taken. While `make play` opens the game there is no old
server.
"""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path
from typing import TypeVar

import typeguard

Checked = TypeVar("Checked")


def _unchecked(target: Checked) -> Checked:
    return target


def _is_reloaded() -> bool:
    """Return True in a game server that was not started by `make play`."""
    if not any(word.endswith("server/server.py") for word in sys.orig_argv):
        return False
    return not _is_held(Path(__file__).parents[1] / ".play.lock")


def _is_held(lock: Path) -> bool:
    """Return True while a command such as `make play` holds this lock."""
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


if not _is_reloaded():
    _instrumented = typeguard.typechecked
    typeguard.typechecked = _unchecked  # type: ignore[assignment]
    try:
        import inflect  # noqa: F401
    finally:
        # Other packages that use typeguard keep their checks.
        typeguard.typechecked = _instrumented
