"""The conversation as Chat Completions messages: how each kind of thing becomes one.

History is kept in the native form (`tool_calls` and `role: tool`). Models without native tools are
shown the same history in the fallback form: the call as JSON text, its result as a user message.
Everything here can be sent: no text holds a lone surrogate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evennia_ai.core.hearing.audience import WAYS
from evennia_ai.core.hearing.inbox import NOTICE, OWN, TASK, Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.recollection import behind
from evennia_ai.core.text.cleaning import name_as_data, place_as_data, quote, sendable
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult

Message = dict[str, Any]
# Marks on messages that are kept, for us alone: they are taken off before anything is sent.
PRIVATE_TO, OF, PAID_BY, UNKEPT = "private_to", "of", "paid_by", "unkept"
_MARKS = (PRIVATE_TO, OF, PAID_BY, UNKEPT)
LONGEST_TOOL_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_STRICT_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

_HEARD_AS = {
    "whisper": "{name} whispers to you{trust}: {body}",
    "page": "{name} pages you{trust}: {body}",
    "say": "{name} says to you{trust}: {body}",
    "pose": "{name} does{trust}: {body}",
    "channel": "{name} says on the channel {place}{trust}: {body}",
    "emit": "{name} causes{trust}: {body}",
    NOTICE: "The game tells you of {name}: {body}",
    TASK: "{name} hands you a task{trust}; do it, then report what came of it: {body}",
}
_OVERHEARD_AS = {
    "whisper": "{name} whispered to you: {body}",
    "page": "{name} paged you: {body}",
    "say": "{name} said: {body}",
    "pose": "{name} did: {body}",
    "channel": "{name} said on the channel {place}: {body}",
    "emit": "{name} caused: {body}",
    "move": "you saw: {body}",
    "system": "the game told you: {body}",
}


def event_text(event: Event, *, shows_trust: bool = False) -> str:
    """An event as one line for the model. Names and speech are data: one line, and quoted.

    Args:
        shows_trust: say how far the sender is believed, as a number from 0 to 1.
    """
    if event.kind == OWN:
        return event.body
    frame = _HEARD_AS.get(event.kind) or _HEARD_AS.get(event.source, _HEARD_AS["emit"])
    return frame.format(
        name=_capital(name_as_data(event.sender_name)),
        place=place_as_data(event.place),
        trust=_trust_note(event.trust, is_shown=shows_trust),
        body=quote(event.body),
    )


def _trust_note(trust: float, *, is_shown: bool) -> str:
    return f" (trust {trust:.2g})" if is_shown else ""


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:] if name.startswith("somebody") else name


def overheard_text(item: Overheard) -> str:
    """Something overheard as one line for the model, fenced as an event is."""
    frame = _OVERHEARD_AS.get(item.source, _OVERHEARD_AS["emit"])
    return frame.format(
        name=name_as_data(item.name), place=place_as_data(item.place), body=quote(item.body)
    )


def turn_text(
    events: Sequence[Event], overheard: Sequence[Overheard] = (), *, shows_trust: bool = False
) -> str:
    """The beginning of a turn: the overheard lines, then each message, a line each."""
    before = [
        f"- {overheard_text(item)}{_trust_note(item.trust, is_shown=shows_trust)}"
        for item in overheard
    ]
    head = ["Meanwhile you noticed:", *before, ""] if before else []
    return "\n".join([*head, *(event_text(event, shows_trust=shows_trust) for event in events)])


def marked_private(messages: Sequence[Message], person: str) -> list[Message]:
    """The messages of a turn that only turns for this person may know of.

    What was said to somebody else alone stays that one's.
    """
    return [{PRIVATE_TO: person, **message} for message in messages]


def parted(
    messages: Sequence[Message], asides: Mapping[str, str], otherwise: str = ""
) -> list[Message]:
    """The messages of a turn, with what was said to one alone marked as that one's.

    A call of a reply with several is parted from the others, and its result follows it. What was
    meant for one alone and reached nobody is left out: nobody may know of it.

    Args:
        asides: the person that each call told something alone, by the call's id.
        otherwise: who may know of what reached nobody; "": nobody.
    """
    results = {item["tool_call_id"]: item for item in messages if item["role"] == "tool"}
    found: list[Message] = []
    of_all = {None, otherwise or None}
    for message in messages:
        calls = message.get("tool_calls")
        if not calls:
            is_moved = message["role"] == "tool" and message["tool_call_id"] not in results
            found += [] if is_moved else [message]
            continue
        whose = [_owner(call, asides, otherwise) for call in calls]
        if of_all.issuperset(whose):
            found.append(message)
            continue
        for call, owner in zip(calls, whose, strict=True):
            result = results.pop(call["id"], None)
            mark = {} if owner is None else {PRIVATE_TO: owner}
            if owner != "":
                found.append({**message, "tool_calls": [call], **mark})
                found += [{**result, **mark}] if result is not None else []
    return found


def history_entries(
    said: Sequence[Message], person: str, asides: Mapping[str, str], *, is_private: bool
) -> list[Message]:
    """The messages of a turn that are kept, each with the marks of who may know of it.

    Args:
        person: whose turn it was; of a private one of nobody's nothing is kept.
        asides: as of `parted`.
    """
    if is_private and not person:
        return []
    kept = marked_of(parted(said, asides, person if is_private else ""), person)
    return marked_private(kept, person) if is_private else kept


def _owner(call: Mapping[str, Any], asides: Mapping[str, str], otherwise: str) -> str | None:
    """To whom alone a call speaks; "" where nobody may know of it, None where it is open."""
    way = WAYS.get(call.get("function", {}).get("name", ""))
    return asides.get(call["id"], otherwise) if way is not None and way.alone else None


def marked_of(messages: Sequence[Message], person: str) -> list[Message]:
    """The messages of a turn with whose it is; of nobody's they stay as they are."""
    return [{**message, OF: person} for message in messages] if person else list(messages)


