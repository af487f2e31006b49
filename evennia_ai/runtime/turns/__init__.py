"""The life of a turn in the database: taken, set down on the way, closed, or found after a crash.

`current_tool_call` holds what is under way. While a call that others notice is run it names that
call, and whatever comes then, it is not run again. Between two calls it holds what was said and
done so far, and a restart goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twisted.internet import reactor

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.chain import Chain, Chains
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import PRIVATE, tellable
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import Fact
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.core.safety.monitor import SafetyMonitor
from evennia_ai.core.turn import compaction, conversation, executions
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import Turn
from evennia_ai.llm.bridge import pacer_of
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import sole_recipient
from evennia_ai.runtime.state import ExtraWrites, let_go, read, safety_config, write
from evennia_ai.runtime.work import Work

_COUNTED = ("visits", "tool_calls", "delegations", "earlier_tokens")
BY_HAND = "by hand/"
NOTHING = Turn(0, ())
CHAINS = Chains()


def load(script: Assistant, first: inbox.Stored, limit: int) -> Turn:
    """A turn for an event and those that join it; they stay in the inbox until it is settled."""
    return _begin(script, map(Event.from_stored, inbox.batch(script.work.inbox, first, limit)))


def set_down(script: Assistant) -> tuple[Event, ...]:
    """The events of the turn that was set down before a restart or a pause; () without one."""
    noted, work = read(script, "current_tool_call"), script.work
    if not noted or "tool" in noted:
        return ()
    stored = [item for item in work.inbox if item["id"] in noted["events"]]
    if not stored or len(stored) != len(noted["events"]):
        # Some of its events were taken out meanwhile, as by a mute: the rest begin anew.
        write(script, current_tool_call=None)
        let_go(work)
        return ()
    return tuple(Event.from_stored(item) for item in stored)


def resume(script: Assistant) -> Turn:
    """Go on with the turn that was set down."""
    return go_on(script, read(script, "current_tool_call"))


def go_on(script: Assistant, noted: Mapping[str, Any]) -> Turn:
    """A turn as it was set down, with its events."""
    stored = [item for item in script.work.inbox if item["id"] in noted["events"]]
    turn = _begin(script, map(Event.from_stored, stored))
    # What it overheard is among what was said already; what came since is for another turn.
    turn.overheard, turn.asides = (), dict(noted.get("asides", {}))
    turn.hold(*_held(noted, turn.event))
    turn.said, turn.found = list(noted["said"]), list(noted["found"])
    turn.iterations = turn.began_at = noted["iterations"]
    turn.effects, turn.stale_way = noted["effects"], noted.get("stale_way", "")
    _take_up(script, turn, noted.get("bounds", {}))
    return turn


def of_goal(script: Assistant, event: Event) -> Turn:
    """A turn for something of the assistant's own, which nobody waits for."""
    return _begin(script, [event])


def by_hand(script: Assistant, event: Event) -> Turn:
    """A turn for one call that a person lets the assistant make, beside what else it does."""
    work, now = script.work, script.clock.seconds()
    turn = Turn(work.epoch, (event,), is_apart=event.source in PRIVATE, model=BY_HAND)
    turn.tick, turn.began_seconds, turn.chain = work.ticks, now, _chain_of(script, event)
    return turn


def _chain_of(script: Assistant, event: Event) -> Chain:
    """The chain of an event: that of what it answers, else the one that begins with it."""
    loop = safety_config(script).loop
    return CHAINS.of(event.chain or event.id, event.begun_by or event.person, loop)


def _begin(script: Assistant, events: Iterable[Event]) -> Turn:
    work, turn = script.work, of_events(script, *events)
    turn.monitor = SafetyMonitor(safety_config(script).checks)
    turn.tick, turn.began_seconds = work.ticks + 1, script.clock.seconds()
    turn.chain = _chain_of(script, turn.events[0])
    work.running = frozenset(event.id for event in turn.events)
    work.given_up.clear()
    return turn


def of_events(script: Assistant, *events: Event) -> Turn:
    """A turn with all that its prompt would tell now; it is not begun, and nothing knows of it."""
    work, person = script.work, sole_recipient(script, events[-1])
    overheard = tellable(work.overheard, person)
    turn = Turn(work.epoch, events, overheard, conversation.known_to(work.history, person))
    turn.talk_of, turn.has_unkept = conversation.origin_of(work.history, person)
    turn.is_apart = turn.event.kind == inbox.TASK
    turn.hold(*(audience for event in events for audience in event.held))
    is_told_alone = any(item.source in PRIVATE for item in overheard)
    if is_told_alone or conversation.holds_private(work.history, person):
        turn.hold(person_audience(person))
    return turn


