"""The table of jobs: what stands there, who is at it, and what came of it.

The server puts up, takes back and takes down; a worker claims and finishes. Each result is written
once, by the worker that began the job last; the server takes a row down before it uses it. Times
are the database's, as machines differ. The server waits for no disk but to learn whether a call was
begun, which is money: a job that a loss of power takes is put up anew by who waits for it, and one
that it brings back is nobody's.
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
# So often a job is left by workers that are not set up for it, before whoever asked is told.
MOST_REFUSALS, REFUSED_SECONDS = 8, 1.0
# Whoever asked takes a job back himself when it is over for him; workers only if he died.
SPARE_SECONDS = 5.0
# Of a worker that was killed, so long is told that it is missing.
FORGOTTEN = timedelta(hours=1)
_TABLE = WorkJob._meta.db_table
# One statement, as the game waits for it ten times a second. Its commit waits for no disk.
_TAKEN_DOWN = f"""
WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS told)
DELETE FROM {_TABLE} USING unhurried WHERE key IN (
    SELECT key FROM {_TABLE} WHERE run = %s AND state IN ('{DONE}', '{FAILED}') ORDER BY at LIMIT %s
) RETURNING at, key, state, result, attempts
"""


@dataclass(frozen=True, slots=True)
class PostedJob:
    """A job as it is put up.

    Attributes:
        is_alone: of an assistant's jobs of this kind one stands there at a time; the older goes.
        priority: what is higher is begun first.
        seconds: after which it is over for whoever asked.
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
class Over:
    """A job that is over, as it was taken down.

    Attributes:
        is_begun: a worker began it, who did not say that nothing was sent.
    """

    key: str
    is_done: bool
    result: bytes
    is_begun: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that a worker began.

    Attributes:
        attempt: which time it is, from 1; with the key, what its result is written by.
    """

    key: str
    attempt: int
    kind: str
    given: bytes


class UnsureError(DatabaseError):
    """The database was lost while it kept a job: it may stand there, or not."""


# ---- of the server -----------------------------------------------------------------------------


def put(notice: PostedJob) -> None:
    """Put a job up and ring for it.

    Raises:
        RungError: another one of which one stands there at a time is still rung for.
        UnsureError: it may have been written.
        DatabaseError: it was not.
    """
    is_written = False
    try:
        with unhurried():
            _put(notice)
            # What fails from here on is the commit, of which nobody knows whether it happened.
            is_written = True
    except DatabaseError as error:
        if is_written:
            raise UnsureError(str(error)) from error
        raise


def _put(notice: PostedJob) -> None:
    lock = f"{notice.kind}:{notice.assistant}" if notice.is_alone else None
    if notice.is_alone:
        _take_back(WorkJob.objects.filter(assistant=notice.assistant, kind=notice.kind))
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
    """Take jobs back; what a worker still makes of them finds no row."""
    with unhurried():
        _take_back(WorkJob.objects.filter(key__in=list(keys)))


def drop_unbegun(key: str) -> bool:
    """Take a job back that nobody has begun. Returns whether that was so; nobody begins it then."""
    with transaction.atomic():
        return bool(_take_back(WorkJob.objects.filter(key=key, attempts=0)))


def drop_run(run: str) -> None:
    """Take back what one run of the server put up."""
    with transaction.atomic():
        _take_back(WorkJob.objects.filter(run=run))


def drop_strangers(run: str) -> int:
    """Take back what another run of the server put up. Returns how many there were."""
    with transaction.atomic():
        return _take_back(WorkJob.objects.exclude(run=run))


def _take_back(found: QuerySet[WorkJob]) -> int:
    # Locked: a worker that begins one at this moment has begun it, or finds it gone.
    bells = list(found.select_for_update().values_list("key", "bell"))
    if not bells:
        return 0
    WorkJob.objects.filter(key__in=[key for key, _ in bells]).delete()
    # Without the package nobody rings and nobody comes. What is under way may ring again, too.
    if bell.is_installed():
        bell.silence(number for _, number in bells)
    return len(bells)


def over(run: str, limit: int) -> list[Over]:
    """Take down what is over, of one run, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN_DOWN, [run, limit])
        # RETURNING keeps no order.
        rows = sorted(cursor.fetchall())
    return [
        Over(key, state == DONE, bytes(result), begun > 0) for _, key, state, result, begun in rows
    ]


def count(assistant: int | None, patience: float) -> tuple[int, int, int]:
    """Number of jobs that wait, that living workers are at, and whose workers are gone."""
    found = WorkJob.objects.all()
    if assistant is not None:
        found = found.filter(assistant=assistant)
    waiting = found.filter(state=WAITING).count()
    begun = list(found.filter(state=RUNNING).values_list("worker", flat=True))
    living = set(alive(patience).values_list("name", flat=True)) if begun else set()
    running = sum(name in living for name in begun)
    return waiting, running, len(begun) - running


