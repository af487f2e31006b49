"""The transport to a game's embedded model, which is started by the first request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ConfigurationError, LocalModelError, ModelConnectionError
from evennia_ai.llm import local
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES, OpenAITransport

T = TypeVar("T")


def places_of_game() -> tuple[Path, Path]:
    """The state folder of a game's embedded model, and the pid file of the game's portal.

    Raises:
        ConfigurationError: no game is set up here.
    """
    try:
        server = Path(settings.GAME_DIR) / "server"
    except ImproperlyConfigured:
        raise ConfigurationError(
            "provider is 'local', the model of a game, but no game is set up here; set it up with"
            " evennia._init(), or give a base_url"
        ) from None
    return server / ".local_model", server / "portal.pid"


def in_own_thread(work: Callable[[], T], reactor: Reactor) -> Deferred[T]:
    """The outcome of something that may take minutes; the end of the process does not wait for it.

    It would wait for the threads of Twisted's pool, so that a reload of the game took as long.
    """
    outcome: Deferred[Any] = Deferred()

    def run() -> None:
        try:
            result: T | Failure = work()
        except Exception:
            result = Failure()
        reactor.callFromThread(outcome.callback, result)

    threading.Thread(target=run, name="evennia_ai demo brain", daemon=True).start()
    return outcome


class LocalTransport:
    """A transport that finds the running embedded model, or starts it.

    Args:
        state_dir: the folder in which the model publishes its address.
        pid_file: the game's portal pid file; the model ends when that game does.
    """

    def __init__(
        self,
        state_dir: Path,
        pid_file: Path | None = None,
        most_bytes: int = LARGEST_REPLY_BYTES,
        *,
        reactor: Reactor,
    ) -> None:
        self._state_dir = state_dir
        self._pid_file = pid_file
        self._most_bytes = most_bytes
        self._reactor = reactor
        self._running: local.LocalModel | None = None
        self._transport: OpenAITransport | None = None
        # The calls that wait for the start under way; None: there is none.
        self._waiting: list[Deferred[local.LocalModel]] | None = None

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Ask for one completion."""
        return Deferred.fromCoroutine(self._post(body))

    async def _post(self, body: Mapping[str, object]) -> bytes:
        running = local.find_running(self._state_dir)
        if running is None:
            running = await self._started()
        # A restarted model has another address or key. Closing the old connections also ends the
        # calls that still wait for the old process.
        if self._transport is None or running != self._running:
            self.close().addErrback(lambda _: None)
            self._running = running
            self._transport = OpenAITransport(
                running.base_url,
                running.api_key,
                {},
                reactor=self._reactor,
                most_bytes=self._most_bytes,
            )
        answer: bytes = await self._transport.post(body)
        return answer

    def close(self) -> Deferred[None]:
        """Close the connections; the model keeps running."""
        return self._transport.close() if self._transport is not None else succeed(None)

    def _started(self) -> Deferred[local.LocalModel]:
        """The model, once it runs; cancelling only ends the wait for it.

        Starting blocks a thread, possibly while weights download. All calls wait for one start:
        each would block another thread, which goes on after the call that began it was given up.
        """
        waiting: Deferred[local.LocalModel] = Deferred()
        if self._waiting is not None:
            self._waiting.append(waiting)
            return waiting
        self._waiting = [waiting]
        in_own_thread(self._start, self._reactor).addBoth(self._end_start)
        return waiting

    def _end_start(self, outcome: local.LocalModel | Failure) -> None:
        waiting, self._waiting = self._waiting or [], None
        for each in waiting:
            # One that was cancelled meanwhile takes this without effect.
            each.callback(outcome)

    def _start(self) -> local.LocalModel:
        try:
            return local.ensure_running(self._state_dir, stop_with=self._pid_file)
        except LocalModelError as error:
            raise ModelConnectionError(f"the demo brain does not run: {error}") from None
