"""The open questions of an assistant: their rows, and a copy of them in memory.

The copy is read at a start. Each write drops it within its transaction, and the next reader reads
it again. What is read before that transaction ends is not kept, since it may be rolled back.

A row that cannot be read is left out, so that all others of its assistant can be answered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from evennia.utils import logger

from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.models.statements import open_transaction, select
from evennia_ai.runtime.assistant import Assistant

OPEN, ANSWERED, CLOSED = "open", "answered", "closed"
_UNCLOSED_OF_ASSISTANT = "assistant = %s AND state <> %s ORDER BY id"
# Damaged rows that this process has logged: they are read again and again.
MOST_LOGGED = 1_000
_LOGGED: set[tuple[int, str]] = set()


def stored(script: Assistant) -> tuple[Question, ...]:
    """All questions of an assistant that are not closed, oldest first."""
    work = script.work
    if work is not None and work.questions is not None:
        return work.questions
    rows = select(StoredQuestion, _UNCLOSED_OF_ASSISTANT, (script.pk, CLOSED))
    questions = tuple(question for _, question in readable(rows))
    if work is not None and (work.asked_in is None or work.asked_in is not open_transaction()):
        work.questions, work.asked_in = questions, None
    return questions


def asking_among(assistants: Collection[int]) -> set[int]:
    """Those, by primary key, that have questions which are not closed."""
    rows = StoredQuestion.objects.filter(assistant__in=assistants).exclude(state=CLOSED)
    return set(rows.values_list("assistant", flat=True))


def pending(script: Assistant) -> list[Question]:
    """The questions of an assistant that can be answered now, oldest first."""
    now = script.clock.seconds()
    return [item for item in stored(script) if not (item.is_over(now) or item.choice)]


def drop_copy(script: Assistant) -> None:
    """Drop the copy because the table changes: the next reader reads it again."""
    if script.work is not None:
        script.work.questions, script.work.asked_in = None, open_transaction()


def readable(rows: Iterable[StoredQuestion]) -> list[tuple[StoredQuestion, Question]]:
    """Rows with their questions; damaged ones are logged and left out."""
    pairs = []
    for row in rows:
        try:
            fields = json.loads(row.question) | {"number": row.pk}
            pairs.append((row, Question.from_stored(fields)))
        except (TypeError, ValueError) as error:  # pydantic's ValidationError is a ValueError
            _log_once(row, error)
    return pairs


def _log_once(row: StoredQuestion, error: Exception) -> None:
    problem = row.pk, row.question
    if problem not in _LOGGED and len(_LOGGED) < MOST_LOGGED:
        _LOGGED.add(problem)
        # Never the row's words, which may be private.
        logger.log_err(
            f"[assistant] question {row.pk} of assistant #{row.assistant} cannot be read and is "
            f"left out ({type(error).__name__}); its row is in evennia_ai_storedquestion"
        )
