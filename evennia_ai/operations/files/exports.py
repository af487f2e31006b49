"""Files that people ask for, written so that only the game's owner can read them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import StringIO, TextIOWrapper
from itertools import count
from pathlib import Path

from django.conf import settings

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.archive import folder_of, policy, slug_of, whole_file
from evennia_ai.audit.events import id_of
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.audit.log import current_log
from evennia_ai.operations.conversation.talk import export_history
from evennia_ai.operations.memory.own import export_known, person_id
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.private_words import PrivateView

FOLDER = "ai_exports"
# Events sent over the web at once: a megabyte, which takes most of a second of the game's thread.
MOST_SENT = 5_000
_ONLY_OWNER, _FOLDER_OF_OWNER = 0o600, 0o700


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that was written and the number of its entries; path "" where there were none."""

    path: str
    count: int


def save_history(script: AssistantScript, *, look: PrivateView | None = None) -> Result[Saved]:
    """Write an assistant's conversation, as chat messages, into a new file."""
    history = export_history(script, look=look)
    messages = history.data["messages"]
    content = {"assistant": str(script.key), "messages": messages}
    try:
        at = datetime.fromtimestamp(script.clock.seconds(), UTC)
        path = _write(content, "history", script.key, f"{at:%Y%m%d-%H%M%S}")
    except OSError as error:
        return Result.unavailable(
            f"The conversation could not be written: {error.strerror or error}."
        )
    message = f"{script.key}'s conversation, {counted(len(messages), 'messages')}, is in {path}"
    return Result(True, message, Saved(str(path), len(messages)))


def save_known(
    script: AssistantScript, being: Being | str, *, by: str = "", look: PrivateView | None = None
) -> Result[Saved]:
    """Write all that is known of a person into a new file."""
    known = export_known(script, being, by=by, look=look)
    try:
        path = _write(asdict(known.data), "memories", script.key, person_id(being))
    except OSError as error:
        return Result.unavailable(f"It could not be written: {error.strerror or error}.")
    data = Saved(str(path), len(known.data.memories))
    return Result(True, f"{known.message} The complete text is in {path}", data)


def file_name(*parts: object, ending: str = "json") -> str:
    """A safe file name from any words, such as a player's name."""
    return f"{'-'.join(map(slug_of, parts))}.{ending}"


def as_file(content: object) -> bytes:
    """Plain data as the content of a file: JSON that people can read."""
    text = json.dumps(content, ensure_ascii=False, indent=1, default=str)
    return text.encode("utf-8", "replace")


def _write(content: object, *parts: object) -> Path:
    return write_new(_exports(), file_name(*parts), as_file(content))


def write_new(folder: Path, name: str, content: bytes) -> Path:
    """Write a new file and return its path; where the name exists, a number is added to it.

    Raises:
        OSError: it cannot be written; no part of it is left.
    """
    folder.mkdir(mode=_FOLDER_OF_OWNER, parents=True, exist_ok=True)
    base = folder / name
    for number in count():
        path = base.with_stem(f"{base.stem}{f'-{number}' if number else ''}")
        # O_EXCL: nothing is overwritten, and no link is followed that somebody put there.
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_OWNER)
        except FileExistsError:
            continue
        try:
            with open(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:  # KeyboardInterrupt too: half a file looks like a whole one
            path.unlink(missing_ok=True)
            raise
        return path
    raise AssertionError("count never ends")  # pragma: no cover


def _exports() -> Path:
    return Path(settings.GAME_DIR) / "server" / FOLDER


def save_export(name: str, ending: str, content: bytes) -> Result[str]:
    """Write something that can be imported again, such as a card, into a new file of the game.

    Args:
        name: becomes a part of the file's name; any text.

    Returns:
        data: the path of the file.
    """
    try:
        path = write_new(_exports(), f"{slug_of(name)}.{ending}", content)
    except OSError as error:
        return Result.unavailable(f"The file could not be written: {error.strerror or error}.")
    return Result(True, f"It is in {path}", str(path))


def export_audit(script: AssistantScript) -> Result[Saved]:
    """Write the events of an assistant's audit log, as far as not archived, as JSON lines."""
    try:
        folder, record = folder_of(policy()), current_log()
        # The id keeps the files of two names apart that become the same slug.
        name = f"{slug_of(script.key)}-{id_of(str(script.key)).hex[:8]}"
        path = folder / f"{name}-export-{record.count(script):08}.jsonl"
        with whole_file(path) as file:
            stream = TextIOWrapper(file, "utf-8", "replace")
            events = record.export(script, stream)
            stream.detach()  # writes what is buffered, and leaves the file open
    except (ConfigurationError, OSError) as error:
        return _unwritten(script, error)
    message = f"{events} events of {script.key} are in {path}"
    return Result(True, message, Saved(str(path), events))


def audit_lines(script: AssistantScript) -> Result[str]:
    """The events of an assistant's audit log, as far as not archived, as JSON lines to be sent."""
    record, stream = current_log(), StringIO()
    known = record.count(script) - record.oldest(script) + 1
    if known > MOST_SENT:
        return Result.unavailable(
            f"The record of {script.key} has {known:,} events, and {MOST_SENT:,} can be "
            "downloaded at once; write it to a file of the game instead."
        )
    events = record.export(script, stream)
    return Result(True, f"{events} events of {script.key}", stream.getvalue())


def archive_audit(script: AssistantScript, *, by: str = "") -> Result[Saved]:
    """Move events that are older than the game's policy keeps from the database into a file."""
    try:
        moved = current_log().archive(script)
    except (ConfigurationError, OSError) as error:
        return _unwritten(script, error)
    if moved.path is None:
        message = f"Nothing of {script.key}'s record is old enough to be archived."
        return Result(True, message, Saved("", 0))
    audit.record("record_archived", script, path=str(moved.path), events=moved.events, by=by)
    message = f"{moved.events} events of {script.key} are in {moved.path} now."
    return Result(True, message, Saved(str(moved.path), moved.events))


def _unwritten(script: AssistantScript, error: Exception) -> Result:
    return Result.unavailable(f"The record of {script.key} could not be written: {error}.")
