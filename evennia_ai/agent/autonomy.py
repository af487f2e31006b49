"""Turns that an assistant begins by itself: the reason to, and the turn that results."""

from __future__ import annotations

import evennia
from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.approvals import checkpoints, holding
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.keys import new_key
from evennia_ai.core.safety import notices
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.turn import goals as tree
from evennia_ai.core.turn.autonomy import ActReason, AutonomyConfig, reason_to_act
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError, LimitReachedError, StaleEpochError
from evennia_ai.memory import modes
from evennia_ai.messages import outgoing
from evennia_ai.runtime import goals, state, turns
from evennia_ai.runtime.assistant import Assistant

NEXT_STEP = (
    "Nobody spoke to you.{missed} Your goal {id}: {text}.{time}{whole} Take one step "
    "towards it, or choose noop. When it is reached, call complete_goal; if it is too large for a "
    "few steps, split_goal."
)
MISSED_ONLY = (
    "Nobody spoke to you.{missed} If something of it still matters, give it another time with "
    "create_goal; else choose noop."
)
MISSED = " You could not act when it was time for: {lines}. None of it is caught up."
MOST_MISSED = 10  # missed goals that a prompt and staff are told one by one
SPEAK_UP = (
    "Nobody spoke to you, but you are not alone. If there is something worth saying to what you "
    "noticed, say it; else choose noop."
)


def config(script: Assistant) -> AutonomyConfig:
    """Its autonomy settings; settings that make no sense count as not set."""
    try:
        return AutonomyConfig.from_stored(state.read(script, "autonomy_config"))
    except (ConfigurationError, TypeError):
        return AutonomyConfig()


def reason(script: Assistant) -> ActReason | None:
    """The reason to act unasked at this beat, or None."""
    # Asked at every idle beat of every assistant, so nothing in here may query the database.
    if modes.is_asleep(script) or holding.is_one_its_own(script):
        return None
    own_config, known = config(script), goals.of(script)
    has_goal = bool(tree.active(known))
    if not (has_goal or own_config.initiative):
        return None
    work, now = script.work, script.clock.seconds()
    is_time = has_goal and goals.is_time(script)
    if not (is_time or work.autonomy.is_due(now, own_config)) or not work.autonomy.has_room(
        now, own_config
    ):
        return None
    has_goal = is_time or tree.next_step(known) is not None
    # Late, because it looks up the room; most idle beats end above.
    if outgoing.is_hushed(script, script.obj.location):
        return None
    return reason_to_act(
        own_config,
        has_goal=has_goal,
        has_company=_has_company(script.obj),
        has_heard=bool(work.overheard),
        is_anybody_online=_is_anybody_online(),
    )


def _has_company(body: GameObject) -> bool:
    room = body.location
    return room is not None and any(
        being is not body and being.sessions.count() for being in room.contents
    )


def _is_anybody_online() -> bool:
    """True where a person plays; a bot, such as a chat relay's, does not count."""
    accounts = (session.get_account() for session in evennia.SESSION_HANDLER.get_sessions())
    return any(account is not None and not account.is_bot for account in accounts)


def begin(script: Assistant, why: ActReason) -> Turn | None:
    """Begin a turn of its own; None when it had as many in a row as it may.

    Also None when the due goal is part of a goal that still waits for its time: nothing is to be
    done.
    """
    now = script.clock.seconds()
    if _is_at_limit(script) and not script.work.is_asking_for_more:
        _ask_for_more(script)
    # Asked again: settings may extend the limit without a person, and then it has room now.
    if _is_at_limit(script):
        script.work.autonomy.begin(now)
        return None
    missed = _take_due_goals(script) if why is ActReason.GOAL else ""
    if why is ActReason.GOAL and not missed and tree.next_step(goals.of(script)) is None:
        return None
    script.work.autonomy.begin(now)
    # Counted before anything is paid: a turn that a crash cuts off was a turn too.
    state.write(script, own_turns=state.read(script, "own_turns") + 1)
    return turns.begin(script, event_of(script, why, missed))


def event_of(script: Assistant, why: ActReason, missed: str = "") -> Event:
    """The event that a turn of its own answers."""
    return Event(
        id=f"own{new_key(12)}",
        kind=OWN,
        source="emit",
        sender_id="",
        sender_name="",
        body=_next_step(goals.of(script), missed) if why is ActReason.GOAL else SPEAK_UP,
        trust=1.0,
        rule=0,
        hops=0,
        at=script.clock.seconds(),
    )


def _next_step(known: tree.StoredGoals, missed: str) -> str:
    """The goal that is worked on next, in words for the model, and the goal that it is part of."""
    goal = tree.next_step(known)
    if goal is None:
        return MISSED_ONLY.format(missed=missed) if missed else SPEAK_UP
    above = [whole for whole in tree.active(known) if whole["id"] == goal.get("parent")]
    whole = f" It is a part of goal {above[0]['id']}: {above[0]['text']}." if above else ""
    timing = tree.timing_of(goal)
    time = f" It was to be {timing['when']}, and that is now." if timing else ""
    return NEXT_STEP.format(id=goal["id"], text=goal["text"], whole=whole, time=time, missed=missed)


def _take_due_goals(script: Assistant) -> str:
    """Begin the goals whose time has come; return a sentence on those that were missed, or ""."""
    missed = goals.come_due(script, config(script).late_seconds)
    if not missed:
        return ""
    lines = [
        f"goal {each.goal['id']}, {tree.as_prompt(each.goal)}"
        + (f", {each.times} times" if each.times > 1 else "")
        for each in missed[:MOST_MISSED]
    ]
    if len(missed) > MOST_MISSED:
        lines.append(f"and {len(missed) - MOST_MISSED} more")
    missed_lines = "; ".join(lines)
    outgoing.alert_staff(notices.times_missed(str(script.obj.key), missed_lines))
    return MISSED.format(lines=missed_lines)


def _is_at_limit(script: Assistant) -> bool:
    cap = state.safety_config(script).loop.max_own_turns
    return 0 < cap <= int(state.read(script, "own_turns"))


def _ask_for_more(script: Assistant) -> None:
    """Ask for as many turns again, in the background: messages are answered meanwhile."""

    def report(failure: Failure) -> None:
        if not failure.check(CancelledError, StaleEpochError):
            logger.log_err(f"[assistant] {script.key}: {failure.getTraceback()}")

    Deferred.fromCoroutine(_extend(script)).addErrback(report)


async def _extend(script: Assistant) -> None:
    """Ask for more turns; a yes lowers the count."""
    work, cap = script.work, state.safety_config(script).loop.max_own_turns
    used = int(state.read(script, "own_turns"))
    hit = LimitReachedError(
        LimitKind.OWN_TURNS, used=used, cap=cap, amount=cap, scope=f"own {script.obj.dbref}"
    )
    work.is_asking_for_more = True
    try:
        decision = await checkpoints.ask(script, hit, task="goals of my own")
    finally:
        work.is_asking_for_more = False
    if script.work is not work:
        return
    if decision.allow_continue:
        # Read again: a message of a person may have reset the count while somebody was asked.
        own_turns = int(state.read(script, "own_turns")) - int(decision.extension)
        state.write(script, own_turns=max(0, own_turns))
    else:
        work.autonomy.end(did_something=False)
