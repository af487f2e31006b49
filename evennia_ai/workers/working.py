"""A worker: a process beside the game that does what stands on the board, as Procrastinate rings.

It touches our tables of jobs and reads words of memories; no object of the game is ever loaded, as
the server would not see what became of it. Everything runs in one event loop, beside two threads:
one for the database, one for the embedding model. SIGTERM and SIGINT let it finish what it is at.
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
POLL_SECONDS = 2.0
TRIES, PAUSE_SECONDS = 5, 1.0
PRUNED_SECONDS = 30.0
# So long a worker leaves a kind of jobs to others that it is not set up for.
UNFIT_SECONDS = 30.0
LATE = "%s jobs were removed that nobody waits for any more: the server that asked has ended"


class Threads:
    """Two threads: of the database, as a connection is one thread's, and of the embedding model."""

    def __init__(self) -> None:
        self._rows = ThreadPoolExecutor(1, "evennia_ai rows")
        self._model = ThreadPoolExecutor(1, "evennia_ai vectors")

    async def rows(self, ask: Callable[[], T]) -> T:
        """Ask the database; what it does not answer is asked again a few times.

        Raises:
            DatabaseError: it does not answer.
        """
        loop = asyncio.get_running_loop()
        for left in reversed(range(TRIES)):
            try:
                return await loop.run_in_executor(self._rows, ask)
            except DatabaseError as error:
                LOG.warning("the database: %s", explained(error))
                # In that thread, as Django keeps a connection for each.
                await loop.run_in_executor(self._rows, renew)
                if not left:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError("unreachable")

    async def model(self, ask: Callable[[], T]) -> T:
        """Ask the embedding model."""
        return await asyncio.get_running_loop().run_in_executor(self._model, ask)

    async def close(self) -> None:
        """Let go of the connection, and end both."""
        await asyncio.get_running_loop().run_in_executor(self._rows, connections.close_all)
        self._rows.shutdown()
        self._model.shutdown()


class OwnHands:
    """The tools of this worker: see `kinds.Hands`."""

    def __init__(self, embedder: Embedder, keys: Keys, most_bytes: int, threads: Threads) -> None:
        self.signature = embedder.signature
        self._embedder = embedder
        self._keys = keys
        self._most_bytes = most_bytes
        self._threads = threads
        self._transports: dict[tuple[str, str], OpenAITransport] = {}

    async def texts(self, keys: Sequence[str]) -> dict[str, str]:
        """The words of memories that are not forgotten, by key."""
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
        """A model's answer to a request."""
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
        """Close connections, and let go of the embedding model."""
        for transport in self._transports.values():
            await transport.end()
        await self._threads.model(self._embedder.close)


class Worker:
    """One worker."""

    def __init__(
        self, config: WorkersConfig, embedder: Embedder, keys: Keys, most_bytes: int
    ) -> None:
        """Make it.

        Args:
            keys: of models, by their address and mark.
            most_bytes: of a model's answer.
        """
        began = time.strftime("%H:%M:%S")
        self.name = f"{socket.gethostname()}:{os.getpid()} of {began}"
        self._config = config
        self._threads = Threads()
        self._hands = OwnHands(embedder, keys, most_bytes, self._threads)
        # What somebody may have charged for is paid for anew before it is sent again.
        most = 1 if embedder.is_paid else config.attempts
        spoiled = kinds.lost() if embedder.is_paid else kinds.poison(most)
        self._ends = {kinds.EMBED: (most, spoiled), kinds.ASK: (1, kinds.lost())}
        self._problems: dict[str, str] = {}
        # By kind: until when it is left to others, and what it comes to if they leave it as well.
        self._left: dict[str, tuple[float, bytes]] = {}
        self._is_ending = False
        self._app: Any = None
        self._engine: Any = None

    def run(self) -> None:
        """Work until a signal ends it; to be called in the main thread."""
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
            # If it cannot be told, it counts as killed, and is forgotten after an hour.
            with suppress(DatabaseError):
                await self._threads.rows(partial(board.goodbye, self.name))
        finally:
            await self._hands.close()
            await self._threads.close()

    async def _work(self, procrastinate: ModuleType, engine: ModuleType) -> None:
        """Work until a signal, or until the database is lost; the engine ends then as well."""
        self._app = procrastinate.App(connector=_connector(procrastinate, self._config))
        self._app.task(self._do, name=bell.TASK, queue=bell.QUEUE)
        beating = None
        try:
            async with self._app.open_async():
                self._engine = engine.Worker(
                    self._app,
                    queues=[bell.QUEUE],
                    name=self.name,
                    concurrency=self._config.calls_at_once,
                    # A bell that was heard says nothing more; what came of it is on the board.
                    delete_jobs="always",
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=self._config.heartbeat_seconds,
                    # Of workers of the game's own, too: these may be heard of less often.
                    stalled_worker_timeout=max(PRUNED_SECONDS, self._silence),
                    # A signal also has to end a worker that is without an engine.
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
        """A signal came: finish what is under way, and begin nothing more."""
        self._is_ending = True
        if self._engine is not None:
            self._engine.stop()

    @property
    def _silence(self) -> float:
        return HEARTBEATS * self._config.heartbeat_seconds

    async def _beat(self) -> None:
        """Say that it lives, and take up what dead workers left, now and then."""
        while True:
            try:
                told = "; ".join(self._problems.values())
                await self._threads.rows(
                    partial(board.hello, self.name, self._hands.signature, told)
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

    async def _do(self, key: str) -> None:
        """One job of the board, done when Procrastinate calls."""
        now = time.monotonic()
        left = {kind: words for kind, (until, words) in self._left.items() if until > now}
        job = await self._threads.rows(partial(board.claim, key, self.name, self._ends, left))
        if job is None:
            return
        try:
            result = await self._made(job)
            self._problems.pop(job.kind, None)
        except Exception as error:
            await self._threads.rows(self._failed(job, error))
        else:
            if result is not None:
                await self._threads.rows(partial(board.finish, job, result, is_done=True))

    def _failed(self, job: Claimed, error: Exception) -> Callable[[], object]:
        """The writing down of a job that failed."""
        words = kinds.failure(error)
        LOG.warning("a job (%s) failed: %s", job.kind, kinds.told(words))
        if isinstance(error, kinds.UnfitError):
            self._problems[job.kind] = str(error)
            self._left[job.kind] = time.monotonic() + UNFIT_SECONDS, words
            return partial(board.leave, job, words)
        is_sent = not isinstance(error, kinds.UndoneError)
        return partial(board.finish, job, words, is_done=False, is_sent=is_sent)

    async def _made(self, job: Claimed) -> bytes | None:
        """The result of a job. None: nobody wants it any more."""
        making = asyncio.ensure_future(kinds.KINDS[job.kind](job.given, self._hands))
        try:
            while True:
                done, _ = await asyncio.wait([making], timeout=WANTED_SECONDS)
                if done:
                    return making.result()
                if not await self._threads.rows(partial(board.is_wanted, job)):
                    return None
        finally:
            # Closes the model's socket where nobody wants the answer any more.
            making.cancel()


def _connector(procrastinate: ModuleType, config: WorkersConfig) -> Any:
    """Procrastinate's own connections to the game's database."""
    given = connection.get_connection_params()
    # Django's own classes, which only its own connections take.
    plain = {key: value for key, value in given.items() if key not in ("cursor_factory", "context")}
    plain["application_name"] = bell.TASK
    return procrastinate.PsycopgConnector(
        kwargs=plain, min_size=1, max_size=2 + config.calls_at_once
    )
