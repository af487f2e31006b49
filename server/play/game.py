"""The Evennia game: prepares its database, finds and stops its two processes."""

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
    """The prepared game.

    Attributes:
        admin: name of the account that owns the game.
        is_new: whether that account was just created.
        summary: the content of the world, in one sentence.
        openings: the ports that the game will use, after the owner's own settings.
        portal_command: the command line with which Evennia's launcher would start the portal.
        server_command: the command line that the portal gets to start the server.
        database: path of the SQLite file, "" for another kind of database.
        static: the folder with the static files of the web site.
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
    """Return Evennia's environment variables; the venv and the checkout come first on the paths."""
    own = os.environ
    path = os.pathsep.join([str(checkout.venv / "bin"), own.get("PATH", os.defpath)])
    modules = os.pathsep.join(filter(None, [str(checkout.root), own.get("PYTHONPATH")]))
    ours = {"PATH": path, "PYTHONPATH": modules, "DJANGO_SETTINGS_MODULE": SETTINGS}
    return {**own, **ours, **extra}


def prepare(checkout: Checkout, openings: Openings) -> World:
    """Migrate, create the owner, build the world. The server must not be running.

    Raises:
        PlayError: if a step failed.
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
        reason = processes.failure_line(said)
        raise PlayError(f"The database could not be made ready: {reason} ({where(checkout)})")
    told = json.loads(result[-1].removeprefix(database.RESULT_MARK))
    return World(**{**told, "openings": ports.choose({}, told["openings"])})


def running(checkout: Checkout) -> dict[str, list[int]]:
    """Return the process ids of each running part."""
    found = {}
    for part in PARTS:
        pids = processes.find("twistd", f"--pidfile={checkout.pidfile(part)}")
        if pids:
            found[part] = pids
    return found


def started_at(checkout: Checkout, part: str) -> float | None:
    """Return the start time of a part, in seconds since 1970, or None if it has no pid file."""
    try:
        return checkout.pidfile(part).stat().st_mtime
    except OSError:
        return None


def stop(checkout: Checkout) -> bool:
    """Stop portal and server, gracefully if possible; return whether anything was running.

    Raises:
        PlayError: if they do not end because they belong to another user.
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
    """Ask the portal to end both; return False if it does not listen on the stored port."""
    port = ports.choose({}, ports.read_choices(checkout.choices)).numbers["AMP_PORT"]
    holders = set(processes.listeners(port))
    if holders and not holders.intersection(portal):
        return False
    with suppress(OSError), PortalLine(port) as line:
        line.stop_both()
        return True
    return False


def where(checkout: Checkout) -> str:
    """Return a hint where to find more about an error."""
    return f"more in {checkout.logs.relative_to(checkout.root)}/, or: make logs"


def _end_orphans(checkout: Checkout) -> None:
    """End processes that a killed run left behind: installing, preparing, starting."""
    left = [
        *processes.find(f"{checkout.root / '.venv'}/bin/python -m pip"),
        *processes.find(f"-m evennia_ai.llm.local fetch --state-dir {checkout.local_model}"),
        *processes.find(f"-m evennia_ai.llm.local start --state-dir {checkout.local_model}"),
        *processes.find(f"-m server.play.database {checkout.root} "),
    ]
    processes.end(left, grace_seconds=3.0)


def forget_stale_pidfiles(checkout: Checkout) -> None:
    """Remove the pid files of parts that do not run."""
    # twistd refuses to start if the pid in an old file now belongs to another program.
    present = running(checkout)
    for part in PARTS:
        if part not in present:
            checkout.pidfile(part).unlink(missing_ok=True)
