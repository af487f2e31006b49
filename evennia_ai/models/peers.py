"""The tables of peers: tasks that they give, what happened to those, who is told, and our own.

`tasks.peer_store` fills them. Words of a task are in its own row; an event has what a stream sends.
"""

from __future__ import annotations

from django.db import models

KEY, LONG = 64, 255


class PeerTask(models.Model):
    """A task that a peer gave an assistant.

    Attributes:
        id: by which the peer knows it.
        assistant, account: numbers of the script that does it, and of the owner of the token.
        context: the peer's own thread of tasks.
        request: the event of it in the assistant's inbox, which `PendingTask` has too.
        number: what `assistant why` knows it by.
        is_order: it may act in the world.
        state: a word of `tasks.peer_store`; one that ends it is never changed.
        question: the number of the question that the peer is asked now, or was asked last.
        words: JSON of the messages so far, the peer's and the assistant's.
        answer: the report, once there is one.
        made_at, changed_at: seconds since 1970.
    """

    id = models.CharField(max_length=KEY, primary_key=True)
    assistant = models.BigIntegerField()
    account = models.BigIntegerField()
    context = models.CharField(max_length=KEY)
    request = models.CharField(max_length=KEY)
    number = models.BigIntegerField(default=0)
    is_order = models.BooleanField(default=False)
    state = models.CharField(max_length=20)
    question = models.BigIntegerField(default=0)
    words = models.TextField()
    answer = models.TextField(blank=True)
    made_at = models.FloatField()
    changed_at = models.FloatField()

    class Meta:
        """Lookups of a peer's tasks, and of those that are not over."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("account", "assistant"), name="evennia_ai_peer_tasks"),
            models.Index(fields=("state",), name="evennia_ai_peer_states"),
        )


class PeerEvent(models.Model):
    """Something that happened to a task; rows are only ever added, and are sent in their order.

    Attributes:
        kind: "status" or "artifact".
        data: JSON of what is told.
    """

    id = models.BigAutoField(primary_key=True)
    task = models.CharField(max_length=KEY)
    kind = models.CharField(max_length=10)
    data = models.TextField()
    at = models.FloatField()

    class Meta:
        """Lookups of what a task has beyond a number."""

        app_label = "evennia_ai"
        indexes = (models.Index(fields=("task", "id"), name="evennia_ai_peer_events"),)


class PeerHook(models.Model):
    """An address that is told of a task.

    Attributes:
        key: the peer's name for it.
        token, scheme, credentials: what the peer wants to be shown; they are sent nowhere else.
        sent: number of the last event that it was told of, or that was given up.
        tries: how often the next one failed.
        next_at: when it is tried again, in seconds since 1970; beyond any time once it was told
            the end of its task.
        problem: what went wrong last.
    """

    id = models.BigAutoField(primary_key=True)
    task = models.CharField(max_length=KEY)
    key = models.CharField(max_length=KEY)
    url = models.TextField()
    token = models.TextField(blank=True)
    scheme = models.CharField(max_length=KEY, blank=True)
    credentials = models.TextField(blank=True)
    sent = models.BigIntegerField(default=0)
    tries = models.IntegerField(default=0)
    next_at = models.FloatField(default=0.0)
    problem = models.CharField(max_length=LONG, blank=True)

    class Meta:
        """One address by each name; lookups of those that are to be told something."""

        app_label = "evennia_ai"
        indexes = (models.Index(fields=("next_at",), name="evennia_ai_peer_hooks_due"),)
        constraints = (
            models.UniqueConstraint(fields=("task", "key"), name="evennia_ai_one_hook_each"),
        )


class RemoteTask(models.Model):
    """A task that is, or was, with an agent elsewhere; not a word of it or of its answer.

    `tasks.remote_tasks` fills the table.

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
