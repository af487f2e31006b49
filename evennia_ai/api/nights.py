"""Views of an assistant's sleep."""

from __future__ import annotations

from typing import Any

from evennia_ai.api import asked, memory_answers
from evennia_ai.api.base import ApiView, Call
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, sleeping

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


class Sleep(ApiView):
    """Whether an assistant sleeps."""

    @Endpoint(
        "status",
        "See whether an assistant sleeps",
        tag=TAG,
        gives=memory_answers.Sleep,
        answer=ASLEEP,
    )
    def get(self, call: Call) -> Any:
        """Until when, and what the last night came to."""
        result = sleeping.sleep_status(call.script)
        return {**result.data, "text": result.message}

    @Endpoint(
        "sleep",
        "Put an assistant to sleep",
        tag=TAG,
        gives=memory_answers.Asleep,
        body=asked.Night,
        example={"hours": 4},
        answer={
            "message": "Edda sleeps until 2026-02-01 06:00, or until somebody speaks to it.",
            "until": ASLEEP["until"],
        },
    )
    def post(self, call: Call) -> Result:
        """It sorts out what it remembers; whoever speaks to it wakes it."""
        return sleeping.put_to_sleep(call.script, hours=call.body.get("hours"), by=call.by)


class Wake(ApiView):
    """Waking an assistant."""

    @Endpoint(
        "sleep",
        "Wake an assistant",
        tag=TAG,
        gives=Done,
        action="wake",
        answer={"message": "Edda is awake."},
    )
    def post(self, call: Call) -> Result:
        """What the night has not come to waits for the next."""
        return sleeping.wake_up(call.script, by=call.by)
