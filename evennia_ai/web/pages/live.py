"""The page of one assistant with its turns as they happen."""

from __future__ import annotations

from evennia_ai.operations.monitoring.status import Glance, brief
from evennia_ai.operations.turns import latest
from evennia_ai.web.pages.now import card_of, clear, stop
from evennia_ai.web.pages.turns import shown_turn
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream


def _show(visit: Visit) -> Shown:
    script = visit.assistant
    # Its mark is taken before anything is read, so that no change falls in between.
    stream = address_of_stream(str(script.key))
    result = latest.recent(script, visit.look)
    recent = result.data if result.ok else latest.Recent([], True)
    return {
        "card": card_of(Glance(script, brief(script), None), visit, is_whole=False),
        "turns": [shown_turn(turn) for turn in recent.turns],
        "is_recorded": recent.is_recorded,
        "stream": stream,
    }


PAGES = (Page(ONE, "live", "Live", "status", _show),)
ACTIONS = (
    Action(f"{ONE}live/stop/", "live-stop", "live", "emergency stop", stop),
    Action(f"{ONE}live/clear/", "live-clear", "live", "emergency clear", clear),
)
