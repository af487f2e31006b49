"""Acting unasked: whether there is a reason now, and the turn that comes of it."""

from __future__ import annotations

from typing import Any

from evennia_ai import state, turns
from evennia_ai.core import goals
from evennia_ai.core.autonomy import AutonomyConfig, Reason, reason_to_act
from evennia_ai.core.inbox import OWN, Event
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ConfigurationError

NEXT_STEP = (
    "Nobody spoke to you. Your goal {id}: {text}. Take one step towards it, or choose noop. When "
    "it is reached, call complete_goal."
)
SPEAK_UP = (
    "Nobody spoke to you, but you are not alone. If there is something worth saying to what you "
    "noticed, say it; else choose noop."
)


def config(script: Any) -> AutonomyConfig:
    """How often it may act; what makes no sense counts as not set."""
    try:
        return AutonomyConfig.from_stored(state.read(script, "autonomy_config"))
    except (ConfigurationError, TypeError):
        return AutonomyConfig()


def reason(script: Any) -> Reason | None:
    """Why the assistant would act unasked at this beat. Asked of every idle beat: no statement."""
    wanted = config(script)
    has_goal = bool(goals.active(state.read(script, "current_goals")))
    if not (has_goal or wanted.initiative):
        return None
    work = script.work
    if not work.autonomy.is_due(script.clock.seconds(), wanted):
        return None
    return reason_to_act(
        wanted,
        has_goal=has_goal,
        has_company=_has_company(script.obj),
        has_heard=bool(work.overheard),
    )


def _has_company(body: Any) -> bool:
    room = body.location
    return room is not None and any(
        being is not body and being.sessions.count() for being in room.contents
    )


def begin(script: Any, why: Reason) -> Turn:
    """The turn of an act of its own."""
    now = script.clock.seconds()
    script.work.autonomy.begin(now)
    if why is Reason.GOAL:
        body = NEXT_STEP.format(**goals.active(state.read(script, "current_goals"))[0])
    else:
        body = SPEAK_UP
    event = Event(
        id=f"own{now * 1000:.0f}",
        kind=OWN,
        source="emit",
        sender_id="",
        sender_name="",
        body=body,
        trust=1.0,
        rule=0,
        hops=0,
        at=now,
    )
    return turns.of_goal(script, event)
