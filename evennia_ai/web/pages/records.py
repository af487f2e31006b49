"""The timeline of an audit log, and the page of the game's own audit log."""

from __future__ import annotations

import json
from typing import Any

from evennia_ai import operations
from evennia_ai.core.safety.audit_events import EVENTS
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.audit.log import FactEntry, words_of
from evennia_ai.web.forms import AT_ONCE, asked_number, query_string, time_shown
from evennia_ai.web.rows import Page, Shown, Visit

FILTERS = ("event", "by", "day")


def timeline(visit: Visit, script: AssistantScript | None) -> dict[str, Any]:
    """The entries that match the filters, the newest first; with None, of the game's own log."""
    filters = {name: visit.query.get(name, "").strip() for name in FILTERS}
    shown: dict[str, Any] = {
        "asked": filters,
        "events": sorted(EVENTS, key=str.casefold),
        "lines": [],
        "older": "",
        "is_filtered": any(filters.values()) or "before" in visit.query,
    }
    result = operations.audit_log(
        script,
        before=asked_number(visit, "before"),
        limit=AT_ONCE,
        events=(filters["event"],) if filters["event"] else (),
        by=filters["by"],
        day=filters["day"],
    )
    if not result.ok:
        visit.result = result
        return shown
    following = result.data.next
    return {
        **shown,
        "lines": [_line(entry, visit) for entry in result.data.entries],
        "told": result.message,
        "older": query_string(**filters, before=following) if following else "",
    }


def _line(entry: FactEntry, visit: Visit) -> Shown:
    """Format an entry of an audit log; its details are JSON, or "" if there are none."""
    details = dict(entry["details"])
    by = str(details.pop("by", "") or "")  # it has a column of its own
    details_text = json.dumps(details, ensure_ascii=False, indent=1, default=str) if details else ""
    at, text = time_shown(entry["at"]), words_of(entry, visit.account)
    return {**entry, "at": at, "text": text, "by": by, "details": details_text}


def _show(visit: Visit) -> Shown:
    return timeline(visit, None)


PAGES = (Page("audit/", "game-audit", "Audit of the game", "audit", _show),)
ACTIONS = ()
