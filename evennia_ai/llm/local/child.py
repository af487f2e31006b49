"""One run of the host process, seen from its supervisor: started, listened to, asked, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from evennia_ai.llm.local.host import KEY_VARIABLE
from evennia_ai.llm.local.logfile import open_chapter

_HEALTH_SECONDS = 5.0


class Child:
    """The host process and the pipe that ties its life to ours.

    Args:
        command: what to run.
        log: file that its standard error is added to.
        key: what requests to it have to hold; not on its command line, which anybody may read.

    Attributes:
        started_at: monotonic seconds.
        address: root of its HTTP server, "" until it has announced it.
        is_mute: whether it has closed the stream on which it announces.
        announcement_fd: descriptor that has something to read when it announces.
    """

    def __init__(self, command: Sequence[str], log: Path, key: str = "") -> None:
        self.started_at = time.monotonic()
        self.address = ""
        self.is_mute = False
        self._heard = b""
        open_chapter(log, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {' '.join(command)}")
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**os.environ, KEY_VARIABLE: key},
            )
        assert self._process.stdout is not None
        self.announcement_fd = self._process.stdout.fileno()
        os.set_blocking(self.announcement_fd, False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, or None while it lives."""
        return self._process.poll()

    @property
    def lived_seconds(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started_at

    def listen(self) -> bool:
        """Take in what it announced; True once its address is known. Never waits."""
        with contextlib.suppress(BlockingIOError):
            heard = os.read(self.announcement_fd, 4096)
            self._heard += heard
            # An empty read is the end of the stream, which `select` would report again and again.
            self.is_mute = not heard
        line, newline, _ = self._heard.partition(b"\n")
        if newline and not self.address:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.address = str(json.loads(line)["address"])
        return bool(self.address)

    def is_healthy(self) -> bool:
        """True where it says of itself that it can answer. Waits a few seconds at most."""
        where = urlsplit(self.address)
        # Not urllib: it would ask a proxy of the environment for this machine's own address.
        asking = HTTPConnection(where.hostname or "", where.port, timeout=_HEALTH_SECONDS)
        try:
            asking.request("GET", "/health")
            return asking.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException, ValueError):
            return False
        finally:
            asking.close()

    def end(self, patience_seconds: float) -> None:
        """End it: the pipe closes, SIGTERM twice, then SIGKILL, with a pause after each."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(patience_seconds)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
