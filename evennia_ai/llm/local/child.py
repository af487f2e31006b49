"""One run of the host process, as its supervisor handles it."""

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
    """The host process, and the pipe by which it notices the end of its supervisor.

    Args:
        command: the command line.
        log: file to which its standard error is appended.
        key: API key that its requests must carry. Passed in the environment, since every user of
            the machine can read command lines.

    Attributes:
        started_at: monotonic seconds.
        address: root URL of its HTTP server, "" until it has announced it.
        is_mute: True once it has closed its standard output.
        announcement_fd: descriptor of its standard output, readable when it announces.
    """

    def __init__(self, command: Sequence[str], log: Path, key: str = "") -> None:
        self.started_at = time.monotonic()
        self.address = ""
        self.is_mute = False
        self._output = b""
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
        # The supervisor must go on watching game and signals while the model loads.
        os.set_blocking(self.announcement_fd, False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    @property
    def lived_seconds(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started_at

    def listen(self) -> bool:
        """Read its announcement; True once its address is known. Never blocks."""
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self.announcement_fd, 4096)
            self._output += chunk
            # An empty read is the end of the stream, which `select` reports as readable forever.
            self.is_mute = not chunk
        line, newline, _ = self._output.partition(b"\n")
        if newline and not self.address:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.address = str(json.loads(line)["address"])
        return bool(self.address)

    def is_healthy(self) -> bool:
        """True if its health endpoint says so. Blocks for a few seconds at most."""
        url = urlsplit(self.address)
        # Not urllib, which would send a request to this machine over the environment's proxy.
        connection = HTTPConnection(url.hostname or "", url.port, timeout=_HEALTH_SECONDS)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException, ValueError):
            return False
        finally:
            connection.close()

    def end(self, patience_seconds: float) -> None:
        """Close its pipe, send SIGTERM twice, then SIGKILL, with a pause after each."""
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
