"""Delivers the events of tasks to webhooks, in order, until each is delivered or given up.

The database notes what was delivered: a restart loses nothing, and repeats only what was on its
way. Failed attempts are repeated at growing intervals. A host that fails three times in a row is
left alone for a while, and then tried once.
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

from evennia_ai.a2a_client.addresses import UnknownHostError, exchange, locate
from evennia_ai.api.a2a import wire
from evennia_ai.api.a2a.deliveries import Delivery, due_deliveries, note_delivered, note_failed
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.circuit_breaker import CircuitBreaker, CircuitBreakerConfig

# Retries become due without any news, so the table is read at least this often.
POLL_SECONDS = 5.0
# Deliveries at one time, of all accounts and of one.
MOST_AT_ONCE, MOST_OF_ONE, MOST_BREAKERS = 20, 5, 1_000
FAILURES, SUCCESSES = 3, 1
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
# Of the 4xx these may succeed later; any other is final.
RETRY_STATUSES = (408, 425, 429)
TOKEN_HEADER = "X-A2A-Notification-Token"
SIGNATURE_HEADER = "X-Evennia-AI-Signature"
TIME_HEADER = "X-Evennia-AI-Time"
EVENT_HEADER = "X-Evennia-AI-Event"
NETWORKS = "hook_networks in EVENNIA_AI_A2A_CONFIG"
_log = logging.getLogger(__name__)


async def check_url(url: str, config: A2aConfig) -> None:
    """Check that events may be sent to a URL, if its host resolves now.

    Raises:
        InvalidParamsError: they may not.
    """
    try:
        with suppress(UnknownHostError):  # it is resolved and checked again before each delivery
            await locate(url, config.hook_networks, NETWORKS)
    except ValueError as error:
        raise InvalidParamsError(str(error)) from None


class _RejectedError(Exception):
    """The webhook rejects an event, and will not take it later."""


class PushSender:
    """Delivers events to webhooks; there is one for the server."""

    def __init__(self, config: A2aConfig, hub: Hub, in_game: Callable[..., Awaitable[Any]]) -> None:
        self._config, self._hub, self._in_game = config, hub, in_game
        # By account and host: one account's broken webhook must not stop another's deliveries.
        self._breakers: OrderedDict[tuple[int, str], CircuitBreaker] = OrderedDict()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._per_account: Counter[int] = Counter()

    async def run(self) -> None:
        """Deliver events until cancelled."""
        try:
            while True:
                # Cleared before the table is read, so that later events cause another round.
                self._hub.news.clear()
                try:
                    await self._start_due()
                except Exception:  # the database may be back at the next round
                    _log.exception("addresses could not be told")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hub.news.wait(), POLL_SECONDS)
        finally:
            for task in self._running.values():
                # The done callback changes the dict, but runs later: this loop is safe.
                task.cancel()

    async def _start_due(self) -> None:
        free = MOST_AT_ONCE - len(self._running)
        if free <= 0:
            return
        full = [account for account, count in self._per_account.items() if count >= MOST_OF_ONE]
        deliveries = await self._in_game(
            due_deliveries, time.time(), free, MOST_OF_ONE, list(self._running), full
        )
        for delivery in deliveries:
            # Several of one account may have been found at once; the rest stay due.
            if self._per_account[delivery.account] >= MOST_OF_ONE:
                continue
            task = asyncio.create_task(self._deliver(delivery))
            self._running[delivery.hook.pk] = task
            self._per_account[delivery.account] += 1
            task.add_done_callback(partial(self._finish, delivery.hook.pk, delivery.account))

    def _finish(self, hook: int, account: int, task: asyncio.Task[None]) -> None:
        del self._running[hook]
        self._per_account[account] -= 1
        if not self._per_account[account]:
            del self._per_account[account]
        if task.cancelled():
            return
        if error := task.exception():
            # Nothing was noted, so it is still due; not at once, or the webhook would be flooded.
            _log.error("an address could not be told", exc_info=error)
        else:
            self._hub.news.set()  # the same webhook may have more events due

    async def _deliver(self, delivery: Delivery) -> None:
        why, seconds, is_try = "", 0.0, True
        try:
            await self._post(delivery)
        except _RejectedError as error:
            why = str(error)
        except CircuitOpenError as error:
            why, seconds, is_try = str(error), max(1.0, error.retry_after), False
        except (OSError, TimeoutError, ValueError, aiohttp.ClientError) as error:
            why, seconds = str(error) or type(error).__name__, self._pause(delivery)
        if seconds:
            noting = partial(note_failed, is_try=is_try)
            await self._in_game(noting, delivery, why, time.time() + seconds)
        else:
            await self._in_game(note_delivered, delivery, why)

    def _pause(self, delivery: Delivery) -> float:
        """Seconds until the next attempt; 0 if this was the last."""
        if delivery.hook.tries + 1 >= self._config.hook_tries:
            return 0.0
        return float(min(FIRST_PAUSE_SECONDS * 2**delivery.hook.tries, LONGEST_PAUSE_SECONDS))

    async def _post(self, delivery: Delivery) -> None:
        """Try to deliver an event once.

        Raises:
            _RejectedError: the webhook answered that it will not take the event.
        """
        url, seconds = delivery.hook.url, self._config.hook_seconds
        place = await locate(url, self._config.hook_networks, NETWORKS)
        with self._breaker(delivery.account, place.host).acquire():
            payload = wire.push_payload(delivery.task, delivery.event)
            body = json.dumps(payload, ensure_ascii=False).encode()
            headers = _headers(delivery, body)
            answer = await exchange(
                "POST", url, place, data=body, headers=headers, seconds=seconds, most_bytes=0
            )
            status = answer.status
            # Raised inside the breaker, which counts it; a 3xx or 4xx below shows a working host.
            if status >= 500 or status in RETRY_STATUSES:
                raise OSError(f"it answered {status}")
        if 300 <= status < 400:
            raise _RejectedError(f"it answered {status}; nothing is sent to where it points")
        if status >= 400:
            raise _RejectedError(f"it answered {status}")

    def _breaker(self, account: int, host: str) -> CircuitBreaker:
        config = CircuitBreakerConfig(
            failure_threshold=FAILURES,
            success_threshold=SUCCESSES,
            timeout_seconds=self._config.hook_pause_seconds,
            excluded_exceptions=(),
        )
        fresh = CircuitBreaker(f"peer:{host}", config)
        breaker = self._breakers.setdefault((account, host), fresh)
        self._breakers.move_to_end((account, host))
        while len(self._breakers) > MOST_BREAKERS:
            self._breakers.popitem(last=False)
        return breaker


def _headers(delivery: Delivery, body: bytes) -> dict[str, str]:
    # The signature covers the time, so that a receiver can refuse an old message sent again.
    at = str(int(time.time()))
    headers = {
        "Content-Type": "application/a2a+json",
        EVENT_HEADER: str(delivery.event.seq),
        TIME_HEADER: at,
    }
    hook = delivery.hook
    if hook.token:
        headers[TOKEN_HEADER] = hook.token
        signed = hmac.new(hook.token.encode(), f"{at}.".encode() + body, "sha256")
        headers[SIGNATURE_HEADER] = f"sha256={signed.hexdigest()}"
    if hook.scheme and hook.credentials:
        headers["Authorization"] = f"{hook.scheme} {hook.credentials}"
    return headers
