"""Evennia itself: its database made ready, its two processes found and stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from server.play import database, ports, processes
from server.play.layout import Checkout, PlayError
from server.play.portal import PortalLine
from server.play.ports import Openings

PARTS = ("portal", "server")
SETTINGS = "server.conf.settings"
STOP_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class World:
    """What the database holds.

    Attributes:
        admin: name of the account that owns the game.
        is_new: whether that account was created just now.
        summary: what there is to see, in one sentence.
        openings: where the game will really listen; the owner's own settings have the last word.
        portal_command: the command line by which Evennia's launcher would start the portal.
        server_command: the one that the portal is given for the server.
        database: path of the SQLite file, "" where it is another kind of database.
        static: the folder with the files that web pages need.
        wrong_settings: why no assistant can work with the game's settings, or "".
    """

    admin: str
    is_new: bool
    summary: str
    openings: Openings
    portal_command: list[str]
    server_command: list[str]
    database: str
    static: str
    wrong_settings: str = ""


def environment(checkout: Checkout, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables Evennia runs with: the venv's programs and the game come first."""
    own = os.environ
    path = os.pathsep.join([str(checkout.venv / "bin"), own.get("PATH", os.defpath)])
    modules = os.pathsep.join(filter(None, [str(checkout.root), own.get("PYTHONPATH")]))
    ours = {"PATH": path, "PYTHONPATH": modules, "DJANGO_SETTINGS_MODULE": SETTINGS}
    return {**own, **ours, **extra}


def prepare(checkout: Checkout, openings: Openings) -> World:
    """Migrate, create the owner, build the world. The server must not be running.

    Raises:
        PlayError: if any of it did not succeed.
    """
    code, said = processes.run(
        [checkout.python, "-m", "server.play.database", checkout.root],
        cwd=checkout.root,
        log=checkout.logs / "play.log",
        env=environment(checkout, openings.as_environment()),
    )
    for line in said.splitlines():
        if line.startswith(database.TROUBLE_MARK):
            raise PlayError(line.removeprefix(database.TROUBLE_MARK))
    result = [line for line in said.splitlines() if line.startswith(database.RESULT_MARK)]
    if code != 0 or not result:
        reason = processes.blame(said)
        raise PlayError(f"The database could not be made ready: {reason} ({where(checkout)})")
    told = json.loads(result[-1].removeprefix(database.RESULT_MARK))
    return World(**{**told, "openings": ports.choose({}, told["openings"])})


def running(checkout: Checkout) -> dict[str, list[int]]:
    """Return the process ids of each part that runs."""
    found = {}
    for part in PARTS:
        pids = processes.find("twistd", f"--pidfile={checkout.pidfile(part)}")
        if pids:
            found[part] = pids
    return found


def started_at(checkout: Checkout, part: str) -> float | None:
    """Return when a part was started, in seconds since 1970, or None if nobody noted it."""
    try:
        return checkout.pidfile(part).stat().st_mtime
    except OSError:
        return None


def stop(checkout: Checkout) -> bool:
    """Stop portal and server, gently if they listen; return whether anything was running.

    Raises:
        PlayError: if they do not end, because they are another user's.
    """
    before = running(checkout)
    _end_orphans(checkout)
    if set(before) == set(PARTS) and _ask_to_stop(checkout, before["portal"]):
        processes.wait_until(lambda: not running(checkout), STOP_TIMEOUT_SECONDS)
    remaining = [pid for pids in running(checkout).values() for pid in pids]
    processes.end(remaining, grace_seconds=10.0)
    left = running(checkout)
    if left:
        raise PlayError(f"Process {max(left.values())[0]} of the game cannot be stopped from here.")
    forget_stale_pidfiles(checkout)
    return bool(before)


def _ask_to_stop(checkout: Checkout, portal: list[int]) -> bool:
    """Ask the portal to end both; False where it does not listen on the port that was noted."""
    port = ports.choose({}, ports.read_choices(checkout.choices)).numbers["AMP_PORT"]
    holders = set(processes.listeners(port))
    if holders and not holders.intersection(portal):
        return False
    with suppress(OSError), PortalLine(port) as line:
        line.stop_both()
        return True
    return False


def where(checkout: Checkout) -> str:
    """Return where more is said of what went wrong."""
    return f"more in {checkout.logs.relative_to(checkout.root)}/, or: make logs"


def _end_orphans(checkout: Checkout) -> None:
    """End what a killed run left at work: installing, making the database, starting."""
    left = [
        *processes.find(f"{checkout.root / '.venv'}/bin/python -m pip"),
        *processes.find(f"-m evennia_ai.llm.local fetch --state-dir {checkout.local_model}"),
        *processes.find(f"-m evennia_ai.llm.local start --state-dir {checkout.local_model}"),
        *processes.find(f"-m server.play.database {checkout.root}"),
    ]
    processes.end(left, grace_seconds=3.0)


def forget_stale_pidfiles(checkout: Checkout) -> None:
    """Remove the process files of parts that do not run."""
    # twistd refuses to start when the number in an old file belongs to some other program by now.
    present = running(checkout)
    for part in PARTS:
        if part not in present:
            checkout.pidfile(part).unlink(missing_ok=True)
