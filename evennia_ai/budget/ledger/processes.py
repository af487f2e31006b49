"""A server process, told apart from every other that ever was, and whether it is gone."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

PROC = Path("/proc")


def machine(proc: Path = PROC) -> str:
    """A mark shared only where a number means the same process; "" where nobody can tell.

    The machine since it was started, and the container.
    """
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text()
        space = os.readlink(proc / "self/ns/pid")
    except OSError:
        return ""
    return sha256(f"{boot}{space}".encode()).hexdigest()[:8]


def started(pid: int, proc: Path = PROC) -> str:
    """The start of a process, or "": one that got the same number later began later."""
    try:
        # A program's name may hold blanks and brackets; 20th after the last one is its start.
        return (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def owner_of_this_process() -> str:
    """A name for this process that no other ever has."""
    return f"{machine()}:{os.getpid()}:{started(os.getpid())}:{token_hex(4)}"


def is_gone(owner: str) -> bool:
    """True for a process that has surely ended; of one on another machine nobody can be sure."""
    place, pid, since, _ = owner.split(":")
    return bool(place) and place == machine() and since != started(int(pid))