def marked_paid(messages: Sequence[Message], person: str, payer: str) -> list[Message]:
    """The messages of a turn with who pays for it, where that is not whose it is."""
    if payer in ("", person):
        return list(messages)
    return [{**message, PAID_BY: payer} for message in messages]


def marked_unkept(messages: Sequence[Message], *, is_unkept: bool = True) -> list[Message]:
    """The messages of a turn, marked where of somebody in it, or of its place, nothing is kept."""
    return [{**message, UNKEPT: True} for message in messages] if is_unkept else list(messages)


def payer_of(message: Message) -> str:
    """The payer of the turn that a message is of, or "" for nobody."""
    paid = (message.get(mark) for mark in (PAID_BY, OF, PRIVATE_TO))
    return next((str(person) for person in paid if person), "")


def is_of(message: Message, people: Collection[str]) -> bool:
    """True for a message of a turn with one of these ids, or with one of them in a mask."""
    whose = (message.get(OF), message.get(PRIVATE_TO))
    return any(behind(str(face)) in people for face in whose if face)


def known_to(history: Sequence[Message], person: str) -> list[Message]:
    """A history as a turn for this person may know it: without private words of anybody else.

    A turn is private as a whole, so no call is parted from its result. Marks of ours are taken off.
    """
    return [
        {key: value for key, value in message.items() if key not in _MARKS}
        for message in _known(history, person)
    ]


def origin_of(history: Sequence[Message], person: str) -> tuple[frozenset[str], bool]:
    """The ids of people in whose turns that was said which `known_to` gives, and if any is unkept.

    Of a mask it is the id of whoever is behind it.
    """
    whose, is_unkept = set(), False
    for message in _known(history, person):
        whose.add(message.get(OF) or message.get(PRIVATE_TO))
        is_unkept = is_unkept or UNKEPT in message
    return frozenset([behind(str(face)) for face in whose if face]), is_unkept


def _known(history: Sequence[Message], person: str) -> list[Message]:
    return [
        message
        for message in history
        if PRIVATE_TO not in message or (person and message[PRIVATE_TO] == person)
    ]


