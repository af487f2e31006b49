"""Network addresses: which client a request came from, and which addresses count as one client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from evennia_ai.errors import ConfigurationError

# Proxies whose entries in X-Forwarded-For are followed.
MOST_HOPS = 20
# A household is given a whole /64, and may use any address in it.
OWN_NETWORK_BITS = 64
IPV4_BITS = 32
# IPv6 networks whose addresses carry an IPv4 address in their last 32 bits: NAT64,
# "IPv4-compatible" and "IPv4-translated".
STANDING_FOR_IPV4 = tuple(map(ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
# Local-use NAT64, 6to4 and Teredo, where nobody runs services. Some versions of Python call some of
# these addresses global.
CLOSED = tuple(map(ip_network, ("64:ff9b:1::/48", "2002::/16", "2001::/32")))


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, with or without brackets, a port or a zone; None if it is not one.

    An IPv4-mapped IPv6 address becomes the IPv4 address.
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
    """True if an address is in one of some networks."""
    address = read_address(text)
    if address is None:
        return False
    return any(address in ip_network(network, strict=False) for network in networks)


def is_private(text: str, allowed: Iterable[str]) -> bool:
    """True if an address is not on the public internet and in none of the `allowed` networks.

    An IPv6 address that carries an IPv4 address is private if either is. So is text that is not an
    address.
    """
    address, allowed = read_address(text), tuple(allowed)
    if address is None:
        return True
    if is_within(text, allowed):
        return False
    meant = (address, *_ipv4_in(address))
    return any(_is_closed(each) and not is_within(str(each), allowed) for each in meant)


def _ipv4_in(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 address that an IPv6 address carries, if any."""
    if any(address in network for network in STANDING_FOR_IPV4):
        return (IPv4Address(int(address) % 2**IPV4_BITS),)
    return ()


def _is_closed(address: IPv4Address | IPv6Address) -> bool:
    """True if an address is not reachable on the public internet."""
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    is_local = is_local or any(address in network for network in CLOSED)
    return is_local or not address.is_global or address.is_multicast


def is_network(text: str) -> bool:
    """True if a text is an address or a network."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def client_of(peer: str, forwarded: str, trusted: Sequence[str]) -> str:
    """The client's address: the last one in the chain that was reported only by trusted proxies.

    Args:
        forwarded: the header X-Forwarded-For, to which each proxy appends the peer it saw.
    """
    client = peer
    # From the right: entries further left may have been forged by the client.
    for hop in reversed(forwarded.split(",")[-MOST_HOPS:]):
        address = read_address(hop)
        if address is None or not is_within(client, trusted):
            break
        client = str(address)
    return client


def counted_as(text: str) -> str:
    """The network whose addresses count together for rate limits, since one client has them all."""
    address = read_address(text)
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), OWN_NETWORK_BITS), strict=False))
    return text if address is None else str(address)


def read_networks(path: str, value: object) -> tuple[str, ...]:
    """Validate a setting that lists addresses and networks.

    Raises:
        ConfigurationError: an entry is neither.
    """
    wanted = "a list of addresses and networks, such as ['10.0.0.5', '172.16.0.0/12']"
    if not isinstance(value, (list, tuple)):
        raise ConfigurationError(f"{path} is {value!r}; it must be {wanted}")
    for entry in value:
        if not isinstance(entry, str) or not is_network(entry):
            raise ConfigurationError(f"{path} has {entry!r}; it must be {wanted}")
    return tuple(value)
