"""The life of a turn in the database: taken, checkpointed, closed, or found after a crash.

The attribute `current_tool_call` holds what is under way. During a call that others notice it names
that call, which is never run again, whatever happens. Between two calls it holds what was said and
done so far, and a restart resumes from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet import reactor

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.chain import Chain, Chains
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import PRIVATE, Overheard, tellable
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.core.safety.monitor import SafetyMonitor
from evennia_ai.core.text.plain_data import from_stored, to_stored
from evennia_ai.core.turn import compaction, conversation, executions, namesakes
from evennia_ai.core.turn.conversation import NAMED, OVERHEARD, PAID_BY, UNKEPT, marked
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import Turn
from evennia_ai.llm.bridge import pacer_of
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import sole_recipient
from evennia_ai.runtime.state import ExtraWrites, end_void_turns, read, safety_config, write
from evennia_ai.runtime.work import Work

# Counts of a turn that its checkpoint carries over a restart.
_COUNTED = ("visits", "tool_calls", "delegations", "earlier_tokens")
BY_HAND = "by hand/"  # in place of a model's name
NOTHING = Turn(0, ())
CHAINS = Chains()


def load(script: Assistant, first: inbox.Stored, limit: int) -> Turn:
    """Begin a turn for an event and those that join it; they stay in the inbox until it closes."""
    batch = inbox.batch(script.work.inbox, first, limit)
    return begin(script, *map(Event.from_stored, batch))


def checkpointed_events(script: Assistant) -> tuple[Event, ...]:
    """The events of the turn that was checkpointed before a restart or a pause; () without one."""
    saved_turn, work = read(script, "current_tool_call"), script.work
    if not saved_turn or "tool" in saved_turn:
        return ()
    stored = [item for item in work.inbox if item["id"] in saved_turn["events"]]
    if not stored or len(stored) != len(saved_turn["events"]):
        # Some of its events were removed meanwhile, as by a mute: the rest start over.
        write(script, current_tool_call=None)
        end_void_turns(work)
        return ()
    return tuple(Event.from_stored(item) for item in stored)


def from_checkpoint(script: Assistant, noted: Mapping[str, Any]) -> Turn:
    """Rebuild a turn from its checkpoint, with its events."""
    stored = [item for item in script.work.inbox if item["id"] in noted["events"]]
    turn = begin(script, *map(Event.from_stored, stored))
    # What was overheard since is for the next turn.
    turn.overheard = tuple(from_stored(Overheard, item) for item in noted.get("overheard", ()))
    turn.asides = dict(noted.get("asides", {}))
    # Older checkpoints only say whether it was private.
    of_asker = [person_audience(turn.event.face)] if noted["is_private"] else []
    turn.hold(*noted.get("held", of_asker))
    turn.said, turn.found = list(noted["said"]), list(noted["found"])
    turn.iterations = turn.began_at = noted["iterations"]
    turn.effects, turn.stale_way = noted["effects"], noted.get("stale_way", "")
    _restore_bounds(script, turn, noted.get("bounds", {}))
    return turn


def by_hand(script: Assistant, event: Event) -> Turn:
    """Make a turn for one call that a person has the assistant make, beside its own turns."""
    work, now = script.work, script.clock.seconds()
    turn = Turn(work.epoch, (event,), is_apart=event.source in PRIVATE, model=BY_HAND)
    turn.tick, turn.began_seconds, turn.chain = work.ticks, now, _chain_of(script, event)
    return turn


def _chain_of(script: Assistant, event: Event) -> Chain:
    """The chain of an event: that of the message it answers, or one that begins with it."""
    loop = safety_config(script).loop
    return CHAINS.of(event.chain or event.id, event.begun_by or event.person, loop)


def begin(script: Assistant, *events: Event) -> Turn:
    """Begin the turn that answers these events."""
    work, turn = script.work, of_events(script, *events)
    turn.monitor = SafetyMonitor(safety_config(script).checks)
    turn.tick, turn.began_seconds = work.ticks + 1, script.clock.seconds()
    turn.chain = _chain_of(script, turn.events[0])
    work.running = frozenset(event.id for event in turn.events)
    work.given_up.clear()
    return turn


def of_events(script: Assistant, *events: Event) -> Turn:
    """Make a turn with everything that its prompt would tell now, without beginning it."""
    work, person = script.work, sole_recipient(script, events[-1])
    overheard = tellable(work.overheard, person)
    turn = Turn(work.epoch, events, overheard)
    turn.history = conversation.visible_history(_told_apart(work.history, turn, person), person)
    turn.talk_of, turn.has_unkept = conversation.origin_of(work.history, person)
    turn.is_apart = turn.event.kind == inbox.TASK
    for event in events:
        turn.held |= event.held
    is_told_alone = any(item.source in PRIVATE for item in overheard)
    if is_told_alone or conversation.holds_private(work.history, person):
        turn.hold(person_audience(person))
    return turn


def _told_apart(
    history: Sequence[conversation.Message], turn: Turn, person: str
) -> Sequence[conversation.Message]:
    """The history, which says where a name is not that of the person who has it now."""
    named = [message[NAMED] for message in history if NAMED in message]
    pairs = {pair for each in named for pair in each.items()}
    pairs.update(turn.named.items())
    if len(pairs) == len(dict(pairs)) == len({who for _, who in pairs}):
        return history  # everybody in it has one name, and nobody else has that name
    last = namesakes.bearers(history, turn.named, person)
    return namesakes.told_apart(history, last, turn.event.sender_name, person)


def _restore_bounds(script: Assistant, turn: Turn, bounds: Mapping[str, Any]) -> None:
    """Restore what limits and checks of the task have counted so far."""
    for name in _COUNTED:
        setattr(turn, name, bounds.get(name, 0))
    turn.grants = dict(bounds.get("grants", {}))
    # A restart forgets chains. Raised, not set: other turns of the chain may have counted since.
    chain = turn.chain
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
            # As plain text: what Evennia cannot unpickle would block the assistant for good.
            str(kind): more
            for kind, more in turn.grants.items()
            if LIMITS[LimitKind(kind)].span in lasting
        },
        "monitor": turn.monitor.as_stored(),
    }


def write_ahead_intent(script: Assistant, turn: Turn, call: ToolCall) -> None:
    """Store that a call is about to happen, so that a crash cannot make it happen twice."""
    intent = {"tool": call.name, "call_id": call.id, "arguments": dict(call.arguments)}
    save(script, turn, current_tool_call=as_noted(turn) | intent)


def clear_intent(script: Assistant, turn: Turn) -> None:
    """Withdraw an intent whose call did not happen; after a crash the event is answered again."""
    if turn.epoch == script.work.epoch and read(script, "current_tool_call"):
        # If others noticed nothing of the turn so far, its event is simply answered again.
        save(script, turn, current_tool_call=as_noted(turn) if turn.effects else None)


def save(
    script: Assistant,
    turn: Turn,
    *audit_events: AuditEvent,
    extra_writes: ExtraWrites | None = None,
    **values: object,
) -> None:
    """Write values and the audit events of a turn that are not stored yet, all or none."""
    person = turn.event.person if turn.events else ""
    write_counted(script, (*turn.audit_events, *audit_events), extra_writes, person, **values)
    # Only after the write: events that could not be stored go with the next one.
    turn.audit_events.clear()


def write_counted(
    script: Assistant,
    audit_events: Sequence[AuditEvent],
    extra_writes: ExtraWrites | None = None,
    person: str = "",
    **values: object,
) -> None:
    """Write values and audit events, with the log and metrics that tool calls and ticks add to."""
    work = script.work
    log, metrics, names = work.executions, work.metrics, {item.event for item in audit_events}
    if executions.TOOL in names:
        now, limit = script.clock.seconds(), read(script, "max_log_entries")
        log = executions.logged(log, audit_events, at=now, limit=limit, person=person)
        values["execution_log"] = log
    if executions.TOOL in names or executions.TICK in names:
        metrics = values["metrics"] = executions.added(metrics, audit_events)
    write(script, *audit_events, extra_writes=extra_writes, **values)
    work.executions, work.metrics = log, metrics


def checkpoint(script: Assistant, turn: Turn) -> None:
    """Store what was said and done so far."""
    save(script, turn, current_tool_call=as_noted(turn))
    _forget_told(script.work, turn)


def as_noted(turn: Turn) -> dict[str, Any]:
    """A turn in its stored form: its events, and how far it got."""
    return {
        "events": [event.id for event in turn.events],
        "said": list(turn.said),
        "iterations": turn.iterations,
        "found": list(turn.found),
        "effects": turn.effects,
        "stale_way": turn.stale_way,
        "is_private": turn.is_private,
        "is_own": any(event.kind == inbox.OWN for event in turn.events),
        "held": sorted(turn.held),
        "asides": dict(turn.asides),
        "overheard": [to_stored(item) for item in turn.overheard],
        "bounds": _bounds(turn),
    }


def _forget_told(work: Work, turn: Turn) -> None:
    # By identity: the same words may have been said again since.
    told_lines = set(map(id, turn.overheard))
    work.overheard = [item for item in work.overheard if id(item) not in told_lines]


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
        extra_writes: writes what else is remembered of it, in the same transaction.
    """
    work, face = script.work, turn.event.face
    work.inbox = inbox.settle(work.inbox, {event.id for event in turn.events})
    work.running = frozenset()
    values: dict[str, Any] = {"pending_events": work.inbox, **also}
    if not stop.is_failure or turn.effects:
        if not turn.is_remembered:
            payer = turn.payer if turn.payer != face else ""
            unkept = turn.is_unkept and (OVERHEARD if turn.is_overheard_unkept else True)
            messages = marked(marked(turn.said, PAID_BY, payer), UNKEPT, unkept)
            messages[:1] = marked(messages[:1], NAMED, turn.named)
            remember(script, messages, face, is_private=turn.is_private, asides=turn.asides)
            turn.is_remembered = True
        _forget_told(work, turn)
        values["conversation_history"] = work.history
    # Only what changes: each value is an UPDATE, and most turns leave both as they are.
    if (row := script.attributes.find("current_tool_call")) and row.db_value is not None:
        values["current_tool_call"] = None
    if consecutive_errors != read(script, "consecutive_errors"):
        values["consecutive_errors"] = consecutive_errors
    outcome = executions.outcome_of(stop)
    _complete(script, turn, outcome, stop.reason.value, extra_writes=extra_writes, **values)
    turn.is_settled = True


