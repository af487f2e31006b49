"""Addresses that others name: where they may be, and which machine one is at this moment.

A name can mean another machine a moment later, so a request goes to the very address that was
looked at, and never to where an answer points.
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
# Names that others send can take long to look up; calls of models share no thread with them.
LOOKERS = ThreadPoolExecutor(4, "evennia_ai-lookup")
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
    """Nobody knows a host now; somebody may know it later."""


class ResolvedAddress(NamedTuple):
    """A machine that an address means now.

    Attributes:
        address: its number in the network.
    """

    host: str
    address: str
    family: int


async def locate(url: str, allowed: Sequence[str], setting: str) -> ResolvedAddress:
    """The machine that an address means now.

    Args:
        allowed: private networks that it may be in.
        setting: the one that allows these, for the text of a refusal.

    Raises:
        ValueError: there is none, or it may not be sent to; the text says why.
    """
    parts = _split(url)
    host = parts.hostname or ""
    found = await _look_up(host, parts.port or PORTS[parts.scheme])
    # All of them, though one is used: which comes first must not decide it.
    for _, address in found:
        if is_private(address, allowed):
            raise ValueError(PRIVATE.format(host=host[:100], setting=setting))
    family, address = found[0]
    return ResolvedAddress(host, address, family)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
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
        looking = loop.run_in_executor(LOOKERS, ask)
        found = await asyncio.wait_for(looking, LOOKUP_SECONDS)
    # UnicodeError: a name that cannot be written in IDNA.
    except (OSError, TimeoutError, UnicodeError):
        found = []
    if not found:
        raise UnknownHostError(NO_HOST.format(host=host[:100]))
    return [(family, str(address[0])) for family, _, _, _, address in found]
