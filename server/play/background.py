"""A program that runs in the background and is waited for later."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from server.play import processes


class BackgroundProgram:
    """One background program, started at once, without input; its output goes to its own log.

    Args:
        command: program and arguments.
        cwd: the folder it runs in.
        log: file its output is written to; old content is replaced.
        env: its environment.
    """

    def __init__(
        self, command: Sequence[str | Path], *, cwd: Path, log: Path, env: Mapping[str, str]
    ) -> None:
        self._log = log
        with log.open("wb") as record:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=record,
                stderr=subprocess.STDOUT,
                # Ctrl-C must reach the launcher only, which ends this program after its dependents.
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll()

    @property
    def said(self) -> str:
        """Its output so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def last_line(self) -> str:
        """Last complete line of the output, or ""."""
        *_, last, _ = ["", *self.said.split("\n")]
        return last

    def wait(
        self, on_wait: Callable[[], object], is_enough: Callable[[], bool] = lambda: False
    ) -> int | None:
        """Wait until it ends and return its exit code; None if `is_enough` ended the wait.

        Args:
            on_wait: called repeatedly meanwhile.
            is_enough: ends the wait as soon as it returns True.
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
