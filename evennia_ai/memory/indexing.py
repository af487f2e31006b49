"""Indexing: embeds new memories, deletes vectors of forgotten ones, and rebuilds the index.

It runs in batches when the game is quiet; until then memories are found by their words. The queue
is in the table, so nothing is lost if a model or server is down, the game crashes, or an emergency
stop is active. Each assistant has one run at a time; its state is in `runtime.work.indexing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred, DeferredList, DeferredLock, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.core.memory.knowledge import asks_only
from evennia_ai.core.memory.recollection import Recollection, is_open
from evennia_ai.memory import paying, retention
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import Item
from evennia_ai.memory_store.service import PORTION, MemoryService
from evennia_ai.models import Memory
from evennia_ai.runtime import rounds, services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import Work
from evennia_ai.workers.port import PoisonError

# Memories per request to the store: few, so that searches wait only briefly in its queue.
BATCH = PORTION
# Pause after the last turn. Until then new memories are found by their words.
QUIET_SECONDS = 10.0
# Exponential backoff while the store is down.
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5.0, 300.0
# New memories between two checks of retention.
BETWEEN_PRUNINGS = 100
MOST_PLACES, MOST_PEOPLE = 16, 200
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an assistant's index.

    Attributes:
        removed: forgotten memories whose vectors have to be deleted.
        stale: memories indexed by another embedding model, which are found by words only.
        model: signature of the embedding model.
        problem: the reason why semantic search is incomplete, or "".
    """

    waiting: int
    removed: int
    stale: int
    model: str
    problem: str


@dataclass(slots=True)
class Indexing:
    """The state of an assistant's indexing in this process.

    Attributes:
        due: timer of the next run, or None.
        retry: timer of the backoff, or None.
        wait_seconds: upper bound of the last backoff, 0 if the store is up.
        running: runs that have started or wait for the lock.
        added: memories indexed since the last check of retention.
        is_compared: True if the store's keys have been verified since the start.
        stale: advice about vectors of another model, None if not checked yet.
        places: by person, the audiences in which they spoke openly, newest first.
    """

    lock: DeferredLock = field(default_factory=DeferredLock)
    due: IDelayedCall | None = None
    wait_seconds: float = 0.0
    retry: IDelayedCall | None = None
    running: set[Deferred[Any]] = field(default_factory=set)
    added: int = 0
    is_compared: bool = False
    stale: str | None = None
    places: dict[str, list[str]] = field(default_factory=dict)


def soon(script: Assistant) -> None:
    """Schedule a run now. The pacer starts the runs of many assistants one after the other."""
    _schedule(script, 0.0)


def when_quiet(script: Assistant) -> None:
    """Schedule a run for a quiet moment, so that several memories are embedded together."""
    _schedule(script, QUIET_SECONDS)


def note_entry(script: Assistant, entry: Recollection) -> None:
    """Note a stored entry that needs no vector."""
    if script.work is not None:
        _note_places(_state_of(script), [entry])
        if _state_of(script).added >= BETWEEN_PRUNINGS:
            when_quiet(script)


def _schedule(script: Assistant, seconds: float) -> None:
    if (work := script.work) is None:
        return
    known, turn = _state_of(script), services.pacer().call
    if known.due is None or not known.due.active():
        known.due = script.clock.callLater(seconds, turn, _begin, script, work)
    elif not seconds:
        known.due.reset(0.0)


def apply(script: Assistant, report: Report | None = None) -> Deferred[int]:
    """Process the whole queue.

    Args:
        report: called with the number of memories done and the total.

    Returns:
        The number of memories processed, fewer than queued if the store is down.
    """
    if script.work is None:
        return succeed(0)
    known, work = _state_of(script), script.work
    run = known.lock.run(lambda: Deferred.fromCoroutine(_run(script, work, report)))
    known.running.add(run)

    def end(outcome: int | Failure) -> int | Failure:
        known.running.discard(run)
        return outcome

    return run.addBoth(end)


def halt(script: Assistant) -> None:
    """Cancel running work, because an emergency stop forbids sending. The queue is kept."""
    work = services.work()
    if work.is_elsewhere:
        work.drop(script.pk)
    is_sent = work.is_elsewhere or services.memory().sends
    if script.work is None or script.work.indexing is None or not is_sent:
        return
    known = _state_of(script)
    _cancel(known.retry)
    _cancel(known.due)
    for run in tuple(known.running):
        run.addErrback(lambda failure: failure.trap(CancelledError) and 0)
        run.cancel()


