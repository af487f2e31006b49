"""The adapter for background work that workers do: jobs are posted on the board, results collected.

A caller holds a Deferred in this process; a result is dropped if nobody waits for it any more, or
if its run is over. The caller reserves money before a job is posted and settles it afterwards, so
that caps, breakers and stops apply as they do without workers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import DatabaseError
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall

from evennia_ai.core.settings.services import WorkersConfig
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import MemoryStoreError, StaleEpochError
from evennia_ai.llm.fallback import Client, with_transport
from evennia_ai.llm.offers import encode
from evennia_ai.llm.transport import OpenAITransport, Transport
from evennia_ai.memory_store.port import Item
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.memory_store.troubles import explained, renew
from evennia_ai.memory_store.vectors import Vector
from evennia_ai.memory_store.worker import LOG
from evennia_ai.workers import bell, board, kinds
from evennia_ai.workers.port import (
    NotBegunError,
    NoWorkerError,
    PoisonError,
    Run,
    UnsentError,
    WorkerError,
    WorkerLostError,
    WorkersStanding,
)

# A worker counts as gone after so many missed heartbeats.
HEARTBEATS = 3
# Jobs posted, or results collected, in one turn of the reactor: many must not hold the game up.
AT_ONE_GO = 2
TROUBLE_SECONDS = 5.0  # until the next look after a database error
# How long the number of living workers is cached.
LOOK_SECONDS = 2.0
UNSURE = "the database was lost while a job was put up, which may have been begun: {trouble}"
ALREADY = "a call that was taken back still stands in the queue"
LATE = "no worker made the vectors in time; they are asked for again"
NOBODY = "no worker is at work; start one with: evennia ai_worker"
NOBODY_WAITS = f"{{jobs}} waiting, and {NOBODY}"
STALLED = "jobs of workers that ended without a word: {count}; another takes them up"


@dataclass(frozen=True, slots=True)
class _OpenJob:
    done: Deferred[bytes]
    run: Run
    kind: str
    deadline: IDelayedCall | None


class Queued:
    """Background work by workers."""

    is_elsewhere = True

    def __init__(
        self, config: WorkersConfig, memory: Callable[[], MemoryService], reactor: Reactor
    ) -> None:
        self.portions = config.jobs_at_once
        self.patience = config.embed_seconds
        self._silence = HEARTBEATS * config.heartbeat_seconds
        self._config = config
        self._memory = memory
        self._reactor = reactor
        # Tells the jobs of this server process from those that an earlier one left.
        self._run = secrets.token_hex(16)
        self._open: dict[str, _OpenJob] = {}
        self._unput: list[board.PostedJob] = []
        self._dropped: set[str] = set()
        self._timer: IDelayedCall | None = None
        self._is_ready = False
        self._problem = ""
        self._given_up = 0
        self._workers = (-LOOK_SECONDS, 0)

    def begin(self) -> None:
        """Withdraw what other runs of the server posted."""
        bell.load()
        try:
            if count := board.drop_strangers(self._run):
                LOG.info("%s jobs of the server before this one were taken back", count)
        except DatabaseError as error:
            self._trouble(error)

    # ---- what is asked -------------------------------------------------------------------------

    def embed(self, run: Run, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Let a worker make vectors, and store them."""
        memory = self._memory()
        return memory.add_made(run.assistant, items, partial(self._vectors, run, memory.signature))

    async def _vectors(self, run: Run, signature: str, items: Sequence[Item]) -> list[Vector]:
        given = kinds.embed_given(signature, items)
        result = await self.do(run, kinds.EMBED, given, seconds=self.patience)
        return kinds.vectors(result, len(items))

    def client(self, run: Run, client: Client) -> Client:
        """The same client, with its requests sent by workers; unchanged while there are none."""
        if not self._is_able() or not self._living():
            return client
        return with_transport(client, partial(_wrap_transport, self, run, client.deadline_seconds))

    def do(self, run: Run, kind: str, given: bytes, *, seconds: float) -> Deferred[bytes]:
        """Let a worker do a job.

        Args:
            seconds: how long it may take; a caller that asks a model cancels it by then.

        Returns:
            Its result. Fails with the error of its kind. NotBegunError, NoWorkerError, UnsentError:
            no worker began it, so it cost nothing; StaleEpochError: the run is over.
        """
        if not self._is_able():
            return fail(_error(kind)(self._problem))
        key, is_ask = secrets.token_hex(16), kind == kinds.ASK
        priority = bell.URGENT if is_ask else bell.USUAL
        notice = board.PostedJob(
            key, self._run, run.assistant, run.epoch, kind, given, seconds, is_ask, priority
        )
        # An assistant makes one background call at a time, so an older one is void.
        if is_ask:
            self._supersede(run.assistant)
        done: Deferred[bytes] = Deferred(partial(self._cancelled, key))
        deadline = None if is_ask else self._reactor.callLater(seconds, self._late, key)
        self._open[key] = _OpenJob(done, run, kind, deadline)
        if not self._unput:
            self._reactor.callLater(0, self._put)
        self._unput.append(notice)
        return done

    def _put(self) -> None:
        """Post what was asked for, a little at a time, leaving out what was cancelled meanwhile."""
        taken, self._unput = self._unput[:AT_ONE_GO], self._unput[AT_ONE_GO:]
        if self._unput:
            self._reactor.callLater(0, self._put)
        for notice in taken:
            if notice.key in self._open:
                self._put_one(notice)
        self._look_in(self._config.poll_seconds)

    def _put_one(self, notice: board.PostedJob) -> None:
        """Post one job by itself, so that its trouble does not affect the others."""
        is_ask = notice.kind == kinds.ASK
        try:
            board.put(notice)
        except bell.RungError:
            self._end(notice.key, _error(notice.kind)(ALREADY))
        except board.UnsureError as error:
            self._trouble(error)
            self._drop_soon(notice.key)
            text = UNSURE.format(trouble=self._problem)
            lost = WorkerLostError(text, was_sent=True) if is_ask else MemoryStoreError(text)
            self._end(notice.key, lost)
        except DatabaseError as error:
            self._trouble(error)
            self._end(notice.key, _error(notice.kind)(self._problem))

    def _supersede(self, assistant: int) -> None:
        """Void the model calls that an assistant waits for already."""
        for key, each in list(self._open.items()):
            if each.kind == kinds.ASK and each.run.assistant == assistant:
                self._drop_soon(key)
                self._end(key, StaleEpochError(each.run.epoch, each.run.epoch))

    def drop(self, assistant: int) -> None:
        """Withdraw everything an assistant waits for; the rows go a moment later."""
        for key, each in list(self._open.items()):
            if each.run.assistant == assistant:
                self._drop_soon(key)
                self._end(key, StaleEpochError(each.run.epoch, each.run.epoch))

    # ---- what comes back -----------------------------------------------------------------------

    def _look_in(self, seconds: float) -> None:
        """Look in so many seconds, unless an earlier look is due."""
        if self._timer is None or not self._timer.active():
            self._timer = self._reactor.callLater(seconds, self._look)
        elif self._timer.getTime() > self._reactor.seconds() + seconds:
            self._timer.reset(seconds)

    def _look(self) -> None:
        """Collect results from the board, a little at a time."""
        wait, jobs = self._config.poll_seconds, []
        try:
            if self._dropped:
                board.drop(self._dropped)
                # After the drop: if the database fails, the next look withdraws them.
                self._dropped.clear()
            jobs = board.collect_ended(self._run, AT_ONE_GO)
        except DatabaseError as error:
            self._trouble(error)
            wait = TROUBLE_SECONDS
        for each in jobs:
            self._settle(each)
        if self._open or self._dropped:
            self._look_in(0.0 if len(jobs) == AT_ONE_GO else wait)

    def _settle(self, over: board.EndedJob) -> None:
        """Deliver a result, as long as the run that asked for it goes on."""
        waits = self._open.get(over.key)
        if waits is None:
            return
        if not waits.run.is_current():
            self._end(over.key, StaleEpochError(waits.run.epoch, waits.run.epoch))
        elif over.is_done:
            self._end(over.key, over.result)
        else:
            read_error = kinds.model_error if waits.kind == kinds.ASK else kinds.store_error
            error = read_error(over.result, is_begun=over.is_begun)
            self._note(error)
            self._end(over.key, error)

    def _note(self, error: Exception) -> None:
        if isinstance(error, PoisonError):
            self._given_up += 1
        if isinstance(error, (WorkerError, MemoryStoreError)):
            LOG.warning("a worker's job failed: %s", error)

    def _end(self, key: str, outcome: bytes | Exception) -> None:
        # Removed first: the callback may ask for the next job at once.
        waits = self._open.pop(key, None)
        if waits is None:
            return
        if waits.deadline is not None and waits.deadline.active():
            waits.deadline.cancel()
        if isinstance(outcome, Exception):
            waits.done.errback(outcome)
        else:
            waits.done.callback(outcome)

    def _late(self, key: str) -> None:
        # A job that no worker began cost nothing, and its reservation is released.
        if self._take_unbegun(key):
            self._end(key, NotBegunError(LATE))
        else:
            self._drop_soon(key)
            self._end(key, MemoryStoreError(LATE))

    def _cancelled(self, key: str, done: Deferred[bytes]) -> None:
        """Withdraw a job whose Deferred was cancelled, by its deadline or by a stop."""
        waits = self._open.pop(key, None)
        if waits is None:
            return
        if waits.deadline is not None and waits.deadline.active():
            waits.deadline.cancel()
        is_ask = waits.kind == kinds.ASK and waits.run.is_current()
        if is_ask and self._take_unbegun(key):
            # A canceller that fires the Deferred chooses the error; otherwise it is CancelledError.
            done.errback(NoWorkerError("no worker took the call in time"))
        else:
            self._drop_soon(key)

    def _take_unbegun(self, key: str) -> bool:
        """Withdraw a job if no worker has begun it, atomically. False: one may have."""
        # Not posted yet; `_put` leaves out what nobody waits for.
        if any(notice.key == key for notice in self._unput):
            return True
        try:
            return board.drop_unbegun(key)
        except DatabaseError as error:
            self._trouble(error)
            return False

    def _drop_soon(self, key: str) -> None:
        """Withdraw a row in a later turn of the reactor, together with others."""
        # A stop of many assistants must not wait for the database.
        self._dropped.add(key)
        self._look_in(0.0)

    # ---- its own state -------------------------------------------------------------------------

    def _is_able(self) -> bool:
        """True where jobs can be left for workers; otherwise `_problem` says why not."""
        if not self._is_ready:
            self._problem = bell.obstacle()
            self._is_ready = not self._problem
        return self._is_ready

    def _trouble(self, error: DatabaseError) -> None:
        self._problem, self._is_ready = explained(error), False
        LOG.warning("the board of workers' jobs cannot be used: %s", self._problem)
        renew()

    def _living(self) -> int:
        """The number of living workers, no more than two seconds old."""
        looked, count = self._workers
        if self._reactor.seconds() - looked >= LOOK_SECONDS:
            try:
                count = board.alive(self._silence).count()
            except DatabaseError as error:
                self._trouble(error)
                count = 0
            self._workers = self._reactor.seconds(), count
        return count

    def standing(self, assistant: int | None = None) -> WorkersStanding:
        """The state of the workers' jobs, from the database."""
        if not self._is_able():
            return WorkersStanding(True, given_up=self._given_up, problem=self._problem)
        try:
            waiting, running, stalled = board.count(assistant, self._silence)
            workers = board.alive(self._silence).count()
            theirs = board.problems(self._silence)
        except DatabaseError as error:
            self._trouble(error)
            return WorkersStanding(True, given_up=self._given_up, problem=self._problem)
        problem = theirs
        if not workers:
            count = waiting + stalled
            problem = NOBODY_WAITS.format(jobs=counted(count, "jobs")) if count else NOBODY
        elif stalled:
            problem = STALLED.format(count=stalled)
        return WorkersStanding(True, waiting, running, stalled, workers, self._given_up, problem)

    def close(self) -> Deferred[None]:
        """Withdraw everything; what waits is void."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        for key, each in list(self._open.items()):
            self._end(key, StaleEpochError(each.run.epoch, each.run.epoch))
        try:
            board.drop_run(self._run)
        except DatabaseError as error:
            self._trouble(error)
        return succeed(None)


def _error(kind: str) -> type[UnsentError] | type[NotBegunError]:
    return UnsentError if kind == kinds.ASK else NotBegunError


def _wrap_transport(work: Queued, run: Run, seconds: float, transport: Transport) -> Transport:
    """Wrap a transport so that workers send its requests; others are returned as they are."""
    # Not `isinstance`: subclasses send in ways of their own, which a worker does not know.
    if type(transport) is OpenAITransport:
        return WorkersTransport(work, run, seconds, transport)
    return transport


class WorkersTransport:
    """A chat completions endpoint that workers ask."""

    def __init__(self, work: Queued, run: Run, seconds: float, transport: OpenAITransport) -> None:
        """Set up the transport.

        Args:
            seconds: after which the caller has cancelled the request.
        """
        self._work = work
        self._run = run
        self._seconds = seconds
        self._place = transport

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Request one completion. Cancelling withdraws the job, and closes the worker's socket."""
        place = self._place
        mark = place.mark_key(kinds.key_mark)
        given = kinds.ask_given(place.base_url, mark, place.plain_headers, encode(body))
        return self._work.do(self._run, kinds.ASK, given, seconds=self._seconds)
