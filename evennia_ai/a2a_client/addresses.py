"""Addresses that third parties supply: check them, and resolve them to one IP address.

A host name can resolve to another machine a moment later (DNS rebinding), so a request goes to the
very IP address that was checked, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from evennia_ai.core.safety.addresses import is_private

LONGEST_URL = 2_000
LOOKUP_SECONDS = 5.0
# Threads of their own: a slow name from a stranger must not hold up the lookups of model calls.
LOOKUP_THREADS = ThreadPoolExecutor(4, "evennia_ai-lookup")
PORTS = {"http": 80, "https": 443}
NO_URL = (
    "{url!r} is not an address that can be used; it begins with https:// or http:// and has a host."
)
NO_USER = "An address has no user and no password in it; tokens are sent as headers."
NO_HOST = "Nobody knows the host {host!r}."
PRIVATE = (
    "{host!r} is in a private network, which this game does not send to; its owner can allow it: "
    "{setting}."
)


class UnknownHostError(ValueError):
    """A host name does not resolve now; a later attempt may succeed."""


class ResolvedAddress(NamedTuple):
    """The machine that a URL's host resolved to.

    Attributes:
        address: its IP address.
        family: `AF_INET` or `AF_INET6`.
    """

    host: str
    address: str
    family: int


async def locate(url: str, allowed: Sequence[str], setting: str) -> ResolvedAddress:
    """Resolve a URL's host, and check that requests may be sent to it.

    Args:
        allowed: private networks that it may be in.
        setting: the one that allows these, for the text of a refusal.

    Raises:
        ValueError: the URL is malformed, does not resolve or is not allowed; the text says why.
    """
    parts = _parse(url)
    host = parts.hostname or ""
    addresses = await _look_up(host, parts.port or PORTS[parts.scheme])
    # Every address must pass, although only the first is used: a resolver may vary their order.
    for _, address in addresses:
        if is_private(address, allowed):
            raise ValueError(PRIVATE.format(host=host[:100], setting=setting))
    family, address = addresses[0]
    return ResolvedAddress(host, address, family)


def _parse(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # `port` raises ValueError if it is not a number from 0 to 65535.
        is_good = parts.scheme in PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    is_short = len(url) <= LONGEST_URL and url.isprintable() and " " not in url
    if not (is_good and is_short):
        raise ValueError(NO_URL.format(url=url[:100]))
    if "@" in parts.netloc:
        raise ValueError(NO_USER)
    return parts


async def _look_up(host: str, port: int) -> list[tuple[int, str]]:
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        family = socket.AF_INET if literal.version == 4 else socket.AF_INET6
        return [(family, str(literal))]
    loop = asyncio.get_running_loop()
    try:
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        lookup = loop.run_in_executor(LOOKUP_THREADS, ask)
        # Only the waiting ends: `getaddrinfo` cannot be cancelled, and keeps its thread until it
        # returns.
        addresses = await asyncio.wait_for(lookup, LOOKUP_SECONDS)
    # UnicodeError: the name cannot be encoded in IDNA.
    except (OSError, TimeoutError, UnicodeError):
        addresses = []
    if not addresses:
        raise UnknownHostError(NO_HOST.format(host=host[:100]))
    return [(family, str(address[0])) for family, _, _, _, address in addresses]


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