def status(script: Assistant) -> IndexStatus:
    """The state of the assistant's index."""
    service = services.memory()
    waiting, removed = rows.count_waiting(script.pk)
    stale = _other_models([script], service).get(script.pk, {})
    problem = service.problem or _advice(script, stale, service.signature)
    return IndexStatus(waiting, removed, sum(stale.values()), service.signature, problem)


def stale_problem(*scripts: Assistant) -> str:
    """Advice about vectors of another embedding model, the first among some assistants, or "".

    The table is queried once per start, for all of them together, and after reindexing.
    """
    unknown = [script for script in scripts if _state_of(script).stale is None]
    service = services.memory()
    models = _other_models(unknown, service)
    for script in unknown:
        advice = _advice(script, models.get(script.pk, {}), service.signature)
        if advice:
            logger.log_warn(f"[assistant] {script.key}: {advice}")
        _state_of(script).stale = advice
    return next(filter(None, (_state_of(script).stale for script in scripts)), "")


def reindex(script: Assistant, report: Report | None = None) -> Deferred[int]:
    """Rebuild the index: embed what has no current vector, and delete unknown vectors.

    Progress is stored in the table, so an interrupted run continues after the next start. For
    `report` see `apply`. Returns the number of memories indexed, 0 if the store is down.
    """
    return Deferred.fromCoroutine(_reindex(script, report))


def spoken_at(script: Assistant, person: str) -> tuple[str, ...]:
    """The audiences in which a person spoke openly, newest first."""
    if not person:
        return ()
    places = _state_of(script).places
    if person not in places:
        if len(places) >= MOST_PEOPLE:
            # The first key of a dict is the oldest entry.
            del places[next(iter(places))]
        places[person] = rows.spoken_at(script.pk, person, MOST_PLACES)
    return tuple(places[person])


def _state_of(script: Assistant) -> Indexing:
    known: Indexing = script.work.indexing or Indexing()
    script.work.indexing = known
    return known


def _other_models(scripts: Iterable[Assistant], service: MemoryService) -> rows.Models:
    keys = [] if service.absence else [script.pk for script in scripts]
    return rows.other_models(keys, service.signature)


def _advice(script: Assistant, stale: Mapping[str, int], signature: str) -> str:
    """Advice about memories indexed by other embedding models, or "" if there are none."""
    advice = (
        f"the embedding model changed ({' and '.join(stale)} to {signature}): "
        f"{sum(stale.values())} memories have to be read again; aimemory {script.key} reindex"
    )
    return advice if stale else ""


# Checked after every wait: the assistant may have been stopped, reset or deleted meanwhile.
def _is_over(script: Assistant, work: Work) -> bool:
    return script.work is not work or work.is_closing or paying.is_held(script)


def _begin(script: Assistant, work: Work) -> None:
    if not _is_over(script, work):
        apply(script).addErrback(lambda failure: failure.trap(CancelledError))


async def _run(script: Assistant, work: Work, report: Report | None) -> int:
    if _is_over(script, work):
        return 0
    known = _state_of(script)
    try:
        done, is_done = await _sync(script, work, report)
    except CancelledError:
        raise
    except Exception:  # an unexpected error must not end indexing: retry with backoff
        logger.log_trace(f"[assistant] {script.key}: the store could not be told of memories")
        done, is_done = 0, False
    if _is_over(script, work):
        return done
    if is_done:
        known.wait_seconds = 0.0
        _cancel(known.retry)
    elif not services.memory().absence:
        _schedule_retry(script, work, known)
    return done


def _cancel(timer: IDelayedCall | None) -> None:
    if timer is not None and timer.active():
        timer.cancel()


def _schedule_retry(script: Assistant, work: Work, known: Indexing) -> None:
    # With jitter: the store is down for all assistants, which must not retry at the same time.
    if known.retry is None or not known.retry.active():
        most = min(LONGEST_WAIT_SECONDS, max(FIRST_WAIT_SECONDS, 2 * known.wait_seconds))
        wait, known.wait_seconds = rounds.staggered(script.pk, most), most
        known.retry = script.clock.callLater(wait, services.pacer().call, _begin, script, work)


async def _sync(script: Assistant, work: Work, report: Report | None) -> tuple[int, bool]:
    """Process the queue in batches. Returns the number done, and whether the queue is empty."""
    service, done = services.memory(), 0
    if _is_over(script, work) or not await _verify_store(script, service):
        return 0, False
    total = sum(rows.count_waiting(script.pk)) if report is not None else 0
    while not _is_over(script, work):
        unread, gone = _next_batch(script)
        if not unread and not gone:
            if not _prune(script):
                return done, True
            continue
        # Deletions first: what was forgotten has to leave the server even if embedding fails.
        if not await _delete_gone(script, service, gone):
            break
        if not await _embed_all(script, service, unread):
            break
        done += len(unread) + len(gone)
        if report is not None:
            report(done, max(done, total))
    return done, False


