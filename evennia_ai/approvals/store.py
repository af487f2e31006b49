"""The table of questions to people: numbered, written, found, closed and pruned only here.

A question is written in the transaction that records what happens to it. A closed question stays
for a while with the reason, and is never opened again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import QuerySet
from evennia.server.models import ServerConfig
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize

from evennia_ai import audit
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.models.question import LONG
from evennia_ai.runtime import state
from evennia_ai.runtime.asked import ANSWERED, CLOSED, OPEN, drop_copy, readable
from evennia_ai.runtime.asked import pending as pending
from evennia_ai.runtime.asked import stored as stored
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.tagged import ANY_TAG, scripts_with

# The ServerConfig key under which older versions counted questions.
COUNTER = "evennia_ai_questions"
MOST_REMEMBERED = 500  # closed questions, for people who answer too late
UNREADABLE = "what was stored of it cannot be read"

Entry = tuple[Any, Question]  # the assistant's script and its question


# ---- numbers -----------------------------------------------------------------------------------


def next_number(*taken: int) -> int:
    """Draw a number that no question had before, in any server process.

    Args:
        taken: numbers that an older version gave, which nobody may get again.
    """
    with transaction.atomic():
        last = max(0, _older_count(), *taken)
        number = _draw()
        if number <= last:
            _draw(last)
            number = _draw()
    return number


def _older_count() -> int:
    """The last number that an older version counted; 0 where that was taken over already."""
    counted = ServerConfig.objects.filter(db_key=COUNTER)
    # The update locks the row, so that two processes do not take it over at the same time.
    if not counted.update(db_key=COUNTER):
        return 0
    last = int(counted.get().value)
    counted.delete()
    return last


def _draw(number: int | None = None) -> int:
    """Let the database draw a number, or continue from this one."""
    row = StoredQuestion.objects.create(pk=number, assistant=0, asked_at=0.0, state=CLOSED)
    if number is not None:
        with connection.cursor() as cursor:
            # PostgreSQL's sequence does not notice explicit ids.
            for sql in connection.ops.sequence_reset_sql(no_style(), [StoredQuestion]):
                cursor.execute(sql)
    drawn = int(row.pk)
    # Deleting the row does not free its number: the table draws none twice.
    row.delete()
    return drawn


# ---- writing -----------------------------------------------------------------------------------


def begin(script: Assistant, question: Question) -> None:
    """Store a new question."""
    _write(script, lambda: insert(script, question))


def put(script: Assistant, question: Question) -> None:
    """Store a changed question; a closed one stays closed."""
    _write(script, lambda: _update(script, question))


def close(script: Assistant, question: Question, why: str) -> None:
    """Close a question.

    Args:
        why: how it ended, in words, for those who answer too late.
    """
    state.write(script, extra_writes=closing(script, question, why))


def closing(script: Assistant, question: Question, why: str) -> Callable[[], None]:
    """Return the writes that close a question, for a caller that stores more with them."""

    def write() -> None:
        over = {"state": CLOSED, "why": why, "closed_at": script.clock.seconds()}
        _row(question).update(key="", question="", **over)
        _prune()
        drop_copy(script)

    return write


def transfer(owner: Assistant, heir: Assistant, question: Question) -> None:
    """Transfer a question to another assistant, and store the facts of both."""

    def write() -> None:
        _update(heir, question)
        audit.save(owner)
        drop_copy(owner)

    _write(heir, write)


def _write(script: Assistant, act: Callable[[], None]) -> None:
    def write() -> None:
        act()
        drop_copy(script)

    state.write(script, extra_writes=write)


def insert(script: Assistant, question: Question) -> None:
    """Insert the row of a question, in the caller's transaction."""
    StoredQuestion.objects.create(pk=question.number, **_columns(script, question))


def _update(script: Assistant, question: Question) -> None:
    _row(question).update(**_columns(script, question))


def _row(question: Question) -> QuerySet[StoredQuestion]:
    return StoredQuestion.objects.filter(pk=question.number).exclude(state=CLOSED)


def _columns(script: Assistant, question: Question) -> dict[str, Any]:
    return {
        "assistant": script.pk,
        "key": question.asking.key[:LONG] if question.is_waited_for else "",
        "asked_at": question.asked_at,
        "due": question.due,
        "state": ANSWERED if question.choice else OPEN,
        "choice": question.choice,
        "question": json.dumps(question.as_stored()),
    }


def _prune() -> None:
    """Delete the questions that were closed longest ago."""
    closed = StoredQuestion.objects.filter(state=CLOSED).order_by("-closed_at", "-pk")
    # Bounded, since the person who answers a question waits for this.
    old = list(closed.values_list("pk", flat=True)[MOST_REMEMBERED : 2 * MOST_REMEMBERED])
    if old:
        StoredQuestion.objects.filter(pk__in=old).delete()


