"""Addresses of the network: which one a request came from, and which are counted as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from evennia_ai.errors import ConfigurationError

MOST_HOPS = 20
# A household has a network of its own, and may use any address in it.
OWN_NETWORK_BITS = 64
IPV4_BITS = 32
# Addresses in these stand for the one of IPv4 in their last 32 bits: by NAT64, "IPv4-compatible",
# and "IPv4-translated".
STANDING_FOR_IPV4 = tuple(map(ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
# NAT64 of one's own network, 6to4 and Teredo, by which nobody serves anything: of some of them some
# versions of Python say that they are global.
CLOSED = tuple(map(ip_network, ("64:ff9b:1::/48", "2002::/16", "2001::/32")))


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a text is, also with brackets, a port or a zone; None: it is none.

    An IPv4 address written as IPv6 is the IPv4 address.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_within(text: str, networks: Iterable[str]) -> bool:
    """True for an address within one of some networks."""
    address = read_address(text)
    if address is None:
        return False
    return any(address in ip_network(network, strict=False) for network in networks)


def is_private(text: str, allowed: Iterable[str]) -> bool:
    """True for an address that the open network does not have, unless one of `allowed` has it.

    One of IPv6 that stands for one of IPv4 is as private as that is.
    """
    address, allowed = read_address(text), tuple(allowed)
    if address is None:
        return True
    if is_within(text, allowed):
        return False
    meant = (address, *_ipv4_in(address))
    return any(_is_closed(each) and not is_within(str(each), allowed) for each in meant)


def _ipv4_in(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The addresses of IPv4 that one of IPv6 stands for."""
    if any(address in network for network in STANDING_FOR_IPV4):
        return (IPv4Address(int(address) % 2**IPV4_BITS),)
    return ()


def _is_closed(address: IPv4Address | IPv6Address) -> bool:
    """True for an address that the open network does not have."""
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    is_local = is_local or any(address in network for network in CLOSED)
    return is_local or not address.is_global or address.is_multicast


def is_network(text: str) -> bool:
    """True for the text of an address or a network."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def client_of(peer: str, forwarded: str, trusted: Sequence[str]) -> str:
    """The address of whoever asks: the last one that nobody but trusted proxies has told.

    Args:
        peer: whoever is connected.
        forwarded: the header X-Forwarded-For; each proxy adds at its end whom it was asked by.
        trusted: addresses and networks of proxies.
    """
    client = peer
    # From the right: whatever stands further left, anybody may have written.
    for hop in reversed(forwarded.split(",")[-MOST_HOPS:]):
        address = read_address(hop)
        if address is None or not is_within(client, trusted):
            break
        client = str(address)
    return client


def counted_as(text: str) -> str:
    """The network whose addresses are counted together, as one client has all of them."""
    address = read_address(text)
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), OWN_NETWORK_BITS), strict=False))
    return text if address is None else str(address)


def read_networks(path: str, value: object) -> tuple[str, ...]:
    """Addresses and networks, as a game sets them.

    Args:
        path: of the setting, for the text of what is wrong.

    Raises:
        ConfigurationError: something in it is neither.
    """
    wanted = "a list of addresses and networks, such as ['10.0.0.5', '172.16.0.0/12']"
    if not isinstance(value, (list, tuple)):
        raise ConfigurationError(f"{path} is {value!r}; it must be {wanted}")
    for entry in value:
        if not isinstance(entry, str) or not is_network(entry):
            raise ConfigurationError(f"{path} has {entry!r}; it must be {wanted}")
    return tuple(value)
