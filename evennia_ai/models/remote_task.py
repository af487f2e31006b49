"""The table of tasks that assistants gave agents elsewhere. `tasks.remote_tasks` fills it.

Not a word of a task or of an answer is in it: how it stands, and what it cost.
"""

from __future__ import annotations

from django.db import models

KEY, LONG = 64, 255


class RemoteTask(models.Model):
    """A task that is, or was, with an agent elsewhere.

    Attributes:
        id: our own for its first message.
        assistant: number of the script that gave it.
        agent: its name in EVENNIA_AI_REMOTE_SPECIALISTS, in small letters.
        person: who caused it ("*#3"); "" for nobody, or somebody who was forgotten.
        chain, hops: as they were sent along.
        task, context: its ids there; "" as long as the agent has not told them.
        state: a word of `tasks.remote_tasks`.
        tokens, cost_nano: what it was counted as.
        began_at, ended_at: seconds since 1970; it ended at 0.0 where it has not.
    """

    id = models.CharField(max_length=KEY, primary_key=True)
    assistant = models.BigIntegerField()
    agent = models.CharField(max_length=KEY)
    person = models.CharField(max_length=KEY, blank=True)
    chain = models.CharField(max_length=LONG)
    hops = models.IntegerField()
    task = models.CharField(max_length=LONG, blank=True)
    context = models.CharField(max_length=LONG, blank=True)
    state = models.CharField(max_length=20)
    tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    began_at = models.FloatField()
    ended_at = models.FloatField(default=0.0)

    class Meta:
        """Lookups of an agent's tasks of a day, and of an assistant's that are not over."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("agent", "began_at"), name="evennia_ai_remote_of_day"),
            models.Index(fields=("assistant", "state"), name="evennia_ai_remote_open"),
        )
