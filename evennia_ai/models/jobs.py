"""The tables of background jobs and of the workers that run them.

`workers.board` fills them. An external task queue, if there is one, only wakes workers; the jobs
themselves are here.
"""

from __future__ import annotations

from django.db import models

KEY, LONG = 64, 255


class WorkJob(models.Model):
    """A job: a pure function of its input. Only the game's server uses the result.

    Attributes:
        key: primary key, shared by server and worker.
        run: id of the server process that waits; a job of an earlier process is void.
        assistant: id of the assistant's script.
        epoch: the assistant's epoch when the job was posted; another epoch voids it.
        kind: a key of `workers.kinds.KINDS`.
        given: the encoded input; empty once the job has ended.
        state: waiting, running, done or failed.
        attempts: number of workers that began it, without those counted in `refusals`.
        worker: name of the worker that began it last.
        result: the encoded result, or error.
        bell: id of the job in the external task queue that wakes a worker for it.
        refusals: number of workers that are not set up for it and left it to others.
        at: when it was posted.
        until: its deadline by the database's clock, after which workers delete it.
    """

    key = models.CharField(max_length=KEY, primary_key=True)
    run = models.CharField(max_length=KEY)
    assistant = models.BigIntegerField()
    epoch = models.BigIntegerField()
    kind = models.CharField(max_length=16)
    given = models.BinaryField()
    state = models.CharField(max_length=16, default="waiting")
    attempts = models.SmallIntegerField(default=0)
    worker = models.CharField(max_length=LONG, blank=True)
    result = models.BinaryField(default=b"")
    bell = models.BigIntegerField(default=0)
    refusals = models.SmallIntegerField(default=0)
    at = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        """Indexes by server and state, and by assistant and kind."""

        app_label = "evennia_ai"
        indexes = [
            models.Index(fields=["run", "state"], name="evennia_ai_job_state"),
            models.Index(fields=["assistant", "kind"], name="evennia_ai_job_of"),
        ]


class WorkerSeen(models.Model):
    """A worker that runs, or was killed.

    Attributes:
        name: made of its host, process id and start time.
        seen_at: time of its last heartbeat, by the database's clock.
        embeddings: the embedding model that it has.
        problem: a sentence on what it cannot do, or "".
    """

    name = models.CharField(max_length=LONG, primary_key=True)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    embeddings = models.CharField(max_length=KEY, blank=True)
    problem = models.CharField(max_length=LONG, blank=True)

    class Meta:
        """Django needs the label, as the model is not defined in the app's `models` module."""

        app_label = "evennia_ai"