def remember(
    script: Assistant,
    messages: Sequence[conversation.Message],
    person: str,
    *,
    is_private: bool,
    asides: Mapping[str, str],
) -> None:
    """Add what was said in a turn to the history; the oldest messages go where it is too long.

    Args:
        person: the face of the one that the turn was for.
        asides: for each call, by its id, the person who alone was told something.
    """
    messages = conversation.history_entries(messages, person, asides, is_private=is_private)
    if not messages:
        return
    work, limit = script.work, read(script, "max_history")
    history = [*work.history, *messages]
    if len(history) > limit:
        # A quarter at once: providers cache a prompt's beginning, which would change every turn.
        history = compaction.trim(history, max(1, limit - limit // 4))
    work.history = history


def pause(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Let the events wait for the next beat, which resumes from the last checkpoint."""
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
    event = executions.tick_completed(turn, outcome, stop=stop, seconds=seconds)
    waited = len(work.unkept)
    usage = _stored_usage(work, turn)
    save(script, turn, *work.unkept, event, extra_writes=extra_writes, usage=usage, **values)
    # Only as many as were written: others may have been added meanwhile.
    del work.unkept[:waited]
    _count(work, turn)


def _stored_usage(work: Work, turn: Turn) -> dict[str, int]:
    used = work.usage + turn.spent.usage
    return {
        "calls": work.calls + turn.spent.calls,
        # Turns that were set aside do not end in the order in which they began.
        "ticks": max(work.ticks, turn.tick),
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        # The rest of what it heard is stored at a shutdown, which a kill leaves out.
        "heard": work.decisions.count,
    }


def _count(work: Work, turn: Turn) -> None:
    work.usage = work.usage + turn.spent.usage
    work.calls += turn.spent.calls
    work.ticks = max(work.ticks, turn.tick)


def cut_off(script: Assistant, turn: Turn) -> None:
    """Count a turn that was dropped."""
    work = script.work
    # A call that was given up meanwhile is in the audit log already, with an unknown outcome.
    turn.audit_events = [
        item for item in turn.audit_events if item.details["call_id"] not in work.given_up
    ]
    seconds = script.clock.seconds() - turn.began_seconds
    event = executions.tick_completed(turn, executions.CUT_OFF, stop="cut_off", seconds=seconds)
    add_usage(script, turn, *turn.audit_events, event)


def add_usage(script: Assistant, used: Turn, *audit_events: AuditEvent) -> None:
    """Count model calls now; store them and their audit events in a later turn of the reactor."""
    _count(script.work, used)
    script.work.unkept += audit_events
    # Later, since this may be called in the middle of a stop, which writes it all at once.
    pacer_of(reactor).call(_save_usage, script, script.work)


def _save_usage(script: Assistant, work: Work) -> None:
    """Store what is counted, unless a stop is about to do so."""
    if work.unkept and not work.is_stopping and script.work is work and script.pk is not None:
        save_usage(script)


def save_usage(script: Assistant, *audit_events: AuditEvent, **values: Any) -> None:
    """Write values and audit events, and before them whatever is counted and not stored yet."""
    work = script.work
    waited = tuple(work.unkept)
    if waited:
        values["usage"] = _stored_usage(work, NOTHING)
    write_counted(script, (*waited, *audit_events), **values)
    del work.unkept[: len(waited)]