def holds_private(history: Sequence[Message], person: str) -> bool:
    """True where something of a history may be known to this person alone."""
    return bool(person) and any(message.get(PRIVATE_TO) == person for message in history)


def user_message(text: str) -> Message:
    """Something the model is told."""
    return {"role": "user", "content": text}


def call_message(*calls: ToolCall) -> Message:
    """The model's own calls of one reply, in the native form."""
    return {"role": "assistant", "content": None, "tool_calls": [_raw_call(call) for call in calls]}


def _raw_call(call: ToolCall) -> dict[str, Any]:
    """Services refuse a whole conversation for one name that no tool could have."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:LONGEST_TOOL_NAME] or "_"
    function = {"name": name, "arguments": _written(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _written(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON; with a number that JSON does not have, no tool took them anyway."""
    try:
        return sendable(_STRICT_JSON.encode(dict(arguments)))
    except ValueError:
        return "{}"


def result_message(call: ToolCall, result: ToolResult, advisory: str = "") -> Message:
    """The result of a call, in the native form, perhaps with a word of advice on how to go on."""
    content = sendable(result.as_content(advisory))
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def last_act(messages: Sequence[Message], person: str = "") -> str:
    """The last call of a turn that worked, in words for people: `whisper "good evening"`.

    Args:
        person: who reads them; of what was said to somebody else alone there are no words.
    """
    worked = {
        message["tool_call_id"]
        for message in messages
        if message["role"] == "tool" and message["content"].startswith('{"success": true')
    }
    calls = [
        (call["function"], message.get(PRIVATE_TO, person) == person)
        for message in messages
        for call in message.get("tool_calls", ())
        if call["id"] in worked
    ]
    if not calls:
        return ""
    call, is_theirs = calls[-1]
    given = json.loads(call["arguments"]) if is_theirs else {}
    words = next((given[key] for key in ("message", "action") if key in given), "")
    return f"{call['name']} {quote(str(words))}" if words else str(call["name"])


def as_fallback(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a model without native tool calls: each call, then its result."""
    shown: list[Message] = []
    open_calls: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message["role"] == "tool":
            function = open_calls.pop(message["tool_call_id"], {"name": "tool", "arguments": ""})
            if function["arguments"]:
                shown.append(_told_call(function))
            shown.append(user_message(f"[TOOL RESULT: {function['name']}]\n{message['content']}"))
            continue
        shown += map(_told_call, open_calls.values())
        calls = message.get("tool_calls")
        open_calls = {call["id"]: call["function"] for call in calls or ()}
        if not calls:
            shown.append(dict(message))
    return [*shown, *map(_told_call, open_calls.values())]


def alternating(messages: Sequence[Message]) -> list[Message]:
    """Plain messages with those of one role in a row made one: some templates take no others."""
    shown: list[Message] = []
    for message in messages:
        if shown and shown[-1]["role"] == message["role"] == "user":
            together = f"{shown[-1]['content']}\n\n{message['content']}"
            shown[-1] = {**shown[-1], "content": together}
        else:
            shown.append(message)
    return shown


def closed(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for models that take no user's message right after a tool's."""
    shown: list[Message] = []
    for message in messages:
        if shown and shown[-1]["role"] == "tool" and message["role"] == "user":
            shown.append({"role": "assistant", "content": "(done)"})
        shown.append(message)
    return shown


def _told_call(function: Mapping[str, Any]) -> Message:
    call = {"tool": function["name"], "parameters": json.loads(function["arguments"])}
    return {"role": "assistant", "content": json.dumps(call, ensure_ascii=False)}


def trim(history: Sequence[Message], limit: int) -> list[Message]:
    """The newest messages, at most `limit`, cut where a user message begins.

    A call is never parted from its result, so every provider accepts what is left.
    """
    if len(history) <= limit:
        return list(history)
    starts = (i for i in range(len(history) - limit, len(history)) if history[i]["role"] == "user")
    first = next(starts, None)
    return list(history[first:]) if first is not None else []