def alive(patience: float) -> QuerySet[WorkerSeen]:
    """The workers that were heard of within so many seconds."""
    return WorkerSeen.objects.filter(seen_at__gte=Now() - timedelta(seconds=patience))


def problems(patience: float) -> str:
    """The first thing that a living worker cannot do, or ""."""
    told = alive(patience).exclude(problem="").values_list("name", "problem").first()
    return "" if told is None else f"the worker {told[0]} says: {told[1]}"


# ---- of a worker -------------------------------------------------------------------------------


def claim(
    key: str, worker: str, ends: Mapping[str, tuple[int, bytes]], left: Mapping[str, bytes]
) -> Claimed | None:
    """Begin a job. None: it is over, was taken back or begun too often, or is left to others.

    Args:
        ends: for each kind, how often it may be begun, and what it comes to after that.
        left: the kinds that are left to other workers, and what they come to if all leave them.
    """
    with transaction.atomic():
        if drop_late(key):
            return None
        # Two workers may hear of one job, as after one was taken for dead.
        row = WorkJob.objects.select_for_update().filter(key=key).first()
        if row is None or row.state in OVER:
            return None
        most, words = ends[row.kind]
        if row.attempts >= most:
            row.state, row.given, row.result = FAILED, b"", words
            row.save(update_fields=["state", "given", "result"])
            return None
        if row.kind in left:
            _leave(row, left[row.kind])
            return None
        row.state, row.worker, row.attempts = RUNNING, worker, row.attempts + 1
        row.save(update_fields=["state", "worker", "attempts"])
    return Claimed(key, row.attempts, row.kind, bytes(row.given))


def drop_late(key: str = "") -> int:
    """Remove what is over for whoever asked: he died, or he would have. Returns how many.

    Args:
        key: of the only job that is looked at; "": all.
    """
    found = WorkJob.objects.filter(until__lt=Now())
    with transaction.atomic():
        return _take_back(found.filter(key=key) if key else found)


def leave(job: Claimed, words: bytes) -> None:
    """Leave a job that was begun to another worker, as nothing was sent for it.

    Args:
        words: what it comes to when it was left too often.
    """
    with transaction.atomic():
        if (row := _mine(job).select_for_update().first()) is not None:
            row.attempts -= 1
            _leave(row, words)


def _leave(row: WorkJob, words: bytes) -> None:
    row.state, row.worker, row.refusals = WAITING, "", row.refusals + 1
    if row.refusals > MOST_REFUSALS:
        row.state, row.given, row.result = FAILED, b"", words
    else:
        row.bell = bell.ring(row.key, None, bell.URGENT, REFUSED_SECONDS)
    row.save()


def finish(job: Claimed, result: bytes, *, is_done: bool, is_sent: bool = True) -> bool:
    """Write what came of a job, and forget its input. Returns whether anybody wants it.

    Args:
        is_sent: False: it was not begun at all.
    """
    state = DONE if is_done else FAILED
    begun = job.attempt if is_sent else job.attempt - 1
    written = _mine(job).update(state=state, given=b"", result=result, attempts=begun)
    return bool(written)


def is_there(key: str) -> bool:
    """True where a job still stands there."""
    return bool(WorkJob.objects.filter(key=key).exists())


def is_wanted(job: Claimed) -> bool:
    """True as long as somebody waits for a job, and nobody began it after this worker."""
    return bool(_mine(job).filter(until__gte=Now()).exists())


def _mine(job: Claimed) -> QuerySet[WorkJob]:
    return WorkJob.objects.filter(key=job.key, state=RUNNING, attempts=job.attempt)


def hello(worker: str, embeddings: str, problem: str) -> None:
    """Say that a worker lives."""
    told = {"seen_at": Now(), "embeddings": embeddings, "problem": problem[:255]}
    if not WorkerSeen.objects.filter(name=worker).update(**told):
        WorkerSeen.objects.create(name=worker, began_at=Now(), **told)
    WorkerSeen.objects.filter(seen_at__lt=Now() - FORGOTTEN).delete()


def goodbye(worker: str) -> None:
    """Say that a worker has ended as it should."""
    WorkerSeen.objects.filter(name=worker).delete()


def texts(keys: Sequence[str]) -> dict[str, str]:
    """The words of memories that are not forgotten, by key."""
    found = Memory.objects.filter(key__in=list(keys), is_removed=False)
    return dict(found.values_list("key", "text"))
