"""Audit events: their kinds, and the cleaning of their details.

A new kind needs only a row here: its name, its sentence, and whether it is also written to the
game's log. An event without a row is stored too. The audit log holds no secrets: no keys, and of
what people said only its length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from typing import Any

from evennia_ai.core.text.cleaning import one_line, sendable

# Characters as JSON, of one value and of one event.
EXCEEDED = "_exceeded"
LONGEST_VALUE = 20_000
LONGEST_EVENT = 200_000
# Characters of a value in a sentence.
LONGEST_SHOWN = 120
MASK = "***"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_SECRET = re.compile(
    "apikey|auth|authorization|cookies?|credentials?|passphrase|passwd|passwords?|secrets?|token"
)
# Of names with "key" only these are secret: settings and templates have keys too.
_SECRET_KEY = re.compile("(access|api|auth|encryption|private|secret|signing) keys?")
# Credentials within a text: prefixed API keys, HTTP authorization, passwords in URLs, assignments.
_CREDENTIALS_IN_TEXT = (
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{12,}"), MASK),
    (re.compile(r"\b(?:gsk|xai|hf|github_pat)[-_][A-Za-z0-9_-]{16,}|\bAIza[\w-]{20,}"), MASK),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\1 {MASK}"),
    (re.compile(r"(://[^\s/:@]+):[^\s/@]+@"), rf"\1:{MASK}@"),
    (re.compile(r"(?i)\b(api[_-]?key|password|secret|token)(\s*[=:]\s*)[^\s,;&]+"), rf"\1\2{MASK}"),
)
# Every pattern above needs one of these, and most texts have none: that saves the searches.
_MAY_HOLD_SECRET = re.compile("(?i)[-_:=]|bearer|basic|aiza")
# Integers below this are the same after a reader of JSON has made doubles of them.
MOST_EXACT = 2**53
_PLAIN = frozenset((type(None), bool, int, float, str))
LONGEST_ESCAPE = 6  # characters that JSON may need for one
_TO_JSON = json.JSONEncoder(ensure_ascii=False, default=str)
_FROM_JSON = json.JSONDecoder(parse_constant=str)
_sendable_key = lru_cache(maxsize=1024)(sendable)
# In {"key": "api_key", "value": "x"} the name of the value stands beside it.
_NAME_KEYS, _VALUE_KEYS = ("key", "name"), ("value", "old_value", "new_value")


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of audit event.

    Attributes:
        text: a sentence about it, with its details in braces.
        is_logged: whether a line is written to the game's log too.
    """

    text: str
    is_logged: bool = True


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """Something that happened to an assistant, to be written to the audit log.

    Attributes:
        event: a name in EVENTS, or a game's own.
        details: plain data; `by` and `via` say who did it and through which interface.
    """

    event: str
    details: Mapping[str, Any] = field(default_factory=dict)


