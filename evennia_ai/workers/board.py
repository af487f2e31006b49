"""The table of jobs: what stands there, who is at it, and what came of it.

The server puts up, takes back and takes down; a worker claims and finishes. Each result is written
once, by the worker that began the job last; the server takes a row down before it uses it. Times
are the database's, as machines differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evennia_ai.models import Memory, WorkerSeen, WorkJob
from evennia_ai.workers import bell

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
OVER = (DONE, FAILED)
# Of a worker that was killed, so long is told that it is missing.
FORGOTTEN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Notice:
    """A job as it is put up.

    Attributes:
        is_alone: of an assistant's jobs of this kind one stands there at a time; the older goes.
        priority: what is higher is begun first.
    """

    key: str
    run: str
    assistant: int
    epoch: int
    kind: str
    given: bytes
    is_alone: bool = False
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Over:
    """A job that is over, as it was taken down."""

    key: str
    is_done: bool
    result: bytes


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


# ---- of the server -----------------------------------------------------------------------------


def put(notices: Iterable[Notice]) -> None:
    """Put jobs up and ring for them: all or nothing.

    Raises:
        DatabaseError: it could not be written.
    """
    with transaction.atomic():
        for notice in notices:
            _put(notice)


def _put(notice: Notice) -> None:
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
    )


def drop(keys: Iterable[str]) -> None:
    """Take jobs back; what a worker still makes of them finds no row."""
    with transaction.atomic():
        _take_back(WorkJob.objects.filter(key__in=list(keys)))


def drop_run(run: str) -> None:
    """Take back what one run of the server put up."""
    with transaction.atomic():
        _take_back(WorkJob.objects.filter(run=run))


def drop_strangers(run: str) -> int:
    """Take back what another run of the server put up. Returns how many there were."""
    with transaction.atomic():
        return _take_back(WorkJob.objects.exclude(run=run))


def _take_back(found: QuerySet[WorkJob]) -> int:
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
    if not WorkJob.objects.filter(run=run, state__in=OVER).exists():
        return []
    with transaction.atomic():
        found = WorkJob.objects.filter(run=run, state__in=OVER).order_by("at")[:limit]
        rows = list(found.values_list("key", "state", "result"))
        WorkJob.objects.filter(key__in=[key for key, *_ in rows]).delete()
    return [Over(key, state == DONE, bytes(result)) for key, state, result in rows]


def is_begun(key: str) -> bool:
    """True where a worker has begun a job that stands there, or nobody knows of it."""
    found = WorkJob.objects.filter(key=key).values_list("attempts", flat=True).first()
    return found is None or found > 0


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


def claim(key: str, worker: str, ends: Mapping[str, tuple[int, bytes]]) -> Claimed | None:
    """Begin a job. None: it is over, was taken back, or was begun too often.

    Args:
        ends: for each kind, how often it may be begun, and what it comes to after that.
    """
    with transaction.atomic():
        row = WorkJob.objects.select_for_update().filter(key=key).first()
        if row is None or row.state in OVER:
            return None
        most, words = ends[row.kind]
        if row.attempts >= most:
            row.state, row.given, row.result = FAILED, b"", words
            row.save(update_fields=["state", "given", "result"])
            return None
        row.state, row.worker, row.attempts = RUNNING, worker, row.attempts + 1
        row.save(update_fields=["state", "worker", "attempts"])
    return Claimed(key, row.attempts, row.kind, bytes(row.given))


def finish(job: Claimed, result: bytes, *, is_done: bool) -> bool:
    """Write what came of a job, and forget its input. Returns whether anybody wants it."""
    state = DONE if is_done else FAILED
    written = _mine(job).update(state=state, given=b"", result=result)
    return bool(written)


def is_there(key: str) -> bool:
    """True where a job still stands there."""
    return bool(WorkJob.objects.filter(key=key).exists())


def is_wanted(job: Claimed) -> bool:
    """True as long as a job stands there, and nobody began it after this worker."""
    return bool(_mine(job).exists())


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
