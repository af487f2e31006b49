"""Other programs: run to their end, found by what they were started with, and stopped."""

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
# The last line of a traceback, or what pip and make call an error.
COMPLAINT = re.compile(
    r"^(?!\s*(?:File|raise)\b).*(?:\w(?:Error|Exception|DoesNotExist)\b|\b(?:error|ERROR):)"
)
# What Evennia puts before each line of a log: who, when, how bad.
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
    """Run a program to its end, with no input, and keep what it said in a log.

    Args:
        command: program and arguments.
        cwd: the folder it runs in.
        log: file its output is added to.
        env: its environment; ours by default.
        on_line: called with each line as it comes.

    Returns:
        Its exit code and all it said, on either stream.
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
            except BaseException:
                end([process.pid], grace_seconds=5.0, reap=process.poll)
                raise
    return process.returncode, "".join(said)


def complaint(said: str) -> str:
    """Return the last line of a program's output that names an error, as a sentence, or ""."""
    errors = [line.strip() for line in said.splitlines() if COMPLAINT.search(line)]
    return _as_sentence(LOG_STAMP.sub("", errors[-1])) if errors else ""


def blame(said: str) -> str:
    """Return the line of a program's output that tells best what went wrong, as a sentence."""
    lines = [line.strip() for line in said.splitlines() if any(map(str.isalnum, line))]
    return complaint(said) or _as_sentence(lines[-1] if lines else "it gave no reason")


def find(*words: str) -> list[int]:
    """Return the ids of all processes whose command line holds each of these words as a part."""
    return [pid for pid, line in _command_lines() if all(word in line for word in words)]


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and has not ended (a zombie has)."""
    try:
        os.kill(pid, 0)
        status = (PROC / str(pid) / "stat").read_text() if PROC.is_dir() else ""
    except PermissionError:
        return True
    except OSError:
        return False
    return not status.rpartition(")")[2].strip().startswith("Z")


def wait_until(check: Callable[[], bool], timeout_seconds: float) -> bool:
    """Ask `check` again and again; return whether it came true within the time."""
    deadline = time.monotonic() + timeout_seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def end(
    pids: Sequence[int], *, grace_seconds: float, reap: Callable[[], object] = lambda: None
) -> None:
    """Ask processes to end, and kill those that have not after the grace.

    Args:
        pids: process ids.
        grace_seconds: how long they may take over it.
        reap: called before each look, so that a child of ours does not linger as a zombie.
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
    """Name the program that listens on a TCP port, as `python3 (process 812)`, or return ""."""
    for pid in listeners(port):
        try:
            return f"{(PROC / str(pid) / 'comm').read_text().strip()} (process {pid})"
        except OSError:
            continue
    return ""


def listeners(port: int) -> Iterator[int]:
    """The ids of the processes that listen on a TCP port, as far as they can be seen."""
    inodes = _listening_inodes(port)
    for folder in PROC.glob("[0-9]*") if inodes else ():
        try:
            if any(os.readlink(link) in inodes for link in (folder / "fd").iterdir()):
                yield int(folder.name)
        except OSError:
            continue


def seconds_worked(pids: Collection[int]) -> float:
    """Return the processor time that some processes have had; 0 where it cannot be seen."""
    ticks = 0
    for pid in pids:
        try:
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
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
            is_listening = columns[3] == "0A"
            if is_listening and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{columns[9]}]")
    return inodes


def _command_lines() -> list[tuple[int, str]]:
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