EVENTS: dict[str, EventKind] = {
    "AssistantCreated": EventKind("created with {config}"),
    "AssistantArchived": EventKind("archived to {archive_path}: {reason}"),
    "ConfigurationChanged": EventKind("{key} is {new_value}, and was {old_value}"),
    "ToolExecuted": EventKind("{tool_name}: success {success} {error}", is_logged=False),
    "TickCompleted": EventKind(
        "tick {tick_number}: {action_taken}, {duration_ms} ms", is_logged=False
    ),
    "UsageCounted": EventKind("model calls for {purpose}: {calls}", is_logged=False),
    "GoalCreated": EventKind("goal {goal_id}, priority {priority}: {description}"),
    "GoalUpdated": EventKind("goal {goal_id} is {status}"),
    "GoalCompleted": EventKind("goal {goal_id} is reached: {outcome}"),
    "ReflectionRecorded": EventKind("a reflection: {context}", is_logged=False),
    "goal_done_today": EventKind("goal {goal_id} is done for this time: {outcome}"),
    "goal_time_missed": EventKind("missed times of goal {goal_id}: {times}"),
    "EmergencyStopTriggered": EventKind("stopped ({cause}): {reason}"),
    "EmergencyStopCleared": EventKind("the stop was cleared ({cause})"),
    "HistoryReset": EventKind("a new conversation"),
    "dropped": EventKind("everything under way was dropped"),
    "limit_extended": EventKind("limit {kind}: {extension} more ({reason})"),
    "limit_denied": EventKind("limit {kind}: not extended"),
    "limit_exceeded": EventKind("limit {kind}: {attempted} were wanted, {kept} kept"),
    "safety_limit_checkpoint": EventKind("limit {kind} at {used} of {cap}: {reason}"),
    "cooled_off": EventKind("{person} has to wait {seconds} s ({cause})"),
    "hop_limit": EventKind("messages in a row between assistants: {hops}, of {cap}"),
    "question_asked": EventKind("question {number} ({kind}) is put to {people}"),
    "question_answered": EventKind("question {number}: {choice}, says {by}"),
    "question_claimed": EventKind("question {number} is taken by {by}"),
    "question_handed_on": EventKind("question {number} is asked by {to} now"),
    "question_used": EventKind("the answer to question {number} is used: {choice}"),
    "question_unused": EventKind("nobody asked for the answer to question {number}"),
    "question_timeout": EventKind("question {number}: nobody answered in time"),
    "question_discarded": EventKind("question {number} is dropped"),
    "question_dropped": EventKind("question {number} is no longer asked"),
    "question_nobody": EventKind("a question ({kind}) that nobody is here to answer"),
    "budget_near": EventKind("{text}"),
    "budget_raised": EventKind("{amount} more for {cap} of {account}"),
    "budget_taken_back": EventKind("{amount} less for {cap} of {account}, as before it was raised"),
    "control_refused": EventKind("refused: {act}"),
    "delegation_begun": EventKind("task {id} is given to {delegate}"),
    "delegation_extended": EventKind("task {id} of {delegate} may take {cap} s"),
    "delegation_answered": EventKind("task {id} is answered by {delegate} after {seconds} s"),
    "delegation_failed": EventKind("task {id} of {delegate} failed: {why}"),
    "usage_disbelieved": EventKind(
        "task {id}: {delegate} says it used {said} tokens, of which {most} count"
    ),
    "report_shortened": EventKind(
        "a report of {characters} characters is shortened; summed up: {is_summed_up}, "
        "{summed_up} of them"
    ),
    "report_unheard": EventKind("a report on task {id} that nobody waits for"),
    "stale_answer": EventKind("an answer to message {id} came too late ({why}): {way}"),
    "summary_truncated": EventKind("a summary of {from_tokens} tokens is cut to {to_tokens}"),
    "asked": EventKind(
        "message {number}: asked by a program, {characters} characters", is_logged=False
    ),
    "told": EventKind("message {number}: told to do something, {characters} characters"),
    "errand_answered": EventKind("message {number} is answered after {seconds} s", is_logged=False),
    "errand_failed": EventKind("message {number} is not answered: {why}"),
    "peer_attached": EventKind("message {number}: {kind} for task {task}", is_logged=False),
    "peer_asked": EventKind("message {number}: task {task} of a peer", is_logged=False),
    "peer_canceled": EventKind("task {task} was canceled by its peer"),
    "tool_by_hand": EventKind("{tool_name} is run by hand: success {success}"),
    "message_tried": EventKind("a message by {way} is tried as {person}, compared with {beside}"),
    "words_revealed": EventKind("private words of {person} are revealed: {count} ({kind})"),
    "memory_viewed": EventKind("memories of {person} are read: {count}"),
    "memory_corrected": EventKind("a memory is corrected"),
    "memories_forgotten": EventKind("memories forgotten: {count} ({why})"),
    "person_forgotten": EventKind("{person} is forgotten; memories: {count}"),
    "memories_exported": EventKind("memories of {person} were exported"),
    "remembering_changed": EventKind("{person} is remembered: {is_remembered}"),
    "remote_tool_allowed": EventKind("the tool {tool} is allowed as it is now ({mark})"),
    "lore_changed": EventKind("lore is {change}"),
    "card_imported": EventKind("it is given the card of {name}; entries of lore: {entries}"),
    "memories_indexed": EventKind("memories indexed by {model}: {count}", is_logged=False),
    "memories_kept": EventKind("memories stored: {count} ({why})", is_logged=False),
    "fell_asleep": EventKind("asleep until {until}: {reason}"),
    "woke_up": EventKind("awake: {reason}"),
    "night_completed": EventKind("a night: {summary}"),
    "hushed": EventKind("silent in {room}, minutes: {minutes}"),
    "unhushed": EventKind("may speak in {room} again"),
    "look_changed": EventKind("its {changed} changed"),
    "adopted": EventKind("{body} is its body from now on"),
    "body_lost": EventKind("its body {body} was deleted by the game"),
    "edit_undone": EventKind("the edit at version {edit} was undone: {names}"),
    "edit_redone": EventKind("the edit at version {edit}, undone before, was redone: {names}"),
    "copied": EventKind("a copy of {source}, without {left_out}"),
    "assistant_exported": EventKind("exported completely, including private words"),
    "assistant_imported": EventKind("imported from {game}, memories: {memories}"),
    "breaker_reset": EventKind("the breaker {breaker}, which was {was}, is closed"),
    "all_removed": EventKind("all assistants are removed: {removed} deleted, {released} released"),
    "record_archived": EventKind("events moved to {path}: {events}"),
    "facts_lost": EventKind("events that could not be stored: {count}"),
}

