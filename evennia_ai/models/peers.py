"""The tables of A2A: tasks that peers give us, their events and hooks, and tasks we give others.

`tasks.peer_store` fills the first three. The messages of a task are in its own row; an event is
what a stream sends.
"""

from __future__ import annotations

from django.db import models

KEY, LONG = 64, 255


class PeerTask(models.Model):
    """A task that a peer gave an assistant.

    Attributes:
        id: the task id that the peer gets.
        assistant: id of the script that does it.
        account: id of the account that owns the peer's token.
        context: the A2A context id, which groups a peer's tasks.
        request: id of its event in the assistant's inbox, and of its `PendingTask`.
        number: its number in `assistant why`.
        is_order: True if the assistant may act in the world for it.
        state: a state of `tasks.peer_store`; a final one never changes.
        question: number of the question that the peer was asked last.
        words: JSON of all messages so far, of peer and assistant.
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
        """Indexes by account and assistant, and by state."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("account", "assistant"), name="evennia_ai_peer_tasks"),
            models.Index(fields=("state",), name="evennia_ai_peer_states"),
        )


class PeerEvent(models.Model):
    """An event of a task. Rows are only added, and sent in the order of their ids.

    Attributes:
        kind: "status" or "artifact".
        data: the event as JSON.
    """

    id = models.BigAutoField(primary_key=True)
    task = models.CharField(max_length=KEY)
    kind = models.CharField(max_length=10)
    data = models.TextField()
    at = models.FloatField()

    class Meta:
        """An index for a task's events after a given id."""

        app_label = "evennia_ai"
        indexes = (models.Index(fields=("task", "id"), name="evennia_ai_peer_events"),)


class PeerHook(models.Model):
    """A push notification target (webhook) of a task.

    Attributes:
        key: the peer's id for it.
        token, scheme, credentials: sent to this address for authentication, and nowhere else.
        sent: id of the last event that was sent or given up.
        tries: failed attempts for the next event.
        next_at: time of the next attempt, in seconds since 1970; in the infinite future once the
            end of the task was sent.
        problem: the last error.
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
        """One target per task and key; an index by due time."""

        app_label = "evennia_ai"
        indexes = (models.Index(fields=("next_at",), name="evennia_ai_peer_hooks_due"),)
        constraints = (
            models.UniqueConstraint(fields=("task", "key"), name="evennia_ai_one_hook_each"),
        )


class RemoteTask(models.Model):
    """A task that an assistant gave a remote agent, without any text of it or of its answer.

    `tasks.remote_tasks` fills the table.

    Attributes:
        id: our id of its first message.
        assistant: id of the script that gave it.
        agent: the agent's name in EVENNIA_AI_REMOTE_SPECIALISTS, in lower case.
        person: id of the player who caused it ("*#3"); "" for nobody, or for a forgotten one.
        chain, hops: id and length of its chain of delegations, as sent to the agent.
        task, context: ids at the agent; "" until it has sent them.
        state: a state of `tasks.remote_tasks`.
        tokens, cost_nano: the usage that was counted for it.
        began_at: seconds since 1970.
        ended_at: seconds since 1970; 0.0 while it is open.
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
        """Indexes for an agent's tasks of a day, and for an assistant's open ones."""

        app_label = "evennia_ai"
        indexes = (
            models.Index(fields=("agent", "began_at"), name="evennia_ai_remote_of_day"),
            models.Index(fields=("assistant", "state"), name="evennia_ai_remote_open"),
        )
