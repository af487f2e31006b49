"""The files by which other processes see the supervisor: `model.json` and its lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from evennia_ai.llm.local.cache import write_whole


class Phase(StrEnum):
    """Phases of the model's life."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A running model.

    Attributes:
        base_url: root of its chat completions API, `http://127.0.0.1:PORT/v1`.
        model: its name in the API.
        pid: process id of its supervisor.
        api_key: for requests; "" if an earlier version of this package started it.
    """

    base_url: str
    model: str
    pid: int
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of `model.json`.

    Attributes:
        phase: present phase of the model.
        pid: process id of the supervisor.
        host_pid: process id of the host, which runs the model; 0 if there is none.
        started_at: start of the supervisor, in seconds since the epoch.
        restarts: number of times the model was restarted.
        reason: why it failed, stopped or is restarting, else "".
        api_key: for requests; each supervisor makes a new one.
    """

    phase: Phase
    pid: int
    model: str
    base_url: str = ""
    host_pid: int = 0
    started_at: float = 0.0
    restarts: int = 0
    reason: str = ""
    api_key: str = field(default="", repr=False)


def state_path(state_dir: Path) -> Path:
    """The path of `model.json`."""
    return state_dir / "model.json"


def log_path(state_dir: Path) -> Path:
    """The path of the log that supervisor and model share."""
    return state_dir / "model.log"


def write_snapshot(state_dir: Path, snapshot: Snapshot) -> None:
    """Write `model.json` atomically."""
    # Readable by this user alone, as it holds the key.
    write_whole(state_path(state_dir), json.dumps(asdict(snapshot), indent=1), mode=0o600)


def read_snapshot(state_dir: Path) -> Snapshot | None:
    """The last snapshot of the supervisor, or None if there is none that can be read."""
    try:
        return _snapshot(json.loads(state_path(state_dir).read_text("utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _snapshot(raw: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        phase=Phase(raw["phase"]),
        pid=int(raw["pid"]),
        model=str(raw["model"]),
        base_url=str(raw["base_url"]),
        host_pid=int(raw["host_pid"]),
        started_at=float(raw["started_at"]),
        restarts=int(raw["restarts"]),
        reason=str(raw["reason"]),
        api_key=str(raw.get("api_key", "")),
    )


class SupervisorLock:
    """The lock that a folder's supervisor holds; the kernel releases it when the process ends."""

    def __init__(self, state_dir: Path) -> None:
        self._path = _lock_path(state_dir)
        self._fd = -1

    def acquire(self, patience_seconds: float = 2.0) -> bool:
        """Take the lock; False if another supervisor has it."""
        # `supervisor_pid` holds the lock for an instant too, so one refusal proves nothing.
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        deadline = time.monotonic() + patience_seconds
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(self._fd)
                    return False
                time.sleep(0.02)

    def sign(self) -> None:
        """Write this process's id into the lock file."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def is_in_place(self) -> bool:
        """True while the path still leads to the file that was locked."""
        try:
            # If the folder was removed and made again, its new lock belongs to a new supervisor.
            return os.path.samestat(os.fstat(self._fd), os.stat(self._path))
        except OSError:
            return False


def supervisor_pid(state_dir: Path) -> int:
    """Process id of the living supervisor of this folder, or 0."""
    try:
        fd = os.open(_lock_path(state_dir), os.O_RDONLY)
    except OSError:
        return 0
    try:
        with contextlib.suppress(BlockingIOError):
            # A living supervisor's exclusive lock refuses this one. A pid file alone would outlive
            # a crash.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0
        return int(os.pread(fd, 32, 0) or b"0")
    except (OSError, ValueError):
        return 0
    finally:
        os.close(fd)


def _lock_path(state_dir: Path) -> Path:
    return state_dir / "supervisor.lock"
