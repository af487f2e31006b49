"""The questions of an assistant that are not closed: their rows, and a copy of them in memory.

The copy is read at a start and let go of by each write, in its transaction; it is read anew when
somebody asks for it. What is read before that transaction is committed or undone is not kept.
"""

from __future__ import annotations

import json

from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.models.statements import open_transaction, select
from evennia_ai.runtime.assistant import Assistant

OPEN, ANSWERED, CLOSED = "open", "answered", "closed"
_OF_ONE = "assistant = %s AND state <> %s ORDER BY id"


def stored(script: Assistant) -> tuple[Question, ...]:
    """All questions of an assistant that are not closed, the oldest first."""
    work = script.work
    if work is not None and work.questions is not None:
        return work.questions
    rows = select(StoredQuestion, _OF_ONE, (script.pk, CLOSED))
    questions = tuple(map(read_back, rows))
    if work is not None and (work.asked_in is None or work.asked_in is not open_transaction()):
        work.questions, work.asked_in = questions, None
    return questions


def pending(script: Assistant) -> list[Question]:
    """The questions of an assistant that can be answered now, the oldest first."""
    now = script.clock.seconds()
    return [item for item in stored(script) if not (item.is_over(now) or item.choice)]


def let_go(script: Assistant) -> None:
    """Forget the copy, for the table changes: whoever asks next reads that."""
    if script.work is not None:
        script.work.questions, script.work.asked_in = None, open_transaction()


def read_back(row: StoredQuestion) -> Question:
    """The question of a row that is not closed."""
    return Question.from_stored(json.loads(row.question) | {"number": row.pk})
