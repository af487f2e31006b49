"""Two games, one ledger, workers that are killed all the while: ten thousand messages, none lost.

    python -m benchmarks.soak_games [--messages 10000] [--workers 3] [--starts 20] [--json]

Two real game servers on PostgreSQL share a ledger in a database of its own; each has three real
workers, of which one after the other is killed (kill -9) and started again, and now and then the
server itself is killed or reloaded. Players talk by telnet, one assistant of each game has night
after night, and a model on loopback counts what it is asked. In the end the cap of both games is
lowered to a little room, for which all want to talk at one time.

Afterwards each message that a game took was answered once; what the ledger holds is what the model
counts; each memory has its vector; no job is left. The exit status tells whether all of it is so.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.soak_people import Site, Sleeper, Talker, Till
from tests import postgres
from tests.fakes.answers import compose_reply
from tests.journeys.game import UNHURRIED
from tests.journeys.staging import find_trouble
from tests.journeys.worker_bed import WORKERS, NightServer, running_bed, until

GAMES = ("lantern", "harbour")
PLAYERS = ("Tom", "Mira", "Jon", "Lea")
SLEEPER = "brass"
HEARTBEAT_SECONDS = 1.0
IDLE_SECONDS = 10.0
DRAIN_SECONDS = 180.0
SETTLED_SECONDS = 5.0  # what ended is written within one
# Of the cap that is lowered at the end, in calls of some five thousand tokens.
ROOM, ASKED_AT_THE_END = 60_000, 20
FREE = {"tokens_per_day": 0, "calls_per_minute": 0}
UNREAD = "SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '' AND kind <> 'lore'"
NO_VECTOR = (
    "SELECT count(*) FROM evennia_ai_memory m LEFT JOIN evennia_ai_memoryvector v "
    "ON v.memory_id = m.id WHERE v.memory_id IS NULL AND m.kind <> 'lore' AND NOT m.is_removed"
)
JOBS = "SELECT count(*) FROM evennia_ai_workjob"
QUEUE = "SELECT count(*) FROM procrastinate_jobs"
OPEN = "SELECT count(*) FROM evennia_ai_modelcall WHERE state = 'open'"
COSTS = "SELECT prompt_tokens, completion_tokens FROM evennia_ai_modelcall WHERE state = 'settled'"
CUT_OFF = "SELECT count(*) FROM evennia_ai_modelcall WHERE state = 'cut_off'"
ALL_GAMES = (
    "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint, "
    "coalesce(sum(held_tokens), 0)::bigint FROM evennia_ai_budgettotal "
    "WHERE scope = 'all_games' AND period = ''"
)
EACH_GAME = ALL_GAMES.replace("all_games", "game")
BY_CALLS = (
    "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint "
    "FROM evennia_ai_modelcall WHERE state <> 'released'"
)
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Figures:
    """What came of it.

    Attributes:
        broken: what must not be, in words; empty when all is well.
        resaid: what was said again, as the server was killed before it said that it took it.
        cut_off: calls whose end nobody lived to write down; they count in full.
        idle_workers: processor seconds that a worker takes in a minute in which nothing is to do.
        connections: to the database, before anybody spoke and when all was done.
        rows: of Procrastinate's tables, in the end.
        rss_mb: resident memory of servers and workers, at the beginning, at most, and in the end.
    """

    messages: int
    answered: int = 0
    lost: int = 0
    doubled: int = 0
    resaid: int = 0
    over_cap: int = 0
    refused: int = 0
    calls: int = 0
    cut_off: int = 0
    tokens: int = 0
    nights: int = 0
    nights_not_seen: int = 0
    memories: int = 0
    without_vector: int = 0
    jobs_left: int = 0
    workers_killed: int = 0
    servers_killed: int = 0
    reloads: int = 0
    idle_workers: float = 0.0
    connections: list[int] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    rss_mb: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    load: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


class Soak:
    """Both games, and everything that happens to them."""

    def __init__(
        self, sites: list[Site], till: Till, ledger: dict[str, Any], figures: Figures
    ) -> None:
        self.sites, self.till, self.figures = sites, till, figures
        self._ledger = ledger
        self._random = random.Random(1)
        self._is_over = threading.Event()
        self._cap = 0
        self.talkers: list[Talker] = []
        self.sleepers: list[Sleeper] = []

    # ---- what happens --------------------------------------------------------------------------

    def run(self, starts: int, kill_every: float) -> None:
        """Let everybody talk, and kill what runs meanwhile; then the end."""
        figures, half = self.figures, self.figures.messages // len(self.sites)
        began, figures.load = time.monotonic(), [round(os.getloadavg()[0], 1)]
        self._measure_idle()
        with ExitStack() as stack:
            for site in self.sites:
                self._bring(site, iter(range(half)), stack)
            figures.connections.append(self._connections())
            for each in (*self.sleepers, *self.talkers):
                each.start()
            self._disturb(starts, kill_every)
            self._is_over.set()
            for sleeper in self.sleepers:
                sleeper.join()
            self._drain()
            figures.connections.append(self._connections())
            self._compare_tables()
            self._lower_the_cap()
        figures.seconds = round(time.monotonic() - began)
        figures.load.append(round(os.getloadavg()[0], 1))
        self._compare()

    def _bring(self, site: Site, numbers: Iterator[int], stack: ExitStack) -> None:
        """Let the players of a game come, and its owner."""
        shared = _Shared(numbers)
        for name in PLAYERS:
            player = stack.enter_context(site.bed.game.open_telnet())
            player.create_account(name)
            player.log_in(name)
            self.talkers.append(Talker(site, player, name, shared))
        owner = stack.enter_context(site.bed.game.log_in_admin())
        self.sleepers.append(Sleeper(site, owner, SLEEPER, self._is_over))

    def _disturb(self, starts: int, kill_every: float) -> None:
        """Kill workers all the while, and servers at so many moments of the whole."""
        total, done = self.figures.messages, 0
        due = [total * (n + 1) // (starts + 1) for n in range(starts)]
        while any(each.is_alive() for each in self.talkers):
            time.sleep(kill_every)
            self._sample()
            self._kill_worker()
            heard = sum(len(each.heard) for each in self.talkers)
            if due and heard >= due[0]:
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
        ((used, held),) = self._rows(ALL_GAMES)
        self._cap = used + held + ROOM  # all of it was used today
        caps = {**caps_of(self._cap)}
        for site in self.sites:
            site.bed.game.settings |= caps
            self._start_anew(site, is_kill=False)
        wanting = [Wanting(each) for each in self.talkers]
        for each in wanting:
            each.start()
        while any(each.is_alive() for each in wanting):
            time.sleep(0.2)
            self._look_at_cap()
        self.figures.refused = sum(each.refused for each in wanting)
        time.sleep(SETTLED_SECONDS)
        if not self.figures.refused:
            self.figures.broken.append("the cap that was lowered was never reached")

    def _drain(self) -> None:
        """Let all be done that waits."""
        for site in self.sites:
            bed = site.bed
            for sql in (UNREAD, JOBS, QUEUE):
                try:
                    until(lambda bed=bed, sql=sql: bed.rows(sql) == [(0,)], DRAIN_SECONDS)
                except AssertionError:
                    left = bed.rows(sql)[0][0]
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
                    kept = self.figures.rss_mb.setdefault(kind, [size, size, size])
                    kept[1:] = [max(kept[1], size), size]
        self._look_at_cap()
        heard = sum(len(each.heard) for each in self.talkers)
        nights = sum(len(each.nights) for each in self.sleepers)
        print(f"{time.strftime('%H:%M:%S')} {heard} heard, {nights} nights", file=sys.stderr)

    def _look_at_cap(self) -> None:
        ((used, held),) = self._rows(ALL_GAMES)
        self.figures.over_cap += bool(self._cap and used + held > self._cap)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the ledger."""
        told = {name: self._ledger[name.upper()] for name in ("host", "port", "user")}
        with psycopg.connect(**told, dbname=self._ledger["NAME"]) as connection:
            return connection.execute(sql).fetchall()

    def _connections(self) -> int:
        names = [site.bed.game.settings["DATABASES"]["default"]["NAME"] for site in self.sites]
        named = ", ".join(f"'{name}'" for name in (*names, self._ledger["NAME"]))
        ((found,),) = self._rows(
            f"SELECT count(*) FROM pg_stat_activity WHERE datname IN ({named}) "
            "AND pid <> pg_backend_pid()"
        )
        return int(found)

    # ---- what is compared ----------------------------------------------------------------------

    def _compare(self) -> None:
        figures = self.figures
        for talker in self.talkers:
            answers = Counter({w: talker.player.count(compose_reply(w)) for w in talker.heard})
            answers.update({w: talker.player.count(compose_reply(w)) for w in talker.unheard})
            figures.answered += sum(answers[words] > 0 for words in talker.heard)
            lost = [words for words in talker.heard if not answers[words]]
            doubled = [words for words, times in answers.items() if times > 1]
            figures.lost += len(lost)
            figures.doubled += len(doubled)
            figures.resaid += len(talker.unheard)
            for kind, words in (("lost", lost), ("doubled", doubled)):
                figures.broken += [f"{kind}: {talker.site.name}, {each}" for each in words[:5]]
        self._compare_nights()
        self._compare_ledger()
        for site in self.sites:
            figures.broken += [f"{site.name}: {told}" for told in site.broken]
            log = site.bed.game.folder / "server/logs/server.log"
            trouble = find_trouble(log.read_text("utf-8", "replace"))
            figures.broken += [f"{site.name}, log: {line}" for line in trouble[:5]]
        if figures.over_cap:
            figures.broken.append(f"the cap was passed at {figures.over_cap} looks")

    def _compare_nights(self) -> None:
        """Every night ends with the same, whoever was killed in it."""
        for sleeper in self.sleepers:
            self.figures.nights += len(sleeper.nights)
            self.figures.nights_not_seen += sleeper.broken_off
            others = [night for night in sleeper.nights if night != sleeper.nights[0]]
            self.figures.broken += [
                f"{sleeper.site.name}: a night ended otherwise: {night}"[:2000]
                for night in others[:2]
            ]

    def _compare_ledger(self) -> None:
        """Each call that was settled is one of the model's, and what it has more was cut off."""
        figures, given = self.figures, Counter(self.till.given)
        settled = Counter(self._rows(COSTS))
        ((figures.cut_off,),) = self._rows(CUT_OFF)
        ((used, held),), ((own, _),), ((by_calls,),) = map(
            self._rows, (ALL_GAMES, EACH_GAME, BY_CALLS)
        )
        figures.calls, figures.tokens = sum(given.values()), used
        strange, unsettled = settled - given, sum((given - settled).values())
        if strange:
            figures.broken.append(f"settled twice, or never made: {list(strange)[:5]}")
        if unsettled > figures.cut_off:
            figures.broken.append(
                f"the model made {unsettled} calls that nobody settled, and {figures.cut_off} "
                "count as cut off"
            )
        if held or not used == own == by_calls:
            figures.broken.append(f"sums: {used}, {own} and {by_calls}, of which {held} are held")
        if is_open := self._rows(OPEN)[0][0]:
            figures.broken.append(f"{is_open} calls are open still")

    def _compare_tables(self) -> None:
        figures = self.figures
        for site in self.sites:
            rows = site.bed.rows
            memories = rows("SELECT count(*) FROM evennia_ai_memoryvector")[0][0]
            figures.memories += memories
            figures.without_vector += rows(NO_VECTOR)[0][0]
            figures.jobs_left += rows(JOBS)[0][0]
            for table in ("jobs", "events", "workers"):
                name = f"procrastinate_{table}"
                found = rows(f"SELECT count(*) FROM {name}")[0][0]
                figures.rows[name] = figures.rows.get(name, 0) + found
        if figures.without_vector:
            figures.broken.append(f"{figures.without_vector} memories have no vector")


