"""The page of one assistant's nights: its sleep, and what each night concluded from what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.operations import Result
from evennia_ai.operations.memory import upkeep
from evennia_ai.operations.memory.nights import Night, list_nights
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.forms import number_in, time_shown, value_shown
from evennia_ai.web.pages.memory import shown_memory
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit


def _show(visit: Visit) -> Shown:
    script, account = visit.assistant, visit.account
    data = upkeep.sleep_status(script).data
    nights = list_nights(script, look=visit.look).data
    return {
        "told": upkeep.sleep_sentence(script),
        "is_asleep": data.mode == "sleep",
        "until": time_shown(data.until or ""),
        "schedule": [(name.replace("_", " "), value_shown(v)) for name, v in data.schedule.items()],
        "progress": _figures(data.night) if data.mode == "sleep" else [],
        "nights": [_night(night) for night in nights],
        "may_sleep": is_allowed("sleep", account, script),
    }


def _figures(night: Mapping[str, Any]) -> list[tuple[str, str]]:
    counts = night.get("counts") or {}
    done = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing yet"
    return [
        ("step", str(night.get("step") or "all is done")),
        ("done", done),
        ("tokens", str(night.get("tokens", 0))),
        *((f"{name} is put off", str(why)) for name, why in (night.get("put_off") or {}).items()),
    ]


def _night(night: Night) -> Shown:
    """A night that is over, and what it concluded, each with the memories that led to it."""
    memories = [
        {"memory": shown_memory(memory), "sources": list(map(shown_memory, sources))}
        for memory, sources in night.made
    ]
    return {
        "number": night.version,
        "began": time_shown(night.began),
        "ended": time_shown(night.ended),
        "summary": night.summary,
        "made": memories,
        "gone": night.gone,
    }


def _sleep(visit: Visit) -> Result:
    hours = number_in(visit.form, "hours")
    return upkeep.put_to_sleep(visit.assistant, hours=hours, by=visit.by)


PAGES = (Page(f"{ONE}nights/", "nights", "Nights", "show memories", _show),)
ACTIONS = (
    Action(f"{ONE}nights/sleep/", "sleep", "nights", "sleep", _sleep),
    Action(
        f"{ONE}nights/wake/",
        "wake",
        "nights",
        "sleep",
        lambda visit: upkeep.wake_up(visit.assistant, by=visit.by),
    ),
)