def _held(noted: Mapping[str, Any], event: Event) -> Sequence[str]:
    """The audiences of a turn that was set down; older ones said only whether that was private."""
    if "held" in noted:
        return list(noted["held"])
    return [person_audience(event.face)] if noted["is_private"] else []


def _take_up(script: Assistant, turn: Turn, bounds: Mapping[str, Any]) -> None:
    """Take up what the limits and checks of the task have counted so far."""
    for name in _COUNTED:
        setattr(turn, name, bounds.get(name, 0))
    turn.grants = dict(bounds.get("grants", {}))
    chain = turn.chain  # which a restart forgot
    # Raised and not set: others of the same chain may have counted on meanwhile.
    chain.steps = max(chain.steps, turn.iterations)
    chain.tokens = max(chain.tokens, turn.earlier_tokens)
    chain.delegations = max(chain.delegations, turn.delegations)
    checks = safety_config(script).checks
    turn.monitor = SafetyMonitor.from_stored(bounds.get("monitor", {}), checks)


def _bounds(turn: Turn) -> dict[str, Any]:
    """The counts that belong to the whole task; a grant for one tick ends with it."""
    lasting = ("task", "context")
    return {
        **{name: getattr(turn, name) for name in _COUNTED},
        "earlier_tokens": turn.tokens,
        "grants": {
            # Plain text: what Evennia cannot read back would block the assistant for good.
            str(kind): more
            for kind, more in turn.grants.items()
            if LIMITS[LimitKind(kind)].span in lasting
        },
        "monitor": turn.monitor.as_stored(),
    }


def write_ahead_intent(script: Assistant, turn: Turn, call: ToolCall) -> None:
    """Store that a call is about to happen, so that a crash cannot make it happen twice."""
    noted = {"tool": call.name, "call_id": call.id, "arguments": dict(call.arguments)}
    keep(script, turn, current_tool_call=as_noted(turn) | noted)


def clear_intent(script: Assistant, turn: Turn) -> None:
    """The call that was noted did not happen: a crash from here on may take the event again."""
    if turn.epoch == script.work.epoch and read(script, "current_tool_call"):
        # With nothing done that others noticed, the event is simply answered anew.
        keep(script, turn, current_tool_call=as_noted(turn) if turn.effects else None)


def keep(
    script: Assistant,
    turn: Turn,
    *facts: Fact,
    extra_writes: ExtraWrites | None = None,
    **values: object,
) -> None:
    """Write values, and what of a turn is not in the record yet, all or none of it."""
    person = turn.event.person if turn.events else ""
    write_counted(script, (*turn.facts, *facts), extra_writes, person, **values)
    # Only once they are stored: the next write takes along what this one could not.
    turn.facts.clear()


def write_counted(
    script: Assistant,
    facts: Sequence[Fact],
    extra_writes: ExtraWrites | None = None,
    person: str = "",
    **values: object,
) -> None:
    """Write values and facts, with what the calls and ticks among the facts add up to."""
    work = script.work
    log, metrics, told = work.executions, work.metrics, {item.event for item in facts}
    if executions.TOOL in told:
        now, limit = script.clock.seconds(), read(script, "max_log_entries")
        log = executions.logged(log, facts, at=now, limit=limit, person=person)
        values["execution_log"] = log
    if executions.TOOL in told or executions.TICK in told:
        metrics = values["metrics"] = executions.added(metrics, facts)
    write(script, *facts, extra_writes=extra_writes, **values)
    work.executions, work.metrics = log, metrics


def checkpoint(script: Assistant, turn: Turn) -> None:
    """Store what was said and done so far."""
    keep(script, turn, current_tool_call=as_noted(turn))
    _forget_told(script.work, turn)


def as_noted(turn: Turn) -> dict[str, Any]:
    """A turn as it is set down: what it is of, and how far it came."""
    return {
        "events": [event.id for event in turn.events],
        "said": list(turn.said),
        "iterations": turn.iterations,
        "found": list(turn.found),
        "effects": turn.effects,
        "stale_way": turn.stale_way,
        "is_private": turn.is_private,
        "held": sorted(turn.held),
        "asides": dict(turn.asides),
        "bounds": _bounds(turn),
    }


def _forget_told(work: Work, turn: Turn) -> None:
    # By identity: somebody may have said the same words again since.
    told = set(map(id, turn.overheard))
    work.overheard = [item for item in work.overheard if id(item) not in told]


