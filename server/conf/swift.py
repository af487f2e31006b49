"""Brings in Evennia's English grammar, `inflect`, without the checks that it builds into itself.

It has typeguard parse and compile its whole source once for each of 23 functions, at every import:
three quarters of what it takes a process of the game to load Evennia. The checks would refuse
arguments of a wrong type, which Evennia does not pass. Nothing else that uses typeguard is changed.

On a reload the game's server is not hurried: the portal starts it while the one before still ends,
and one that loads in no time finds its port taken. While `make play` opens the game there is none
before it.
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
    """True in a server of the game that starts while no `make play` opens it."""
    if not any(word.endswith("server/server.py") for word in sys.orig_argv):
        return False
    return not _is_held(Path(__file__).parents[1] / ".play.lock")


def _is_held(lock: Path) -> bool:
    """True while a command that changes what runs holds this file."""
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
        typeguard.typechecked = _instrumented
