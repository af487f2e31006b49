"""The mother process from which a test worker forks its games' processes, started when needed."""

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, Protocol

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
# Packages that tests/test_floors.py keeps free of Evennia, of Django and of the clock.
ROOMS = tuple(f"evennia_ai.{room}" for room in ("core", "engine", "errors", "resilience"))
COMMAND_BYTES = 4096
START_SECONDS, LOOK_SECONDS = 90.0, 0.01


class Running(Protocol):
    """A running program: the part of `subprocess.Popen` that `Fork` has too."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Its exit code, or None."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class Fork:
    """A program that runs in a fork; killed with whoever holds this.

    Attributes:
        pid: its process id.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._code: int | None = None
        self._told = line.makefile("rb")
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        with suppress(TimeoutError):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code.

        Raises:
            TimeoutError: it still runs.
        """
        if self._code is None:
            readable, _, _ = select.select([self._line], [], [], timeout)
            if not readable:
                raise TimeoutError(f"process {self.pid} goes on")
            self._code = int(self._told.read())
            self._told.close()
            self._line.close()
        return self._code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self.poll() is None:  # its id is not reused before it is waited for
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def begin(
    program: Sequence[str], library: Path, folder: Path, env: Mapping[str, str], log: BinaryIO
) -> Running:
    """Run a Python program in a fork, or else in a process of its own; see `command_of`.

    Args:
        program: a script of this environment, and its arguments.
        library: the first folder on a game's search path.
        folder: its working directory.
        env: its environment.
        log: the file that gets its output.
    """
    command = command_of(program, library)
    if command == program:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    request = {"command": program, "folder": str(folder), "environment": dict(env)}
    body = json.dumps(request).encode()
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(_mother()))
    with open(os.devnull, "rb") as nothing:
        files = [nothing.fileno(), log.fileno(), log.fileno()]
        socket.send_fds(line, [len(body).to_bytes(8)], files)
    line.sendall(body)
    return Fork(line)


def command_of(program: Sequence[str], library: Path) -> list[str]:
    """The command that runs a Python program in a fork, or the program itself.

    No fork is used outside tests; in the thorough profile, where every process imports for itself;
    and where another plugin would be imported: an installed one, or one without a guard.

    Args:
        program: a script of this environment, and its arguments.
        library: the first folder on a game's search path.
    """
    plugin = library / "evennia_ai"
    is_as_usual = (
        "PYTEST_VERSION" in os.environ
        and os.environ.get("EVENNIA_AI_TEST_PROFILE", "quick") == "quick"
        and "GUARDS_OUT" not in os.environ
        and plugin.resolve() == ROOT / "evennia_ai"
    )
    if not is_as_usual:
        return list(program)
    return [sys.executable, "-I", "-S", str(HERE / "born.py"), str(_mother()), *program]


def fill(library: Path) -> None:
    """Make the first folder on a game's search path: the plugin, and `sitecustomize`."""
    library.mkdir()
    (library / "evennia_ai").symlink_to(ROOT / "evennia_ai")
    shutil.copy(HERE / "sitecustomize.py", library)


@cache
def _mother() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="evennia-ai-mother-"))
    fill(folder / "lib")
    path = folder / "socket"
    padding = "-" * COMMAND_BYTES
    process = subprocess.Popen(
        [sys.executable, str(HERE / "mother.py"), str(path), padding, *ROOMS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "lib")},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def end() -> None:
        process.communicate(timeout=20)
        shutil.rmtree(folder)

    atexit.register(end)
    ends = time.monotonic() + START_SECONDS
    while not path.exists():
        assert process.poll() is None, "the mother of games ended before she was asked"
        assert time.monotonic() < ends, "the mother of games is not ready"
        time.sleep(LOOK_SECONDS)
    return path
