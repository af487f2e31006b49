"""One bounded HTTP request to one resolved address, without redirects or a second DNS lookup."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from evennia_ai.a2a_client.addresses import ResolvedAddress

CONNECT_SECONDS = 10.0
# Compressed answers are neither requested nor decompressed: a small one could expand without bound.
PLAIN = {"Accept-Encoding": "identity"}
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
TOO_LARGE = "its answer has more than {most} bytes"


class NotSentError(ConnectionError):
    """The request was not sent, or was turned away unread, so that nothing was begun.

    Attributes:
        may_pass: another attempt may succeed.
    """

    def __init__(self, text: str, *, may_pass: bool = True) -> None:
        super().__init__(text)
        self.may_pass = may_pass


class Answered(NamedTuple):
    """An HTTP answer; `body` is empty if only the status was wanted."""

    status: int
    body: bytes


class _Pinned(AbstractResolver):
    """A resolver that answers with the address that was checked, whatever it is asked."""

    def __init__(self, place: ResolvedAddress) -> None:
        self._place = place

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the checked address; `host` may be spelled in another way, as in IDNA."""
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
        """Do nothing: there is nothing to close."""


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
    """Send one request to an address that was resolved and checked.

    Args:
        seconds: time limit for the whole exchange.
        most_bytes: the longest body that is read; 0 reads only the status.

    Raises:
        NotSentError: no connection could be made.
        ConnectionError: the connection broke, or the answer is too long.
        TimeoutError: the time is over.
    """
    # The connection is not kept: the host may resolve to another machine the next time.
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
    # First, as one of them is a TimeoutError too, which would mean that something may have begun.
    except NOT_SENT as error:
        raise NotSentError(f"no connection: {error.__cause__ or error}") from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error, TimeoutError | ConnectionError):
            raise
        raise ConnectionError(f"the connection broke: {error}") from None


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    # The header refuses early; what is really sent is counted below.
    if (answer.content_length or 0) > most:
        raise ConnectionError(TOO_LARGE.format(most=most))
    parts, received = list[bytes](), 0
    async for part in answer.content.iter_any():
        received += len(part)
        if received > most:
            raise ConnectionError(TOO_LARGE.format(most=most))
        parts.append(part)
    return b"".join(parts)
