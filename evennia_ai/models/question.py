"""The table of questions that assistants ask people.

`approvals.store` fills it and `runtime.asked` reads it. The row ids are the numbers that people
type, since a database never gives an id twice.
"""

from __future__ import annotations

from django.db import models

LONG = 255


class StoredQuestion(models.Model):
    """A question to people, open or closed: `core.safety.questions.Question`.

    `question` is the whole content; the other columns are copies for lookups and for people.

    Attributes:
        assistant: id of the script that asks.
        key: by which a turn waits for the answer; "" if a tool call waits, or if it is closed.
        asked_at: time of the question on the assistant's clock.
        due: deadline of the answer on the assistant's clock; 0: none.
        state: open, answered (until the answer was used) or closed.
        choice: id of the answer, or "".
        question: JSON of the question; "" once it is closed.
        why: a sentence on how it was closed.
        closed_at: time when it was closed.
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
        """Indexes by assistant and state, by key, and for the questions closed last."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("assistant", "state"), name="evennia_ai_question_of"),
            models.Index(fields=("key",), name="evennia_ai_question_key"),
            models.Index(fields=("state", "closed_at"), name="evennia_ai_question_state"),
        )
