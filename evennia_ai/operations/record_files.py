"""The record of an assistant in files: all of it to look at, or what is old to be put away."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.archive import folder_of, policy
from evennia_ai.audit.streams import id_of
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.result import Problem, Result

_UNSAFE = re.compile(r"[^a-z0-9]+")


def complete_record() -> audit.AssistantApplication:
    """The record, with all that was told by now."""
    audit.flush()
    return audit.application()


def export_audit(script: AssistantScript) -> Result:
    """Write what the database has of an assistant's record into a file of JSON lines.

    Returns:
        data: "path" and "events", how many.
    """
    try:
        folder, record = folder_of(policy()), complete_record()
        name = f"{_slug(script.key)}-export-{record.count(script):08}.jsonl"
        path = folder / name
        events = _write(path, lambda stream: record.export(script, stream))
    except (ConfigurationError, OSError) as error:
        return _unwritten(script, error)
    told = f"{events} events of {script.key} are in {path}"
    return Result(True, told, {"path": str(path), "events": events})


def archive_audit(script: AssistantScript, *, by: str = "") -> Result:
    """Move what the game's policy does not keep out of the database, into a file.

    Returns:
        data: "path", "" where there was nothing to move, and "events", how many were.
    """
    try:
        moved = complete_record().archive(script)
    except (ConfigurationError, OSError) as error:
        return _unwritten(script, error)
    if moved.path is None:
        data = {"path": "", "events": 0}
        return Result(True, f"Nothing of {script.key}'s record is old enough to be archived.", data)
    audit.record("record_archived", script, path=str(moved.path), events=moved.events, by=by)
    told = f"{moved.events} events of {script.key} are in {moved.path} now."
    return Result(True, told, {"path": str(moved.path), "events": moved.events})


def _unwritten(script: AssistantScript, error: Exception) -> Result:
    told = f"The record of {script.key} could not be written: {error}."
    return Result(False, told, problem=Problem.UNAVAILABLE)


def _slug(key: object) -> str:
    """A file's name for an assistant: its letters, and what no other has."""
    name = _UNSAFE.sub("-", str(key).casefold()).strip("-")[:40] or "assistant"
    return f"{name}-{id_of(str(key)).hex[:8]}"


def _write(path: Path, write: Callable[[TextIO], int]) -> int:
    """Write a file that is there whole or not at all, for its owner alone.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8", errors="replace") as stream:
            count = write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count
