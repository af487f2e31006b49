"""The state of an assistant: defaults, working copies, and the only writer of `script.db`.

Settings are read with their defaults from `core.settings.game`; a value is stored only once
somebody sets it. The inbox and the conversation are edited as plain copies in `script.work` and
written whole at a checkpoint, with all values of the checkpoint in one transaction.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pickle import dumps
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from evennia.typeclasses.attributes import Attribute
from evennia.utils import logger
from evennia.utils.dbserialize import to_pickle
from evennia.utils.picklefield import DEFAULT_PROTOCOL

from evennia_ai import audit
from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import Overheard, with_newest
from evennia_ai.core.hearing.rate_limits import HearingConfig, SenderRegistry
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.safety.cooling import Blame
from evennia_ai.core.safety.prices import NAME as PRICES
from evennia_ai.core.safety.prices import Price, read_prices
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.settings.model import SettingsGroup, read_once
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.text.plain_data import from_stored, to_stored
from evennia_ai.core.turn.turn import TokenUsage, scope_of
from evennia_ai.errors import ConfigurationError
from evennia_ai.models.statements import OneCursor, execute
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.attributes import DEFAULTS as DEFAULTS
from evennia_ai.runtime.attributes import read as read
from evennia_ai.runtime.watching import ring_for
from evennia_ai.runtime.work import Work

ExtraWrites = Callable[[], object]
G = TypeVar("G", bound=SettingsGroup)
# Plain SQL, since Django compiles an UPDATE again each time and a turn writes several values.
_UPDATE = f"UPDATE {Attribute._meta.db_table} SET db_value = %s WHERE id = %s"


def is_stopped(script: Assistant) -> bool:
    """True while an emergency stop is active, stored already or not."""
    is_stopping = script.work is not None and script.work.is_stopping
    return is_stopping or bool(read(script, "emergency_stop"))


def write(
    script: Assistant,
    *audit_events: AuditEvent,
    extra_writes: ExtraWrites | None = None,
    **values: object,
) -> None:
    """Store values and the audit events about them, all or none.

    Changed settings add events of their own. Events that were recorded meanwhile are stored too.

    Args:
        audit_events: what happened that led to these values.
        extra_writes: writes rows of other tables in the same transaction. It may be called twice,
            with the first call rolled back.
    """
    if not STATE.issuperset(values):
        if script.work is not None:
            script.work.drop_cached_settings()
        audit_events = (*_changes(settings_of(script, values), values), *audit_events)
    try:
        _store(script, audit_events, values, extra_writes)
    # Another process appended to this assistant's audit log; the second try reads its end again.
    except audit.RecordConflictError:
        _store(script, audit_events, values, extra_writes)


def _store(
    script: Assistant,
    audit_events: Sequence[AuditEvent],
    values: Mapping[str, object],
    extra_writes: ExtraWrites | None,
) -> None:
    is_told = bool(audit_events) or audit.has_waiting(script)
    before: list[tuple[Attribute, Any]] = []
    changed: list[tuple[str | None, int]] = []
    new: dict[str, object] = {}
    try:
        is_several = is_told or extra_writes is not None or len(values) > 1
        # A single statement is a transaction by itself.
        with OneCursor() if is_several else nullcontext():
            for name, value in values.items():
                _prepare(script, name, value, before, changed, new)
            if changed:
                execute(_UPDATE, changed)
            if new:
                script.attributes.create(new)
            if extra_writes is not None:
                extra_writes()
            if is_told:
                audit.save(script, audit_events)
    except BaseException:
        # Memory must not hold what was never stored.
        for attribute, packed in before:
            attribute.db_value = packed
        script.attributes.reset_cache()
        raise


def settings_of(script: Assistant, names: Iterable[str]) -> dict[str, Any]:
    """The current values of those names that are settings."""
    return {n: read(script, n) for n in names if n in ATTRIBUTES and n not in STATE}


def _changes(before: Mapping[str, object], now: Mapping[str, object]) -> list[AuditEvent]:
    """An audit event for each setting that changes; those of one edit refer to each other."""
    changed = {name: old for name, old in before.items() if now[name] != old}
    beside = {"together": sorted(changed)} if len(changed) > 1 else {}
    return [
        audit_event("ConfigurationChanged", key=name, old_value=old, new_value=now[name], **beside)
        for name, old in changed.items()
    ]


@contextmanager
def changing(script: Assistant, names: Iterable[str]) -> Iterator[None]:
    """Audit settings that code changes from outside, as through `script.db`; both or neither."""
    before = settings_of(script, names)
    # An assistant being created has no audit log yet; the log begins with what is set by then.
    if not before or script.work is None or script.work.is_closing:
        yield
        return
    with transaction.atomic():
        yield
        audit_events = _changes(before, settings_of(script, before))
        if audit_events:
            audit.save(script, audit_events)


def _prepare(
    script: Assistant,
    name: str,
    value: object,
    before: list[tuple[Attribute, Any]],
    changed: list[tuple[str | None, int]],
    new: dict[str, object],
) -> None:
    """Prepare a value: the row to update, or the attribute to create."""
    # Evennia's handler takes two statements and a commit for each value, and deep-copies it before
    # pickling. Here all values of a checkpoint are one statement, and nothing is copied.
    if name not in DEFAULTS:
        raise KeyError(f"an assistant keeps no {name!r}")
    # State is plain already; what people set may hold game objects, which must be packed.
    packed = value if name in STATE else to_pickle(value)
    attribute = script.attributes.find(name)
    if attribute is None:
        new[name] = packed
        return
    before.append((attribute, attribute.db_value))
    attribute.db_value = packed
    # The format of Evennia's attribute column, as `dbsafe_decode` reads it back.
    data = b"" if packed is None else b2a_base64(dumps(packed, DEFAULT_PROTOCOL), newline=False)
    changed.append((data.decode() or None, attribute.id))


def rebuild(script: Assistant) -> Work:
    """Build the working copies from what is stored, at a start."""
    usage, inbox = read(script, "usage"), list(read(script, "pending_events"))
    decisions = DecisionTraces.from_stored(read(script, "records"))
    # After a kill the count is older than traces and waiting messages: no number is used again.
    numbers = (item.get("number", 0) for item in inbox)
    decisions.count = max(decisions.count, usage.get("heard", 0), *numbers)
    return Work(
        inbox=inbox,
        history=list(read(script, "conversation_history")),
        usage=TokenUsage(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)),
        calls=usage.get("calls", 0),
        ticks=usage.get("ticks", 0),
        executions=list(read(script, "execution_log")),
        metrics=dict(read(script, "metrics")),
        senders=SenderRegistry.from_stored(read(script, "company")),
        blame=Blame.from_stored(read(script, "cooling")),
        overheard=[from_stored(Overheard, item) for item in read(script, "overheard")],
        decisions=decisions,
        muted=set(read(script, "muted_by")),
        hushed=dict(read(script, "hushed")),
        breakers=CircuitBreakerRegistry(clock=script.clock.seconds),
        tool_cache=ToolResultCache(clock=script.clock.seconds),
        recorded=ring_for(str(script.key)),
    )


def flush(script: Assistant) -> None:
    """Store what should survive a restart but is not worth a write for each message."""
    work = script.work
    now: dict[str, Any] = {
        "company": work.senders.as_stored(),
        "overheard": [to_stored(item) for item in work.overheard],
        "records": work.decisions.as_stored() if work.decisions.count else {},
    }
    changed = {name: value for name, value in now.items() if value != read(script, name)}
    if changed:
        write(script, **changed)


def held(group: type[G], own: object) -> G:
    """The settings of a group in effect: the assistant's own over the game's over the defaults.

    Raises:
        ConfigurationError: something in them is wrong; the text names the path.
    """
    if not group.GAME_NAME:
        return group.from_stored(own)
    return read_once(group, group.from_layers, getattr(settings, group.GAME_NAME, {}), own)


def hearing_config(script: Assistant) -> HearingConfig:
    """The hearing settings in effect."""
    work = script.work
    if work.rate_limits is None:
        try:
            work.rate_limits = held(HearingConfig, read(script, "hearing_config"))
        # The defaults, since a slip in a setting must not silence an assistant.
        except ConfigurationError:
            work.rate_limits = HearingConfig()
    return work.rate_limits


def memory_config(script: Assistant) -> MemoryConfig:
    """The memory settings in effect."""
    work = script.work
    if work.memory is None:
        try:
            work.memory = held(MemoryConfig, read(script, "memory_config"))
        # Off, since a slip in a setting must not make it remember what it should not.
        except ConfigurationError as error:
            logger.log_err(f"[assistant] {script.key} remembers nothing: {error}")
            work.memory = MemoryConfig(enabled=False)
    return work.memory


def safety_config(script: Assistant) -> SafetyConfig:
    """Its limits and checks."""
    return (script.work.bounds or _read_bounds(script))[0]


def budget_config(script: Assistant) -> BudgetConfig:
    """Its caps on cost.

    Raises:
        ConfigurationError: its limits or caps are wrong; without them nothing may be paid for.
    """
    work = script.work
    caps = (work.bounds or _read_bounds(script))[1]
    if work.safety_problem:
        raise ConfigurationError(work.safety_problem)
    return caps


def _read_bounds(script: Assistant) -> tuple[SafetyConfig, BudgetConfig]:
    """Read both again, and note in `work.safety_problem` what is wrong with them."""
    work, problem = script.work, ""
    try:
        safety = held(SafetyConfig, read(script, "safety_config"))
        bounds = safety, held(BudgetConfig, read(script, "budget_config"))
        read_once(Price, read_prices, getattr(settings, PRICES, {}))
    # With a problem it does not act at all, and `budget_config` raises; the default limits only
    # serve code that reads them anyway.
    except ConfigurationError as error:
        bounds, problem = (SafetyConfig(), BudgetConfig()), str(error)
    if problem and problem != work.safety_problem:
        logger.log_err(f"[assistant] {script.key} does not start: {problem}")
    work.bounds, work.safety_problem = bounds, problem
    return bounds


def mute(script: Assistant, person: str, *, is_muted: bool) -> bool:
    """Mute an assistant for a person, or unmute it. Returns True if that changed."""
    work = script.work
    if (person in work.muted) is is_muted:
        return False
    write(script, muted_by=sorted(work.muted ^ {person}))
    work.muted ^= {person}
    if is_muted:
        _drop_words_of(script, person)
    return True


def _drop_words_of(script: Assistant, person: str) -> None:
    """Drop a person's words that nobody answered yet, also while the model works on them."""
    work = script.work
    work.overheard = [item for item in work.overheard if item.person != person]
    theirs = [i for i in work.inbox if i.get("person") == person and i["kind"] != inbox.TASK]
    if theirs:
        void_turns(work, {item["id"] for item in theirs})
        discard(script, theirs)


