"""Decides when the embedded model ends: with the game it was started for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class LifetimeConfig:
    """Times after which a model without a game ends.

    Attributes:
        gone_seconds: time since the game was last seen; longer than a restart of the game takes.
        unseen_seconds: time within which the game must be seen at all; the launcher may start the
            model long before the game.
    """

    gone_seconds: float = 30.0
    unseen_seconds: float = 600.0


class GameWatch:
    """Follows one game by its pid file.

    Args:
        pid_file: the pid file of its portal.
        now: start of the watch, in monotonic seconds.
    """

    def __init__(self, pid_file: Path, now: float, config: LifetimeConfig) -> None:
        self._pid_file = pid_file
        self._config = config
        self._was_seen = False
        self._last_seen = now

    def reason_to_end(self, now: float) -> str:
        """Check the game; return the reason to end now, or "" to go on."""
        if is_alive(pid_in(self._pid_file)):
            self._was_seen, self._last_seen = True, now
            return ""
        missing_seconds = now - self._last_seen
        if self._was_seen and missing_seconds >= self._config.gone_seconds:
            return f"the game has been gone for {missing_seconds:.0f} s"
        if not self._was_seen and missing_seconds >= self._config.unseen_seconds:
            return f"the game was not seen within {missing_seconds:.0f} s"
        return ""


def pid_in(pid_file: Path) -> int:
    """The process id that a pid file holds, or 0."""
    try:
        return int(pid_file.read_text("ascii").strip() or "0")
    except (OSError, ValueError):
        return 0


def is_alive(pid: int) -> bool:
    """True for a running process; a zombie has ended."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    # It exists, but belongs to another user.
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    try:
        # The process name in parentheses may itself contain spaces and parentheses.
        state = (_PROC / str(pid) / "stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:  # no /proc on this platform
        return True
    return state[:1] != ["Z"]
