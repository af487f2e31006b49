"""Starting, watching and ending the processes of a game.

An end is waited for on the process itself (a pidfd), a log line on a `tail -F` that follows the
file. Only processes whose command line names the game's own folder are ever signalled.
"""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    timeout_seconds: float,
) -> str:
    """Run a command to its end and return its output, which `log` gets too.

    Output goes to a file and not a pipe, because a daemon that the command leaves behind would keep
    a pipe open for ever.

    Raises:
        AssertionError: it failed or took too long; the message holds its output.
    """
    start = log.stat().st_size if log.exists() else 0
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | str = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            code = f"no end after {timeout_seconds:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    output = log.read_bytes()[start:].decode("utf-8", "replace")
    assert 0 == code, f"{' '.join(map(str, command))}: exit {code}\n{output[-4000:]}"
    return output


def find_processes(folder: Path) -> list[int]:
    """Ids of the running processes whose command line names `folder`, without this one."""
    numbers = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if f"{folder}/".encode() in (entry / "cmdline").read_bytes():
                numbers.append(int(entry.name))
    return numbers


def kill_processes(folder: Path, timeout_seconds: float = 10.0) -> list[int]:
    """Kill every process whose command line names `folder`; returns their ids."""
    killed = find_processes(folder)
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in killed:
        wait_for_end(pid, timeout_seconds)
    return killed


def wait_for_end(pid: int, timeout_seconds: float) -> None:
    """Wait until a process, a child or not, is gone.

    Raises:
        AssertionError: it is still there.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([descriptor], [], [], timeout_seconds)
    finally:
        os.close(descriptor)
    assert ended, f"process {pid} still runs after {timeout_seconds:g} s"


def wait_for_reaping(pid: int, timeout_seconds: float) -> None:
    """Wait until an ended process is reaped, so that its id is free.

    Init of a container takes a second or two for that; meanwhile twistd says that a server of that
    id is running, and starts none.

    Raises:
        AssertionError: it is still there.
    """
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is not reaped after {timeout_seconds:g} s")


class FollowedLog:
    def __init__(self, stream: int, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._seen = b""

    def wait_for(self, pattern: str, timeout_seconds: float) -> re.Match[str]:
        """Wait until the log holds `pattern`.

        Raises:
            AssertionError: it does not in time; the message ends with the log's end.
        """
        end = monotonic() + timeout_seconds
        while True:
            text = self._seen.decode("utf-8", "replace")
            match = re.search(pattern, text)
            if match:
                return match
            readable, _, _ = select.select([self._stream], [], [], max(end - monotonic(), 0))
            received = os.read(self._stream, 65536) if readable else b""
            if not received:
                raise AssertionError(f"{self._path} has no {pattern!r}; it ends:\n{text[-3000:]}")
            self._seen += received


@contextmanager
def follow(path: Path) -> Iterator[FollowedLog]:
    """Follow a log file, which need not exist yet."""
    command = ["tail", "-n", "+1", "-F", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        yield FollowedLog(process.stdout.fileno(), path)
    finally:
        process.kill()
        process.communicate()
