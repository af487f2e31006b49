"""The trace of a turn as plain data: why it was answered that way, by which model, at what cost.

The parts of a prompt are recorded as fingerprints, never as text. No words of people are among the
facts: those have their own columns, with rules about who may read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import Heard
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.executions import outcome_of
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.turn import Turn

# Characters.
LONGEST_WORDS, LONGEST_ANSWER = 500, 1_000
LONGEST_DETAIL, LONGEST_ERROR = 200, 120
# Entries of each list in the facts.
MOST_TOOLS, MOST_STEPS, MOST_PARTS = 20, 10, 40
DIGITS = 8
FORGOTTEN, UNKEPT = "is_forgotten", "is_unkept"
# Steps whose details quote what was said, and are therefore left out.
QUOTING_STEPS = ("answered", "silent by choice", "goes on", "by hand")
EVIDENCE = {
    "kwargs": "marks the server passed along",
    "oob": "marks the server passed along",
    "record": "the stored page",
    "call": "what the code of the game told it",
    "none": "nothing: no mark said what it is",
}


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """One message and its answer, as stored.

    Attributes:
        words, answer: "" if they are not stored.
        facts: plain data without words of people.
    """

    number: int
    at: float
    person: str
    name: str
    words: str
    answer: str
    is_private: bool
    is_answer_private: bool
    facts: Mapping[str, Any]


# Named like the columns of the database table, so that rows are read by attribute.
COLUMNS = tuple(field.name for field in fields(MessageTrace))
in_columns = attrgetter(*COLUMNS)


@lru_cache(maxsize=512)
def fingerprint(text: str) -> str:
    """The first digits of a text's SHA-256, enough to tell two versions of a prompt part apart."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:DIGITS]


def fingerprints(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Fingerprints of the parts of a prompt, by key."""
    return {key: fingerprint(text) for key, text in list(parts)[:MOST_PARTS]}


def message_trace(
    turn: Turn,
    event: Event,
    stop: Stop,
    record: DecisionTrace | None,
    *,
    answer: str,
    ended: float,
    keeps_private: bool,
    may_keep_words: bool,
) -> MessageTrace:
    """The trace of one message of a turn that ends.

    Args:
        record: why the message was accepted; None if that is no longer known.
        answer: what was said, for those who may know of the turn.
        ended: seconds since 1970.
        keeps_private: whether words of private conversations are stored.
        may_keep_words: False if the speaker wants none of theirs stored.
    """
    is_private, is_answer_private = bool(event.held) or turn.is_apart, turn.is_private
    facts = facts_of(turn, event, stop, record, ended)
    if not may_keep_words:
        facts[UNKEPT] = True

    def storable(text: str, most: int, is_hidden: bool) -> str:
        is_kept = may_keep_words and (keeps_private or not is_hidden)
        return one_line(text, most) if is_kept else ""

    return MessageTrace(
        number=event.number,
        at=event.at,
        person=event.person,
        name=one_line(event.sender_name, 255),
        words=storable(event.body, LONGEST_WORDS, is_private),
        answer=storable(answer, LONGEST_ANSWER, is_answer_private),
        is_private=is_private,
        is_answer_private=is_answer_private,
        facts=facts,
    )


def facts_of(
    turn: Turn, event: Event, stop: Stop, record: DecisionTrace | None, ended: float
) -> dict[str, Any]:
    """The judgement and treatment of a message, as plain data."""
    limits = [*turn.grants, turn.stopped_by, stop.limit.kind if stop.limit else ""]
    return {
        "kind": event.kind,
        "source": event.source,
        "face": event.face,
        "trust": event.trust,
        "rule": event.rule,
        **(_judgement(record) if record is not None else {}),
        "result": outcome_of(stop),
        "stop": stop.reason.value,
        "why": one_line(stop.detail, LONGEST_DETAIL),
        "seconds": round(ended - event.at, 1),
        "together": [each.number for each in turn.events if each.number][:MOST_STEPS],
        "tick": turn.tick,
        "model": turn.model,
        "calls": turn.spent.calls,
        "prompt_tokens": turn.spent.usage.prompt_tokens,
        "completion_tokens": turn.spent.usage.completion_tokens,
        "cost_nano": turn.spent.nano,
        "unpriced_calls": turn.spent.unpriced,
        "tools": [_tool_facts(fact.details) for fact in turn.ran[:MOST_TOOLS]],
        "limits": list(dict.fromkeys(filter(None, map(str, limits)))),
        "prompt": dict(turn.prompt),
    }


def marks_of(heard: Heard) -> list[str]:
    """The server's marks on a message, in words for people."""
    marks = (
        (f"of an assistant, hop {heard.hops}", heard.from_assistant),
        ("relayed by a bot", heard.is_relayed),
        ("aimed at somebody else", heard.is_for_another),
    )
    return [text for text, holds in marks if holds]


def _judgement(record: DecisionTrace) -> dict[str, Any]:
    heard, verdict = record.heard, record.verdict
    return {
        "rule": verdict.rule,
        "rule_name": verdict.name,
        "outcome": verdict.outcome.value,
        "trust_because": verdict.basis.explain(),
        "known_by": heard.evidence.value,
        "marks": marks_of(heard),
        "place": one_line(heard.place, LONGEST_ERROR),
        "steps": [
            [step, "" if step.startswith(QUOTING_STEPS) else one_line(detail, LONGEST_DETAIL)]
            for step, detail in record.steps[:MOST_STEPS]
        ],
    }


def _tool_facts(details: Mapping[str, object]) -> dict[str, Any]:
    """A call in the trace: its name and how it went."""
    return {
        "name": one_line(str(details["tool_name"]), LONGEST_ERROR),
        "success": bool(details["success"]),
        "error": one_line(str(details["error"]), LONGEST_ERROR),
    }
