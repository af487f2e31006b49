"""The supervisor's files for others: `model.json`, and the lock that says it is alive."""

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
    """The phase of the model's life."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that answers now.

    Attributes:
        base_url: root of its chat completions API, `http://127.0.0.1:PORT/v1`.
        model: the name it answers to.
        pid: process id of its supervisor.
        api_key: what requests have to hold; "" of a server that an earlier version started.
    """

    base_url: str
    model: str
    pid: int
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One whole `model.json`.

    Attributes:
        phase: one of Phase.
        pid: of the supervisor.
        host_pid: of the process that holds the model, 0 when there is none.
        started_at: when the supervisor started, seconds since the epoch.
        restarts: how often the model was started again.
        reason: why it failed, stopped or is being restarted, else "".
        api_key: what requests have to hold, made anew by each supervisor.
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
    """The path of the snapshot."""
    return state_dir / "model.json"


def log_path(state_dir: Path) -> Path:
    """The path of the log of supervisor and model."""
    return state_dir / "model.log"


def write_snapshot(state_dir: Path, snapshot: Snapshot) -> None:
    """Put a snapshot where everybody of the same user looks, whole or not at all."""
    write_whole(state_path(state_dir), json.dumps(asdict(snapshot), indent=1), mode=0o600)


def read_snapshot(state_dir: Path) -> Snapshot | None:
    """The last snapshot of the supervisor, or None where none can be read."""
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
    """Held by the one supervisor of a folder while it lives; the kernel lets it go with it."""

    def __init__(self, state_dir: Path) -> None:
        self._path = _lock_path(state_dir)
        self._fd = -1

    def acquire(self, patience_seconds: float = 2.0) -> bool:
        """Take the lock; False when another supervisor has it.

        A reader that asks holds it for an instant, so one refusal is not believed.
        """
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
        """Write down who holds it."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def is_in_place(self) -> bool:
        """True while folder and lock file are still those that were locked."""
        try:
            # A folder that was removed and made again has another lock, for another supervisor.
            return os.path.samestat(os.fstat(self._fd), os.stat(self._path))
        except OSError:
            return False


def supervisor_pid(state_dir: Path) -> int:
    """Process id of the living supervisor of this folder, or 0. The lock decides, not the file."""
    try:
        fd = os.open(_lock_path(state_dir), os.O_RDONLY)
    except OSError:
        return 0
    try:
        with contextlib.suppress(BlockingIOError):
            # While a supervisor lives, its exclusive lock refuses this one.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0
        return int(os.pread(fd, 32, 0) or b"0")
    except (OSError, ValueError):
        return 0
    finally:
        os.close(fd)


def _lock_path(state_dir: Path) -> Path:
    return state_dir / "supervisor.lock"
