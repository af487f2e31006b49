"""Soak test: two games, one ledger, workers that are killed all the time, no message lost.

    python -m benchmarks.soak_games [--messages 10000] [--minutes 0] [--workers 3] [--starts 20]

Two real game servers on PostgreSQL share a ledger in its own database. Each has three real workers,
which are killed (kill -9) and started again one after the other; now and then the server itself is
killed or reloaded. Players talk over telnet, one assistant of each game has one night after
another, and a model on loopback counts its requests. In the end the cap of both games is lowered to
a small rest, and all players ask at the same time.

Afterwards each message that a game accepted was answered once; the ledger agrees with the model;
each memory has its vector; no job is left. The exit status is 0 if all of this is true.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks.soak_accounts import JOBS, QUEUE, UNREAD, Accounts
from benchmarks.soak_people import Shared, Site, Sleeper, Talker, Till, Wanting
from tests import postgres
from tests.journeys.game import UNHURRIED
from tests.journeys.worker_bed import WORKERS, NightServer, running_bed

GAMES = ("lantern", "harbour")
PLAYERS = ("Tom", "Mira", "Jon", "Lea")
SLEEPER = "brass"
HEARTBEAT_SECONDS = 1.0
IDLE_SECONDS = 10.0
LOOK_SECONDS = 0.2
DRAIN_SECONDS = 180.0
SETTLED_SECONDS = 5.0  # finished calls are written within one second
# Tokens left under the final cap: less than 48 answers of 300 tokens, which are asked for then.
ROOM = 12_000
FREE = {"tokens_per_day": 0, "calls_per_minute": 0}
TICKS = os.sysconf("SC_CLK_TCK")


class Soak:
    """Both games, and everything that happens to them."""

    def __init__(self, sites: list[Site], accounts: Accounts) -> None:
        self.sites, self.accounts, self.figures = sites, accounts, accounts.figures
        self._random = random.Random(1)
        self._is_over = threading.Event()
        self._ends = math.inf
        self.talkers: list[Talker] = []
        self.sleepers: list[Sleeper] = []

    # ---- what happens --------------------------------------------------------------------------

    def run(self, starts: int, kill_every: float, seconds: float) -> None:
        """Let everybody talk, and kill processes meanwhile; then end.

        Args:
            starts: number of kills and reloads of servers.
            kill_every: seconds from the kill of a worker to the next.
            seconds: time after which nobody says anything more.
        """
        figures, half = self.figures, self.figures.messages // len(self.sites)
        began, figures.load = time.monotonic(), [round(os.getloadavg()[0], 1)]
        self._measure_idle()
        with ExitStack() as stack:
            for site in self.sites:
                self._bring(site, range(half), stack)
            self.accounts.count_connections()
            for each in (*self.sleepers, *self.talkers):
                each.start()
            self._ends = time.monotonic() + seconds
            self._disturb(starts, kill_every)
            self._is_over.set()
            for sleeper in self.sleepers:
                sleeper.join()
            self._drain()
            self.accounts.count_connections()
            self.accounts.compare_tables()
            self._lower_the_cap()
        figures.seconds = round(time.monotonic() - began)
        figures.load.append(round(os.getloadavg()[0], 1))
        self.accounts.compare(self.talkers, self.sleepers)

    def _bring(self, site: Site, numbers: range, stack: ExitStack) -> None:
        """Let the players of a game come, and its owner."""
        shared = Shared(takewhile(lambda _: time.monotonic() < self._ends, numbers))
        for name in PLAYERS:
            player = stack.enter_context(site.bed.game.open_telnet())
            player.create_account(name)
            player.log_in(name)
            self.talkers.append(Talker(site, player, name, shared))
        owner = stack.enter_context(site.bed.game.log_in_admin())
        self.sleepers.append(Sleeper(site, owner, SLEEPER, self._is_over))

    def _disturb(self, starts: int, kill_every: float) -> None:
        """Kill workers all the while, and servers at so many moments of the whole."""
        total, done, killed = self.figures.messages, 0, time.monotonic()
        due = [total * (n + 1) // (starts + 1) for n in range(starts)]
        while any(each.is_alive() for each in self.talkers):
            time.sleep(LOOK_SECONDS)
            if time.monotonic() - killed > kill_every:
                self._sample()
                self._kill_worker()
                killed = time.monotonic()
            if due and sum(len(each.heard) for each in self.talkers) >= due[0]:
                due.pop(0)
                self._start_anew(self.sites[done // 2 % 2], is_kill=done % 2 == 0)
                done += 1

    def _kill_worker(self) -> None:
        bed = self._random.choice(self.sites).bed
        bed.kill(self._random.choice(bed.workers).pid)
        bed.start_worker()
        self.figures.workers_killed += 1

    def _start_anew(self, site: Site, *, is_kill: bool) -> None:
        """Kill the server of a game and start it, or reload it."""
        site.is_up.clear()
        if is_kill:
            site.bed.game.kill_server()
            site.bed.game.start()
            self.figures.servers_killed += 1
        else:
            site.bed.game.write_settings()
            site.bed.game.reload()
            self.figures.reloads += 1
        site.starts += 1
        site.is_up.set()

    def _lower_the_cap(self) -> None:
        """Leave both games a little room, and let all players want it at one time."""
        self.accounts.cap = self.accounts.used() + ROOM  # everything was used today
        for site in self.sites:
            site.bed.game.settings |= caps_of(self.accounts.cap)
            self._start_anew(site, is_kill=False)
        wanting = [Wanting(each) for each in self.talkers]
        for each in wanting:
            each.start()
        while any(each.is_alive() for each in wanting):
            time.sleep(LOOK_SECONDS)
            self.accounts.used()
        self.figures.refused = sum(each.refused for each in wanting)
        time.sleep(SETTLED_SECONDS)

    def _drain(self) -> None:
        """Let all be done that waits."""
        for site in self.sites:
            for sql in (UNREAD, JOBS, QUEUE):
                ends = time.monotonic() + DRAIN_SECONDS
                while (left := site.bed.rows(sql)[0][0]) and time.monotonic() < ends:
                    time.sleep(LOOK_SECONDS)
                if left:
                    self.figures.broken.append(f"{site.name}: {left} are left of: {sql}")

    # ---- what is measured ----------------------------------------------------------------------

    def _measure_idle(self) -> None:
        pids = [each.pid for site in self.sites for each in site.bed.workers]
        before = sum(map(cpu_seconds, pids))
        time.sleep(IDLE_SECONDS)
        used = sum(map(cpu_seconds, pids)) - before
        self.figures.idle_workers = round(60 * used / IDLE_SECONDS / max(1, len(pids)), 2)
        self._sample()

    def _sample(self) -> None:
        """Look at the memory of all processes, and at the cap."""
        for site in self.sites:
            mine = {"server": [site.bed.game.read_pid("server")]}
            mine["worker"] = [each.pid for each in site.bed.workers]
            for kind, pids in mine.items():
                sizes = [size for pid in pids if (size := rss_mb(pid))]
                for size in sizes:
                    triple = self.figures.rss_mb.setdefault(kind, [size, size, size])
                    triple[1:] = [max(triple[1], size), size]
        self.accounts.used()
        heard = sum(len(each.heard) for each in self.talkers)
        nights = sum(len(each.nights) for each in self.sleepers)
        print(f"{time.strftime('%H:%M:%S')} {heard} heard, {nights} nights", file=sys.stderr)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> int:
    """Return the resident memory of a process in MB, 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 10**6


