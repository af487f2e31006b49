"""Which ports the game opens: what was asked for, what was kept, what is free."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.play import ports
from server.play.layout import PlayError
from tests.journeys.ports import ClaimedPorts


@pytest.fixture
def numbers() -> Iterator[dict[str, int]]:
    """A free port for each name."""
    claimed = ClaimedPorts(len(ports.DEFAULTS))
    yield dict(zip(ports.DEFAULTS, claimed.numbers, strict=True))
    claimed.release()


def test_a_newcomers_game_is_open_to_this_machine_only() -> None:
    """Nothing asked, nothing kept: the usual ports, on loopback."""
    assert ports.Openings(ports.DEFAULTS, "127.0.0.1") == ports.choose({}, {})


@pytest.mark.parametrize(
    ("environ", "kept", "expected"),
    [
        ({"TELNET_PORT": "5000"}, {}, 5000),
        ({"EVENNIA_AI_TELNET_PORT": "5001"}, {}, 5001),
        ({"EVENNIA_AI_TELNET_PORT": "5001", "TELNET_PORT": "5000"}, {}, 5001),
        ({"TELNET_PORT": "5000"}, {"TELNET_PORT": 6000}, 5000),
        ({}, {"TELNET_PORT": 6000}, 6000),
        ({"TELNET_PORT": ""}, {}, 4000),
    ],
)
def test_what_is_asked_for_comes_before_what_was_kept(
    environ: dict[str, str], kept: dict[str, object], expected: int
) -> None:
    """A port comes from the environment, the long name first, then from the last start."""
    assert expected == ports.choose(environ, kept).telnet


@pytest.mark.parametrize("wrong", ["0", "65536", "-1", "telnet", "40 00", "4000.5"])
def test_what_is_no_port_is_refused_by_name(wrong: str) -> None:
    """A person who mistyped a port is told which, and what is possible."""
    with pytest.raises(PlayError, match=r"WEB_PORT must be a number from 1 to 65535, not"):
        ports.choose({"WEB_PORT": wrong}, {})


def test_no_port_is_given_out_twice() -> None:
    """Two names on one port are refused before anything starts."""
    with pytest.raises(PlayError, match="once only"):
        ports.choose({"WEB_PORT": "4000"}, {})


def test_settings_heed_the_long_names_only(tmp_path: Path) -> None:
    """A variable that happens to be called WEB_PORT does not move a game typed up by hand."""
    ports.keep_choices(tmp_path / ".play.json", {"WEB_PORT": 5555})
    environ = {"WEB_PORT": "1111", "EVENNIA_AI_TELNET_PORT": "2222"}
    openings = ports.for_settings(tmp_path, environ)
    assert (2222, 5555) == (openings.telnet, openings.web)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null"])
def test_a_damaged_note_counts_as_none(tmp_path: Path, text: str) -> None:
    """What cannot be read is as good as not there."""
    (tmp_path / "note").write_text(text)
    assert {} == ports.read_choices(tmp_path / "note")


def test_choices_are_read_back_as_they_were_kept(tmp_path: Path) -> None:
    """A later command finds the same game."""
    openings = ports.choose({"WEB_PORT": "5000", "BIND": "0.0.0.0"}, {})
    ports.keep_choices(tmp_path / "note", openings.as_choices())
    assert openings == ports.choose({}, ports.read_choices(tmp_path / "note"))


def test_the_environment_tells_settings_the_same(tmp_path: Path) -> None:
    """What the launcher chose is what the game's settings come to."""
    openings = ports.choose({"WEB_PORT": "5000", "BIND": "0.0.0.0"}, {})
    assert openings == ports.for_settings(tmp_path, openings.as_environment())


def test_free_ports_are_claimed_as_they_are(numbers: dict[str, int]) -> None:
    """Nothing moves that need not."""
    assert numbers == ports.claim(ports.Openings(numbers)).numbers


@pytest.mark.parametrize("name", ports.FOR_PEOPLE)
def test_a_taken_port_for_people_is_refused(numbers: dict[str, int], name: str) -> None:
    """Players must find the game where its owner said; the refusal names holder and variable."""
    taken = socket.create_server(("127.0.0.1", numbers[name]))
    with taken, pytest.raises(PlayError) as refused:
        ports.claim(ports.Openings(numbers))
    text = str(refused.value)
    assert text.startswith(f"Port {numbers[name]} (")
    assert f"(process {os.getpid()})" in text
    assert text.endswith(f"make play {name}={numbers[name] + 10}")


@pytest.mark.parametrize("name", ["WEBSOCKET_PORT", "WEB_INNER_PORT", "AMP_PORT"])
def test_a_taken_inner_port_moves_by_itself(numbers: dict[str, int], name: str) -> None:
    """Nobody types an inner port: another one is as good."""
    with socket.create_server(("127.0.0.1", numbers[name])):
        claimed = ports.claim(ports.Openings(numbers)).numbers
    assert claimed[name] not in numbers.values()
    assert {**numbers, name: claimed[name]} == claimed


def test_an_inner_port_that_was_asked_for_does_not_move(numbers: dict[str, int]) -> None:
    """Who names a port means it."""
    taken = socket.create_server(("127.0.0.1", numbers["AMP_PORT"]))
    with taken, pytest.raises(PlayError, match="AMP_PORT="):
        ports.claim(ports.Openings(numbers), insisted=["AMP_PORT"])


@pytest.mark.parametrize("address", ["192.0.2.1", "no such place"])
def test_an_address_of_another_machine_is_refused(numbers: dict[str, int], address: str) -> None:
    """BIND must be an address of this machine."""
    with pytest.raises(PlayError, match=f"BIND={address} is no address of this machine"):
        ports.claim(ports.Openings(numbers, address))


def test_a_game_open_to_all_is_reached_on_loopback() -> None:
    """The launcher knocks where it can, whatever the game is opened on."""
    assert "127.0.0.1" == ports.Openings(ports.DEFAULTS, "0.0.0.0").host
    assert "192.0.2.7" == ports.Openings(ports.DEFAULTS, "192.0.2.7").host
