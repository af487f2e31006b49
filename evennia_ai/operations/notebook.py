"""An assistant's notebook, for staff to read. What was noted in private stays private."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state


def show_notes(script: AssistantScript, being: Any) -> Result:
    """The notes of an assistant, the oldest first.

    Args:
        being: whoever looks: notes of a private talk are shown to whom that talk was with, and of
            the others only that there are some.

    Returns:
        data: "notes": [{"number", "at", "text"}], and "private": how many are left out.
    """
    person = incoming.person_of(being)
    kept = state.read(script, "notes")
    shown = [note for note in kept if not note["is_private"] or note["person"] == person]
    rows = [
        {"number": note["number"], "at": _when(note["at"]), "text": str(note["text"])}
        for note in shown
    ]
    count = len(kept) - len(shown)
    lines = [f"{row['number']:>4}  {row['at']}  {row['text']}" for row in rows]
    if count:
        lines.append(f"  and {count} of private talks with others")
    told = "\n".join(lines) or "  nothing"
    return Result(True, f"{script.key}'s notebook:\n{told}", {"notes": rows, "private": count})


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
