"""The game's five ports and its address: chosen, stored, and claimed.

Two ports are for people, telnet and web. The others are internal, and move if they are taken.
`server/conf/settings.py` uses this module too, so that an `evennia` typed by hand finds the same
game.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from server.play import processes
from server.play.layout import PlayError
from server.play.reservations import Reservations

DEFAULTS = {
    "TELNET_PORT": 4000,
    "WEB_PORT": 4001,
    "WEBSOCKET_PORT": 4002,
    "WEB_INNER_PORT": 4005,
    "AMP_PORT": 4006,
}
FOR_PEOPLE = ("TELNET_PORT", "WEB_PORT")
ALWAYS_ON_LOOPBACK = ("WEB_INNER_PORT", "AMP_PORT")
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
PREFIX = "EVENNIA_AI_"
STEP = 10
LOWEST_OPEN_TO_ALL = 1024
# Linux gives out ephemeral ports from 32,768 on.
HIGHEST_OF_OURS = 32_000


@dataclass(frozen=True)
class Openings:
    """The addresses on which the game listens.

    Attributes:
        numbers: the port of each name in `DEFAULTS`.
        address: the address of all ports except those in `ALWAYS_ON_LOOPBACK`.
    """

    numbers: Mapping[str, int]
    address: str = LOOPBACK

    @property
    def telnet(self) -> int:
        """The port for telnet clients."""
        return self.numbers["TELNET_PORT"]

    @property
    def web(self) -> int:
        """The port for browsers."""
        return self.numbers["WEB_PORT"]

    @property
    def host(self) -> str:
        """The address at which this machine reaches the game."""
        return LOOPBACK if self.address == EVERYWHERE else self.address

    def as_choices(self) -> dict[str, object]:
        """Return ports and address as later commands need them to find the game."""
        return {**self.numbers, "BIND": self.address}

    def as_environment(self) -> dict[str, str]:
        """Return the environment variables for `server/conf/settings.py`."""
        return {PREFIX + name: str(value) for name, value in self.as_choices().items()}


def read_choices(path: Path) -> dict[str, object]:
    """Return the choices of an earlier start; {} if there are none or the file is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def keep_choices(path: Path, choices: Mapping[str, object]) -> None:
    """Write the choices for later commands, atomically."""
    draft = path.with_name(path.name + ".draft")
    draft.write_text(json.dumps(choices) + "\n", encoding="utf-8")
    draft.replace(path)


def asked_for(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the ports and address in the environment: EVENNIA_AI_WEB_PORT, or make's WEB_PORT."""
    named = {}
    for name in (*DEFAULTS, "BIND"):
        value = environ.get(PREFIX + name) or environ.get(name)
        if value:
            named[name] = value
    return named


def choose(environ: Mapping[str, str], kept: Mapping[str, object]) -> Openings:
    """Choose the ports and the address: from the environment, else as stored, else the defaults.

    Raises:
        PlayError: if a value is not a port number, or a port is used twice.
    """
    wanted = {**DEFAULTS, "BIND": LOOPBACK, **kept, **asked_for(environ)}
    numbers = {name: _as_port(name, wanted[name]) for name in DEFAULTS}
    if len(set(numbers.values())) < len(numbers):
        listed = ", ".join(f"{name}={port}" for name, port in numbers.items())
        raise PlayError(f"Each port can be used once only: {listed}.")
    return Openings(numbers, str(wanted["BIND"]))


def for_settings(folder: Path, environ: Mapping[str, str] = os.environ) -> Openings:
    """Return the openings for the settings module: from the long names, else as stored."""
    own = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    return choose(own, read_choices(folder / ".play.json"))


def claim(
    openings: Openings, fixed: Collection[str] = (), reservations: Reservations | None = None
) -> Openings:
    """Check that every port can be opened, and move internal ones that are taken.

    Args:
        openings: the chosen ports.
        fixed: names that the user set, which are therefore not moved.
        reservations: reserves the ports against other games until this one is open.

    Returns:
        The openings; all were free a moment ago.

    Raises:
        PlayError: if ports that must not move cannot be opened; it names all of them.
    """
    reservations = reservations or Reservations("", Path(os.devnull))
    settled: dict[str, int] = {}
    refused: dict[str, str] = {}
    for name, port in openings.numbers.items():
        address = _address(name, openings)
        obstacle = _obstacle(port, address) or _reserved(port, reservations)
        if obstacle and (name in FOR_PEOPLE or name in fixed):
            refused[name] = obstacle
        taken = {*openings.numbers.values(), *settled.values()}
        settled[name] = _free_port(port, address, taken, reservations) if obstacle else port
    if refused:
        raise PlayError(_refusal(openings, refused, settled))
    reservations.keep_only(settled)
    return replace(openings, numbers=settled)


def purpose(name: str) -> str:
    """Return the purpose of a port in words: `telnet`."""
    return name.removesuffix("_PORT").replace("_", " ").lower()


def _address(name: str, openings: Openings) -> str:
    return LOOPBACK if name in ALWAYS_ON_LOOPBACK else openings.address


def _reserved(port: int, reservations: Reservations) -> str:
    holder = reservations.take(port)
    return f"is about to be opened by {holder}" if holder else ""


def _as_port(name: str, value: object) -> int:
    text = str(value)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise PlayError(f"{name} must be a number from 1 to 65535, not {text!r}.")
    return int(text)


def _obstacle(port: int, address: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Like Twisted; otherwise old connections in TIME_WAIT would block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except PermissionError:
            return "may not be opened by this account"
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise PlayError(f"BIND={address} is not an address of this machine.") from None
            return f"is used by {processes.holder_of_port(port) or 'another program'}"
    return ""


def _refusal(openings: Openings, refused: Mapping[str, str], instead: Mapping[str, int]) -> str:
    told = [
        f"Port {openings.numbers[name]} ({purpose(name)}) {obstacle}."
        for name, obstacle in refused.items()
    ]
    others = " ".join(f"{name}={instead[name]}" for name in refused)
    return f"{' '.join(told)} Choose another: make play {others}"


def _free_port(port: int, address: str, taken: Collection[int], reservations: Reservations) -> int:
    """Return a free port: in steps of ten below the ephemeral ports, else any."""
    # Below 1024 other ports need root, too.
    first = port + STEP if port >= LOWEST_OPEN_TO_ALL else max(DEFAULTS.values())
    for other in range(first, HIGHEST_OF_OURS, STEP):
        if other not in taken and not _obstacle(other, address) and not reservations.take(other):
            return other
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((LOOPBACK, 0))
            other = int(probe.getsockname()[1])
        if other not in taken and not reservations.take(other):
            return other
