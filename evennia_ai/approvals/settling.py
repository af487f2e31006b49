"""A dangerous call after the answer: on a yes it is run, and its question stays until it is over.

The question goes in the transaction that records the call. Whatever comes between, a restart finds
it there: nobody knows then whether the call happened, and it is not run again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evennia_ai.approvals import store, telling
from evennia_ai.core.hearing.inbox import NOTICE, Event
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.models.keys import new_key
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.turns import interrupted

YES = "yes"
UNKNOWN = "the game stopped meanwhile, and nobody knows whether it was done"


def call_of(question: Question) -> ToolCall:
    """The call that a question is about."""
    asked = question.call
    # One id for one yes, by which the record shows after a crash whether it was run.
    return ToolCall(f"question_{question.number}", asked["tool"], asked["arguments"])


def close_call(script: Assistant, question: Question, choice: str, by: Being) -> Question:
    """Close a question about a call, so that nobody answers it twice; after a yes it is kept.

    Returns:
        The question with its answer.
    """
    name = name_of(by, script.obj)
    kept = replace(question, choice=choice, by=name, expires_at=0.0, kept_until=0.0)
    telling.close(
        script,
        question,
        "question_answered",
        kept.answer,
        kept=kept if choice == YES else None,
        by=person_of(by),
        choice=choice,
    )
    return kept


def notice(script: Assistant, question: Question, text: str) -> Event:
    """The message that lets the assistant know, so that it can tell whoever asked for it."""
    told = {"id": new_key(12), "kind": NOTICE, "body": text, "at": script.clock.seconds()}
    return Event.from_stored({**question.event, **told})


def settled(script: Assistant, question: Question, text: str) -> dict[str, Any]:
    """The values for `turns.keep` when a call is over: its question goes, the assistant is told.

    Args:
        text: what came of it; "": nobody is told, as after a stop.
    """
    if text:
        script.push(notice(script, question, text))
    over = store.closing(script, question, question.answer)
    return {"extra_writes": over, "pending_events": script.work.inbox}


def is_being_run(question: Question) -> bool:
    """True where somebody said yes to its call, and what came of that is not stored yet."""
    return bool(question.call and question.choice)


def give_up(script: Assistant, question: Question) -> None:
    """After a start: a call that was being run is taken as one of which nobody knows."""
    turn = turns.by_hand(script, Event.from_stored(question.event))
    turn.facts.append(interrupted.unknown(turn, call_of(question)))
    text = f"{question.by} said yes to question {question.number}; {UNKNOWN}"
    turns.keep(script, turn, **settled(script, question, text))
