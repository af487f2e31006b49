"""The questions of an assistant that are not closed: their rows, and a copy of them in memory.

The copy is read at a start and let go of by each write, in its transaction; it is read anew when
somebody asks for it. What is read before that transaction is committed or undone is not kept.

A row that makes no sense is left out: all others of its assistant can be answered and closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from evennia.utils import logger

from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.models.statements import open_transaction, select
from evennia_ai.runtime.assistant import Assistant

OPEN, ANSWERED, CLOSED = "open", "answered", "closed"
_OF_ONE = "assistant = %s AND state <> %s ORDER BY id"
MOST_TOLD = 1_000
# Rows that the log was told of in this process: they are read again and again.
_TOLD: set[tuple[int, str]] = set()


def stored(script: Assistant) -> tuple[Question, ...]:
    """All questions of an assistant that are not closed, the oldest first."""
    work = script.work
    if work is not None and work.questions is not None:
        return work.questions
    rows = select(StoredQuestion, _OF_ONE, (script.pk, CLOSED))
    questions = tuple(question for _, question in readable(rows))
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


def readable(rows: Iterable[StoredQuestion]) -> list[tuple[StoredQuestion, Question]]:
    """Rows that are not closed, with their questions; the log is told of those that are damaged."""
    found = []
    for row in rows:
        try:
            found.append((row, _read_back(row)))
        except (TypeError, ValueError) as error:  # pydantic's are among the latter
            _tell(row, error)
    return found


def _read_back(row: StoredQuestion) -> Question:
    return Question.from_stored(json.loads(row.question) | {"number": row.pk})


def _tell(row: StoredQuestion, error: Exception) -> None:
    told = row.pk, row.question
    if told not in _TOLD and len(_TOLD) < MOST_TOLD:
        _TOLD.add(told)
        # Never its words, which may be private.
        logger.log_err(
            f"[assistant] question {row.pk} of assistant #{row.assistant} cannot be read and is "
            f"left out ({type(error).__name__}); its row is in evennia_ai_storedquestion"
        )
