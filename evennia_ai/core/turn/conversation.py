"""The conversation as Chat Completions messages.

History is stored in the native form (`tool_calls` and `role: tool`). Models without native tools
see it in the fallback form: a call as JSON text, its result as a user message. Everything built
here can be sent: no text holds a lone surrogate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from evennia_ai.core.hearing.audience import ALONE
from evennia_ai.core.hearing.inbox import NOTICE, OWN, TASK, Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.recollection import unmasked_id
from evennia_ai.core.text.cleaning import name_as_data, place_as_data, quote, sendable
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult

Message = dict[str, Any]
# Our own marks on stored messages, removed before a message is sent to a service.
PRIVATE_TO, OF, PAID_BY, UNKEPT = "private_to", "of", "paid_by", "unkept"
SAID_BY = "said_by"  # of a summary: the people of the turns that it sums up
NAMED = "named"  # of a turn's opening message or a summary: the ids of speakers, by name
# Within a turn only: what a model sent beside its calls and its service wants back, by the model's
# name; and its size, counted once, as thoughts are long.
BESIDE, TOKENS = "beside", "tokens"
# The value of UNKEPT where memory is off only for people that were overheard, otherwise True.
OVERHEARD = "overheard"
_MARKS = (PRIVATE_TO, OF, PAID_BY, UNKEPT, SAID_BY, NAMED)
# The API's rules for names of functions.
LONGEST_TOOL_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_STRICT_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

_EVENT_FRAMES = {
    "whisper": "{name} whispers to you{trust}: {body}",
    "page": "{name} pages you{trust}: {body}",
    "say": "{name} says to you{trust}: {body}",
    "pose": "{name} does{trust}: {body}",
    "channel": "{name} says on the channel {place}{trust}: {body}",
    "emit": "{name} causes{trust}: {body}",
    NOTICE: "The game tells you of {name}: {body}",
    TASK: "{name} hands you a task{trust}; do it, then report what came of it: {body}",
}
_OVERHEARD_FRAMES = {
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
        shows_trust: add the trust in the sender, a number from 0 to 1.
    """
    # Composed by this package rather than heard from anyone, so it is not quoted.
    if event.kind == OWN:
        return event.body
    frame = _EVENT_FRAMES.get(event.kind) or _EVENT_FRAMES.get(event.source, _EVENT_FRAMES["emit"])
    return frame.format(
        name=_capitalized(name_as_data(event.sender_name)),
        place=place_as_data(event.place),
        trust=_trust_note(event.trust, is_shown=shows_trust),
        body=quote(event.body),
    )


def _trust_note(trust: float, *, is_shown: bool) -> str:
    return f" (trust {trust:.2g})" if is_shown else ""


def _capitalized(name: str) -> str:
    return name[:1].upper() + name[1:] if name.startswith("somebody") else name


def overheard_text(item: Overheard) -> str:
    """Something overheard as one line for the model, quoted like an event."""
    frame = _OVERHEARD_FRAMES.get(item.source, _OVERHEARD_FRAMES["emit"])
    return frame.format(
        name=name_as_data(item.name), place=place_as_data(item.place), body=quote(item.body)
    )


def turn_text(
    events: Sequence[Event], overheard: Sequence[Overheard] = (), *, shows_trust: bool = False
) -> str:
    """The opening message of a turn: overheard lines, then the events, one per line."""
    before = [
        f"- {overheard_text(item)}{_trust_note(item.trust, is_shown=shows_trust)}"
        for item in overheard
    ]
    head = ["Meanwhile you noticed:", *before, ""] if before else []
    return "\n".join([*head, *(event_text(event, shows_trust=shows_trust) for event in events)])


def marked_private(messages: Sequence[Message], person: str) -> list[Message]:
    """The messages of a turn, marked private to one person.

    A message that is already private to someone else keeps its mark.
    """
    return [{PRIVATE_TO: person, **message} for message in messages]


def without_beside(message: Message) -> Message:
    """The message without what its model sent beside its calls, which is for its turn only."""
    return {name: value for name, value in message.items() if name != BESIDE}