_UNKNOWN = EventKind("")


def audit_event(event: str, /, **details: Any) -> AuditEvent:
    """Make an audit event from keyword arguments."""
    return AuditEvent(event, details)


def kind_of(event: str) -> EventKind:
    """The kind of an event; an unknown one lists all its details, and is logged too."""
    if event in EVENTS:
        return EVENTS[event]
    return EVENTS["limit_exceeded"] if event.endswith(EXCEEDED) else _UNKNOWN


def masked(value: object, name: str = "") -> Any:
    """A value with secrets replaced by ***.

    Secret is any value whose name sounds like a secret, and whatever looks like one within a text.

    Args:
        name: name of the value, such as the key of a setting.
    """
    if value not in (None, "") and _is_secret(name):
        return MASK
    if isinstance(value, str):
        return _without_secrets(value) if _MAY_HOLD_SECRET.search(value) else value
    if isinstance(value, Mapping):
        return {str(key): masked(item, called) for key, item, called in _items_with_names(value)}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)  # the order of a set differs from process to process
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return value


def _items_with_names(details: Mapping[str, object]) -> list[tuple[str, object, str]]:
    """Items of a mapping with the name to judge them by: a `value` goes by the `key` beside it."""
    called = ""
    for name in _NAME_KEYS:
        if isinstance(beside := details.get(name), str):
            called = beside
            break
    return [
        (key, item, called if key in _VALUE_KEYS else str(key)) for key, item in details.items()
    ]


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    words = [word.casefold() for word in _WORDS.findall(name.rpartition(".")[2])]
    if any(map(_SECRET.fullmatch, words)):
        return True
    return any(map(_SECRET_KEY.fullmatch, map(" ".join, pairwise(words))))


def _without_secrets(text: str) -> str:
    for pattern, instead in _CREDENTIALS_IN_TEXT:
        text = pattern.sub(instead, text)
    return text


def bounded(value: object, longest: int = LONGEST_VALUE) -> Any:
    """A value as plain data; one that is too long is replaced by its size and fingerprint.

    Args:
        longest: characters as JSON.
    """
    if isinstance(value, str):
        if LONGEST_ESCAPE * len(value) + 2 <= longest:
            return sendable(value)  # what encoding and decoding would return, without doing it
    elif (
        value is None
        or (isinstance(value, int) and -MOST_EXACT < value < MOST_EXACT)
        or (type(value) is float and isfinite(value))
    ):
        return value
    text = sendable(_TO_JSON.encode(value))
    if len(text) <= longest:
        return _FROM_JSON.decode(text)
    return {"characters": len(text), "sha256": sha256(text.encode()).hexdigest()}


def storable(details: Mapping[str, object]) -> dict[str, Any]:
    """The details of an event as they are stored: plain data, whatever they were."""
    plain = {
        _sendable_key(str(key)): _stored_value(item, called)
        for key, item, called in _items_with_names(details)
    }
    size = sum(map(len, map(str, plain.values())))
    return plain if size <= LONGEST_EVENT else {"too_long": bounded(plain, 0)}


def _stored_value(value: object, name: str) -> Any:
    kind = type(value)
    try:
        if kind not in _PLAIN or _is_secret(name):
            return bounded(masked(value, name))
        if value is None or kind is bool:
            return value
        # A longer text is reduced to a fingerprint anyway.
        if isinstance(value, str) and len(value) <= LONGEST_VALUE:
            value = _without_secrets(value) if _MAY_HOLD_SECRET.search(value) else value
        return bounded(value)
    except Exception:  # it contains itself, or its __str__ fails: logging must not fail for that
        return f"({kind.__name__})"


def sentence_of(event: str, details: Mapping[str, object]) -> str:
    """An audit event in words."""
    text = kind_of(event).text
    if not text:
        return ", ".join(_pairs(details))
    return text.format_map(_ShownDetails({"kind": event.removesuffix(EXCEEDED), **details})).strip()


def _pairs(details: Mapping[str, object]) -> Iterator[str]:
    return (f"{name} {_shown(value)}" for name, value in details.items() if value not in ("", None))


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return one_line(text, LONGEST_SHOWN)


# Details that an event lacks, such as those of an older version, are shown as "?".
class _ShownDetails(dict[str, Any]):
    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__({name: _shown(value) for name, value in details.items()})

    def __missing__(self, name: str) -> str:
        return "?"
