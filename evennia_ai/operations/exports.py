"""Files that people ask for, written into the game's server folder for its owner alone."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations import talk
from evennia_ai.operations.remembered import export_known, person_id
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.revealing import Look

FOLDER = "ai_exports"
_UNSAFE = re.compile(r"[^a-z0-9]+")
_ONLY_OWNER, _FOLDER_OF_OWNER = 0o600, 0o700


def save_history(script: AssistantScript, *, look: Look | None = None) -> Result:
    """Write an assistant's conversation, as chat messages, into a new file.

    Args:
        look: who looks; None: nobody, who sees no private words.

    Returns:
        data: "path" and "messages", their number.
    """
    found = talk.export_history(script, look=look)
    if not found.ok:
        return found
    messages = found.data["messages"]
    content = {"assistant": str(script.key), "messages": messages}
    try:
        path = _write(f"history-{_slug(script.key)}-{_stamp(script)}", content)
    except OSError as error:
        told = f"The conversation could not be written: {error.strerror or error}."
        return Result(False, told, problem=Problem.UNAVAILABLE)
    told = f"{script.key}'s conversation, {len(messages)} messages, is in {path}"
    return Result(True, told, {"path": str(path), "messages": len(messages)})


def save_known(
    script: AssistantScript, being: Any, *, by: str = "", look: Look | None = None
) -> Result:
    """Write all that is kept of a person into a new file.

    Returns:
        data: "path" and "memories", their number.
    """
    found = export_known(script, being, by=by, look=look)
    try:
        path = _write(f"memories-{_slug(script.key)}-{_slug(person_id(being))}", asdict(found.data))
    except OSError as error:
        told = f"It could not be written: {error.strerror or error}."
        return Result(False, told, problem=Problem.UNAVAILABLE)
    data = {"path": str(path), "memories": len(found.data.memories)}
    return Result(True, f"{found.message} All of it is in {path}", data)


def _slug(name: object) -> str:
    """A name as part of a file's name, wherever that file may be copied to."""
    return _UNSAFE.sub("-", str(name).casefold()).strip("-")[:40] or "assistant"


def _stamp(script: AssistantScript) -> str:
    return f"{datetime.fromtimestamp(script.clock.seconds(), UTC):%Y%m%d-%H%M%S}"


def _write(name: str, content: Any) -> Path:
    """Write a new file and tell where it is; what is there already stays.

    Raises:
        OSError: it cannot be written.
    """
    folder = Path(settings.GAME_DIR) / "server" / FOLDER
    folder.mkdir(mode=_FOLDER_OF_OWNER, parents=True, exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, indent=1, default=str)
    for number in count():
        path = folder / f"{name}{f'-{number}' if number else ''}.json"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_OWNER)
        except FileExistsError:
            continue
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path
    raise AssertionError("count never ends")  # pragma: no cover