def split_private_calls(
    messages: Sequence[Message], asides: Mapping[str, str], otherwise: str = ""
) -> list[Message]:
    """The messages of a turn, with what was said to one person alone marked as theirs.

    If a reply with several calls has such a call, each call gets a message of its own, followed by
    its result. Words meant for one person that reached nobody are dropped: nobody may know them.

    Args:
        asides: person that each call spoke to privately, by the call's id.
        otherwise: person who may know of private words that reached nobody; "" for nobody.
    """
    results = {item["tool_call_id"]: item for item in messages if item["role"] == "tool"}
    split: list[Message] = []
    of_all = {None, otherwise or None}
    for each in messages:
        message = without_beside(each) if BESIDE in each else each
        calls = message.get("tool_calls")
        if not calls:
            # Popped below, together with its call: appending it here again would duplicate it.
            is_moved = message["role"] == "tool" and message["tool_call_id"] not in results
            split += [] if is_moved else [message]
            continue
        whose = [_private_to(call, asides, otherwise) for call in calls]
        if of_all.issuperset(whose):
            split.append(message)
            continue
        for call, owner in zip(calls, whose, strict=True):
            result = results.pop(call["id"], None)
            mark = {} if owner is None else {PRIVATE_TO: owner}
            if owner != "":
                split.append({**message, "tool_calls": [call], **mark})
                split += [{**result, **mark}] if result is not None else []
    return split


def history_entries(
    said: Sequence[Message], person: str, asides: Mapping[str, str], *, is_private: bool
) -> list[Message]:
    """The messages of a turn as they are stored, with marks for who may know of them.

    Args:
        person: the person whose turn it was; a private turn of nobody is not stored.
        asides: as in `split_private_calls`.
    """
    if is_private and not person:
        return []
    entries = marked(split_private_calls(said, asides, person if is_private else ""), OF, person)
    return marked_private(entries, person) if is_private else entries


def _private_to(call: Mapping[str, Any], asides: Mapping[str, str], otherwise: str) -> str | None:
    """The only person a call speaks to; "" if nobody may know of it, None if it is not private."""
    is_alone = call.get("function", {}).get("name") in ALONE
    return asides.get(call["id"], otherwise) if is_alone else None


def marked(messages: Sequence[Message], mark: str, value: object) -> list[Message]:
    """The messages with a mark of ours; an empty value marks nothing.

    Args:
        mark: OF, the person whose turn it was; PAID_BY, who paid for it instead of that person; or
            UNKEPT, True if memory is off for a person in the turn or for its place, or OVERHEARD.
    """
    return [{**message, mark: value} for message in messages] if value else list(messages)


def marked_as_summary_of(message: Message, messages: Sequence[Message]) -> Message:
    """A summary of some messages, marked with whose words it holds and whether they may be kept."""
    said_by = {who for each in messages for who in (each.get(OF), *each.get(SAID_BY, ())) if who}
    is_unkept = any(UNKEPT in each for each in messages)
    named = {name: who for each in messages for name, who in each.get(NAMED, {}).items()}
    summary = marked(marked([message], SAID_BY, sorted(said_by)), UNKEPT, is_unkept)
    return marked(summary, NAMED, named)[0]


def payer_of(message: Message) -> str:
    """The payer of the turn that a message belongs to, or ""."""
    paid = (message.get(mark) for mark in (PAID_BY, OF, PRIVATE_TO))
    return next((str(person) for person in paid if person), "")


def is_of(message: Message, people: Collection[str]) -> bool:
    """True if a message is of a turn with one of these people, masked or not."""
    whose = (message.get(OF), message.get(PRIVATE_TO))
    return any(unmasked_id(str(face)) in people for face in whose if face)


def visible_history(history: Sequence[Message], person: str) -> list[Message]:
    """A history without words that are private to others, as a turn for this person may see it.

    A turn is private as a whole, so no call is separated from its result. Our marks are removed.
    """
    return [
        {key: value for key, value in message.items() if key not in _MARKS}
        for message in known_messages(history, person)
    ]


def origin_of(history: Sequence[Message], person: str) -> tuple[frozenset[str], bool]:
    """The people whose turns make up `visible_history`, and whether memory is off for any of them.

    A masked person counts with the id of the player behind the mask.
    """
    whose: set[Any] = set()
    is_unkept = False
    for message in known_messages(history, person):
        whose.add(message.get(OF) or message.get(PRIVATE_TO))
        if SAID_BY in message:
            whose.update(message[SAID_BY])
        is_unkept = is_unkept or UNKEPT in message
    return frozenset([unmasked_id(str(face)) for face in whose if face]), is_unkept


def known_messages(history: Sequence[Message], person: str) -> list[Message]:
    """The messages of a history that a turn for this person may know, with our marks."""
    return [
        message
        for message in history
        if PRIVATE_TO not in message or (person and message[PRIVATE_TO] == person)
    ]


def texts_of(messages: Sequence[Message]) -> Iterator[str]:
    """The texts of messages, and the arguments of their tool calls, as they stand there."""
    for message in messages:
        yield message.get("content") or ""
        yield from (call["function"]["arguments"] for call in message.get("tool_calls") or ())


