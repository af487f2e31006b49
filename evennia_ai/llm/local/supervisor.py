"""Keeps one model running for one game: starts, watches and restarts it. Runs in the daemon."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from evennia_ai.llm.local.child import Child
from evennia_ai.llm.local.host import HOPELESS_EXIT
from evennia_ai.llm.local.logfile import last_line, trim
from evennia_ai.llm.local.state import Phase, Snapshot, SupervisorLock, log_path, write_snapshot

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


KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    """Deadlines and pauses of the supervisor, in seconds.

    Attributes:
        start_seconds: a model that takes longer to load counts as hung.
        quick_death_seconds: a model that ran for less time died quickly.
        max_quick_deaths: after so many in a row, the supervisor gives up.
        first_backoff_seconds: pause after the first quick death; roughly doubles with each.
        health_seconds: pause between two health checks of a running model.
        max_unhealthy: after so many failed checks in a row, the model is restarted.
        beat_seconds: pause between two checks of the game, the log and the folder.
        end_seconds: time for the model to end after each signal.
    """

    start_seconds: float = 300.0
    quick_death_seconds: float = 60.0
    max_quick_deaths: int = 5
    first_backoff_seconds: float = 1.0
    health_seconds: float = 15.0
    max_unhealthy: int = 4
    beat_seconds: float = 2.0
    end_seconds: float = 2.0


class Supervisor:
    """Runs the host command again and again until there is a reason to end.

    Args:
        command: the host command, to which `--port N` is added.
        watch: follows the game; None: the model runs until it is stopped.
    """

    def __init__(
        self,
        state_dir: Path,
        name: str,
        command: Sequence[str],
        lock: SupervisorLock,
        watch: GameWatch | None,
        config: SupervisorConfig,
    ) -> None:
        self._state_dir = state_dir
        self._name = name
        self._command = command
        self._lock = lock
        self._watch = watch
        self._config = config
        self._started_at = time.time()
        self._restarts = 0
        self._quick_deaths = 0
        self._port = 0
        # The reason to end, "" while there is none.
        self._end = ""
        self._end_phase = Phase.STOPPED
        self._key = secrets.token_urlsafe(KEY_BYTES)
        self._woken = -1

    def take_charge(self) -> None:
        """Install signal handlers, and publish that this supervisor is in charge."""
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask_to_end)
        # With any handler, a child's death writes to the wake-up pipe, which ends a `_pause`.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._publish(Phase.STARTING)

    def run(self) -> None:
        """Keep the model running until there is a reason to end."""
        try:
            while not self._end:
                self._run_child()
        except Exception as error:  # reported in model.json; the log has the traceback
            self._give_up(f"the supervisor failed: {error}")
            raise
        finally:
            self._publish(self._end_phase, reason=self._end)

    def _run_child(self) -> None:
        command = [*self._command, "--port", str(self._port)]
        child = Child(command, log_path(self._state_dir), self._key)
        try:
            fault = self._watch_child(child)
        finally:
            child.end(self._config.end_seconds)
        if not self._end:
            self._after_death(child, fault)

    def _watch_child(self, child: Child) -> str:
        """Watch a child until it ends or hangs; return the fault, or "" if it ended by itself."""
        is_ready, failed_checks, next_check = False, 0, 0.0
        while child.exit_code is None and not self._end:
            if not is_ready and child.listen() and child.is_healthy():
                is_ready = True
                # Restarts use the same port, so that an address read before stays valid.
                self._port = urlsplit(child.address).port or 0
                self._publish(Phase.READY, child)
                next_check = time.monotonic() + self._config.health_seconds
            elif not is_ready and child.lived_seconds > self._config.start_seconds:
                return f"it did not answer within {self._config.start_seconds:.0f} s"
            elif is_ready and time.monotonic() > next_check:
                failed_checks = 0 if child.is_healthy() else failed_checks + 1
                next_check = time.monotonic() + self._config.health_seconds
                if failed_checks >= self._config.max_unhealthy:
                    return "it did not answer any more"
            # Once it listens and loads the model, it is checked often: a player waits for it.
            self._pause(0.1 if child.address and not is_ready else self._config.beat_seconds, child)
        return ""

    def _after_death(self, child: Child, fault: str) -> None:
        """Wait before the next try, or give up."""
        last_words = last_line(log_path(self._state_dir))
        reason = fault or f"it {_cause(child.exit_code)}: {last_words}"
        was_quick = child.lived_seconds < self._config.quick_death_seconds
        self._quick_deaths = self._quick_deaths + 1 if was_quick else 0
        if child.exit_code == HOPELESS_EXIT:
            return self._give_up(last_words)
        if self._quick_deaths >= self._config.max_quick_deaths:
            return self._give_up(f"it died {self._quick_deaths} times in a row; at last {reason}")
        if self._quick_deaths > 1:
            # It may die because another process has taken its port.
            self._port = 0
        self._restarts += 1
        self._publish(Phase.RESTARTING, reason=reason)
        # 0 after a long life: the model is then restarted at once.
        pause = self._config.first_backoff_seconds * (2**self._quick_deaths - 1)
        deadline = time.monotonic() + pause
        while not self._end and (seconds_left := deadline - time.monotonic()) > 0:
            self._pause(min(seconds_left, self._config.beat_seconds))
        return None

    def _pause(self, seconds: float, child: Child | None = None) -> None:
        """Wait for a signal, the child's announcement or the time; then check for an end."""
        fds = [self._woken]
        if child is not None and not child.address and not child.is_mute:
            fds.append(child.announcement_fd)
        select.select(fds, [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 512)
        trim(log_path(self._state_dir))
        if not self._lock.is_in_place():
            self._end = self._end or "its folder is gone"
        elif self._watch is not None:
            self._end = self._end or self._watch.reason_to_end(time.monotonic())

    def _give_up(self, reason: str) -> None:
        self._end, self._end_phase = reason, Phase.FAILED

    # The first reason to end is kept, here and in `_pause`.
    def _ask_to_end(self, *_: object) -> None:
        self._end = self._end or "it was asked to stop"

    def _publish(self, phase: Phase, child: Child | None = None, reason: str = "") -> None:
        # The folder may have been removed; that ends the supervisor, but is no error.
        with contextlib.suppress(FileNotFoundError):
            write_snapshot(
                self._state_dir,
                Snapshot(
                    phase=phase,
                    pid=os.getpid(),
                    model=self._name,
                    base_url=f"{child.address}/v1" if child else "",
                    host_pid=child.pid if child else 0,
                    started_at=self._started_at,
                    restarts=self._restarts,
                    reason=reason,
                    api_key=self._key if child else "",
                ),
            )


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was ended by signal {-exit_code}"
    return f"ended with code {exit_code}"
