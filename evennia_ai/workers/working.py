"""A worker: a process beside the game that does the jobs on the board when Procrastinate rings.

It uses only our tables of jobs and the texts of memories. It never loads a game object, because the
server would not see the changes. Everything runs in one event loop with two threads: one for the
database, one for the embedding model. SIGTERM and SIGINT let it finish its current jobs.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from django.db import DatabaseError, connection, connections
from twisted.internet import reactor

from evennia_ai.core.settings.services import WorkersConfig
from evennia_ai.llm.transport import OpenAITransport
from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.troubles import explained, renew
from evennia_ai.workers import bell, board, kinds
from evennia_ai.workers.board import Claimed
from evennia_ai.workers.queued import HEARTBEATS

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Keys = Mapping[tuple[str, str], str]
# How often a job looks whether anybody still waits for what it makes.
WANTED_SECONDS = 0.5
POLL_SECONDS = 2.0  # of Procrastinate, for jobs whose notification was lost
TRIES, PAUSE_SECONDS = 5, 1.0  # of a query that fails
PRUNED_SECONDS = 30.0  # Procrastinate's own timeout for stalled workers, or more
# How long a worker leaves a kind of jobs that it is not set up for to others.
UNFIT_SECONDS = 30.0
LATE = "%s jobs were removed that nobody waits for any more: the server that asked has ended"


class Threads:
    """Two threads, one for the database and one for the embedding model.

    A database connection of Django's belongs to the thread that opened it.
    """

    def __init__(self) -> None:
        self._rows = ThreadPoolExecutor(1, "evennia_ai rows")
        self._model = ThreadPoolExecutor(1, "evennia_ai vectors")

    async def rows(self, ask: Callable[[], T]) -> T:
        """Run a query; one that fails is tried again a few times.

        Raises:
            DatabaseError: it fails each time.
        """
        loop = asyncio.get_running_loop()
        for tries_left in reversed(range(TRIES)):
            try:
                return await loop.run_in_executor(self._rows, ask)
            except DatabaseError as error:
                LOG.warning("the database: %s", explained(error))
                # In that thread, because Django keeps a connection for each thread.
                await loop.run_in_executor(self._rows, renew)
                if not tries_left:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError("unreachable")

    async def model(self, ask: Callable[[], T]) -> T:
        """Call the embedding model."""
        return await asyncio.get_running_loop().run_in_executor(self._model, ask)

    async def close(self) -> None:
        """Close the connection, and end both threads."""
        await asyncio.get_running_loop().run_in_executor(self._rows, connections.close_all)
        self._rows.shutdown()
        self._model.shutdown()


class WorkerTools:
    """The tools of this worker; see `kinds.JobTools`."""

    def __init__(self, embedder: Embedder, keys: Keys, most_bytes: int, threads: Threads) -> None:
        self.signature = embedder.signature
        self._embedder = embedder
        self._keys = keys
        self._most_bytes = most_bytes
        self._threads = threads
        self._transports: dict[tuple[str, str], OpenAITransport] = {}

    async def texts(self, keys: Sequence[str]) -> dict[str, str]:
        """The texts of memories that are not forgotten, by key."""
        return await self._threads.rows(partial(board.texts, keys))

    async def vectors(self, texts: Sequence[str]) -> Any:
        """Their vectors."""
        return await self._threads.model(partial(self._embedder.embed_passages, texts))

    def has_key(self, base_url: str, mark: str) -> bool:
        """True where it has that key for an address."""
        return not mark or (base_url, mark) in self._keys

    async def send(
        self, base_url: str, mark: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        """Send a request to a model, and return the answer."""
        place = base_url, mark
        if place not in self._transports:
            self._transports[place] = OpenAITransport(
                base_url,
                self._keys.get(place, ""),
                headers,
                reactor=reactor,
                most_bytes=self._most_bytes,
            )
        return await self._transports[place].send(body)

    async def close(self) -> None:
        """Close connections and the embedding model."""
        for transport in self._transports.values():
            await transport.end()
        await self._threads.model(self._embedder.close)


class Worker:
    """One worker process."""

    def __init__(
        self, config: WorkersConfig, embedder: Embedder, keys: Keys, most_bytes: int
    ) -> None:
        """Set up the worker.

        Args:
            keys: API keys, by address and mark.
            most_bytes: the most of a model's answer that is read.
        """
        began = time.strftime("%H:%M:%S")
        self.name = f"{socket.gethostname()}:{os.getpid()} of {began}"
        self._config = config
        self._threads = Threads()
        self._tools = WorkerTools(embedder, keys, most_bytes, self._threads)
        # A call that may have been charged is sent again only after the game has reserved again.
        most = 1 if embedder.is_paid else config.attempts
        spoiled = kinds.lost() if embedder.is_paid else kinds.poison(most)
        self._ends = {kinds.EMBED: (most, spoiled), kinds.ASK: (1, kinds.lost())}
        self._problems: dict[str, str] = {}
        # By kind: until when it is left to others, and its result if they leave it as well.
        self._left: dict[str, tuple[float, bytes]] = {}
        self._is_ending = False
        self._app: Any = None
        self._engine: Any = None

    def run(self) -> None:
        """Work until a signal ends it; call it in the main thread."""
        os.nice(self._config.niceness)
        asyncio.run(self._run())

    async def _run(self) -> None:
        procrastinate = importlib.import_module("procrastinate")
        engine = importlib.import_module("procrastinate.worker")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            while not self._is_ending:
                await self._work(procrastinate, engine)
                if not self._is_ending:
                    LOG.warning("%s lost the database, and tries again", self.name)
                    await asyncio.sleep(PAUSE_SECONDS)
            # If that fails, the worker counts as killed, and is forgotten after an hour.
            with suppress(DatabaseError):
                await self._threads.rows(partial(board.goodbye, self.name))
        finally:
            await self._tools.close()
            await self._threads.close()

    async def _work(self, procrastinate: ModuleType, engine: ModuleType) -> None:
        """Work until a signal comes or the database is lost; the engine ends in both cases."""
        self._app = procrastinate.App(connector=_connector(procrastinate, self._config))
        self._app.task(self._do_job, name=bell.TASK, queue=bell.QUEUE)
        beating = None
        try:
            async with self._app.open_async():
                self._engine = engine.Worker(
                    self._app,
                    queues=[bell.QUEUE],
                    name=self.name,
                    concurrency=self._config.calls_at_once,
                    # A bell has done its part once it was heard; the result is on the board.
                    delete_jobs="always",
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=self._config.heartbeat_seconds,
                    # The game may have Procrastinate workers of its own, with longer heartbeats.
                    stalled_worker_timeout=max(PRUNED_SECONDS, self._silence),
                    # Our own handlers also end a worker that has no engine just now.
                    install_signal_handlers=False,
                )
                beating = asyncio.create_task(self._beat())
                await self._engine.run()
        except Exception as error:
            LOG.warning("%s: %s", self.name, error)
        finally:
            self._engine = None
            if beating is not None:
                beating.cancel()
                with suppress(asyncio.CancelledError):
                    await beating

    def _end(self) -> None:
        """Handle a signal: finish what is under way, and begin nothing more."""
        self._is_ending = True
        if self._engine is not None:
            self._engine.stop()

    @property
    def _silence(self) -> float:
        return HEARTBEATS * self._config.heartbeat_seconds

    async def _beat(self) -> None:
        """Report that it is alive, and take up what dead workers left, at each heartbeat."""
        while True:
            try:
                problem = "; ".join(self._problems.values())
                await self._threads.rows(
                    partial(board.hello, self.name, self._tools.signature, problem)
                )
                if late := await self._threads.rows(board.drop_late):
                    LOG.warning(LATE, late)
                await self._take_up()
            except Exception as error:
                LOG.warning("%s could not look after the others: %s", self.name, error)
            await asyncio.sleep(self._config.heartbeat_seconds)

    async def _take_up(self) -> None:
        """Ring again for jobs whose workers are not heard of any more."""
        errors = importlib.import_module("procrastinate.exceptions")
        jobs = importlib.import_module("procrastinate.jobs")
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(
            queue=bell.QUEUE, seconds_since_heartbeat=self._silence
        ):
            key = job.task_kwargs["key"]
            with suppress(errors.ConnectorException):  # another worker was first
                if await self._threads.rows(partial(board.is_there, key)):
                    await manager.retry_job(job)
                    LOG.warning("a job of a worker that ended without a word is taken up again")
                else:
                    await manager.finish_job(job, status=jobs.Status.FAILED, delete_job=True)

    async def _do_job(self, key: str) -> None:
        """Do one job of the board; Procrastinate calls this for each bell."""
        now = time.monotonic()
        unfit = {kind: words for kind, (until, words) in self._left.items() if until > now}
        job = await self._threads.rows(partial(board.claim, key, self.name, self._ends, unfit))
        if job is None:
            return
        try:
            result = await self._result_of(job)
            self._problems.pop(job.kind, None)
        except Exception as error:
            await self._threads.rows(self._failed(job, error))
        else:
            if result is not None:
                await self._threads.rows(partial(board.finish, job, result, is_done=True))

    def _failed(self, job: Claimed, error: Exception) -> Callable[[], object]:
        """Return the write that records a failed job."""
        words = kinds.failure(error)
        LOG.warning("a job (%s) failed: %s", job.kind, kinds.text_of(words))
        if isinstance(error, kinds.UnfitError):
            self._problems[job.kind] = str(error)
            self._left[job.kind] = time.monotonic() + UNFIT_SECONDS, words
            return partial(board.leave, job, words)
        is_sent = not isinstance(error, kinds.UndoneError)
        return partial(board.finish, job, words, is_done=False, is_sent=is_sent)

    async def _result_of(self, job: Claimed) -> bytes | None:
        """The result of a job. None: nobody wants it any more."""
        making = asyncio.ensure_future(kinds.KINDS[job.kind](job.given, self._tools))
        try:
            while True:
                done, _ = await asyncio.wait([making], timeout=WANTED_SECONDS)
                if done:
                    return making.result()
                if not await self._threads.rows(partial(board.is_wanted, job)):
                    return None
        finally:
            # If nobody wants the answer any more, this closes the model's socket.
            making.cancel()


def _connector(procrastinate: ModuleType, config: WorkersConfig) -> Any:
    """Procrastinate's own connections to the game's database."""
    params = connection.get_connection_params()
    # Classes of Django's own, which only its own connections accept.
    plain = {
        key: value for key, value in params.items() if key not in ("cursor_factory", "context")
    }
    plain["application_name"] = bell.TASK
    return procrastinate.PsycopgConnector(
        kwargs=plain, min_size=1, max_size=2 + config.calls_at_once
    )