def holds_private(history: Sequence[Message], person: str) -> bool:
    """True if a history holds something that is private to this person."""
    return bool(person) and any(message.get(PRIVATE_TO) == person for message in history)


def user_message(text: str) -> Message:
    """A message with the user role."""
    return {"role": "user", "content": text}


def call_message(*calls: ToolCall, beside: Mapping[str, Any] | None = None) -> Message:
    """The model's own calls in one reply, in the native form.

    Args:
        beside: of the reply, see `engine.ports.Reply`.
    """
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [_raw_call(call) for call in calls],
    }
    return {**message, BESIDE: beside} if beside else message


def _raw_call(call: ToolCall) -> dict[str, Any]:
    # The model may have made the name up, and services reject a whole conversation for one bad
    # name.
    name = _NOT_IN_NAMES.sub("_", call.name)[:LONGEST_TOOL_NAME] or "_"
    function = {"name": name, "arguments": _arguments_json(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _arguments_json(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON; {} if they hold NaN or an infinity, which no tool accepted anyway."""
    try:
        return sendable(_STRICT_JSON.encode(dict(arguments)))
    except ValueError:
        return "{}"


def result_message(call: ToolCall, result: ToolResult, advisory: str = "") -> Message:
    """The result of a call in the native form, optionally with advice on how to go on."""
    content = sendable(result.as_content(advisory))
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def calls_that_worked(messages: Sequence[Message]) -> set[str]:
    """The ids of the calls of a turn that succeeded."""
    return {
        message["tool_call_id"]
        for message in messages
        if message["role"] == "tool" and message["content"].startswith('{"success": true')
    }


def last_act(messages: Sequence[Message], person: str = "") -> str:
    """The last successful call of a turn, in words for people: `whisper "good evening"`.

    Args:
        person: the reader; words said privately to someone else are left out.
    """
    worked = calls_that_worked(messages)
    calls = [
        (call["function"], message.get(PRIVATE_TO, person) == person)
        for message in messages
        for call in message.get("tool_calls", ())
        if call["id"] in worked
    ]
    if not calls:
        return ""
    call, is_theirs = calls[-1]
    arguments = json.loads(call["arguments"]) if is_theirs else {}
    words = next((arguments[key] for key in ("message", "action") if key in arguments), "")
    return f"{call['name']} {quote(str(words))}" if words else str(call["name"])


def as_fallback(messages: Sequence[Message]) -> list[Message]:
    """The conversation for a model without native tool calls: each call, then its result."""
    result: list[Message] = []
    open_calls: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message["role"] == "tool":
            function = open_calls.pop(message["tool_call_id"], {"name": "tool", "arguments": ""})
            if function["arguments"]:
                result.append(_call_as_text(function))
            result.append(user_message(f"[TOOL RESULT: {function['name']}]\n{message['content']}"))
            continue
        result += map(_call_as_text, open_calls.values())
        calls = message.get("tool_calls")
        open_calls = {call["id"]: call["function"] for call in calls or ()}
        if not calls:
            result.append(dict(message))
    return [*result, *map(_call_as_text, open_calls.values())]


def alternating(messages: Sequence[Message]) -> list[Message]:
    """Plain messages with adjacent user messages merged: some chat templates require that."""
    result: list[Message] = []
    for message in messages:
        if result and result[-1]["role"] == message["role"] == "user":
            together = f"{result[-1]['content']}\n\n{message['content']}"
            result[-1] = {**result[-1], "content": together}
        else:
            result.append(message)
    return result


def with_closing_reply(messages: Sequence[Message]) -> list[Message]:
    """The conversation for models that reject a user message right after a tool's result."""
    result: list[Message] = []
    for message in messages:
        if result and result[-1]["role"] == "tool" and message["role"] == "user":
            result.append({"role": "assistant", "content": "(done)"})
        result.append(message)
    return result


def _call_as_text(function: Mapping[str, Any]) -> Message:
    call = {"tool": function["name"], "parameters": json.loads(function["arguments"])}
    return {"role": "assistant", "content": json.dumps(call, ensure_ascii=False)}


def trim(history: Sequence[Message], limit: int) -> list[Message]:
    """The newest messages, at most `limit`, beginning with a user message.

    A call is never separated from its result, so that every provider accepts what is left.
    """
    if len(history) <= limit:
        return list(history)
    starts = (i for i in range(len(history) - limit, len(history)) if history[i]["role"] == "user")
    first = next(starts, None)
    return list(history[first:]) if first is not None else []
