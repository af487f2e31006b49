"""Unique ids of server processes, and the test whether such a process has ended."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

PROC = Path("/proc")


def machine(proc: Path = PROC) -> str:
    """A hash of the boot and the pid namespace, within which a pid is unique; "" if unknown."""
    try:
        # The boot id changes with each start of the machine, the namespace with each container.
        boot = (proc / "sys/kernel/random/boot_id").read_text()
        space = os.readlink(proc / "self/ns/pid")
    except OSError:
        return ""
    return sha256(f"{boot}{space}".encode()).hexdigest()[:8]


def started(pid: int, proc: Path = PROC) -> str:
    """The start time of a process, or ""; it tells the process from a later one with its pid."""
    try:
        # The name, in parentheses, may itself contain spaces and parentheses. The start time is
        # the 20th field after it, in clock ticks since boot.
        return (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def owner_of_this_process() -> str:
    """A unique id of this process."""
    return f"{machine()}:{os.getpid()}:{started(os.getpid())}:{token_hex(4)}"


def is_gone(owner: str) -> bool:
    """True if a process has certainly ended; always False for one on another machine."""
    place, pid, since, _ = owner.split(":")
    return bool(place) and place == machine() and since != started(int(pid))
