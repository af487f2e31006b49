"""What an assistant keeps: defaults, working copies, and the only writer of `script.db`.

Configuration is read, with its default from `core.settings`; a value is stored only once somebody
sets it. The inbox and the conversation are worked on as plain copies in `script.work` and
written whole at a checkpoint, all values of a checkpoint in one transaction.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field
from pickle import dumps
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from evennia.typeclasses.attributes import Attribute
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize, to_pickle
from evennia.utils.picklefield import DEFAULT_PROTOCOL

from evennia_ai.core import conversation, inbox
from evennia_ai.core.autonomy import Autonomy
from evennia_ai.core.budget_config import BudgetConfig, read_budget_config
from evennia_ai.core.inbox import Event
from evennia_ai.core.manners import Company, Engagements, HearingConfig
from evennia_ai.core.overheard import Overheard, keep
from evennia_ai.core.perception import Ear
from evennia_ai.core.records import Records
from evennia_ai.core.safety_config import SafetyConfig, read_safety_config
from evennia_ai.core.settings import ATTRIBUTES, STATE
from evennia_ai.core.turn import Usage
from evennia_ai.engine.checkpoint import Extensions
from evennia_ai.errors import ConfigurationError
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache

DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in ATTRIBUTES.items()}
_UPDATE = f"UPDATE {Attribute._meta.db_table} SET db_value = %s WHERE id = %s"


@dataclass(slots=True)
class Work:
    """Runtime state, rebuilt at every start.

    Attributes:
        epoch: goes up whenever everything under way is void.
        in_flight: the Deferred of the running tick, or None.
        compacting: the Deferred of a summary that is being made beside it, or None.
        busy: ids of the events that the running tick answers.
        ear, manners: settings of hearing, or None when they have to be read anew.
        ear_problem: why some of its settings could not be read, or "".
        overheard: what it heard and need not answer.
        muted: the persons who want neither to hear it nor to be heard.
        capture: lines of command output for a tool that waits for them, or None.
        breakers: one for each tool.
        tool_cache: results of tools that may be used again.
        compact_after: seconds on the clock before which no compaction is tried again.
        autonomy: when it last did something of its own accord, and how that went.
        context_tokens, max_context_tokens: of the last prompt, 0 before the first.
        bounds: its limits, checks and caps, or None when they have to be read anew.
        safety_problem: what is wrong with these settings, or "".
        extensions: how often its limits were extended without asking.
        hushed: rooms ("#2") in which it keeps silent, and until when on the clock.
    """

    inbox: list[inbox.Stored] = field(default_factory=list)
    history: list[conversation.Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    epoch: int = 0
    in_flight: Any = None
    compacting: Any = None
    is_ticking: bool = False
    is_closing: bool = False
    busy: frozenset[str] = frozenset()
    ear: Ear | None = None
    manners: HearingConfig | None = None
    ear_problem: str = ""
    company: Company = field(default_factory=Company)
    engagements: Engagements = field(default_factory=Engagements)
    overheard: list[Overheard] = field(default_factory=list)
    records: Records = field(default_factory=Records)
    muted: set[str] = field(default_factory=set)
    capture: list[str] | None = None
    breakers: CircuitBreakerRegistry = field(default_factory=CircuitBreakerRegistry)
    tool_cache: ToolResultCache = field(default_factory=ToolResultCache)
    compact_after: float = 0.0
    autonomy: Autonomy = field(default_factory=Autonomy)
    context_tokens: int = 0
    max_context_tokens: int = 0
    bounds: tuple[SafetyConfig, BudgetConfig] | None = None
    safety_problem: str = ""
    hushed: dict[str, float] = field(default_factory=dict)
    extensions: Extensions = field(default_factory=Extensions)

    def read_anew(self) -> None:
        """A setting may have changed."""
        self.ear = self.manners = self.bounds = None


def read(script: Any, name: str) -> Any:
    """A setting of the assistant: as stored, else its default. Containers come as plain copies."""
    default = DEFAULTS[name]
    value = script.attributes.get(name, default=default)
    if value is None or value is default:
        return copy(default)
    return value if isinstance(value, (str, int, float)) else deserialize(value)


def write(script: Any, **values: Any) -> None:
    """Store values, all or none of them; one alone needs no transaction around it."""
    if (work := script.work) is not None and not STATE.issuperset(values):
        work.read_anew()
    with transaction.atomic() if len(values) > 1 else nullcontext():
        changed = [row for name, value in values.items() if (row := _prepare(script, name, value))]
        with connection.cursor() as cursor:
            cursor.executemany(_UPDATE, changed)


def _prepare(script: Any, name: str, value: Any) -> tuple[str | None, int] | None:
    """The row to update for a value; an attribute that does not exist yet is made at once.

    The attribute handler stores one value with two statements and a commit each, and copies it
    deeply before it is pickled. Here all values of a checkpoint are one statement, and nothing is
    copied.
    """
    if name not in DEFAULTS:
        raise KeyError(f"an assistant keeps no {name!r}")
    attribute = script.attributes.get(name, return_obj=True)
    if attribute is None:
        script.attributes.add(name, value)
        return None
    # What it writes itself is plain already; what people set may hold anything of the game.
    packed = value if name in STATE else to_pickle(value)
    attribute.db_value = packed
    return _encode(packed), attribute.pk


def _encode(packed: Any) -> str | None:
    """A value as Evennia's attribute column holds it: what `dbsafe_decode` reads back."""
    return None if packed is None else b64encode(dumps(packed, DEFAULT_PROTOCOL)).decode()


