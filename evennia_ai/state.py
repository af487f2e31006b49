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
from evennia.typeclasses.attributes import Attribute, AttributeHandler
from evennia.utils.dbserialize import deserialize, to_pickle
from evennia.utils.picklefield import DEFAULT_PROTOCOL

from evennia_ai.core import conversation, inbox
from evennia_ai.core.inbox import Event
from evennia_ai.core.manners import Company, Engagements, HearingConfig
from evennia_ai.core.overheard import Overheard, keep, tellable
from evennia_ai.core.perception import PRIVATE, Ear
from evennia_ai.core.records import Records
from evennia_ai.core.settings import ATTRIBUTES
from evennia_ai.core.toolspec import ToolCall
from evennia_ai.core.turn import Turn, Usage
from evennia_ai.errors import ConfigurationError

DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in ATTRIBUTES.items()}
_UPDATE = f"UPDATE {Attribute._meta.db_table} SET db_value = %s WHERE id = %s"


@dataclass(slots=True)
class Work:
    """Runtime state, rebuilt at every start.

    Attributes:
        epoch: goes up whenever everything under way is void.
        in_flight: the Deferred of the running tick, or None.
        busy: ids of the events that the running tick answers.
        ear, manners: settings of hearing, or None when they have to be read anew.
        ear_problem: why some of its settings could not be read, or "".
        overheard: what it heard and need not answer.
        muted: the persons who want neither to hear it nor to be heard.
        capture: lines of command output for a tool that waits for them, or None.
    """

    inbox: list[inbox.Stored] = field(default_factory=list)
    history: list[conversation.Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    epoch: int = 0
    in_flight: Any = None
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

    def read_anew(self) -> None:
        """A setting may have changed."""
        self.ear = self.manners = None


class WatchedAttributes(AttributeHandler):  # type: ignore[misc]
    """The attributes of an assistant's script: when one is set, its ear is read anew."""

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Set one attribute."""
        super().add(*args, **kwargs)
        self._listen_anew()

    def remove(self, *args: Any, **kwargs: Any) -> None:
        """Remove attributes."""
        super().remove(*args, **kwargs)
        self._listen_anew()

    def batch_add(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes."""
        super().batch_add(*args, **kwargs)
        self._listen_anew()

    def clear(self, *args: Any, **kwargs: Any) -> None:
        """Remove all attributes."""
        super().clear(*args, **kwargs)
        self._listen_anew()

    def _listen_anew(self) -> None:
        if (work := self.obj.work) is not None:
            work.read_anew()


def read(script: Any, name: str) -> Any:
    """A setting of the assistant: as stored, else its default. Containers come as plain copies."""
    default = DEFAULTS[name]
    value = script.attributes.get(name, default=default)
    if value is None or value is default:
        return copy(default)
    return value if isinstance(value, (str, int, float)) else deserialize(value)


def write(script: Any, **values: Any) -> None:
    """Store values, all or none of them; one alone needs no transaction around it."""
    if (work := script.work) is not None:
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
    packed = to_pickle(value)
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
    theirs = [item for item in work.inbox if item.get("person") == person]
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


def load_turn(script: Any, first: inbox.Stored, limit: int) -> Turn:
    """A tray for an event and those that join it; they stay in the inbox until it is settled."""
    work = script.work
    events = tuple(Event.from_stored(item) for item in inbox.batch(work.inbox, first, limit))
    work.busy = frozenset(event.id for event in events)
    overheard = tellable(work.overheard, events[-1].person)
    history = conversation.known_to(work.history, events[-1].person)
    return Turn(work.epoch, events, overheard, history)


def note_effect(script: Any, turn: Turn, call: ToolCall) -> None:
    """Store that a call is about to happen, so that a crash cannot make it happen twice."""
    ids = [event.id for event in turn.events]
    noted = {"events": ids, "tool": call.name, "arguments": dict(call.arguments)}
    write(script, current_tool_call=noted)


def forget_effect(script: Any, turn: Turn) -> None:
    """The call that was noted did not happen: a crash from here on may take the event again."""
    if turn.epoch == script.work.epoch and read(script, "current_tool_call"):
        write(script, current_tool_call=None)


def settle(script: Any, turn: Turn, *, is_answered: bool, consecutive_errors: int) -> None:
    """Close a turn: its events leave the inbox, answered ones enter the conversation."""
    work = script.work
    work.inbox = inbox.settle(work.inbox, {event.id for event in turn.events})
    work.busy = frozenset()
    work.usage = work.usage + turn.usage
    work.calls += turn.iterations
    values: dict[str, Any] = {"pending_events": work.inbox, "usage": _stored_usage(work)}
    if is_answered:
        limit = read(script, "max_history")
        said = turn.said
        told = (turn.event.source, *(item.source for item in turn.overheard))
        if PRIVATE.intersection(told):
            said = conversation.marked_private(said, turn.event.person)
        work.history = conversation.trim([*work.history, *said], limit)
        told_now = set(map(id, turn.overheard))
        work.overheard = [item for item in work.overheard if id(item) not in told_now]
        values["conversation_history"] = work.history
    if script.attributes.get("current_tool_call") is not None:
        values["current_tool_call"] = None
    if consecutive_errors != read(script, "consecutive_errors"):
        values["consecutive_errors"] = consecutive_errors
    write(script, **values)


def _stored_usage(work: Work) -> dict[str, int]:
    return {
        "calls": work.calls,
        "prompt_tokens": work.usage.prompt_tokens,
        "completion_tokens": work.usage.completion_tokens,
    }


def recover(script: Any) -> str:
    """Settle what was interrupted in the middle of an effect: done or not, it is not done again.

    Returns:
        What was interrupted, in words for the log, or "".
    """
    noted, work = read(script, "current_tool_call"), script.work
    if not noted or work is None:
        return ""
    work.inbox = inbox.settle(work.inbox, noted.get("events", ()))
    write(script, pending_events=work.inbox, current_tool_call=None)
    return f"{noted['tool']} {noted['arguments']}"


def reset_history(script: Any) -> None:
    """Forget the conversation and void what is under way; what waits in the inbox stays."""
    bump_epoch(script)
    recover(script)
    if script.work is not None:
        script.work.history = []
    write(script, conversation_history=[])


def bump_epoch(script: Any) -> None:
    """Void everything under way: it is cancelled, and what still comes back is too late."""
    work = script.work
    if work is None:
        return
    work.epoch += 1
    work.busy = frozenset()
    in_flight, work.in_flight = work.in_flight, None
    if in_flight is not None:
        in_flight.cancel()
