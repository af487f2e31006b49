"""The tables of work done by workers: what is to be done, and who does it.

`workers.board` fills them. A queue of somebody else's only rings: what is to be done stands here.
"""

from __future__ import annotations

from django.db import models

KEY, LONG = 64, 255


class WorkJob(models.Model):
    """A job: a pure function of its input, whose result the game's server alone uses.

    Attributes:
        key: by which the server waits for it and a worker finds it.
        run: the server process that waits; what another one put up is void.
        assistant, epoch: number of its script, and its epoch then; another epoch voids it.
        kind: a key of `workers.kinds.KINDS`.
        given: the input, as the kind reads it; empty once a worker is done with it.
        state: waiting, running, done or failed.
        attempts: how often a worker began it, without those who left it to others.
        worker: who began it last.
        result: of what is done; the error, as the kind writes it, of what failed.
        bell: number of the queue's own job that rings for it.
        refusals: how often a worker that is not set up for it left it to others.
        at: when it was put up.
        until: when it is over for whoever asked, by the database's clock; workers remove it then.
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
        """Lookups: what is over, of one server; and an assistant's."""

        app_label = "evennia_ai"
        indexes = [
            models.Index(fields=["run", "state"], name="evennia_ai_job_state"),
            models.Index(fields=["assistant", "kind"], name="evennia_ai_job_of"),
        ]


class WorkerSeen(models.Model):
    """A worker that runs, or was killed.

    Attributes:
        name: its machine and process, and when it began.
        seen_at: when it last said that it lives, by the database's clock.
        embeddings: the embedding model that it has.
        problem: what it cannot do and why, or "".
    """

    name = models.CharField(max_length=LONG, primary_key=True)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    embeddings = models.CharField(max_length=KEY, blank=True)
    problem = models.CharField(max_length=LONG, blank=True)

    class Meta:
        """A table of the package, though the module is not its `models`."""

        app_label = "evennia_ai"
