"""Logs one line for each request that changes something, or tries to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evennia.utils import logger
from rest_framework.request import Request

from evennia_ai.audit import MARK
from evennia_ai.core.safety.audit_events import bounded, masked
from evennia_ai.core.text.words import counted

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
# Fields with words of people, or words that a tool is to say; they are not logged.
WORD_FIELDS = ("instruction", "arguments")
# A line has to stay readable, whatever a client sends. Characters, and number of fields.
LONGEST_VALUE, LONGEST_NAME, MOST_NAMES = 1000, 200, 50


def write(
    request: Request,
    action: str,
    key: str,
    body: object,
    status_code: int,
    *,
    is_private: bool,
) -> None:
    """Log a request: its sender, its action and its outcome, without secrets.

    Args:
        action: the action, such as "emergency stop".
        key: the assistant's name as given, or "".
        status_code: the status of the response.
        is_private: every text in the body may be private words, which are not logged.
    """
    values = dict(list(body.items())[:MOST_NAMES]) if isinstance(body, Mapping) else {}
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "user": _user_name(request),
        "method": request.method,
        "endpoint": request.path[:LONGEST_NAME],
        "assistant_key": key[:LONGEST_NAME],
        "action": action,
        "field": [str(name)[:LONGEST_NAME] for name in values],
        "new_value": None if not isinstance(body, Mapping) else _shown(values, is_private),
        "status_code": status_code,
        "success": status_code < 400,
    }
    logger.log_info(f"{MARK} {json.dumps(line, default=str)}")


def _user_name(request: Request) -> str:
    """The account's name; "" if the request was not authenticated."""
    # Not `request.user`: that would authenticate again, and raise again if that failed.
    user: Any = getattr(request, "_user", None)
    return str(user.username) if getattr(user, "is_authenticated", False) else ""


def _shown(values: Mapping[object, object], is_private: bool) -> dict[str, Any]:
    shown = {
        str(name)[:LONGEST_NAME]: _without_words(value)
        if is_private or name in WORD_FIELDS
        else value
        for name, value in values.items()
    }
    return {name: bounded(masked(value, name), LONGEST_VALUE) for name, value in shown.items()}


def _without_words(value: object) -> Any:
    if isinstance(value, str):
        return f"({counted(len(value), 'characters')})"
    if isinstance(value, Mapping):
        return {key: _without_words(part) for key, part in value.items()}
    return [_without_words(part) for part in value] if isinstance(value, list) else value
