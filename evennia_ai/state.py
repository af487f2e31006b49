"""What an assistant keeps: defaults, working copies, and the only writer of `script.db`.

Configuration is read, with its default from `core.settings`; a value is stored only once somebody
sets it. The inbox and the conversation are worked on as plain copies in `script.ndb.work` and
written whole at a checkpoint, all values of a checkpoint in one transaction.
"""

from __future__ import annotations

from base64 import b64encode
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field
from pickle import dumps
from typing import Any

from django.db import connection, transaction
from evennia.typeclasses.attributes import Attribute
from evennia.utils.dbserialize import deserialize, to_pickle
from evennia.utils.picklefield import DEFAULT_PROTOCOL

from evennia_ai.core import conversation, inbox
from evennia_ai.core.inbox import Event
from evennia_ai.core.settings import ATTRIBUTES
from evennia_ai.core.toolspec import ToolCall
from evennia_ai.core.turn import Turn, Usage

DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in ATTRIBUTES.items()}
_UPDATE = f"UPDATE {Attribute._meta.db_table} SET db_value = %s WHERE id = %s"


@dataclass(slots=True)
class Work:
    """Runtime state, rebuilt at every start.

    Attributes:
        epoch: goes up whenever everything under way is void.
        in_flight: the Deferred of the running tick, or None.
    """

    inbox: list[inbox.Stored] = field(default_factory=list)
    history: list[conversation.Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    epoch: int = 0
    in_flight: Any = None
    is_ticking: bool = False
    is_closing: bool = False


def read(script: Any, name: str) -> Any:
    """A setting of the assistant: as stored, else its default. Containers come as plain copies."""
    default = DEFAULTS[name]
    value = script.attributes.get(name, default=default)
    if value is None or value is default:
        return copy(default)
    return value if isinstance(value, (str, int, float)) else deserialize(value)


def write(script: Any, **values: Any) -> None:
    """Store values, all or none of them; one alone needs no transaction around it."""
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
    )


def enqueue(script: Any, event: Event) -> list[Event]:
    """Put an event into the durable inbox.

    Returns:
        The events that had to make room.
    """
    work = script.ndb.work
    limit = read(script, "max_pending_events")
    work.inbox, dropped = inbox.push(work.inbox, event.as_stored(), limit=limit)
    write(script, pending_events=work.inbox)
    return [Event.from_stored(item) for item in dropped]


def load_turn(script: Any) -> Turn:
    """A tray for the oldest event; it stays in the inbox until it is settled."""
    work = script.ndb.work
    return Turn(work.epoch, Event.from_stored(work.inbox[0]), list(work.history))


def note_effect(script: Any, turn: Turn, call: ToolCall) -> None:
    """Store that a call is about to happen, so that a crash cannot make it happen twice."""
    noted = {"event": turn.event.id, "tool": call.name, "arguments": dict(call.arguments)}
    write(script, current_tool_call=noted)


def forget_effect(script: Any, turn: Turn) -> None:
    """The call that was noted did not happen: a crash from here on may take the event again."""
    if turn.epoch == script.ndb.work.epoch and read(script, "current_tool_call"):
        write(script, current_tool_call=None)


def settle(script: Any, turn: Turn, *, is_answered: bool, consecutive_errors: int) -> None:
    """Close a turn: its event leaves the inbox, an answered one enters the conversation."""
    work = script.ndb.work
    work.inbox = inbox.settle(work.inbox, turn.event.id)
    work.usage = work.usage + turn.usage
    work.calls += turn.iterations
    values: dict[str, Any] = {"pending_events": work.inbox, "usage": _stored_usage(work)}
    if is_answered:
        limit = read(script, "max_history")
        work.history = conversation.trim([*work.history, *turn.said], limit)
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
    noted, work = read(script, "current_tool_call"), script.ndb.work
    if not noted or work is None:
        return ""
    work.inbox = inbox.settle(work.inbox, noted["event"])
    write(script, pending_events=work.inbox, current_tool_call=None)
    return f"{noted['tool']} {noted['arguments']}"


def reset_history(script: Any) -> None:
    """Forget the conversation and void what is under way; what waits in the inbox stays."""
    bump_epoch(script)
    recover(script)
    if script.ndb.work is not None:
        script.ndb.work.history = []
    write(script, conversation_history=[])


def bump_epoch(script: Any) -> None:
    """Void everything under way: it is cancelled, and what still comes back is too late."""
    work = script.ndb.work
    if work is None:
        return
    work.epoch += 1
    in_flight, work.in_flight = work.in_flight, None
    if in_flight is not None:
        in_flight.cancel()
