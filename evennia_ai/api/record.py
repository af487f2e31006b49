"""One line in the log for each request that changes something, or tried to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evennia.utils import logger

from evennia_ai.audit import MARK
from evennia_ai.core.audit_events import bounded, masked

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
INSTRUCTION, ARGUMENTS = "instruction", "arguments"
LONGEST_VALUE, LONGEST_NAME, MOST_NAMES = 1000, 200, 50


def write(request: Any, action: str, key: str, given: Any, status_code: int) -> None:
    """Write down what was asked, by whom and how it went; nothing secret is in it.

    Args:
        action: what was to be done, such as "emergency stop".
        key: the assistant's name as it was given, or "".
        given: the body.
        status_code: of the response.
    """
    fields = list(given)[:MOST_NAMES] if isinstance(given, Mapping) else []
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "user": _user(request),
        "method": request.method,
        "endpoint": request.path[:LONGEST_NAME],
        "assistant_key": key[:LONGEST_NAME],
        "action": action,
        "field": [str(name)[:LONGEST_NAME] for name in fields],
        "new_value": _shown(given),
        "status_code": status_code,
        "success": status_code < 400,
    }
    logger.log_info(f"{MARK} {json.dumps(line, default=str)}")


def _user(request: Any) -> str:
    """The account's name; of whoever has none or a wrong token nothing is known."""
    user: Any = getattr(request, "_user", None)
    return str(user.username) if getattr(user, "is_authenticated", False) else ""


def _shown(given: Any) -> Any:
    """The values of a body, without what is secret, and cut."""
    if not isinstance(given, Mapping):
        return None
    parts = list(given.items())[:MOST_NAMES]
    return {
        str(name)[:LONGEST_NAME]: bounded(masked(_unsaid(name, value), str(name)), LONGEST_VALUE)
        for name, value in parts
    }


def _unsaid(name: str, value: Any) -> Any:
    """What was given, but of words that are said to or by somebody only how many."""
    if name == ARGUMENTS and isinstance(value, Mapping):
        return {key: _unsaid(INSTRUCTION, part) for key, part in value.items()}
    if name == INSTRUCTION and isinstance(value, str):
        return f"({len(value)} characters)"
    return value
