"""Vectors of what the table holds: of what is new, without what is gone, and all of it anew.

They are made in quiet moments, in batches; until then a memory is found by its words. All waits in
the table, so nothing is lost when a model or a server is down, the game dies, or a stop is active.
One run at a time for each assistant; what is known of its vectors lives in `runtime.work.indexing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

# One request to the store, so that a search never waits long, and each is paid for by itself.
BATCH = PORTION
# What is said is found by its words meanwhile.
QUIET_SECONDS = 10.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5.0, 300.0
# Memories between two looks at whether there are too many.
BETWEEN_PRUNINGS = 100
MOST_PLACES, MOST_PEOPLE = 16, 200
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The standing of an assistant's memories with the store.

    Attributes:
        waiting: memories that the store has not read yet.
        removed: forgotten ones, whose vectors it still has to be rid of.
        stale: read by another embedding model, and found by their words alone until then.
        model: the embedding model.
        problem: why not all can be found by its meaning now, or "".
    """

    waiting: int
    removed: int
    stale: int
    model: str
    problem: str


@dataclass(slots=True)
class Indexing:
    """This process's knowledge of an assistant's vectors.

    Attributes:
        due: the timer of the run that is about to begin, or None.
        wait_seconds: how long the last wait for a store that is down was at most, 0 for none.
        retry: the timer of that wait, or None.
        running: the runs that are under way, or about to be.
        added: memories read since there was a look at whether there are too many.
        is_compared: whether the store was asked in this start what it has.
        stale: what is wrong by the embedding model, or None when that was not asked yet.
        places: before which audiences a person spoke in the open, the newest first.
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
    """Let the store be told in a moment of what waits; of many that start, one after the other."""
    _begin_in(script, 0.0)


def when_quiet(script: Assistant) -> None:
    """Let vectors be made of what waits when nobody talks just now, of several at once."""
    _begin_in(script, QUIET_SECONDS)


def take(script: Assistant, entry: Recollection) -> None:
    """Take note of an entry that is in the table, and gets no vector."""
    if script.work is not None:
        _note_places(_known(script), [entry])
        if _known(script).added >= BETWEEN_PRUNINGS:
            when_quiet(script)


def _begin_in(script: Assistant, seconds: float) -> None:
    if (work := script.work) is None:
        return
    known, turn = _known(script), services.pacer().call
    if known.due is None or not known.due.active():
        known.due = script.clock.callLater(seconds, turn, _begin, script, work)
    elif not seconds:
        known.due.reset(0.0)


def apply(script: Assistant, report: Report | None = None) -> Deferred[int]:
    """Tell the store all that waits.

    Args:
        report: told how many it has read, of how many.

    Returns:
        How many it was told of; fewer than waited where it is down.
    """
    if script.work is None:
        return succeed(0)
    known, work = _known(script), script.work
    run = known.lock.run(lambda: Deferred.fromCoroutine(_run(script, work, report)))
    known.running.add(run)

    def end(outcome: int | Failure) -> int | Failure:
        known.running.discard(run)
        return outcome

    return run.addBoth(end)


def halt(script: Assistant) -> None:
    """Break off what is under way: a stop lets nothing more be sent. All of it still waits."""
    work = services.work()
    if work.is_elsewhere:
        work.drop(script.pk)
    is_sent = work.is_elsewhere or services.memory().sends
    if script.work is None or script.work.indexing is None or not is_sent:
        return
    known = _known(script)
    _stop_waiting(known)
    if known.due is not None and known.due.active():
        known.due.cancel()
    for run in tuple(known.running):
        run.addErrback(lambda failure: failure.trap(CancelledError) and 0)
        run.cancel()


def status(script: Assistant) -> IndexStatus:
    """The standing of its memories with the store."""
    service = services.memory()
    waiting, removed = rows.count_waiting(script.pk)
    count = 0 if service.absence else rows.stale(script.pk, service.signature)
    trouble = service.problem or (_stale_text(script, count, service.signature) if count else "")
    return IndexStatus(waiting, removed, count, service.signature, trouble)


def problem(script: Assistant) -> str:
    """The reason nothing can be found at all, or ""."""
    return str(services.memory().absence)


def stale_problem(script: Assistant) -> str:
    """Advice about vectors of another embedding model, or "".

    Asked of the table once in each start, and after each change of that.
    """
    service, known = services.memory(), _known(script)
    if known.stale is None:
        count = 0 if service.absence else rows.stale(script.pk, service.signature)
        known.stale = _stale_text(script, count, service.signature) if count else ""
        if known.stale:
            logger.log_warn(f"[assistant] {script.key}: {known.stale}")
    return known.stale


def reindex(script: Assistant, report: Report | None = None) -> Deferred[int]:
    """Let the store read again what it has not as the embedding model now sees it.

    What it has nothing to do with any more is taken out of it. How far it came is in the table:
    what is broken off goes on by itself with the next start.

    Args:
        report: told how many it has read, of how many.

    Returns:
        How many it read; 0 where it is down.
    """
    return Deferred.fromCoroutine(_reindex(script, report))


def spoken_at(script: Assistant, person: str) -> tuple[str, ...]:
    """Before which audiences a person spoke in the open, the newest first."""
    if not person:
        return ()
    places = _known(script).places
    if person not in places:
        if len(places) >= MOST_PEOPLE:
            del places[next(iter(places))]
        places[person] = rows.spoken_at(script.pk, person, MOST_PLACES)
    return tuple(places[person])


def _known(script: Assistant) -> Indexing:
    known: Indexing = script.work.indexing or Indexing()
    script.work.indexing = known
    return known


def _stale_text(script: Assistant, count: int, signature: str) -> str:
    before = " and ".join(rows.models(script.pk, signature))
    return (
        f"the embedding model changed ({before} to {signature}): {count} memories have to be read "
        f"again; aimemory {script.key} reindex"
    )


def _is_over(script: Assistant, work: Work) -> bool:
    return script.work is not work or work.is_closing or paying.is_held(script)


def _begin(script: Assistant, work: Work) -> None:
    if not _is_over(script, work):
        apply(script).addErrback(lambda failure: failure.trap(CancelledError))


async def _run(script: Assistant, work: Work, report: Report | None) -> int:
    """One run, until nothing waits or the store is down; none of one that ended while it waited."""
    if _is_over(script, work):
        return 0
    known = _known(script)
    try:
        done, is_done = await _tell(script, work, report)
    except CancelledError:
        raise
    except Exception:  # what waits is tried again, whatever was wrong with it
        logger.log_trace(f"[assistant] {script.key}: the store could not be told of memories")
        done, is_done = 0, False
    if _is_over(script, work):
        return done
    if is_done:
        known.wait_seconds = 0.0
        _stop_waiting(known)
    elif not services.memory().absence:
        _try_again(script, work, known)
    return done


def _stop_waiting(known: Indexing) -> None:
    if known.retry is not None and known.retry.active():
        known.retry.cancel()
    known.retry = None


def _try_again(script: Assistant, work: Work, known: Indexing) -> None:
    """Try again after a while that grows, and that differs: the store is away for all of them."""
    if known.retry is None or not known.retry.active():
        most = min(LONGEST_WAIT_SECONDS, max(FIRST_WAIT_SECONDS, 2 * known.wait_seconds))
        wait, known.wait_seconds = rounds.apart(script.pk, most), most
        known.retry = script.clock.callLater(wait, services.pacer().call, _begin, script, work)


async def _tell(script: Assistant, work: Work, report: Report | None) -> tuple[int, bool]:
    """Tell the store batch by batch. Returns how many, and whether nothing waits any more."""
    service, done = services.memory(), 0
    if _is_over(script, work) or not await _compared(script, service):
        return 0, False
    left = sum(rows.count_waiting(script.pk)) if report is not None else 0
    while not _is_over(script, work):
        unread, gone = _waiting(script)
        if not unread and not gone:
            if not _prune(script):
                return done, True
            continue
        if not (await _forget(script, service, gone) and await _read(script, service, unread)):
            break
        done += len(unread) + len(gone)
        if report is not None:
            report(done, max(done, left))
    return done, False


async def _compared(script: Assistant, service: MemoryService) -> bool:
    """Once in each start, see whether the store still has what it read.

    A folder that was deleted, or a database that was put back, is made good by reading anew.

    Returns:
        Whether it could be asked.
    """
    known, work = _known(script), script.work
    if known.is_compared or not (count := rows.count_read(script.pk, service.signature)):
        known.is_compared = True
        return True
    there = await service.keys(script.pk)
    if there is None or _is_over(script, work):
        return False
    known.is_compared = True
    if len(there) < count:
        rows.unread_again(script.pk, service.signature, there, also_stale=False)
    return True


def _waiting(script: Assistant) -> tuple[list[Memory], list[Memory]]:
    """The next batch; where nothing is remembered, only what was forgotten before."""
    if state.memory_config(script).enabled:
        return rows.waiting(script.pk, BATCH * services.work().portions)
    return [], rows.gone(script.pk, BATCH)


async def _forget(script: Assistant, service: MemoryService, gone: Sequence[Memory]) -> bool:
    if not gone:
        return True
    work = script.work
    if not await service.remove(script.pk, [row.key for row in gone]) or _is_over(script, work):
        return False
    rows.erase(script.pk, gone)
    return True


async def _read(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    """Let vectors be made, of all portions at one time. Returns whether all of them were."""
    parts = [unread[first : first + BATCH] for first in range(0, len(unread), BATCH)]
    asked = [Deferred.fromCoroutine(_read_part(script, service, part)) for part in parts]
    told = await DeferredList(asked, consumeErrors=True)
    for is_over, outcome in told:
        if not is_over:
            outcome.raiseException()
    return all(outcome for _, outcome in told)


async def _read_part(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    """One portion. One that ends every worker is halved, until the memory that does it is found."""
    try:
        return await _read_whole(script, service, unread)
    except PoisonError as error:
        if len(unread) > 1:
            half = len(unread) // 2
            first = await _read_part(script, service, unread[:half])
            return await _read_part(script, service, unread[half:]) and first
        told = f"[assistant] {script.key}: memory {unread[0].key} is found by its words alone"
        logger.log_warn(f"{told}: {error}")
        rows.mark(script.pk, unread, rows.NO_VECTOR)
        return True


async def _read_whole(script: Assistant, service: MemoryService, unread: Sequence[Memory]) -> bool:
    work = script.work
    telling = [row for row in unread if not asks_only(row.text)]
    items = [Item(row.key, row.text, row.audience, row.trust) for row in telling]
    vectors = await paying.add(script, service, items) if items else []
    if vectors is None or _is_over(script, work):
        return False
    rows.mark(script.pk, telling, service.signature, vectors)
    rows.mark(script.pk, [row for row in unread if row not in telling], rows.NO_VECTOR)
    _note_places(_known(script), unread)
    return True


def _note_places(known: Indexing, read: Sequence[Memory | Recollection]) -> None:
    """Note the places where people spoke in the open, of entries that can be found from now on."""
    known.added += len(read)
    for row in read:
        if row.person in known.places and is_open(row.audience):
            before = known.places[row.person]
            others = [audience for audience in before if audience != row.audience]
            known.places[row.person] = [row.audience, *others][:MOST_PLACES]


def _prune(script: Assistant) -> bool:
    """Now and then, forget a portion of what is overdue. Returns whether there was any."""
    known = _known(script)
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
    ours = rows.keys_of(script.pk)
    if strangers := there - ours:
        await service.remove(script.pk, strangers)
    rows.unread_again(script.pk, service.signature, there)
    _known(script).stale = None
    count = int(await apply(script, report))
    audit.record("memories_indexed", script, count=count, model=service.signature)
    return count
