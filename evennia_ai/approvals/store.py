"""The table of questions to people: given a number, written, found, closed and pruned here.

A question is written in the transaction of the record of what happens to it. One that is closed
stays for a while with the reason, and is never open again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import QuerySet
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize

from evennia_ai import audit
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.models.question import LONG
from evennia_ai.runtime import state
from evennia_ai.runtime.asked import ANSWERED, CLOSED, OPEN, let_go, readable
from evennia_ai.runtime.asked import pending as pending
from evennia_ai.runtime.asked import stored as stored
from evennia_ai.runtime.assistant import Assistant

# The count of an older game, which the database goes on with.
COUNTER = "evennia_ai_questions"
ASSISTANTS = {"db_tags__db_key": "ai_assistant", "db_tags__db_category": "system"}
MOST_REMEMBERED = 500
UNREADABLE = "what was stored of it cannot be read"

Entry = tuple[Any, Question]


# ---- numbers -----------------------------------------------------------------------------------


def next_number(*taken: int) -> int:
    """A number that no question had before, whichever server process asks it.

    Args:
        taken: numbers that an older game gave, which nobody will be given from here on.
    """
    with transaction.atomic():
        last = max(0, _older_count(), *taken)
        number = _draw()
        if number <= last:
            _draw(last)
            number = _draw()
    return number


def _older_count() -> int:
    """The last number that an older game counted; 0 where that is known already."""
    counted = ServerConfig.objects.filter(db_key=COUNTER)
    if not counted.update(db_key=COUNTER):  # which waits for whoever does the same just now
        return 0
    last = int(counted.get().value)
    counted.delete()
    return last


def _draw(number: int | None = None) -> int:
    """Let the database give a number, or count on from this one."""
    row = StoredQuestion.objects.create(pk=number, assistant=0, asked_at=0.0, state=CLOSED)
    if number is not None:
        with connection.cursor() as cursor:
            # PostgreSQL counts on only from numbers that it drew itself.
            for sql in connection.ops.sequence_reset_sql(no_style(), [StoredQuestion]):
                cursor.execute(sql)
    drawn = int(row.pk)
    # Its number stays used: the table gives none twice.
    row.delete()
    return drawn


# ---- writing -----------------------------------------------------------------------------------


def begin(script: Assistant, question: Question) -> None:
    """Store a question that was not there before."""
    _write(script, lambda: insert(script, question))


def put(script: Assistant, question: Question) -> None:
    """Store a question in the place of what had its number; what is closed stays so."""
    _write(script, lambda: _update(script, question))


def close(script: Assistant, question: Question, why: str) -> None:
    """Close a question.

    Args:
        why: how it ended, in words, for whoever answers too late.
    """
    state.write(script, extra_writes=closing(script, question, why))


def closing(script: Assistant, question: Question, why: str) -> Callable[[], None]:
    """The writes by which a question is closed, for whoever stores more with them."""

    def write() -> None:
        over = {"state": CLOSED, "why": why, "closed_at": script.clock.seconds()}
        _row(question).update(key="", question="", **over)
        _prune()
        let_go(script)

    return write


def hand_on(owner: Assistant, heir: Assistant, question: Question) -> None:
    """Let another assistant have a question, with what the records of both tell of it."""

    def write() -> None:
        _update(heir, question)
        audit.keep(owner)
        let_go(owner)

    _write(heir, write)


def _write(script: Assistant, act: Callable[[], None]) -> None:
    def write() -> None:
        act()
        let_go(script)

    state.write(script, extra_writes=write)


def insert(script: Assistant, question: Question) -> None:
    """Add the row of a question, in the caller's transaction."""
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
    """Remove what was closed longest ago."""
    closed = StoredQuestion.objects.filter(state=CLOSED).order_by("-closed_at", "-pk")
    # No more at once, since whoever answers a question waits for it.
    old = list(closed.values_list("pk", flat=True)[MOST_REMEMBERED : 2 * MOST_REMEMBERED])
    if old:
        StoredQuestion.objects.filter(pk__in=old).delete()


# ---- finding -----------------------------------------------------------------------------------


def everywhere() -> list[Entry]:
    """The open questions of all assistants, the oldest first."""
    return _entries(StoredQuestion.objects.filter(state=OPEN))