def settle(
    script: Assistant,
    turn: Turn,
    stop: Stop,
    *,
    consecutive_errors: int,
    extra_writes: ExtraWrites | None = None,
    **also: Any,
) -> None:
    """Close a turn: its events leave the inbox, and what was said or done is remembered.

    Args:
        also: further values that are stored with it.
        extra_writes: writes what else is remembered of it, in the same transaction.
    """
    work, face = script.work, turn.event.face
    work.inbox = inbox.settle(work.inbox, {event.id for event in turn.events})
    work.running = frozenset()
    values: dict[str, Any] = {"pending_events": work.inbox, **also}
    if not stop.is_failure or turn.effects:
        said = conversation.marked_paid(turn.said, face, turn.payer)
        said = conversation.marked_unkept(said, is_unkept=turn.is_unkept)
        remember(script, said, face, is_private=turn.is_private, asides=turn.asides)
        _forget_told(work, turn)
        values["conversation_history"] = work.history
    # Each value is an update; most turns left no note, and no errors to take back.
    if (noted := script.attributes.find("current_tool_call")) and noted.db_value is not None:
        values["current_tool_call"] = None
    if consecutive_errors != read(script, "consecutive_errors"):
        values["consecutive_errors"] = consecutive_errors
    outcome = executions.outcome_of(stop)
    _complete(script, turn, outcome, stop.reason.value, extra_writes=extra_writes, **values)


def remember(
    script: Assistant,
    said: Sequence[conversation.Message],
    person: str,
    *,
    is_private: bool,
    asides: Mapping[str, str],
) -> None:
    """Add what was said in a turn to the conversation; the oldest goes where it is too long.

    Args:
        person: the face of whoever the turn was for.
        asides: the person that each call told something alone, by the id of the call.
    """
    said = conversation.history_entries(said, person, asides, is_private=is_private)
    if not said:
        return
    work, limit = script.work, read(script, "max_history")
    history = [*work.history, *said]
    if len(history) > limit:
        # A quarter at once: a talk that begins elsewhere in every turn is new to every cache.
        history = compaction.trim(history, max(1, limit - limit // 4))
    work.history = history


def pause(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Let the events wait for the next beat, which goes on from the last checkpoint."""
    script.work.running = frozenset()
    _complete(script, turn, executions.PAUSED, stop.reason.value)


def _complete(
    script: Assistant,
    turn: Turn,
    outcome: str,
    stop: str,
    *,
    extra_writes: ExtraWrites | None = None,
    **values: object,
) -> None:
    """Write values with the end of a tick, and count what it used."""
    work = script.work
    seconds = script.clock.seconds() - turn.began_seconds
    told = executions.tick_completed(turn, outcome, stop=stop, seconds=seconds)
    waited = len(work.unkept)
    usage = _stored_usage(work, turn)
    keep(script, turn, *work.unkept, told, extra_writes=extra_writes, usage=usage, **values)
    # Only so many: what was added while this was written is not stored yet.
    del work.unkept[:waited]
    _count(work, turn)


def _stored_usage(work: Work, turn: Turn) -> dict[str, int]:
    used = work.usage + turn.usage
    return {
        "calls": work.calls + turn.model_calls,
        # Turns that were set aside end in another order than they began.
        "ticks": max(work.ticks, turn.tick),
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
    }


def _count(work: Work, turn: Turn) -> None:
    work.usage = work.usage + turn.usage
    work.calls += turn.model_calls
    work.ticks = max(work.ticks, turn.tick)


def cut_off(script: Assistant, turn: Turn) -> None:
    """Count a turn that was dropped. It is written down in a moment: not in the middle of a stop.

    A call that was given up meanwhile is in the record already, as one of which nobody knows.
    """
    work = script.work
    turn.facts = [item for item in turn.facts if item.details["call_id"] not in work.given_up]
    seconds = script.clock.seconds() - turn.began_seconds
    told = executions.tick_completed(turn, executions.CUT_OFF, stop="cut_off", seconds=seconds)
    add_usage(script, turn, *turn.facts, told)


def add_usage(script: Assistant, used: Turn, *facts: Fact) -> None:
    """Count model calls now, and write them down with their facts in a moment."""
    _count(script.work, used)
    script.work.unkept += facts
    pacer_of(reactor).call(_keep_usage, script, script.work)


def _keep_usage(script: Assistant, work: Work) -> None:
    """Write what is counted, unless a stop is about to: of many, each would do so by itself."""
    if work.unkept and not work.is_stopping and script.work is work and script.pk is not None:
        keep_usage(script)


def keep_usage(script: Assistant, *facts: Fact, **values: Any) -> None:
    """Write values and facts, and before them what is counted and not in the record yet."""
    work = script.work
    waited = tuple(work.unkept)
    if waited:
        values["usage"] = _stored_usage(work, NOTHING)
    write_counted(script, (*waited, *facts), **values)
    del work.unkept[: len(waited)]
