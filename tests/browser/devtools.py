"""Headless Chromium, driven over its DevTools pipe.

It takes two pipes and JSON: no driver program, no port, no event loop. Events of the browser are
dispatched only while an answer is awaited. When this process ends, the pipes close and the browser
ends itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--window-size=1000,640",
    "--remote-debugging-pipe",
    # No name is resolved: requests that the tests do not answer lead nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
ANSWER_SECONDS = 20.0
Listener = Callable[[dict[str, Any]], None]


class Browser:
    """A running browser.

    Attributes:
        pid: id of its main process.
        listeners: functions that get the parameters of an event, by session and event name.
    """

    def __init__(self, process: subprocess.Popen[bytes], reader: int, writer: int) -> None:
        self.listeners: dict[tuple[str, str], list[Listener]] = defaultdict(list)
        self.pid = process.pid
        self._process = process
        self._reader = reader
        self._writer = writer
        self._unread = b""
        self._last_id = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._awaited: set[int] = set()

    @classmethod
    @contextmanager
    def launch(cls, program: str, folder: Path) -> Iterator[Browser]:
        """Start a browser that keeps all its files in `folder`, and end it on the way out."""
        folder.mkdir(parents=True, exist_ok=True)
        orders, writer = _make_pipe()
        reader, reports = _make_pipe()
        command = [program, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        redirect = f'exec "$@" 3<&{orders} 4>&{reports} {orders}<&- {reports}>&-'
        with (folder / "browser.log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-c", redirect, "bash", *command],
                env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(orders, reports),
                start_new_session=True,
            )
        os.close(orders)
        os.close(reports)
        browser = cls(process, reader, writer)
        try:
            browser.call("Browser.getVersion", timeout_seconds=60.0)
            yield browser
        finally:
            browser.end()

    def end(self, timeout_seconds: float = 10.0) -> None:
        """Close the browser; kill all its processes if it does not end in time."""
        with suppress(OSError, AssertionError):
            self.call("Browser.close", timeout_seconds=timeout_seconds)
        os.close(self._writer)
        os.close(self._reader)
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def call(
        self,
        method: str,
        parameters: dict[str, Any] | None = None,
        *,
        session: str = "",
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> dict[str, Any]:
        """Call a method and wait for the answer, dispatching events meanwhile.

        Raises:
            AssertionError: the browser refused, or did not answer in time.
            ConnectionError: the browser is gone.
        """
        number = self.send(method, parameters, session=session)
        self._awaited.add(number)
        end = monotonic() + timeout_seconds
        while number not in self._answers:
            remaining = end - monotonic()
            assert remaining > 0, f"the browser did not answer {method} in {timeout_seconds:g} s"
            self.hear(remaining)
        self._awaited.discard(number)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"the browser refused {method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def send(
        self, method: str, parameters: dict[str, Any] | None = None, *, session: str = ""
    ) -> int:
        """Call a method without waiting; returns the number of the call."""
        self._last_id += 1
        order: dict[str, Any] = {"id": self._last_id, "method": method, "params": parameters or {}}
        if session:
            order["sessionId"] = session
        unsent = memoryview(json.dumps(order).encode() + b"\0")
        while unsent:
            unsent = unsent[os.write(self._writer, unsent) :]
        return self._last_id

    def hear(self, timeout_seconds: float) -> None:
        """Wait for messages of the browser, and dispatch them to the listeners.

        Raises:
            ConnectionError: the browser is gone.
        """
        readable, _, _ = select.select([self._reader], [], [], timeout_seconds)
        if not readable:
            return
        received = os.read(self._reader, 1 << 20)
        if not received:
            raise ConnectionError("the browser is gone")
        *messages, self._unread = (self._unread + received).split(b"\0")
        for message in messages:
            self._dispatch(json.loads(message))

    def _dispatch(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            key = (message.get("sessionId", ""), message["method"])
            for listener in self.listeners[key]:
                listener(message["params"])
        elif message["id"] in self._awaited:
            self._answers[message["id"]] = message


def _make_pipe() -> tuple[int, int]:
    """A pipe with file descriptors of 10 and more, so that 3 and 4 stay free."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
