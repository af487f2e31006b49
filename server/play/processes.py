"""Other programs: run them, find them by their command line, and stop them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.1
PROC = Path("/proc")
# The last line of a traceback, or an error line of pip or make.
ERROR_LINE = re.compile(
    r"^(?!\s*(?:File|raise)\b).*(?:\w(?:Error|Exception|DoesNotExist)\b|\b(?:error|ERROR):)"
)
# The prefix of each line of Evennia's logs: source, time, level.
LOG_STAMP = re.compile(r"^(?:\|\w+\| )?[\d-]+ [\d:]+ \[..\] ")

LineReader = Callable[[str], None]


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    on_line: LineReader | None = None,
) -> tuple[int, str]:
    """Run a program to its end, without input, and append its output to a log.

    Args:
        command: program and arguments.
        cwd: the folder it runs in.
        log: file its output is appended to.
        env: its environment; ours by default.
        on_line: called with each line as it comes.

    Returns:
        Its exit code and its output, of both streams.
    """
    said: list[str] = []
    with log.open("a", encoding="utf-8") as record:
        record.write(f"$ {' '.join(str(part) for part in command)}\n")
        record.flush()
        with subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                for line in process.stdout or ():
                    said.append(line)
                    record.write(line)
                    if on_line:
                        on_line(line.rstrip("\n"))
            # Also on Ctrl-C: the program must not go on without us.
            except BaseException:
                end([process.pid], grace_seconds=5.0, reap=process.poll)
                raise
    return process.returncode, "".join(said)


def error_line(said: str) -> str:
    """Return the last line of a program's output that names an error, as a sentence, or ""."""
    errors = [line.strip() for line in said.splitlines() if ERROR_LINE.search(line)]
    return _as_sentence(LOG_STAMP.sub("", errors[-1])) if errors else ""


def failure_line(said: str) -> str:
    """Return the line of a program's output that best explains a failure, as a sentence."""
    lines = [line.strip() for line in said.splitlines() if any(map(str.isalnum, line))]
    return error_line(said) or _as_sentence(lines[-1] if lines else "it gave no reason")


def find(*words: str) -> list[int]:
    """Return the ids of all processes whose command line contains each of these strings.

    A command line ends with a blank, so that a string with one at its end is not found in a longer
    word, such as the path of another checkout.
    """
    return [pid for pid, line in _command_lines() if all(word in f"{line} " for word in words)]


def is_alive(pid: int) -> bool:
    """Return whether a process exists and has not ended (a zombie has)."""
    try:
        os.kill(pid, 0)
        status = (PROC / str(pid) / "stat").read_text() if PROC.is_dir() else ""
    except PermissionError:
        # It exists, but belongs to another user.
        return True
    except OSError:
        return False
    return not status.rpartition(")")[2].strip().startswith("Z")


def wait_until(check: Callable[[], bool], timeout_seconds: float) -> bool:
    """Poll `check`; return whether it became true within the time."""
    deadline = time.monotonic() + timeout_seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def end(
    pids: Sequence[int], *, grace_seconds: float, reap: Callable[[], object] = lambda: None
) -> None:
    """Terminate processes, and kill those that are still alive after the grace time.

    Args:
        pids: process ids.
        grace_seconds: time between SIGTERM and SIGKILL.
        reap: called before each check, so that our own child does not stay a zombie.
    """

    def all_gone() -> bool:
        reap()
        return not any(is_alive(pid) for pid in pids)

    if not pids:
        return
    for number, patience in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 5.0)):
        for pid in pids:
            _send(pid, number)
        if wait_until(all_gone, patience):
            return


def holder_of_port(port: int) -> str:
    """Return the program that listens on a TCP port, as `python3 (process 812)`, or ""."""
    for pid in listeners(port):
        try:
            return f"{(PROC / str(pid) / 'comm').read_text().strip()} (process {pid})"
        except OSError:
            continue
    return ""


def listeners(port: int) -> Iterator[int]:
    """Yield the ids of the processes that listen on a TCP port, as far as we may see them."""
    inodes = _listening_inodes(port)
    for folder in PROC.glob("[0-9]*") if inodes else ():
        try:
            if any(os.readlink(link) in inodes for link in (folder / "fd").iterdir()):
                yield int(folder.name)
        except OSError:
            continue


def seconds_worked(pids: Collection[int]) -> float:
    """Return the total CPU time of processes in seconds; those that cannot be read count 0."""
    ticks = 0
    for pid in pids:
        try:
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # utime and stime; the name before them is cut off, as it may contain blanks.
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _as_sentence(line: str) -> str:
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            rows = (PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            columns = row.split()
            is_listening = columns[3] == "0A"  # TCP_LISTEN in the kernel's table
            if is_listening and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{columns[9]}]")
    return inodes


def _command_lines() -> list[tuple[int, str]]:
    # macOS has no /proc.
    if not PROC.is_dir():
        listed = subprocess.run(
            ["ps", "-axwwo", "pid=,command="], capture_output=True, text=True, check=False
        )
        rows = [row.strip().partition(" ") for row in listed.stdout.splitlines()]
        return [(int(pid), line) for pid, _, line in rows if pid.isdigit()]
    lines = []
    for folder in PROC.glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        lines.append((int(folder.name), b" ".join(words).decode("utf-8", "replace")))
    return lines


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(OSError):
        os.kill(pid, number)
