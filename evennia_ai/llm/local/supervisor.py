"""Keeps one model running for one game: start, watch, restart, give up, end. Runs in the daemon."""

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
from evennia_ai.llm.local.lifetime import GameWatch
from evennia_ai.llm.local.logfile import last_line, trim
from evennia_ai.llm.local.state import Phase, Snapshot, SupervisorLock, log_path, write_snapshot

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    """Deadlines and pauses of the supervisor, in seconds.

    Attributes:
        start_seconds: how long the model may take to load before it counts as hung.
        quick_death_seconds: a model that lived shorter died quickly.
        max_quick_deaths: so many in a row, and it is given up.
        first_backoff_seconds: pause after the first quick death; it doubles with each.
        health_seconds: pause between two looks at a running model.
        max_unhealthy: so many bad looks in a row, and it is restarted.
        beat_seconds: how often the game, the log and the folder are looked at.
        end_seconds: how long the model has to end after each SIGTERM.
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
        watch: follows the game, or None when the model lives until it is stopped.
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
        self._end = ""
        self._end_phase = Phase.STOPPED
        self._key = secrets.token_urlsafe(KEY_BYTES)
        self._woken = -1

    def take_charge(self) -> None:
        """Hear signals from now on, and say that this supervisor is in charge."""
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask_to_end)
        # A handler of any kind makes a child's death reach the wake-up pipe.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._tell(Phase.STARTING)

    def run(self) -> None:
        """Keep the model running; returns when it is over for good."""
        try:
            while not self._end:
                self._live_once()
        except Exception as error:
            self._give_up(f"the supervisor failed: {error}")
            raise
        finally:
            self._tell(self._end_phase, reason=self._end)

    def _live_once(self) -> None:
        """Run one child from its birth to its end."""
        command = [*self._command, "--port", str(self._port)]
        child = Child(command, log_path(self._state_dir), self._key)
        try:
            fault = self._live_with(child)
        finally:
            child.end(self._config.end_seconds)
        if not self._end:
            self._mourn(child, fault)

    def _live_with(self, child: Child) -> str:
        """Watch one child; what was wrong with it, or "" when it ended by itself."""
        is_ready, bad_looks, next_look = False, 0, 0.0
        while child.exit_code is None and not self._end:
            if not is_ready and child.listen() and child.is_healthy():
                is_ready = True
                # Kept over restarts, so that an address which somebody has read goes on to hold.
                self._port = urlsplit(child.address).port or 0
                self._tell(Phase.READY, child)
                next_look = time.monotonic() + self._config.health_seconds
            elif not is_ready and child.lived_seconds > self._config.start_seconds:
                return f"it did not answer within {self._config.start_seconds:.0f} s"
            elif is_ready and time.monotonic() > next_look:
                bad_looks = 0 if child.is_healthy() else bad_looks + 1
                next_look = time.monotonic() + self._config.health_seconds
                if bad_looks >= self._config.max_unhealthy:
                    return "it did not answer any more"
            # It listens already and loads the model: it is asked often, as somebody waits for it.
            self._pause(0.1 if child.address and not is_ready else self._config.beat_seconds, child)
        return ""

    def _mourn(self, child: Child, fault: str) -> None:
        """Decide what follows a death: another try after a pause, or the end."""
        last_word = last_line(log_path(self._state_dir))
        reason = fault or f"it {_cause(child.exit_code)}: {last_word}"
        was_quick = child.lived_seconds < self._config.quick_death_seconds
        self._quick_deaths = self._quick_deaths + 1 if was_quick else 0
        if child.exit_code == HOPELESS_EXIT:
            return self._give_up(last_word)
        if self._quick_deaths >= self._config.max_quick_deaths:
            return self._give_up(f"it died {self._quick_deaths} times in a row; at last {reason}")
        if self._quick_deaths > 1:
            # The old port may be what it dies of.
            self._port = 0
        self._restarts += 1
        self._tell(Phase.RESTARTING, reason=reason)
        # 0 where it did not die quickly: that one is started again at once.
        pause = self._config.first_backoff_seconds * (2**self._quick_deaths - 1)
        deadline = time.monotonic() + pause
        while not self._end and (left := deadline - time.monotonic()) > 0:
            self._pause(min(left, self._config.beat_seconds))
        return None

    def _pause(self, seconds: float, child: Child | None = None) -> None:
        """Wait for a signal, the child's word or the time; then look for a reason to end."""
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

    def _ask_to_end(self, *_: object) -> None:
        self._end = self._end or "it was asked to stop"

    def _tell(self, phase: Phase, child: Child | None = None, reason: str = "") -> None:
        # Whoever removed the folder does not want to read it.
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
