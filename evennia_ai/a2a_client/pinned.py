"""One request to one machine: nothing is resolved again, no redirect is followed, and it ends."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from evennia_ai.a2a_client.addresses import ResolvedAddress

CONNECT_SECONDS = 10.0
# An answer that is packed could be far larger than it looks: none is asked for, and none unpacked.
PLAIN = {"Accept-Encoding": "identity"}
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
TOO_LARGE = "its answer has more than {most} bytes"


class NotSentError(ConnectionError):
    """No connection came about, or nothing is taken now, so that nothing was begun.

    Attributes:
        may_pass: another try may succeed.
    """

    def __init__(self, text: str, *, may_pass: bool = True) -> None:
        super().__init__(text)
        self.may_pass = may_pass


class Answered(NamedTuple):
    """A machine's answer; `body` is empty where none of it was to be read."""

    status: int
    body: bytes


class _Pinned(AbstractResolver):
    """Knows one machine, and no other."""

    def __init__(self, place: ResolvedAddress) -> None:
        self._place = place

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The machine that was looked at."""
        if host != self._place.host:
            raise OSError(f"{host!r} was not looked at")
        return [
            ResolveResult(
                hostname=host,
                host=self._place.address,
                port=port,
                family=self._place.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """There is nothing to close."""


async def exchange(
    method: str,
    url: str,
    place: ResolvedAddress,
    *,
    data: bytes | None = None,
    headers: Mapping[str, str],
    seconds: float,
    most_bytes: int,
) -> Answered:
    """Send one request to the machine that an address was found to mean.

    Args:
        seconds: for all of it.
        most_bytes: of the answer; 0: only its status is wanted.

    Raises:
        NotSentError: no connection came about.
        ConnectionError: it broke, or the answer is longer.
        TimeoutError: the time is over.
    """
    # Closed after it: the next request to that name may be meant for another machine.
    connector = aiohttp.TCPConnector(resolver=_Pinned(place), force_close=True, use_dns_cache=False)
    timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS))
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=timeout, auto_decompress=False
            ) as session,
            session.request(
                method, url, data=data, headers={**PLAIN, **headers}, allow_redirects=False
            ) as answer,
        ):
            body = await _read(answer, most_bytes) if most_bytes else b""
            return Answered(int(answer.status), body)
    except NOT_SENT as error:  # one of them is a TimeoutError too
        raise NotSentError(f"no connection: {error.__cause__ or error}") from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error, TimeoutError | ConnectionError):
            raise
        raise ConnectionError(f"the connection broke: {error}") from None


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    if (answer.content_length or 0) > most:
        raise ConnectionError(TOO_LARGE.format(most=most))
    parts, received = list[bytes](), 0
    async for part in answer.content.iter_any():
        received += len(part)
        if received > most:
            raise ConnectionError(TOO_LARGE.format(most=most))
        parts.append(part)
    return b"".join(parts)
