"""What happened, for the record: one line in the log for each act that somebody may ask about.

Nothing secret belongs in a record: no keys, and of what people said no more than a task's name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from evennia.utils import logger

MARK = "[AI_AUDIT]"
# Told of each record too: (event, subject, facts).
LISTENERS: list[Callable[[str, str, dict[str, Any]], None]] = []


def record(event: str, subject: Any, **facts: Any) -> None:
    """Write down that something happened.

    Args:
        event: what, in one word, such as `limit_denied`.
        subject: the assistant it happened to, or a name such as "game".
        facts: plain data.
    """
    name = str(getattr(subject, "key", subject))
    told = json.dumps(facts, ensure_ascii=False, default=str)
    logger.log_info(f"{MARK} {event} {name} {told}")
    for listener in LISTENERS:
        listener(event, name, facts)