def caps_of(tokens: int) -> dict[str, Any]:
    """Return settings with a daily cap on the tokens of both games together."""
    free = dict.fromkeys(("game", "assistant", "player"), FREE)
    return {"EVENNIA_AI_BUDGET_CONFIG": {"all_games": {**FREE, "tokens_per_day": tokens}, **free}}


@contextmanager
def _named(server: dict[str, Any]) -> Iterator[None]:
    """Let games find their server."""
    os.environ[postgres.NAMED] = json.dumps(server)
    yield
    del os.environ[postgres.NAMED]


@contextmanager
def running(folder: Path, workers: int, till: Till) -> Iterator[tuple[list[Site], dict[str, Any]]]:
    """Run both games with their workers and their shared ledger."""
    with ExitStack() as stack:
        if not (server := postgres.named_server()):
            server = stack.enter_context(postgres.any_server(folder / "postgres"))
            postgres.hasten(server)
            stack.enter_context(_named(server))
        ledger = stack.enter_context(postgres.new_database(server))
        model = NightServer(till.answer)
        stack.callback(model.close)
        sites = []
        for name in GAMES:
            settings = {
                **caps_of(10**12),
                "EVENNIA_AI_LEDGER_CONFIG": {"database": "ledger", "game": name},
                "EVENNIA_AI_SAFETY_CONFIG": {"on_limit": {"mode": "unattended"}},
                "EVENNIA_AI_WORKERS_CONFIG": {**WORKERS, "heartbeat_seconds": HEARTBEAT_SECONDS},
                "EVENNIA_AI_HEARING_CONFIG": UNHURRIED["EVENNIA_AI_HEARING_CONFIG"],
            }
            bed = stack.enter_context(
                running_bed(folder / name, settings, ledger=ledger, model=model)
            )
            bed.start_workers(workers)
            sites.append(Site(name, bed))
        yield sites, ledger


def main() -> None:
    """Run it, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="of both games together")
    parser.add_argument("--minutes", type=float, default=0, help="nobody talks longer; 0: all")
    parser.add_argument("--workers", type=int, default=3, help="of each game")
    parser.add_argument("--starts", type=int, default=20, help="kills and reloads of servers")
    parser.add_argument(
        "--kill-every", type=float, default=5.0, help="seconds from worker to worker"
    )
    parser.add_argument("--json", action="store_true", help="print the figures in one line")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the workers are ended, too
    faulthandler.register(signal.SIGUSR1)
    till = Till(seed=1)
    with (
        tempfile.TemporaryDirectory(prefix="evennia-ai-soak-") as folder,
        running(Path(folder), options.workers, till) as (sites, ledger),
    ):
        seconds = 60 * options.minutes or math.inf
        accounts = Accounts(sites, till, ledger, options.messages)
        Soak(sites, accounts).run(options.starts, options.kill_every, seconds)
    figures = accounts.figures
    print(json.dumps(asdict(figures), indent=None if options.json else 1))
    sys.exit(bool(figures.broken or figures.lost or figures.doubled))


if __name__ == "__main__":
    main()
