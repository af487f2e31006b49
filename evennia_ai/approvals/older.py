"""Questions of an older game, which kept them in an attribute of each assistant."""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize

from evennia_ai.approvals import store
from evennia_ai.core.safety.questions import Question
from evennia_ai.models import StoredQuestion
from evennia_ai.runtime.asked import let_go
from evennia_ai.runtime.assistant import Assistant

OLD = "questions"


def move_in(script: Assistant) -> None:
    """Make rows of what an attribute holds, and take it away, all or none of it.

    Where that fails it stays as it is, for the next start.
    """
    if (attribute := script.attributes.find(OLD)) is None:
        return
    try:
        with transaction.atomic():
            found = [Question.from_stored(item) for item in deserialize(attribute.value or [])]
            # Before they are put in, so that no new question gets the number of one of them.
            store.next_number(*(question.number for question in found))
            for question in found:
                store.insert(script, _as_new(question))
            script.attributes.remove(OLD)
    except Exception:
        script.attributes.reset_cache()
        logger.log_trace(f"[assistant] {script.key}: questions of an older version are kept back")
    finally:
        let_go(script)


def _as_new(question: Question) -> Question:
    """It under its own number, or a new one where another question has that already."""
    is_taken = StoredQuestion.objects.filter(pk=question.number).exists()
    return replace(question, number=store.next_number()) if is_taken else question
