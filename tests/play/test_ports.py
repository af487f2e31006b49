"""The choice of the game's ports: requested, kept from the last start, or free."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from server.play import door, ports
from server.play.layout import PlayError
from server.play.patience import Patience
from server.play.reservations import Reservations
from tests.journeys.ports import ClaimedPorts


@pytest.fixture
def numbers() -> Iterator[dict[str, int]]:
    claimed = ClaimedPorts(len(ports.DEFAULTS))
    yield dict(zip(ports.DEFAULTS, claimed.numbers, strict=True))
    claimed.release()


@pytest.fixture
def people() -> Iterator[dict[str, int]]:
    """Other free ports, for the players of a second game."""
    claimed = ClaimedPorts(len(ports.FOR_PEOPLE))
    yield dict(zip(ports.FOR_PEOPLE, claimed.numbers, strict=True))
    claimed.release()


def test_a_newcomers_game_is_open_to_this_machine_only() -> None:
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
    """The environment, the long name first, wins over the last start."""
    assert expected == ports.choose(environ, kept).telnet


@pytest.mark.parametrize("wrong", ["0", "65536", "-1", "telnet", "40 00", "4000.5", "4²"])
def test_what_is_no_port_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(PlayError, match=r"WEB_PORT must be a number from 1 to 65535, not"):
        ports.choose({"WEB_PORT": wrong}, {})


def test_no_port_is_given_out_twice() -> None:
    with pytest.raises(PlayError, match="once only"):
        ports.choose({"WEB_PORT": "4000"}, {})


def test_settings_heed_the_long_names_only(tmp_path: Path) -> None:
    """An unrelated variable called WEB_PORT does not move a game that is started by hand."""
    ports.keep_choices(tmp_path / ".play.json", {"WEB_PORT": 5555})
    environ = {"WEB_PORT": "1111", "EVENNIA_AI_TELNET_PORT": "2222"}
    openings = ports.for_settings(tmp_path, environ)
    assert (2222, 5555) == (openings.telnet, openings.web)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null"])
def test_a_damaged_note_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "note").write_text(text)
    assert {} == ports.read_choices(tmp_path / "note")


def test_choices_are_read_back_as_they_were_kept(tmp_path: Path) -> None:
    openings = ports.choose({"WEB_PORT": "5000", "BIND": "0.0.0.0"}, {})
    ports.keep_choices(tmp_path / "note", openings.as_choices())
    assert openings == ports.choose({}, ports.read_choices(tmp_path / "note"))


def test_the_environment_tells_settings_the_same(tmp_path: Path) -> None:
    """The game's settings read the launcher's choice from its environment."""
    openings = ports.choose({"WEB_PORT": "5000", "BIND": "0.0.0.0"}, {})
    assert openings == ports.for_settings(tmp_path, openings.as_environment())


def test_free_ports_are_claimed_as_they_are(numbers: dict[str, int]) -> None:
    assert numbers == ports.claim(ports.Openings(numbers)).numbers


@pytest.mark.parametrize("name", ports.FOR_PEOPLE)
def test_a_taken_port_for_people_is_refused(numbers: dict[str, int], name: str) -> None:
    """Players need the port that the owner announced, so it must not move."""
    taken = socket.create_server(("127.0.0.1", numbers[name]))
    with taken, pytest.raises(PlayError) as refused:
        ports.claim(ports.Openings(numbers))
    text = str(refused.value)
    assert text.startswith(f"Port {numbers[name]} (")
    assert f"(process {os.getpid()})" in text
    assert text.endswith(f"make play {name}={numbers[name] + 10}")


@pytest.mark.parametrize("name", ["WEBSOCKET_PORT", "WEB_INNER_PORT", "AMP_PORT"])
def test_a_taken_inner_port_moves_by_itself(numbers: dict[str, int], name: str) -> None:
    """Nobody types an inner port, so any free one will do."""
    with socket.create_server(("127.0.0.1", numbers[name])):
        claimed = ports.claim(ports.Openings(numbers)).numbers
    assert claimed[name] not in numbers.values()
    assert {**numbers, name: claimed[name]} == claimed


def test_an_inner_port_that_was_asked_for_does_not_move(numbers: dict[str, int]) -> None:
    taken = socket.create_server(("127.0.0.1", numbers["AMP_PORT"]))
    with taken, pytest.raises(PlayError, match="AMP_PORT="):
        ports.claim(ports.Openings(numbers), fixed=["AMP_PORT"])


@pytest.mark.parametrize("address", ["192.0.2.1", "no such place"])
def test_an_address_of_another_machine_is_refused(numbers: dict[str, int], address: str) -> None:
    with pytest.raises(PlayError, match=f"BIND={address} is not an address of this machine"):
        ports.claim(ports.Openings(numbers, address))


def test_a_game_open_to_all_is_reached_on_loopback() -> None:
    assert "127.0.0.1" == ports.Openings(ports.DEFAULTS, "0.0.0.0").host
    assert "192.0.2.7" == ports.Openings(ports.DEFAULTS, "192.0.2.7").host


# ---- two games side by side --------------------------------------------------------------------


@contextmanager
def listening(port: int) -> Iterator[None]:
    """A port in use by something else."""
    with socket.create_server(("127.0.0.1", port)):
        yield


@pytest.mark.parametrize("name", ["WEBSOCKET_PORT", "WEB_INNER_PORT", "AMP_PORT"])
def test_hole_c19_inner_ports_of_two_games_that_start_at_once_are_distinct(
    numbers: dict[str, int], people: dict[str, int], tmp_path: Path, name: str
) -> None:
    """Both choose before either opens a port; the second gets other ones, and keeps them."""
    with (
        Reservations("the first", tmp_path) as first,
        Reservations("the second", tmp_path) as other,
    ):
        one = ports.claim(ports.Openings(numbers), (), first).numbers
        two = ports.claim(ports.Openings({**numbers, **people}), (), other)
        assert numbers == one
        assert not set(one.values()) & set(two.numbers.values())
        assert two == ports.claim(two, (), other)
        assert two.numbers[name] < 32_768


def test_hole_c19_a_port_that_is_put_by_is_refused_with_its_game(
    numbers: dict[str, int], tmp_path: Path
) -> None:
    """A second game with the same public ports learns of all of them at once."""
    with Reservations("the game in /a (process 7)", tmp_path) as first:
        ports.claim(ports.Openings(numbers), (), first)
        with pytest.raises(PlayError) as refused, Reservations("b", tmp_path) as other:
            ports.claim(ports.Openings(numbers), (), other)
    text = str(refused.value)
    for name in ports.FOR_PEOPLE:
        line = f"Port {numbers[name]} ({ports.purpose(name)}) is about to be opened by"
        assert f"{line} the game in /a (process 7)." in text
    assert f"make play TELNET_PORT={numbers['TELNET_PORT'] + 10} WEB_PORT=" in text


def test_hole_c19_what_was_put_by_is_free_again(numbers: dict[str, int], tmp_path: Path) -> None:
    """A launcher that ends or gives up a port leaves it to others."""
    with Reservations("the first", tmp_path) as first:
        ports.claim(ports.Openings(numbers), (), first)
    with Reservations("the second", tmp_path) as second:
        assert numbers == ports.claim(ports.Openings(numbers), (), second).numbers
        second.keep_only({"TELNET_PORT": numbers["TELNET_PORT"]})
        with Reservations("the third", tmp_path) as third:
            assert "the second" == third.take(numbers["TELNET_PORT"])
            assert "" == third.take(numbers["WEB_PORT"])


def test_hole_c19_without_a_folder_nothing_is_put_by(tmp_path: Path) -> None:
    """If no lock file can be made, a game opens all the same."""
    (tmp_path / "file").write_text("")
    with Reservations("the first", tmp_path / "file") as first:
        assert "" == first.take(4000)
    (tmp_path / "5000").mkdir()
    with Reservations("the second", tmp_path) as second:
        assert "" == second.take(5000)


def test_hole_c19_ports_are_asked_again_just_before_they_are_opened(
    numbers: dict[str, int], tmp_path: Path
) -> None:
    """A port that was taken during minutes of installing moves, or is refused by name."""
    with Reservations("the first", tmp_path) as reservations:
        chosen = ports.claim(ports.Openings(numbers), (), reservations)
        with listening(numbers["AMP_PORT"]):
            moved = ports.claim(chosen, (), reservations).numbers["AMP_PORT"]
        assert numbers["AMP_PORT"] + 10 <= moved
        with listening(numbers["WEB_PORT"]), pytest.raises(PlayError, match=r"\(web\) is used by"):
            ports.claim(chosen, (), reservations)


class Foreign(BaseHTTPRequestHandler):
    """An unrelated server, which answers everything with 501."""

    server_version = "Elsewhere/1.0"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def foreign_server(port: int) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", port), Foreign)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_hole_c19_a_foreign_server_on_the_web_port_is_named(numbers: dict[str, int]) -> None:
    """The message has the port, the program, its answer, and what to do."""
    openings = ports.Openings(numbers)
    with foreign_server(numbers["WEB_PORT"]):
        assert not door.is_open(openings)
        assert "is answered by Elsewhere/1.0" in door.obstacle(openings)
        text = door.foreign_listener(openings, ())
    assert text.startswith(f"Port {numbers['WEB_PORT']} (web) is used by ")
    assert f"(process {os.getpid()}), which answers with error 501 as Elsewhere/1.0" in text
    assert text.endswith(f"make play WEB_PORT={numbers['WEB_PORT'] + 10}")


def test_hole_c19_a_foreign_program_on_an_inner_port_is_named(numbers: dict[str, int]) -> None:
    """A process of the game itself is not reported as foreign."""
    openings = ports.Openings(numbers)
    assert "" == door.foreign_listener(openings, ())
    with listening(numbers["AMP_PORT"]):
        assert f"Port {numbers['AMP_PORT']} (amp) is used by" in door.foreign_listener(openings, ())
        assert "" == door.foreign_listener(openings, [os.getpid()])


def test_hole_c19_a_slow_start_is_given_time_as_long_as_it_moves() -> None:
    """Patience ends after two minutes without progress, or after 15 minutes in all."""
    now = [0.0]
    patience = Patience(quiet_seconds=120, longest_seconds=900, clock=lambda: now[0])
    for second in range(0, 900, 100):
        now[0] = second
        patience.record(second)
        assert not patience.is_over
    now[0] = 901
    patience.record("still at it")
    assert patience.is_over
    quiet = Patience(quiet_seconds=120, longest_seconds=900, clock=lambda: now[0])
    quiet.record("nothing new")
    now[0] += 121
    quiet.record("nothing new")
    assert (True, 121) == (quiet.is_over, quiet.waited)


def test_a_slow_start_says_that_it_is_given_time() -> None:
    """After half a minute the note says that the start moves, or how long it is waited for."""
    now = [0.0]
    patience = Patience(quiet_seconds=120, longest_seconds=900, clock=lambda: now[0])
    patience.record("loading")
    assert "" == patience.delay_note
    now[0] = 40
    patience.record("loaded")
    assert ", slowly: it moves, so it is given time" == patience.delay_note
    now[0] = 90
    assert "; nothing has moved for 50 s, given up in 70 s" == patience.delay_note
