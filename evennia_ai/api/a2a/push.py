"""Telling addresses of what happens to tasks, in order, until each was told or is given up.

What was told is in the table, so that a restart loses nothing and tells nothing twice but what was
on its way. An address that fails is tried again later and later; one machine that fails three times
in a row is left alone for a while, and then asked once.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import aiohttp
from a2a.utils.errors import InvalidParamsError

from evennia_ai.a2a_client.addresses import ResolvedAddress, UnknownHostError, locate
from evennia_ai.a2a_client.pinned import exchange
from evennia_ai.api.a2a import wire
from evennia_ai.api.a2a.errands import Errand, due, failed, told
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.circuit_breaker import CircuitBreaker, CircuitBreakerConfig

LOOK_EVERY_SECONDS = 5.0
# Addresses that are told at one time, of all accounts and of one.
MOST_AT_ONCE, MOST_OF_ONE, MOST_BREAKERS = 20, 5, 1_000
FAILURES, SUCCESSES = 3, 1
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
# Of the answers that are no yes these may be another one later.
LATER = (408, 425, 429)
TOKEN = "X-A2A-Notification-Token"
SIGNATURE, AT, NUMBER = "X-Evennia-AI-Signature", "X-Evennia-AI-Time", "X-Evennia-AI-Event"
NETWORKS = "hook_networks in EVENNIA_AI_A2A_CONFIG"
_log = logging.getLogger(__name__)


async def check_url(url: str, config: A2aConfig) -> None:
    """Look whether something may be sent to an address, as far as its host is known now.

    Raises:
        InvalidParamsError: it may not.
    """
    try:
        with suppress(UnknownHostError):  # it is looked at again before anything is sent
            await locate(url, config.hook_networks, NETWORKS)
    except ValueError as error:
        raise InvalidParamsError(str(error)) from None


class _NeverError(Exception):
    """An address does not want this, and will not later."""


class PushSender:
    """Whoever tells addresses; one for the server."""

    def __init__(self, config: A2aConfig, hub: Hub, in_game: Callable[..., Awaitable[Any]]) -> None:
        self._config, self._hub, self._in_game = config, hub, in_game
        # By account and machine: one account's addresses are no reason to leave another's alone.
        self._breakers: OrderedDict[tuple[int, str], CircuitBreaker] = OrderedDict()
        self._busy: dict[int, asyncio.Task[None]] = {}
        self._open: Counter[int] = Counter()

    async def run(self) -> None:
        """Tell whatever there is to tell, until cancelled."""
        try:
            while True:
                # Before the look: what becomes due during it is looked for once more.
                self._hub.news.clear()
                try:
                    await self._look()
                except Exception:  # the next look may succeed
                    _log.exception("addresses could not be told")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hub.news.wait(), LOOK_EVERY_SECONDS)
        finally:
            for task in self._busy.values():
                # What takes it out of the dict runs later, so that this loop is safe.
                task.cancel()

    async def _look(self) -> None:
        free = MOST_AT_ONCE - len(self._busy)
        if free <= 0:
            return
        full = [account for account, count in self._open.items() if count >= MOST_OF_ONE]
        found = await self._in_game(due, time.time(), free, MOST_OF_ONE, list(self._busy), full)
        for errand in found:
            # Several of one account may have come at once; the rest stay due.
            if self._open[errand.account] >= MOST_OF_ONE:
                continue
            task = asyncio.create_task(self._tell(errand))
            self._busy[errand.hook] = task
            self._open[errand.account] += 1
            task.add_done_callback(partial(self._free, errand.hook, errand.account))

    def _free(self, hook: int, account: int, _: object) -> None:
        del self._busy[hook]
        self._open[account] -= 1
        if not self._open[account]:
            del self._open[account]
        self._hub.news.set()  # there may be more for it

    async def _tell(self, errand: Errand) -> None:
        try:
            why, seconds = "", 0.0
            try:
                await self._post(errand)
            except _NeverError as error:
                why = str(error)
            except CircuitOpenError as error:
                why, seconds = str(error), max(1.0, error.retry_after)
            except (OSError, TimeoutError, ValueError, aiohttp.ClientError) as error:
                why, seconds = str(error) or type(error).__name__, self._pause(errand)
            if seconds:
                await self._in_game(failed, errand, why, time.time() + seconds)
                return
            await self._in_game(told, errand, why)
        except Exception:  # it is due still
            _log.exception("an address could not be told")

    def _pause(self, errand: Errand) -> float:
        """Seconds until the next try; 0: there is none."""
        if errand.tries + 1 >= self._config.hook_tries:
            return 0.0
        return float(min(FIRST_PAUSE_SECONDS * 2**errand.tries, LONGEST_PAUSE_SECONDS))

    async def _post(self, errand: Errand) -> None:
        """Tell an address once.

        Raises:
            _NeverError: it never will take this.
        """
        place = await locate(errand.url, self._config.hook_networks, NETWORKS)
        with self._breaker(errand.account, place.host).acquire():
            status = await self._status_of(errand, place)
            # Within the breaker, which counts it; a plain no below is no fault of the machine.
            if status >= 500 or status in LATER:
                raise OSError(f"it answered {status}")
        if 300 <= status < 400:
            raise _NeverError(f"it answered {status}; nothing is sent to where it points")
        if status >= 400:
            raise _NeverError(f"it answered {status}")

    async def _status_of(self, errand: Errand, place: ResolvedAddress) -> int:
        body = json.dumps(wire.told_of(errand.shown, errand.told), ensure_ascii=False).encode()
        headers, seconds = _headers(errand, body), self._config.hook_seconds
        told = await exchange(
            "POST", errand.url, place, data=body, headers=headers, seconds=seconds, most_bytes=0
        )
        return told.status

    def _breaker(self, account: int, host: str) -> CircuitBreaker:
        """The breaker of a machine, for one account."""
        config = CircuitBreakerConfig(
            failure_threshold=FAILURES,
            success_threshold=SUCCESSES,
            timeout_seconds=self._config.hook_pause_seconds,
            excluded_exceptions=(),
        )
        made = CircuitBreaker(f"peer:{host}", config)
        breaker = self._breakers.setdefault((account, host), made)
        self._breakers.move_to_end((account, host))
        while len(self._breakers) > MOST_BREAKERS:
            self._breakers.popitem(last=False)
        return breaker


def _headers(errand: Errand, body: bytes) -> dict[str, str]:
    at = str(int(time.time()))
    headers = {"Content-Type": "application/a2a+json", NUMBER: str(errand.told.seq), AT: at}
    if errand.token:
        headers[TOKEN] = errand.token
        signed = hmac.new(errand.token.encode(), f"{at}.".encode() + body, "sha256")
        headers[SIGNATURE] = f"sha256={signed.hexdigest()}"
    if errand.scheme and errand.credentials:
        headers["Authorization"] = f"{errand.scheme} {errand.credentials}"
    return headers
