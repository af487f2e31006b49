"""Addresses that third parties supply: check them, and resolve them to one IP address.

A host name can resolve to another machine a moment later (DNS rebinding), so a request goes to the
very IP address that was checked, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

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
    found = await _look_up(host, parts.port or PORTS[parts.scheme])
    # Every address must pass, although only the first is used: a resolver may vary their order.
    for _, address in found:
        if is_private(address, allowed):
            raise ValueError(PRIVATE.format(host=host[:100], setting=setting))
    family, address = found[0]
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
        found = await asyncio.wait_for(lookup, LOOKUP_SECONDS)
    # UnicodeError: the name cannot be encoded in IDNA.
    except (OSError, TimeoutError, UnicodeError):
        found = []
    if not found:
        raise UnknownHostError(NO_HOST.format(host=host[:100]))
    return [(family, str(address[0])) for family, _, _, _, address in found]
