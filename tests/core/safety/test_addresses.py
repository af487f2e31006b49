"""Client addresses: the trusted proxies, and the networks that are counted as one."""

import pytest

from evennia_ai.core.safety.addresses import (
    MOST_HOPS,
    client_of,
    counted_as,
    is_network,
    is_private,
    is_within,
    read_address,
    read_networks,
)
from evennia_ai.errors import ConfigurationError

PROXIES = ("10.0.0.0/8", "2001:db8::1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 203.0.113.7 ", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("unknown", "None"),
        ("", "None"),
        ("[", "None"),
    ],
)
def test_an_address_is_read_however_proxies_write_it(text: str, expected: str) -> None:
    assert expected == str(read_address(text))


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        pytest.param("203.0.113.7", "", "203.0.113.7", id="nobody between"),
        pytest.param("203.0.113.7", "1.1.1.1", "203.0.113.7", id="a client that lies"),
        pytest.param("10.0.0.1", "203.0.113.7", "203.0.113.7", id="one proxy"),
        pytest.param("10.0.0.1", "1.1.1.1, 203.0.113.7", "203.0.113.7", id="a lie and one proxy"),
        pytest.param("10.0.0.1", "203.0.113.7, 10.0.0.2", "203.0.113.7", id="two proxies"),
        pytest.param("10.0.0.1", "1.1.1.1,203.0.113.7,10.0.0.2", "203.0.113.7", id="no blanks"),
        pytest.param("10.0.0.1", "", "10.0.0.1", id="a proxy of itself"),
        pytest.param("10.0.0.1", "rubbish", "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("10.0.0.1", "203.0.113.7, rubbish", "10.0.0.1", id="rubbish ends it"),
        pytest.param("2001:db8::1", "203.0.113.7:99", "203.0.113.7", id="with a port"),
        pytest.param("", "203.0.113.7", "", id="nobody knows"),
    ],
)
def test_hole_c15_only_what_a_trusted_proxy_added_is_believed(
    peer: str, forwarded: str, expected: str
) -> None:
    assert expected == client_of(peer, forwarded, PROXIES)
    assert expected == client_of(peer, f"9.9.9.9, {forwarded}" if forwarded else "", PROXIES)


def test_a_chain_of_hops_is_followed_only_so_far() -> None:
    """A header of any length costs little."""
    hops = ["203.0.113.7", *["10.0.0.2"] * (MOST_HOPS + 5)]
    assert "10.0.0.2" == client_of("10.0.0.1", ",".join(hops), PROXIES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_hole_c15_a_network_of_ones_own_is_counted_as_one(text: str, expected: str) -> None:
    """The owner of an IPv6 network has 2^64 addresses, and must not have as many tries."""
    assert expected == counted_as(text)


def test_networks_and_what_is_within() -> None:
    assert is_network("10.0.0.0/8")
    assert not is_network("a host")
    assert is_within("10.1.2.3", PROXIES)
    assert not is_within("11.1.2.3", PROXIES)
    assert not is_within("", ("0.0.0.0/0",))


@pytest.mark.parametrize("value", ["10.0.0.1", ["a host"], [7], None, [""]])
def test_what_is_no_list_of_networks_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^x\.y .*; it must be a list of addresses and"):
        read_networks("x.y", value)


def test_networks_are_read() -> None:
    assert ("10.0.0.5", "10.0.0.1/8") == read_networks("x", ["10.0.0.5", "10.0.0.1/8"])


@pytest.mark.parametrize(
    ("address", "allowed", "is_one"),
    [
        ("127.0.0.1", (), True),
        ("10.1.2.3", (), True),
        ("10.1.2.3", ("10.0.0.0/8",), False),
        ("169.254.169.254", ("10.0.0.0/8",), True),
        ("fe80::1%eth0", (), True),
        ("::ffff:10.0.0.1", (), True),
        ("224.0.0.1", (), True),
        ("93.184.216.34", (), False),
        ("2606:2800:220:1::1", (), False),
        ("no address", (), True),
        pytest.param("64:ff9b::a00:1", (), True, id="NAT64 of 10.0.0.1"),
        pytest.param("64:ff9b::a00:1", ("10.0.0.0/8",), False, id="NAT64 of one that is allowed"),
        pytest.param("64:ff9b::808:808", (), False, id="NAT64 of 8.8.8.8"),
        pytest.param("64:ff9b:1::808:808", (), True, id="NAT64 of one's own network"),
        pytest.param("2002:7f00:1::", (), True, id="6to4 of 127.0.0.1"),
        pytest.param("2002:808:808::1", (), True, id="6to4 of 8.8.8.8, which nobody serves by"),
        pytest.param("::7f00:1", (), True, id="IPv4-compatible 127.0.0.1"),
        pytest.param("::ffff:0:7f00:1", (), True, id="IPv4-translated 127.0.0.1"),
        pytest.param("2001:0:808:808:0:0:80ff:fffe", (), True, id="Teredo of 127.0.0.1"),
        pytest.param("fec0::1", (), True, id="site-local"),
        pytest.param("fec0::1", ("fec0::/10",), False, id="site-local, allowed"),
        pytest.param("::1", ("::1",), False, id="itself, allowed"),
    ],
)
def test_what_the_open_network_does_not_have(
    address: str, allowed: tuple[str, ...], is_one: bool
) -> None:
    """Addresses outside the public internet are found in every form, unless allowed."""
    assert is_one is is_private(address, allowed)
