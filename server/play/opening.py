"""Start of a game: portal, then server, watched until players can log in."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress

from server.play import door, game, logs, processes
from server.play.game import World
from server.play.layout import Checkout, PlayError
from server.play.patience import Patience
from server.play.portal import PortalLine

LOGS = ("server.log", "portal.log", "play.log")
CHECK_EVERY_SECONDS = 0.5


def start(
    checkout: Checkout, world: World, on_wait: Callable[[str], None] = lambda what: None
) -> None:
    """Start portal and server and wait until a player could log in.

    Args:
        checkout: whose game.
        world: its ports and command lines.
        on_wait: called repeatedly with a few words on what is missing.

    Raises:
        PlayError: if a part ended, or the time ran out.
    """
    game.forget_stale_pidfiles(checkout)
    written_before = {name: logs.size(checkout.logs / name) for name in LOGS}
    with ExitStack() as cleanup:
        opening = _Opening(checkout, world, cleanup)
        trouble = opening.wait(on_wait)
        if trouble:
            why = opening.foreign_listener() or _reason_in_logs(checkout, written_before)
            raise PlayError(f"{trouble}: {why} ({game.where(checkout)})")


class _Opening:
    """One start.

    Args:
        checkout: whose game.
        world: its ports and command lines.
        cleanup: closes what is needed only for the start, however it ends.
    """

    def __init__(self, checkout: Checkout, world: World, cleanup: ExitStack) -> None:
        self._checkout = checkout
        self._world = world
        self._openings = world.openings
        self._cleanup = cleanup
        self._portal = self._run_portal()
        self._line: PortalLine | None = None
        self._has_server = False
        self._patience = Patience()
        self._has_run: set[str] = set()
        self._checked = 0.0

    def wait(self, on_wait: Callable[[str], None]) -> str:
        """Wait until the game is open; return what went wrong, or ""."""
        while missing := self._missing():
            if self._is_check_due() and (trouble := self._check_progress()):
                return trouble
            if self._patience.is_over:
                return f"The game did not open within {self._patience.waited:.0f} s ({missing})"
            on_wait(missing + self._patience.delay_note)
            time.sleep(processes.POLL_SECONDS)
        return ""

    def foreign_listener(self) -> str:
        """Return which other program has a port of the game, or ""."""
        pids = {pid for part in game.running(self._checkout).values() for pid in part}
        return door.foreign_listener(self._openings, pids)

    def _run_portal(self) -> subprocess.Popen[bytes]:
        """Run the portal's command line, which ends once the portal is in the background."""
        log = self._cleanup.enter_context(
            (self._checkout.logs / "play.log").open("a", encoding="utf-8")
        )
        portal = subprocess.Popen(
            self._world.portal_command,
            cwd=self._checkout.root,
            env=game.environment(self._checkout, self._openings.as_environment()),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C must reach only the launcher, which then stops the game in order.
            start_new_session=True,
        )
        self._cleanup.callback(self._end_launcher, portal)
        return portal

    @staticmethod
    def _end_launcher(portal: subprocess.Popen[bytes]) -> None:
        if portal.poll() is None:
            processes.end([portal.pid], grace_seconds=2.0, reap=portal.poll)
            portal.poll()

    def _ended(self, present: Mapping[str, list[int]]) -> str:
        """Return the part that has ended, or the portal if it never started, or ""."""
        if self._portal.poll():
            return "portal"
        has_run = self._has_run
        if self._line is not None and self._line.has_run_server:
            # The server may have started and ended between two looks.
            has_run = has_run | {"server"}
        return min(has_run - set(present), default="")

    def _missing(self) -> str:
        """Return in a few words what is missing; "" once the game is open.

        The ports are tested only after the portal has said that the server is up: a connection
        before that is dropped, and leaves a traceback in the log.
        """
        if self._portal.poll() != 0:
            return "the portal is starting"
        if not self._has_server:
            # A portal that cannot be reached yet is asked again at the next look.
            with suppress(OSError):
                self._has_server = self._ask_for_server().has_server()
        return door.obstacle(self._openings) if self._has_server else "the server is starting"

    def _ask_for_server(self) -> PortalLine:
        if self._line is None:
            line = PortalLine(self._openings.numbers["AMP_PORT"])
            self._line = self._cleanup.enter_context(line)
            self._line.start_server(self._world.server_command)
        return self._line

    def _is_check_due(self) -> bool:
        if self._patience.waited - self._checked < CHECK_EVERY_SECONDS:
            return False
        self._checked = self._patience.waited
        return True

    def _check_progress(self) -> str:
        """Look for progress in processes, CPU time and logs; return what is wrong, or ""."""
        present = game.running(self._checkout)
        if ended := self._ended(present):
            return f"The game's {ended} ended while starting"
        self._has_run |= set(present)
        pids = [pid for part in present.values() for pid in part]
        worked = round(processes.seconds_worked([*pids, self._portal.pid]))
        sizes = [logs.size(self._checkout.logs / name) for name in LOGS]
        self._patience.record((sorted(pids), worked, sizes))
        return "The game cannot open" if self._has_server and self.foreign_listener() else ""


def _reason_in_logs(checkout: Checkout, written_before: Mapping[str, int]) -> str:
    """Return the line of the logs that names an error, else the last line."""
    said = {name: logs.read_from(checkout.logs / name, written_before[name]) for name in LOGS}
    reason = next(filter(None, map(processes.error_line, said.values())), "")
    if reason:
        return reason
    last = next(((name, text) for name, text in said.items() if text.strip()), None)
    if last is None:
        return "nothing was written down"
    name, text = last
    return f"no error was written down; the last words in {name}: {processes.failure_line(text)}"