def rebuild(script: Any) -> Work:
    """Working copies of what is stored, for a process that has just begun."""
    usage = read(script, "usage")
    return Work(
        inbox=list(read(script, "pending_events")),
        history=list(read(script, "conversation_history")),
        usage=Usage(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)),
        calls=usage.get("calls", 0),
        company=Company.from_stored(read(script, "company")),
        overheard=[Overheard(**item) for item in read(script, "overheard")],
        records=Records.from_stored(read(script, "records")),
        muted=set(read(script, "muted_by")),
        hushed=dict(read(script, "hushed")),
        breakers=CircuitBreakerRegistry(clock=script.clock.seconds),
        tool_cache=ToolResultCache(clock=script.clock.seconds),
    )


def put_away(script: Any) -> None:
    """Store what is worth keeping over a restart but not a write for each message."""
    work = script.work
    now = {
        "company": work.company.as_stored(),
        "overheard": [item.as_stored() for item in work.overheard],
        "records": work.records.as_stored() if work.records.count else {},
    }
    changed = {name: value for name, value in now.items() if value != read(script, name)}
    if changed:
        write(script, **changed)


def hearing_config(script: Any) -> HearingConfig:
    """How the assistant deals with people: its own keys, the game's, and the defaults.

    What is set and makes no sense counts as not set: no assistant is silent for a slip.
    """
    work = script.work
    if work.manners is None:
        game = getattr(settings, "EVENNIA_AI_HEARING_CONFIG", {})
        try:
            given = {**game, **read(script, "hearing_config")}
            work.manners = HearingConfig.from_stored(given)
        except (ConfigurationError, TypeError):
            work.manners = HearingConfig()
    return work.manners  # type: ignore[no-any-return]


def safety_config(script: Any) -> SafetyConfig:
    """Its limits and checks."""
    return _bounds(script)[0]


def budget_config(script: Any) -> BudgetConfig:
    """The caps on what it costs."""
    return _bounds(script)[1]


def _bounds(script: Any) -> tuple[SafetyConfig, BudgetConfig]:
    """Both, read anew when a setting changed.

    What is wrong with them stands in `work.safety_problem`: an assistant does not act at all then,
    and the defaults are no more than what the rest of it finds meanwhile.
    """
    work, problem = script.work, ""
    if work.bounds is None:
        safety = getattr(settings, "EVENNIA_AI_SAFETY_CONFIG", {})
        budget = getattr(settings, "EVENNIA_AI_BUDGET_CONFIG", {})
        try:
            own = read_safety_config(safety, read(script, "safety_config"))
            work.bounds = own, read_budget_config(budget, read(script, "budget_config"))
        except ConfigurationError as error:
            work.bounds, problem = (SafetyConfig(), BudgetConfig()), str(error)
        if problem and problem != work.safety_problem:
            logger.log_err(f"[assistant] {script.key} does not start: {problem}")
        work.safety_problem = problem
    return work.bounds  # type: ignore[no-any-return]


def mute(script: Any, person: str, *, is_muted: bool) -> bool:
    """Let a person neither hear nor be heard, or again both. Returns whether that changed."""
    work = script.work
    if (person in work.muted) is is_muted:
        return False
    work.muted ^= {person}
    write(script, muted_by=sorted(work.muted))
    if is_muted:
        _drop_words_of(script, person)
    return True


def _drop_words_of(script: Any, person: str) -> None:
    """What a person said and nobody answered yet is gone, also while the model works on it."""
    work = script.work
    work.overheard = [item for item in work.overheard if item.person != person]
    theirs = [i for i in work.inbox if i.get("person") == person and i["kind"] != inbox.TASK]
    if work.busy.intersection(item["id"] for item in theirs):
        bump_epoch(script)
    if theirs:
        discard(script, theirs)


def overhear(script: Any, item: Overheard) -> None:
    """Keep something that needs no answer, in memory only."""
    work, config = script.work, hearing_config(script)
    work.overheard = keep(
        work.overheard,
        item,
        messages=config.context_messages,
        characters=config.context_characters,
    )


def enqueue(script: Any, event: Event) -> list[Event]:
    """Put an event into the durable inbox.

    Returns:
        The events that had to make room.
    """
    work = script.work
    limit = read(script, "max_pending_events")
    work.inbox, dropped = inbox.push(work.inbox, event.as_stored(), limit=limit, busy=work.busy)
    write(script, pending_events=work.inbox)
    return [Event.from_stored(item) for item in dropped]


def discard(script: Any, events: Sequence[inbox.Stored]) -> None:
    """Take events out of the inbox that nobody answers."""
    work = script.work
    work.inbox = inbox.settle(work.inbox, {item["id"] for item in events})
    write(script, pending_events=work.inbox)


def bump_epoch(script: Any) -> None:
    """Void everything under way: it is cancelled, and what still comes back is too late."""
    work = script.work
    if work is None:
        return
    work.epoch += 1
    work.busy = frozenset()
    for running in (work.in_flight, work.compacting):
        if running is not None:
            running.cancel()
    work.in_flight = work.compacting = None
