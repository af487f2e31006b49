"""A dangerous call after the answer: after a yes it is run, and its question stays until it ended.

The question is removed in the transaction that records the call. If a crash comes in between, a
restart finds it: the call's outcome is then unknown, and it is not run again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evennia_ai.approvals import store, telling
from evennia_ai.core.hearing.inbox import NOTICE, Event
from evennia_ai.core.keys import new_key
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.turns import aside

YES = "yes"
UNKNOWN = "the game stopped meanwhile, and nobody knows whether it was done"


def call_of(question: Question) -> ToolCall:
    """The call that a question is about."""
    call = question.call
    # One id for one yes: after a crash the audit log shows by it whether the call was run.
    return ToolCall(f"question_{question.number}", call["tool"], call["arguments"])


def close_call(script: Assistant, question: Question, choice: str, by: Being) -> Question:
    """Close a question about a call, so that nobody answers it twice; after a yes it is kept."""
    name = name_of(by, script.obj)
    closed = replace(question, choice=choice, by=name, expires_at=0.0, kept_until=0.0)
    telling.close(
        script,
        question,
        "question_answered",
        closed.answer,
        kept=closed if choice == YES else None,
        by=person_of(by),
        choice=choice,
    )
    return closed


def notice(script: Assistant, question: Question, text: str) -> Event:
    """The event that tells the assistant of the outcome, so that it can tell the asker."""
    fields = {"id": new_key(12), "kind": NOTICE, "body": text, "at": script.clock.seconds()}
    return Event.from_stored({**question.event, **fields})


def settled(script: Assistant, question: Question, text: str) -> dict[str, Any]:
    """The values for `turns.save` when a call has ended: the question goes, the assistant is told.

    Args:
        text: the outcome; "": the assistant is not told, as after a stop.
    """
    if text:
        script.push(notice(script, question, text))
    over = store.closing(script, question, question.answer)
    return {"extra_writes": over, "pending_events": script.work.inbox}


def is_being_run(question: Question) -> bool:
    """True where somebody approved its call and the outcome is not stored yet."""
    return bool(question.call and question.choice)


def give_up(script: Assistant, question: Question) -> None:
    """After a start, treat a call that was being run as one with an unknown outcome."""
    turn = turns.by_hand(script, Event.from_stored(question.event))
    turn.audit_events.append(aside.unknown(turn, call_of(question)))
    text = f"{question.by} said yes to question {question.number}; {UNKNOWN}"
    turns.save(script, turn, **settled(script, question, text))
