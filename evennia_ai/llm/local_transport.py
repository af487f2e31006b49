"""The way to the embedded model of a game, which is started when it is first asked."""

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
    """The files in which a game's embedded model leaves its address, and the pid file it ends with.

    Raises:
        ConfigurationError: there is no game here.
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
    """The embedded model: found where it runs, and started when it does not.

    Args:
        state_dir: where the model leaves its address.
        pid_file: the game's portal pid file; the model ends with that game.
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
            # One thread waits for the model, not one for each question that came meanwhile.
            running = await self._starting.run(self._find_or_start)
        if self._transport is None or running != self._running:
            # Whatever answered there before is gone, and what still waits for it is told so.
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
        """Close the connections; the model goes on."""
        return self._transport.close() if self._transport is not None else succeed(None)

    def _find_or_start(self) -> Any:
        running = local.find_running(self._state_dir)
        return running if running is not None else deferToThread(self._start)

    def _start(self) -> local.LocalModel:
        try:
            return local.ensure_running(self._state_dir, stop_with=self._pid_file)
        except LocalModelError as error:
            raise ModelConnectionError(f"the demo brain does not run: {error}") from None
