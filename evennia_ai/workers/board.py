"""The table of jobs: what waits, who works on it, and what came of it.

The server posts, withdraws and collects jobs; a worker claims and finishes them. Each result is
written once, by the worker that began the job last, and the server deletes the row before it uses
the result. Times are the database's, since machines differ. The server does not wait for the disk,
except to learn whether a paid call was begun: a job that a power failure loses is posted again by
its caller, and one that it brings back belongs to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evennia_ai.models import Memory, WorkerSeen, WorkJob
from evennia_ai.models.statements import unhurried
from evennia_ai.workers import bell

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
OVER = (DONE, FAILED)
# How often workers that are not set up for a job may leave it before it fails.
MOST_REFUSALS, REFUSED_SECONDS = 8, 1.0
# The server withdraws a job at its deadline; workers do so only this much later, if it has died.
SPARE_SECONDS = 5.0
# How long a killed worker is reported as missing.
FORGOTTEN = timedelta(hours=1)
_TABLE = WorkJob._meta.db_table
# One statement, since the game waits for it ten times a second. Its commit does not wait for the
# disk: `synchronous_commit` is off for this transaction.
_COLLECT_ENDED = f"""
WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS told)
DELETE FROM {_TABLE} USING unhurried WHERE key IN (
    SELECT key FROM {_TABLE} WHERE run = %s AND state IN ('{DONE}', '{FAILED}') ORDER BY at LIMIT %s
) RETURNING at, key, state, result, attempts
"""


@dataclass(frozen=True, slots=True)
class PostedJob:
    """A job as it is posted.

    Attributes:
        is_alone: only one job of this kind and assistant is posted at a time; an older one is
            dropped.
        priority: higher ones are begun first.
        seconds: after which nobody waits for it any more.
    """

    key: str
    run: str
    assistant: int
    epoch: int
    kind: str
    given: bytes
    seconds: float
    is_alone: bool = False
    priority: int = bell.USUAL


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that has ended, as it was collected.

    Attributes:
        is_begun: a worker began it, and did not report that nothing was sent.
    """

    key: str
    is_done: bool
    result: bytes
    is_begun: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that a worker began.

    Attributes:
        attempt: number of the attempt, from 1; a result is accepted only from the last one.
    """

    key: str
    attempt: int
    kind: str
    given: bytes


class UnsureError(DatabaseError):
    """The database failed at the commit: the job may have been posted, or not."""


# ---- of the server -----------------------------------------------------------------------------


def put(notice: PostedJob) -> None:
    """Post a job and ring for it.

    Raises:
        RungError: a job of which only one may be posted is still rung for.
        UnsureError: it may have been posted.
        DatabaseError: it was not posted.
    """
    is_written = False
    try:
        with unhurried():
            _put(notice)
            # An error from here on is one of the commit, whose outcome is then unknown.
            is_written = True
    except DatabaseError as error:
        if is_written:
            raise UnsureError(str(error)) from error
        raise


def _put(notice: PostedJob) -> None:
    lock = f"{notice.kind}:{notice.assistant}" if notice.is_alone else None
    if notice.is_alone:
        _withdraw(WorkJob.objects.filter(assistant=notice.assistant, kind=notice.kind))
    rung = bell.ring(notice.key, lock, notice.priority)
    WorkJob.objects.create(
        key=notice.key,
        run=notice.run,
        assistant=notice.assistant,
        epoch=notice.epoch,
        kind=notice.kind,
        given=notice.given,
        bell=rung,
        at=Now(),
        until=Now() + timedelta(seconds=notice.seconds + SPARE_SECONDS),
    )


def drop(keys: Iterable[str]) -> None:
    """Withdraw jobs; a worker that still works on one finds no row."""
    with unhurried():
        _withdraw(WorkJob.objects.filter(key__in=list(keys)))


def drop_unbegun(key: str) -> bool:
    """Withdraw a job that no worker has begun. Returns True if that succeeded."""
    # A durable commit: money is given back on the strength of it.
    with transaction.atomic():
        return bool(_withdraw(WorkJob.objects.filter(key=key, attempts=0)))


def drop_run(run: str) -> None:
    """Withdraw everything that one run of the server posted."""
    with transaction.atomic():
        _withdraw(WorkJob.objects.filter(run=run))


def drop_strangers(run: str) -> int:
    """Withdraw everything that other runs of the server posted. Returns the number of jobs."""
    with transaction.atomic():
        return _withdraw(WorkJob.objects.exclude(run=run))


def _withdraw(jobs: QuerySet[WorkJob]) -> int:
    # Locked, so that a worker claiming one right now either has it or finds it gone.
    bells = list(jobs.select_for_update().values_list("key", "bell"))
    if not bells:
        return 0
    WorkJob.objects.filter(key__in=[key for key, _ in bells]).delete()
    # Without the package no worker runs, and there are no bells to silence.
    if bell.is_installed():
        bell.silence(number for _, number in bells)
    return len(bells)


def collect_ended(run: str, limit: int) -> list[EndedJob]:
    """Collect jobs of one run that have ended, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_COLLECT_ENDED, [run, limit])
        # RETURNING does not keep the subquery's order.
        rows = sorted(cursor.fetchall())
    return [
        EndedJob(key, state == DONE, bytes(result), attempts > 0)
        for _, key, state, result, attempts in rows
    ]