async def _verify_store(script: Assistant, service: MemoryService) -> bool:
    """Once per start, queue the memories whose vectors the store has lost.

    This happens after restoring a backup. Returns whether the store answered.
    """
    known, work = _state_of(script), script.work
    if known.is_compared or not (count := rows.count_read(script.pk, service.signature)):
        known.is_compared = True
        return True
    there = await service.keys(script.pk)
    if there is None or _is_over(script, work):
        return False
    known.is_compared = True
    # A server may have as many as before, with those of memories that are forgotten.
    if service.sends or len(there) < count:
        rows.queue_again(script.pk, service.signature, there, also_stale=False)
    return True


def _next_batch(script: Assistant) -> tuple[list[Memory], list[Memory]]:
    # With memory disabled, deletions still have to be completed.
    if state.memory_config(script).enabled:
        return rows.waiting(script.pk, BATCH * services.work().portions)
    return [], rows.gone(script.pk, BATCH)


async def _delete_gone(script: Assistant, service: MemoryService, gone: Sequence[Memory]) -> bool:
    work = script.work
    if not await service.remove(script.pk, [row.key for row in gone]) or _is_over(script, work):
        return False
    rows.erase(script.pk, gone)
    return True


async def _embed_all(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    """Embed all parts concurrently. Returns whether all of them succeeded."""
    parts = [unread[first : first + BATCH] for first in range(0, len(unread), BATCH)]
    running = [Deferred.fromCoroutine(_embed_part(script, service, part)) for part in parts]
    outcomes = await DeferredList(running, consumeErrors=True)
    # Only after all have ended, so that no part runs on without this run.
    for is_success, outcome in outcomes:
        if not is_success:
            outcome.raiseException()
    return all(outcome for _, outcome in outcomes)


async def _embed_part(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    """Embed one part. If it crashes the workers, it is bisected to find the memory to blame."""
    try:
        return await _embed(script, service, unread)
    except PoisonError as error:
        if len(unread) > 1:
            half = len(unread) // 2
            first = await _embed_part(script, service, unread[:half])
            return await _embed_part(script, service, unread[half:]) and first
        message = f"[assistant] {script.key}: memory {unread[0].key} is found by its words alone"
        logger.log_warn(f"{message}: {error}")
        rows.mark_indexed(script.pk, unread, rows.NO_VECTOR)
        return True


async def _embed(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    work = script.work
    telling = [row for row in unread if not asks_only(row.text)]
    items = [Item(row.key, row.text, row.audience, row.trust) for row in telling]
    vectors = await paying.add(script, service, items) if items else []
    if vectors is None or _is_over(script, work):
        return False
    # Entries that only ask get no vector, but are marked so that they leave the queue.
    rows.mark_indexed(script.pk, telling, service.signature, vectors)
    rows.mark_indexed(script.pk, [row for row in unread if row not in telling], rows.NO_VECTOR)
    _note_places(_state_of(script), unread)
    return True


def _note_places(known: Indexing, read: Sequence[Memory | Recollection]) -> None:
    """Update the cache of `spoken_at` with new entries."""
    known.added += len(read)
    for row in read:
        if row.person in known.places and is_open(row.audience):
            before = known.places[row.person]
            others = [audience for audience in before if audience != row.audience]
            known.places[row.person] = [row.audience, *others][:MOST_PLACES]


def _prune(script: Assistant) -> bool:
    """Forget a batch of overdue memories, now and then. Returns whether there were any."""
    known = _state_of(script)
    if known.added >= BETWEEN_PRUNINGS:
        if retention.prune(script, script.clock.seconds()):
            return True
        known.added = 0
    return False


async def _reindex(script: Assistant, report: Report | None) -> int:
    service, work = services.memory(), script.work
    if work is None or _is_over(script, work):
        return 0
    there = await service.keys(script.pk)
    if there is None or _is_over(script, work):
        return 0
    # Including forgotten rows, whose vectors the run itself deletes.
    ours = rows.keys_of(script.pk)
    if strangers := there - ours:
        await service.remove(script.pk, strangers)
    rows.queue_again(script.pk, service.signature, there)
    _state_of(script).stale = None
    count = int(await apply(script, report))
    audit.record("memories_indexed", script, count=count, model=service.signature)
    return count