# ---- finding -----------------------------------------------------------------------------------


def everywhere() -> list[Entry]:
    """The open questions of all assistants, oldest first."""
    return _entries(StoredQuestion.objects.filter(state=OPEN))


def find(number: int) -> Entry | None:
    """The open question of that number."""
    return next(iter(_entries(StoredQuestion.objects.filter(pk=number, state=OPEN))), None)


def find_key(key: str) -> Entry | None:
    """The question stored under a key that is waited for, answered or not, and not expired."""
    # The column holds only the beginning of a long key; the full one is in the question.
    entries = _entries(StoredQuestion.objects.filter(key=key[:LONG]).exclude(state=CLOSED))
    meant = (entry for entry in entries if entry[1].is_waited_for and entry[1].asking.key == key)
    return next(meant, None)


def _entries(rows: QuerySet[StoredQuestion]) -> list[Entry]:
    """The questions of some rows that are not expired, with their assistants' running scripts."""
    questions = list(rows.order_by("pk"))
    if not questions:
        return []
    # Not all of the game, which may have a thousand.
    scripts = {script.pk: script for script in assistants({row.assistant for row in questions})}
    ours = [row for row in questions if row.assistant in scripts]
    entries = [(scripts[row.assistant], question) for row, question in readable(ours)]
    return [entry for entry in entries if not entry[1].is_over(entry[0].clock.seconds())]


def assistants(among: Collection[int] | None = None) -> list[Any]:
    """The scripts of all running assistants, or of those among these primary keys."""
    scripts = scripts_with(ANY_TAG, among)
    return [item for item in scripts if getattr(item, "work", None) is not None]


def why_closed(number: int) -> str:
    """The reason a question is not open, in words, or "" when it is unknown."""
    row = StoredQuestion.objects.filter(pk=number).first()
    if row is None or row.state == OPEN:
        return ""
    if row.state == CLOSED:
        return str(row.why)
    return next((question.answer for _, question in readable([row])), UNREADABLE)


def forget(assistant: int, _person: str, name: PersonNames) -> None:
    """Hide a person's names in what an assistant asked, and in how that ended.

    The arguments of a call stay: a yes applies to exactly these. A row that cannot be read may hold
    anybody's words, so it is closed and emptied.
    """
    for row in StoredQuestion.objects.filter(assistant=assistant):
        hidden = {"why": name.hidden(row.why)}
        if row.question:
            hidden |= _hidden(row, name)
        StoredQuestion.objects.filter(pk=row.pk).update(**hidden)


def _hidden(row: StoredQuestion, name: PersonNames) -> dict[str, str]:
    if not readable([row]):
        return {"key": "", "question": "", "state": CLOSED, "why": UNREADABLE}
    question = json.loads(row.question)
    event = _without(question.get("event", {}), ("sender_name", "body"), name)
    texts = _without(question, ("prompt", "detail", "by"), name)
    return {"question": json.dumps({**texts, "event": event})}


def _without(row: Mapping[str, Any], keys: Iterable[str], name: PersonNames) -> dict[str, Any]:
    return {**row, **{key: name.hidden(str(row[key])) for key in keys if key in row}}


def remove_all(script: Assistant) -> None:
    """Delete all unclosed questions of an assistant; the reasons of closed ones stay."""
    StoredQuestion.objects.filter(assistant=script.pk).exclude(state=CLOSED).delete()
    drop_copy(script)


# The attribute in which older versions stored questions.
OLD = "questions"


def migrate_questions(script: Assistant) -> bool:
    """Turn questions of an older version into rows and remove its attribute, all or nothing."""
    if (attribute := script.attributes.find(OLD)) is None:
        return False
    try:
        with transaction.atomic():
            questions = [Question.from_stored(item) for item in deserialize(attribute.value or [])]
            # Before they are inserted, so that no new question gets one of their numbers.
            next_number(*(question.number for question in questions))
            for question in questions:
                insert(script, _renumbered(question))
            script.attributes.remove(OLD)
    # The attribute then stays as it is, for the next start.
    except Exception:
        script.attributes.reset_cache()
        logger.log_trace(f"[assistant] {script.key}: questions of an older version are kept back")
    finally:
        drop_copy(script)
    return True


def _renumbered(question: Question) -> Question:
    """The question under its own number, or under a new one if that is taken."""
    is_taken = StoredQuestion.objects.filter(pk=question.number).exists()
    return replace(question, number=next_number()) if is_taken else question
