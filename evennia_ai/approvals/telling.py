"""Putting questions to people: to each person the oldest, and the next when that is closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evennia.utils import logger

from evennia_ai import audit
from evennia_ai.approvals import store
from evennia_ai.approvals.people import reach
from evennia_ai.core.safety.questions import Question, next_for
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.messages.lines import literal
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import name_before


def as_seen(question: Question, script: Assistant, being: Being) -> Question:
    """A question as a person is shown it: the asking assistant by the name that they know."""
    name = name_before(script, being)
    if name == str(script.key):
        return question
    return replace(question, asking=replace(question.asking, actor=name))


def tell(person: str, question: Question, line: str) -> bool:
    """Show a line to a person, without interpreting markup. Returns True if they are present."""
    being = reach(person, question)
    if being is None:
        return False
    try:
        being.msg(literal(line))
    except Exception:  # a broken hook of the game must not keep it from the others
        logger.log_trace(f"[assistant] a question could not be told to {person}")
    return True


def announce() -> None:
    """Show each person their oldest question, unless they have one to answer already."""
    entries = store.everywhere()
    for person in sorted({person for _, question in entries for person in question.people}):
        _put_next(person, entries)


def _put_next(person: str, entries: list[store.Entry]) -> None:
    question = next_for(person, (question for _, question in entries))
    if question is None:
        return
    place = next(i for i, entry in enumerate(entries) if entry[1] is question)
    script = entries[place][0]
    being = reach(person, question)
    if being is None or not tell(person, question, as_seen(question, script, being).line()):
        return
    updated = replace(question, told=(*question.told, person))
    # In the list too: the next person may be shown the same question, and adds to `told`.
    entries[place] = (script, updated)
    store.put(script, updated)


def close(
    script: Assistant,
    question: Question,
    event: str,
    why: str,
    *,
    kept: Question | None = None,
    **details: object,
) -> None:
    """Close a question: record how it ended, tell those who saw it, and put the next.

    Args:
        why: how it ended, in words that follow "question 3 is closed:".
        kept: the answered question that is stored instead; None: it is removed.
        details: more for the audit event; `by` is the person who need not be told.
    """
    record(event, script, question, **details)
    if kept is None:
        store.close(script, question, why)
    else:
        store.put(script, kept)
    for person in question.told:
        if person != details.get("by"):
            tell(person, question, f"Question {question.number} is closed: {why}.")
    announce()


def record(event: str, script: Assistant, question: Question, **details: object) -> None:
    """Record an event of a question, before the question is stored: both are written together."""
    # Only what it is about, never its words, which may be private.
    asking = question.asking
    about = {"number": question.number, "kind": asking.kind, "key": asking.key}
    audit.record(event, script, **about, **details)


def ask_these(question: Question, people: Iterable[Being]) -> Question:
    """The question as put to these people, none of whom has seen it yet."""
    return replace(question, people=tuple(person_of(person) for person in people), told=())