def overhear(script: Assistant, item: Overheard) -> None:
    """Remember a message that needs no answer, in memory only."""
    work, config = script.work, hearing_config(script)
    work.overheard = with_newest(
        work.overheard, item, messages=config.context_messages, characters=config.context_characters
    )


def push(script: Assistant, event: Event, limit: int) -> list[Event]:
    """Put an event into the inbox; the caller stores `pending_events` with its other changes.

    Returns:
        The events that were pushed out beyond the limit.
    """
    work = script.work
    work.inbox, dropped = inbox.push(work.inbox, event.as_stored(), limit=limit, busy=work.busy)
    return [Event.from_stored(item) for item in dropped]


def discard(script: Assistant, events: Sequence[inbox.Stored]) -> None:
    """Remove events from the inbox that nobody will answer, and the checkpoint of their turn."""
    work, ids = script.work, {item["id"] for item in events}
    work.inbox = inbox.settle(work.inbox, ids)
    values: dict[str, Any] = {"pending_events": work.inbox}
    if checkpoint_of(script, ids) is not None:
        values["current_tool_call"] = None
    write(script, **values)
    end_void_turns(work)


def checkpoint_of(script: Assistant, events: Collection[str]) -> Mapping[str, Any] | None:
    """The checkpoint between two calls of a turn that answers one of these events, by id."""
    record: Mapping[str, Any] | None = read(script, "current_tool_call")
    is_theirs = record and "tool" not in record and not {*record["events"]}.isdisjoint(events)
    return record if is_theirs else None


