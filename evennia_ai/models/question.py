"""The table of what assistants ask people: `approvals.store` fills it, `runtime.asked` reads it.

Its ids are the numbers by which people call questions; the database gives each of them once.
"""

from __future__ import annotations

from django.db import models

LONG = 255


class StoredQuestion(models.Model):
    """A question to people, or why there is one no more: `core.safety.questions.Question`.

    What is read back is `question`; the columns beside it are for finding and for people.

    Attributes:
        assistant: number of the script that asks.
        key: by which somebody waits for the answer; "" where a call is run on it, or it is closed.
        asked_at, due: on the assistant's clock: when, and until when it can be answered; 0: ever.
        state: open, answered (it waits for whoever asked, or its call is run) or closed.
        choice: id of the answer, "" without one.
        question: JSON of the question; "" of one that is closed, whose words nobody needs.
        why, closed_at: of one that is closed, how it ended, in words, and when.
    """

    id = models.BigAutoField(primary_key=True)
    assistant = models.BigIntegerField()
    key = models.CharField(max_length=LONG, blank=True)
    asked_at = models.FloatField()
    due = models.FloatField(default=0.0)
    state = models.CharField(max_length=16, default="open")
    choice = models.CharField(max_length=LONG, blank=True)
    question = models.TextField(blank=True)
    why = models.TextField(blank=True)
    closed_at = models.FloatField(default=0.0)

    class Meta:
        """A table of the package. Lookups: an assistant's, by key, the open and the last closed."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("assistant", "state"), name="evennia_ai_question_of"),
            models.Index(fields=("key",), name="evennia_ai_question_key"),
            models.Index(fields=("state", "closed_at"), name="evennia_ai_question_state"),
        )