class Wanting(threading.Thread):
    """A player who wants more than there is room for.

    Attributes:
        refused: what was not answered.
    """

    def __init__(self, talker: Talker) -> None:
        super().__init__(daemon=True)
        self._talker = talker
        self.refused = 0

    def run(self) -> None:
        """Ask, and see whether it is answered or refused in words."""
        talker = self._talker
        talker.is_disturbed()
        for number in range(ASKED_AT_THE_END):
            words = f"Room {number} of {talker.name} is wanted"
            talker.player.send(f"whisper ada = {words}")
            self.refused += not talker.sees(compose_reply(words), 3.0)


class _Shared:
    """Numbers that several threads take from one iterator."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers, self._lock = numbers, threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._numbers)


def cpu_seconds(pid: int) -> float:
    """Processor seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> int:
    """Resident memory of a process, 0 where it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 10**6


def caps_of(tokens: int) -> dict[str, Any]:
    """Settings that cap what both games use together in a day."""
    free = dict.fromkeys(("game", "assistant", "player"), FREE)
    return {"EVENNIA_AI_BUDGET_CONFIG": {"all_games": {**FREE, "tokens_per_day": tokens}, **free}}


@contextmanager
def running(folder: Path, workers: int, till: Till) -> Iterator[tuple[list[Site], dict[str, Any]]]:
    """Both games with their workers, and the ledger that they share."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres.any_server(folder / "postgres"))
        stack.callback(os.environ.pop, postgres.NAMED, None)
        os.environ[postgres.NAMED] = json.dumps(server)
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
    """Run it, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="of both games together")
    parser.add_argument("--workers", type=int, default=3, help="of each game")
    parser.add_argument("--starts", type=int, default=20, help="kills and reloads of servers")
    parser.add_argument(
        "--kill-every", type=float, default=5.0, help="seconds from worker to worker"
    )
    parser.add_argument("--json", action="store_true", help="print the figures in one line")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers are ended as well
    faulthandler.register(signal.SIGUSR1)
    figures, till = Figures(options.messages), Till(seed=1)
    with (
        tempfile.TemporaryDirectory(prefix="evennia-ai-soak-") as folder,
        running(Path(folder), options.workers, till) as (sites, ledger),
    ):
        Soak(sites, till, ledger, figures).run(options.starts, options.kill_every)
    print(json.dumps(asdict(figures), indent=None if options.json else 1))
    sys.exit(bool(figures.broken or figures.lost or figures.doubled))


if __name__ == "__main__":
    main()