def count(assistant: int | None, patience: float) -> tuple[int, int, int]:
    """The numbers of jobs that wait, that living workers work on, and whose workers are gone."""
    jobs = WorkJob.objects.all()
    if assistant is not None:
        jobs = jobs.filter(assistant=assistant)
    waiting = jobs.filter(state=WAITING).count()
    workers = list(jobs.filter(state=RUNNING).values_list("worker", flat=True))
    living = set(alive(patience).values_list("name", flat=True)) if workers else set()
    running = sum(name in living for name in workers)
    return waiting, running, len(workers) - running


def alive(patience: float) -> QuerySet[WorkerSeen]:
    """The workers heard of within so many seconds."""
    return WorkerSeen.objects.filter(seen_at__gte=Now() - timedelta(seconds=patience))


def problems(patience: float) -> str:
    """The first problem that a living worker reports, or ""."""
    first = alive(patience).exclude(problem="").values_list("name", "problem").first()
    return "" if first is None else f"the worker {first[0]} says: {first[1]}"


# ---- of a worker -------------------------------------------------------------------------------


def claim(
    key: str, worker: str, ends: Mapping[str, tuple[int, bytes]], left: Mapping[str, bytes]
) -> Claimed | None:
    """Begin a job. None: it ended, was withdrawn, was begun too often, or is left to others.

    Args:
        ends: for each kind, how often it may be begun, and its result after that.
        left: the kinds that are left to other workers, and their result if all leave them.
    """
    with transaction.atomic():
        if drop_late(key):
            return None
        # Two workers may hear of one job, as after one of them was taken for dead.
        row = WorkJob.objects.select_for_update().filter(key=key).first()
        if row is None or row.state in OVER:
            return None
        most, words = ends[row.kind]
        if row.attempts >= most:
            row.state, row.given, row.result = FAILED, b"", words
            row.save(update_fields=["state", "given", "result"])
            return None
        if row.kind in left:
            _leave_row(row, left[row.kind])
            return None
        row.state, row.worker, row.attempts = RUNNING, worker, row.attempts + 1
        row.save(update_fields=["state", "worker", "attempts"])
    return Claimed(key, row.attempts, row.kind, bytes(row.given))


def drop_late(key: str = "") -> int:
    """Withdraw jobs that nobody waits for any more. Returns their number.

    Args:
        key: of the only job to look at; "": all.
    """
    late = WorkJob.objects.filter(until__lt=Now())
    with transaction.atomic():
        return _withdraw(late.filter(key=key) if key else late)


def leave(job: Claimed, words: bytes) -> None:
    """Leave a job to another worker after it was begun, because nothing was sent for it.

    Args:
        words: its result if it was left too often.
    """
    with transaction.atomic():
        if (row := _mine(job).select_for_update().first()) is not None:
            row.attempts -= 1
            _leave_row(row, words)


def _leave_row(row: WorkJob, words: bytes) -> None:
    row.state, row.worker, row.refusals = WAITING, "", row.refusals + 1
    if row.refusals > MOST_REFUSALS:
        row.state, row.given, row.result = FAILED, b"", words
    else:
        row.bell = bell.ring(row.key, None, bell.URGENT, REFUSED_SECONDS)
    row.save()


def finish(job: Claimed, result: bytes, *, is_done: bool, is_sent: bool = True) -> bool:
    """Write the result of a job, and forget its input. Returns True if anybody wants it.

    Args:
        is_sent: False: nothing was sent for it, so it counts as not begun.
    """
    state = DONE if is_done else FAILED
    attempts = job.attempt if is_sent else job.attempt - 1
    written = _mine(job).update(state=state, given=b"", result=result, attempts=attempts)
    return bool(written)


def is_there(key: str) -> bool:
    """True where a job is still posted."""
    return bool(WorkJob.objects.filter(key=key).exists())


def is_wanted(job: Claimed) -> bool:
    """True while somebody waits for a job, and no other worker has begun it since."""
    return bool(_mine(job).filter(until__gte=Now()).exists())


def _mine(job: Claimed) -> QuerySet[WorkJob]:
    return WorkJob.objects.filter(key=job.key, state=RUNNING, attempts=job.attempt)


def hello(worker: str, embeddings: str, problem: str) -> None:
    """Record that a worker is alive."""
    columns = {"seen_at": Now(), "embeddings": embeddings, "problem": problem[:255]}
    if not WorkerSeen.objects.filter(name=worker).update(**columns):
        WorkerSeen.objects.create(name=worker, began_at=Now(), **columns)
    WorkerSeen.objects.filter(seen_at__lt=Now() - FORGOTTEN).delete()


def goodbye(worker: str) -> None:
    """Record that a worker has ended in order."""
    WorkerSeen.objects.filter(name=worker).delete()


def texts(keys: Sequence[str]) -> dict[str, str]:
    """The texts of memories that are not forgotten, by key."""
    memories = Memory.objects.filter(key__in=list(keys), is_removed=False)
    return dict(memories.values_list("key", "text"))