def find(number: int) -> Entry | None:
    """The open question of that number."""
    return next(iter(_entries(StoredQuestion.objects.filter(pk=number, state=OPEN))), None)


def find_key(key: str) -> Entry | None:
    """The question stored under a key for whoever waits, answered or not, and not over."""
    found = _entries(StoredQuestion.objects.filter(key=key[:LONG]).exclude(state=CLOSED))
    meant = (entry for entry in found if entry[1].is_waited_for and entry[1].asking.key == key)
    return next(meant, None)


def _entries(rows: QuerySet[StoredQuestion]) -> list[Entry]:
    """Those of some questions that are not over, with the scripts of their assistants, if awake."""
    found = list(rows.order_by("pk"))
    if not found:
        return []
    of_these = ScriptDB.objects.filter(pk__in={row.assistant for row in found}, **ASSISTANTS)
    scripts = {script.pk: script for script in of_these if _is_awake(script)}
    ours = [row for row in found if row.assistant in scripts]
    entries = [(scripts[row.assistant], question) for row, question in readable(ours)]
    return [entry for entry in entries if not entry[1].is_over(entry[0].clock.seconds())]


def assistants() -> list[Any]:
    """The scripts of all assistants that run."""
    return [item for item in ScriptDB.objects.filter(**ASSISTANTS) if _is_awake(item)]


def _is_awake(script: Assistant) -> bool:
    return getattr(script, "work", None) is not None


def why_closed(number: int) -> str:
    """The reason why a question is not open, in words, or "" when nobody remembers it."""
    row = StoredQuestion.objects.filter(pk=number).first()
    if row is None or row.state == OPEN:
        return ""
    if row.state == CLOSED:
        return str(row.why)
    return next((question.answer for _, question in readable([row])), UNREADABLE)


def forget(assistant: int, _person: str, name: PersonNames) -> None:
    """Hide a person's names in what an assistant asked, and in how that ended, in its table.

    The arguments of a call are left: a yes was said, or will be, to these and no others. A row that
    cannot be read may hold anybody's words: it is closed, and they go.
    """
    for row in StoredQuestion.objects.filter(assistant=assistant):
        hidden = {"why": name.hidden(row.why)}
        if row.question:
            hidden |= _hidden(row, name)
        StoredQuestion.objects.filter(pk=row.pk).update(**hidden)


def _hidden(row: StoredQuestion, name: PersonNames) -> dict[str, str]:
    if not readable([row]):
        return {"key": "", "question": "", "state": CLOSED, "why": UNREADABLE}
    asked = json.loads(row.question)
    event = _without(asked.get("event", {}), ("sender_name", "body"), name)
    told = _without(asked, ("prompt", "detail", "by"), name)
    return {"question": json.dumps({**told, "event": event})}


def _without(row: Mapping[str, Any], keys: Iterable[str], name: PersonNames) -> dict[str, Any]:
    return {**row, **{key: name.hidden(str(row[key])) for key in keys if key in row}}


def remove_all(script: Assistant) -> None:
    """Take out all questions of an assistant; why those before were closed stays."""
    StoredQuestion.objects.filter(assistant=script.pk).exclude(state=CLOSED).delete()
    let_go(script)


# The attribute in which an older game kept questions.
OLD = "questions"


def move_in(script: Assistant) -> None:
    """Make rows of the questions of an older game, and remove its attribute; all or nothing.

    Where that fails it stays as it is, for the next start.
    """
    if (attribute := script.attributes.find(OLD)) is None:
        return
    try:
        with transaction.atomic():
            found = [Question.from_stored(item) for item in deserialize(attribute.value or [])]
            # Before they are put in, so that no new question gets the number of one of them.
            next_number(*(question.number for question in found))
            for question in found:
                insert(script, _as_new(question))
            script.attributes.remove(OLD)
    except Exception:
        script.attributes.reset_cache()
        logger.log_trace(f"[assistant] {script.key}: questions of an older version are kept back")
    finally:
        let_go(script)


def _as_new(question: Question) -> Question:
    """It under its own number, or a new one where another question has that already."""
    is_taken = StoredQuestion.objects.filter(pk=question.number).exists()
    return replace(question, number=next_number()) if is_taken else question
