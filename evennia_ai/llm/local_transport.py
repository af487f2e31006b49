"""The transport to a game's embedded model, which is started by the first request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from twisted.internet.defer import Deferred, DeferredLock, succeed
from twisted.internet.threads import deferToThread

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ConfigurationError, LocalModelError, ModelConnectionError
from evennia_ai.llm import local
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES, OpenAITransport


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
        self._starting: DeferredLock = DeferredLock()

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Ask for one completion."""
        return Deferred.fromCoroutine(self._post(body))

    async def _post(self, body: Mapping[str, object]) -> bytes:
        running = local.find_running(self._state_dir)
        if running is None:
            # Starting blocks a thread, possibly while weights download; without the lock each call
            # would block another one and use up Twisted's thread pool.
            running = await self._starting.run(self._find_or_start)
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

    def _find_or_start(self) -> Any:
        # Looked up again: the call that held the lock before may have started it.
        running = local.find_running(self._state_dir)
        return running if running is not None else deferToThread(self._start)

    def _start(self) -> local.LocalModel:
        try:
            return local.ensure_running(self._state_dir, stop_with=self._pid_file)
        except LocalModelError as error:
            raise ModelConnectionError(f"the demo brain does not run: {error}") from None