def end_void_turns(work: Work) -> None:
    """End the turns set aside whose events left the inbox or start over, with their questions.

    Also cancel tasks of void turns that wait for an answer to their agent outside the game.
    """
    if work.aside:
        waiting = {item["id"] for item in work.inbox if inbox.SAVED_TURN in item}
        for scope, seat in list(work.aside.items()):
            first = seat.turn.events[0]
            # A turn of its own has no event in the inbox.
            if first.kind != inbox.OWN and first.id not in waiting:
                del work.aside[scope]
                seat.cancel()
    if work.unanswered:
        alive = {scope_of(id_) for id_ in work.busy.union(item["id"] for item in work.inbox)}
        for task in [task for task in work.unanswered if task.scope not in alive]:
            task.cancel()


def void_turns(work: Work, events: Collection[str]) -> None:
    """Void the turns that answer one of these events, by id; those of others go on."""
    seat, running = work.seat, work.in_flight
    if seat is not None and work.running.intersection(events):
        # As in `bump_epoch`: void before it is cancelled.
        seat.turn.void()
        work.running, work.in_flight = frozenset(), None
        if running is not None:
            running.cancel()
    for scope, waiting in list(work.aside.items()):
        if any(event.id in events for event in waiting.turn.events):
            del work.aside[scope]
            waiting.turn.void()
            waiting.cancel()


def bump_epoch(script: Assistant) -> None:
    """Void everything under way: it is cancelled, and results that still arrive are ignored."""
    work = script.work
    if work is None:
        return
    # First: what is cancelled below ends at once, and must find its turn void.
    work.epoch += 1
    work.running = frozenset()
    aside = tuple(work.aside.values())
    # Emptied before any is cancelled, because cancelling calls back into code that reads it.
    work.aside.clear()
    for running in (work.in_flight, *aside, work.compacting, work.resting):
        if running is not None:
            running.cancel()
    for task in tuple(work.unanswered):  # also of turns that are only stored, with no coroutine
        task.cancel()
    work.in_flight = work.compacting = work.resting = None
