"""A program that runs beside us while something else is done, and is waited for later."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from server.play import processes


class Beside:
    """One program, begun at once, with no input; what it says goes to a log of its own.

    Args:
        command: program and arguments.
        cwd: the folder it runs in.
        log: file its output is written to, begun anew.
        env: its environment.
    """

    def __init__(
        self, command: Sequence[str | Path], *, cwd: Path, log: Path, env: Mapping[str, str]
    ) -> None:
        """Begin it."""
        self._log = log
        with log.open("wb") as record:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=record,
                stderr=subprocess.STDOUT,
                # Ctrl-C is ours: we end it after what depends on it.
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll()

    @property
    def said(self) -> str:
        """All it has said so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def last_line(self) -> str:
        """The last whole line of it, or ""."""
        *_, last, _ = ["", *self.said.split("\n")]
        return last

    def wait(
        self, on_wait: Callable[[], object], is_enough: Callable[[], bool] = lambda: False
    ) -> int | None:
        """Wait for its end and return its exit code, or None if it is left to itself before.

        Args:
            on_wait: called again and again meanwhile.
            is_enough: tells that it need not be waited for any longer.
        """
        while (code := self.code) is None and not is_enough():
            on_wait()
            time.sleep(processes.POLL_SECONDS)
        return code

    def end(self) -> None:
        """End it, if it still runs."""
        if self.code is None:
            processes.end([self._process.pid], grace_seconds=5.0, reap=self._process.poll)
            self._process.poll()
