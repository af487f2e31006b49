"""Evennia itself: its database made ready, its two processes started, watched and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from server.play import database, door, logs, ports, processes
from server.play.layout import Checkout, PlayError
from server.play.ports import Openings

PARTS = ("portal", "server")
LOGS = ("server.log", "portal.log", "play.log")
START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class World:
    """What the database holds.

    Attributes:
        admin: name of the account that owns the game.
        is_new: whether that account was created just now.
        summary: what there is to see, in one sentence.
        openings: where the game will really listen; the owner's own settings have the last word.
    """

    admin: str
    is_new: bool
    summary: str
    openings: Openings


def environment(checkout: Checkout, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables Evennia runs with: the venv's programs come first on PATH."""
    path = os.pathsep.join([str(checkout.venv / "bin"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, **extra}


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
    result = [line for line in said.splitlines() if line.startswith(database.RESULT_MARK)]
    if code != 0 or not result:
        reason = processes.blame(said)
        raise PlayError(f"The database could not be made ready: {reason} ({_where(checkout)})")
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


def start(
    checkout: Checkout, openings: Openings, on_wait: Callable[[], None] = lambda: None
) -> None:
    """Start portal and server and wait until a player could log in.

    Args:
        checkout: whose game.
        openings: where it is to listen.
        on_wait: called again and again while waiting.

    Raises:
        PlayError: if a part ended again, or the time ran out.
    """
    _forget_stale_pidfiles(checkout)
    written_before = {name: logs.size(checkout.logs / name) for name in LOGS}
    with _evennia(checkout, "start", openings) as launcher:
        trouble = _wait_until_open(checkout, openings, launcher, on_wait)
        if trouble:
            raise PlayError(f"{trouble}: {_why(checkout, written_before)}")


def stop(checkout: Checkout) -> bool:
    """Stop portal and server, gently if they listen; return whether anything was running.

    Raises:
        PlayError: if they do not end, because they are another user's.
    """
    before = running(checkout)
    _end_orphans(checkout)
    if set(before) == set(PARTS) and checkout.python.exists():
        openings = ports.choose({}, ports.read_choices(checkout.choices))
        with _evennia(checkout, "stop", openings):
            processes.wait_until(lambda: not running(checkout), STOP_TIMEOUT_SECONDS)
    remaining = [pid for pids in running(checkout).values() for pid in pids]
    processes.end(remaining, grace_seconds=10.0)
    left = running(checkout)
    if left:
        raise PlayError(f"Process {max(left.values())[0]} of the game cannot be stopped from here.")
    _forget_stale_pidfiles(checkout)
    return bool(before)


@contextmanager
def _evennia(
    checkout: Checkout, verb: str, openings: Openings
) -> Iterator[subprocess.Popen[bytes]]:
    """Run Evennia's own launcher beside us, and end it on leaving if it has not ended by itself.

    It does not end when the server it waits for fails, and its exit code says nothing.
    """
    with (checkout.logs / "play.log").open("a", encoding="utf-8") as log:
        launcher = subprocess.Popen(
            _evennia_command(checkout, verb),
            cwd=checkout.root,
            env=environment(checkout, openings.as_environment()),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield launcher
        finally:
            if launcher.poll() is None:
                processes.end([launcher.pid], grace_seconds=2.0, reap=launcher.poll)


def _evennia_command(checkout: Checkout, verb: str) -> list[str]:
    # The folder is named so that a launcher whose own launcher was killed can be told apart.
    return [str(checkout.python), "-m", "evennia", "--gamedir", str(checkout.root), verb]


def _wait_until_open(
    checkout: Checkout,
    openings: Openings,
    launcher: subprocess.Popen[bytes],
    on_wait: Callable[[], None],
) -> str:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    has_run: set[str] = set()
    # Nobody knocks before Evennia says that it is up: a player who comes between portal and
    # server is dropped, and leaves a traceback in the log.
    while launcher.poll() is None or not door.is_open(openings):
        present = set(running(checkout))
        has_run |= present
        if has_run - present:
            return f"The game's {min(has_run - present)} ended while starting"
        if launcher.poll() is not None and not present:
            return "Evennia ended while starting"
        if time.monotonic() > deadline:
            late = f"The game did not open within {START_TIMEOUT_SECONDS:.0f} s"
            return f"{late} ({door.obstacle(openings) or 'it just has'})"
        on_wait()
        time.sleep(processes.POLL_SECONDS)
    return ""


def _why(checkout: Checkout, written_before: Mapping[str, int]) -> str:
    for name in LOGS:
        reason = processes.complaint(logs.read_from(checkout.logs / name, written_before[name]))
        if reason:
            return f"{reason} ({_where(checkout)})"
    return f"no reason was written down ({_where(checkout)})"


def _where(checkout: Checkout) -> str:
    return f"more in {checkout.logs.relative_to(checkout.root)}/, or: make logs"


def _end_orphans(checkout: Checkout) -> None:
    """End what a killed run left at work: installing, making the database, starting."""
    left = [
        *processes.find(f"{checkout.root / '.venv'}/bin/python -m pip"),
        *processes.find(f"-m server.play.database {checkout.root}"),
        *processes.find(" ".join(_evennia_command(checkout, "start"))),
    ]
    processes.end(left, grace_seconds=3.0)


def _forget_stale_pidfiles(checkout: Checkout) -> None:
    # twistd refuses to start when the number in an old file belongs to some other program by now.
    present = running(checkout)
    for part in PARTS:
        if part not in present:
            checkout.pidfile(part).unlink(missing_ok=True)
