"""One line in the log for each request that changes something, or tried to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evennia.utils import logger
from rest_framework.request import Request

from evennia_ai.audit import MARK
from evennia_ai.core.safety.audit_events import bounded, masked

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
# Wherever these are given, they are words to somebody, or what a tool is to say.
SAID = ("instruction", "arguments")
LONGEST_VALUE, LONGEST_NAME, MOST_NAMES = 1000, 200, 50


class LoggedInput(NamedTuple):
    """The input of a request.

    Attributes:
        is_private: every text in it are words of people.
    """

    body: object
    is_private: bool = False


def write(request: Request, action: str, key: str, given: LoggedInput, status_code: int) -> None:
    """Write down what was asked, by whom and how it went; nothing secret is in it.

    Args:
        action: what was to be done, such as "emergency stop".
        key: the assistant's name as it was given, or "".
        status_code: of the response.
    """
    fields = list(given.body)[:MOST_NAMES] if isinstance(given.body, Mapping) else []
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


def _user(request: Request) -> str:
    """The account's name; of whoever has none or a wrong token nothing is known."""
    # Not `user`: to ask for that would authenticate, and raise once more where it failed.
    user: Any = getattr(request, "_user", None)
    return str(user.username) if getattr(user, "is_authenticated", False) else ""


def _shown(given: LoggedInput) -> Any:
    """The values of a body, without what is secret, and cut."""
    if not isinstance(given.body, Mapping):
        return None
    shown = {
        str(name)[:LONGEST_NAME]: _unsaid(value) if given.is_private or name in SAID else value
        for name, value in list(given.body.items())[:MOST_NAMES]
    }
    return {name: bounded(masked(value, name), LONGEST_VALUE) for name, value in shown.items()}


def _unsaid(value: object) -> Any:
    """The input, but of words said to or by somebody only their number."""
    if isinstance(value, str):
        return f"({len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: _unsaid(part) for key, part in value.items()}
    return [_unsaid(part) for part in value] if isinstance(value, list) else value
