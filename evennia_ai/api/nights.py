"""An assistant's sleep."""

from __future__ import annotations

from evennia_ai.api import asked
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result, memory_upkeep

TAG = "Sleep"
ASLEEP = {
    "text": "Edda sleeps until 2026-02-01 06:00 (dreaming). There was no night yet.",
    "mode": "sleep",
    "phase": "dreaming",
    "until": "2026-02-01T06:00:00+00:00",
    "schedule": {"enabled": True, "sleep_start_hour": 2, "sleep_duration_hours": 4},
    "night": {},
    "last_night": {},
}


def _sleep(call: Call) -> Result:
    return memory_upkeep.put_to_sleep(call.script, hours=call.body.get("hours"), by=call.by)


ROWS = (
    Row(
        Route("GET", f"{ONE}sleep/", "sleep", "status", TAG),
        lambda call: memory_upkeep.sleep_status(call.script),
        "See whether an assistant sleeps",
        "Until when, and what the last night came to.",
        result=memory_upkeep.Sleep,
        says="text",
        answer=ASLEEP,
    ),
    Row(
        Route("POST", f"{ONE}sleep/", "sleep", "sleep", TAG),
        _sleep,
        "Put an assistant to sleep",
        "It sorts out what it remembers; whoever speaks to it wakes it.",
        result=memory_upkeep.Asleep,
        body=asked.Night,
        example={"hours": 4},
        answer={
            "message": "Edda sleeps until 2026-02-01 06:00, or until somebody speaks to it.",
            "until": ASLEEP["until"],
        },
    ),
    Row(
        Route("POST", f"{ONE}wake/", "wake", "sleep", TAG),
        lambda call: memory_upkeep.wake_up(call.script, by=call.by),
        "Wake an assistant",
        "What the night has not come to waits for the next.",
        action="wake",
        answer={"message": "Edda is awake."},
    ),
)
