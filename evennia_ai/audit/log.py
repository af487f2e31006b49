"""The game's log, and the listeners of events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from evennia.utils import logger

from evennia_ai.core.safety.audit_events import Fact, kind_of

MARK = "[AI_AUDIT]"
# Told of each fact: (event, name of the subject, details). Of one that is stored with what it tells
# of, after the commit; of one that changes nothing stored, at once.
LISTENERS: list[Callable[[str, str, dict[str, Any]], None]] = []


def tell(name: str, fact: Fact, details: Mapping[str, Any], *, is_logged: bool = True) -> None:
    """Write a fact's line and tell who listens.

    Args:
        details: as they are kept: the log has no secrets either.
        is_logged: False: no line, whatever its kind.
    """
    if is_logged and kind_of(fact.event).is_logged:
        told = json.dumps(details, ensure_ascii=False, default=str)
        logger.log_info(f"{MARK} {fact.event} {name} {told}")
    for listener in list(LISTENERS):
        listener(fact.event, name, dict(fact.details))
