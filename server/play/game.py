"""Evennia itself: its database made ready, its two processes started, watched and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from server.play import database, door, logs, ports, processes
from server.play.layout import Checkout, PlayError
from server.play.patience import Patience
from server.play.ports import Openings

PARTS = ("portal", "server")
LOGS = ("server.log", "portal.log", "play.log")
LOOK_EVERY_SECONDS = 1.0
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
    checkout: Checkout, openings: Openings, on_wait: Callable[[str], None] = lambda what: None
) -> None:
    """Start portal and server and wait until a player could log in.

    Args:
        checkout: whose game.
        openings: where it is to listen.
        on_wait: called again and again with what is waited for.

    Raises:
        PlayError: if a part ended again, or the time ran out.
    """
    _forget_stale_pidfiles(checkout)
    written_before = {name: logs.size(checkout.logs / name) for name in LOGS}
    with ExitStack() as launchers:
        opening = _Opening(
            checkout,
            openings,
            lambda: launchers.enter_context(_evennia(checkout, "start", openings)),
        )
        trouble = opening.wait(on_wait)
        if trouble:
            why = opening.stranger() or _why(checkout, written_before)
            raise PlayError(f"{trouble}: {why} ({_where(checkout)})")


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


class _Opening:
    """A game that is starting, watched until players can come.

    Args:
        launch: runs Evennia's own launcher. It gives up on a portal that takes more than ten
            seconds, and then nobody has told that to start the server: it is run again.
    """

    def __init__(
        self,
        checkout: Checkout,
        openings: Openings,
        launch: Callable[[], subprocess.Popen[bytes]],
    ) -> None:
        self._checkout = checkout
        self._openings = openings
        self._launch = launch
        self._launcher = launch()
        self._patience = Patience()
        self._has_run: set[str] = set()
        self._looked = 0.0

    def wait(self, on_wait: Callable[[str], None]) -> str:
        """Wait until it is open; return what went wrong, or ""."""
        while missing := self._missing():
            present = running(self._checkout)
            self._has_run |= set(present)
            if ended := min(self._has_run - set(present), default=""):
                return f"The game's {ended} ended while starting"
            if self._has_ended and not present:
                return "Evennia ended while starting"
            if self._is_time_to_look():
                self._look(present)
                if self._has_ended and self.stranger():
                    return "The game cannot open"
                self._go_on()
            if self._patience.is_over:
                return f"The game did not open within {self._patience.waited:.0f} s ({missing})"
            on_wait(missing)
            time.sleep(processes.POLL_SECONDS)
        return ""

    @property
    def _has_ended(self) -> bool:
        return self._launcher.poll() is not None

    def _go_on(self) -> None:
        """Launch again where the launcher gave up on a portal that is there by now."""
        is_alone = self._has_run == {"portal"} and self._has_ended
        if is_alone and door.ask_web(self._openings.host, self._openings.web).status:
            self._launcher = self._launch()

    def stranger(self) -> str:
        """Name another program that has a port of the game, or return ""."""
        pids = {pid for part in running(self._checkout).values() for pid in part}
        return door.stranger(self._openings, pids)

    def _missing(self) -> str:
        """What is waited for, in a few words; "" once it is open.

        Nobody knocks before Evennia says that it is up: a player who comes between portal and
        server is dropped, and leaves a traceback in the log.
        """
        if "portal" not in self._has_run:
            return "Evennia is being loaded"
        if "server" not in self._has_run:
            return "the portal is starting"
        return door.obstacle(self._openings) if self._has_ended else "the server is starting"

    def _is_time_to_look(self) -> bool:
        if self._patience.waited - self._looked < LOOK_EVERY_SECONDS:
            return False
        self._looked = self._patience.waited
        return True

    def _look(self, present: Mapping[str, list[int]]) -> None:
        """See whether anything moves: processes, their work, their logs."""
        pids = [pid for part in present.values() for pid in part]
        worked = round(processes.seconds_worked([*pids, self._launcher.pid]))
        sizes = [logs.size(self._checkout.logs / name) for name in LOGS]
        self._patience.look((sorted(pids), worked, sizes))


def _why(checkout: Checkout, written_before: Mapping[str, int]) -> str:
    """The line of the logs that names an error, else the last thing that was written there."""
    said = {name: logs.read_from(checkout.logs / name, written_before[name]) for name in LOGS}
    reason = next(filter(None, map(processes.complaint, said.values())), "")
    if reason:
        return reason
    last = next(((name, text) for name, text in said.items() if text.strip()), None)
    if last is None:
        return "nothing was written down"
    return f"no error was written down; the last words in {last[0]}: {processes.blame(last[1])}"


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
