"""Cost of the audit log: for each tick, on disk, and for each read.

    python -m benchmarks.audit [--ticks 300] [--rounds 5] [--events 100000]

A tick is a whisper, a look around and a whispered answer, with a model in memory and the demo
game's settings on a file. Three contenders take turns in one process: ours, no audit log, and the
`eventsourcing` library's own SQLite recorder in its own file, which saves each event by itself, as
its manual does.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.crash.harness import boot

SIZES = (10, 1_000)
PAGE = 25
READS = 40
BATCH = 500
MOST_STATEMENTS = 2
NO_CAP = {"tokens_per_day": 0, "calls_per_minute": 0}
NO_CAPS = {"game": NO_CAP, "assistant": NO_CAP, "player": NO_CAP}
OURS, PEER, NONE = "ours", "eventsourcing's SQLite", "without"


# ---- each tick ---------------------------------------------------------------------------------


def make_game(folder: Path) -> Any:
    """Make the game of the crash tests; what it tells people is not recorded."""
    from django.conf import settings

    from evennia_ai.runtime import state
    from evennia_ai.testing import UNHURRIED
    from tests.crash import scenes, world

    settings.EVENNIA_AI_BUDGET_CONFIG = NO_CAPS
    settings.EVENNIA_AI_AUDIT_CONFIG = {"archive_folder": str(folder / "archive")}
    world.build()
    game = world.Game(folder, scenes.SCENES["a whisper, a look and an answer"].decide)
    world.Witness.folder = None
    game.start()
    state.write(game.ada, hearing_config=UNHURRIED | {"calls_per_player": 10**9})
    return game


def make_tick(game: Any) -> Callable[[], None]:
    """Return a function that runs one tick: a whisper and everything that follows."""
    from tests.game.support import pump

    tom, ada = game.being("Tom"), game.being("Ada")
    numbers = itertools.count(1)

    def tick() -> None:
        tom.at_say(f"what is here, {next(numbers)}?", receivers=[ada], whisper=True)
        pump()

    return tick


class Peer:
    """The library's own recorder, used as its manual does: one `save` for each event."""

    def __init__(self, folder: Path) -> None:
        from eventsourcing.application import Application
        from eventsourcing.domain import Aggregate, event

        class Assistant(Aggregate):
            @event("Noted")
            def note(self, name: str, details: dict[str, Any]) -> None:
                self.newest = name

        database = {"SQLITE_DBNAME": str(folder / "peer.db3"), "SQLITE_LOCK_TIMEOUT": "20"}
        self._app = Application(env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", **database})
        self._assistant = Assistant()

    def keep(self, _script: Any, facts: Iterable[Any] = ()) -> None:
        """Record facts."""
        for item in facts:
            self._assistant.note(item.event, dict(item.details))
            self._app.save(self._assistant)

    def close(self) -> None:
        """Close its file."""
        self._app.close()


@contextmanager
def recorded_by(keep: Callable[..., None]) -> Iterator[None]:
    """Send all facts to another recorder within the block."""
    from evennia_ai import audit

    ours = audit.save, audit.has_waiting, audit.record
    audit.save, audit.has_waiting, audit.record = keep, lambda _: False, lambda *_, **__: None
    try:
        yield
    finally:
        audit.save, audit.has_waiting, audit.record = ours
        audit.start_anew()


def ms_of(act: Callable[[], None], times: int) -> tuple[float, float]:
    """Return CPU and clock milliseconds of one call."""
    cpu, clock = time.process_time(), time.perf_counter()
    for _ in range(times):
        act()
    return tuple(  # type: ignore[return-value]
        (now - began) / times * 1000
        for now, began in ((time.process_time(), cpu), (time.perf_counter(), clock))
    )


def statements_of(act: Callable[[], None]) -> list[list[str]]:
    """Return the SQL statements of a call by transaction; each outside of one counts by itself."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        act()
    blocks: list[list[str]] = []
    is_open = False
    for query in captured.captured_queries:
        sql = query["sql"]
        if sql.startswith("BEGIN"):
            blocks.append([])
        elif is_open and sql not in ("COMMIT", "ROLLBACK"):
            blocks[-1].append(sql)
        elif not is_open:
            blocks.append([sql])
        is_open = sql.startswith("BEGIN") or (is_open and sql not in ("COMMIT", "ROLLBACK"))
    return blocks


def measure_ticks(game: Any, peer: Peer, ticks: int, rounds: int) -> None:
    """Measure the contenders in turns and print the first table."""
    from evennia_ai import audit

    tick = make_tick(game)
    keeps = {OURS: audit.save, PEER: peer.keep, NONE: lambda *_: None}
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in keeps}
    sql = {}
    for _ in range(rounds):
        for name, keep in keeps.items():
            context = recorded_by(keep) if name != OURS else recorded_by_us()
            with context:
                ms_of(tick, 10)
                rows[name].append(ms_of(tick, ticks))
                sql[name] = statements_of(tick)
    best = {name: min(figures) for name, figures in rows.items()}
    base = best[NONE]
    print("| a tick with | CPU | clock | of it the record | SQL statements | transactions |")
    print("|---|---|---|---|---|---|")
    for name, (cpu, clock) in best.items():
        counts = sum(map(len, sql[name])), len(sql[name])
        extra = f"{(cpu - base[0]) * 1000:.0f} us CPU, {(clock - base[1]) * 1000:.0f} us clock"
        print(f"| {name} | {cpu:.2f} ms | {clock:.2f} ms | {extra} | {counts[0]} | {counts[1]} |")
    ours, theirs = (best[name][0] - base[0] for name in (OURS, PEER))
    print(
        f"\nrecord, CPU, ours / theirs: {ours / theirs:.2f} (their commits are beside the game's)"
    )
    blocks = [block for block in sql[OURS] if any("evennia_ai_recordedevent" in s for s in block)]
    most = max(map(len, blocks))
    line = f"statements in a checkpoint's transaction: {[len(block) for block in blocks]}"
    print(
        f"{line}; aim: at most {MOST_STATEMENTS}: {'met' if most <= MOST_STATEMENTS else 'MISSED'}"
    )
    for block in (block for block in blocks if len(block) > MOST_STATEMENTS):
        print("".join(f"\n    {sql[:110]}" for sql in block))


@contextmanager
def recorded_by_us() -> Iterator[None]:
    """Record as a game does."""
    yield


# ---- reading -----------------------------------------------------------------------------------


def facts_of(number: int) -> list[Any]:
    """Return the audit events of one tick: two calls and its end."""
    from evennia_ai.core.safety.audit_events import audit_event

    call = {"tick": number, "parameters": {"target": "Tom", "message": "the books are upstairs"}}
    call |= {"reasoning": "", "success": True, "error": "", "duration_ms": 4}
    call |= {"provider": "openai", "model": "scripted"}
    end = {"tick_number": number, "duration_ms": 900, "action_taken": "look, whisper"}
    end |= {"outcome": "answered", "stop": "terminal_tool", "calls": 2, "prompt_tokens": 1400}
    return [
        audit_event("ToolExecuted", tool_name="look", call_id=f"call_{number}_1", **call),
        audit_event("ToolExecuted", tool_name="whisper", call_id=f"call_{number}_2", **call),
        audit_event("TickCompleted", completion_tokens=60, events=[number], person="*#3", **end),
    ]


def fill(name: str, events: int) -> Any:
    """Create an assistant with that many events; return its script."""
    from evennia_ai import operations
    from evennia_ai.runtime import state

    script = operations.create_assistant(name).data.script
    facts = itertools.chain.from_iterable(facts_of(number) for number in itertools.count(1))
    from evennia_ai import audit

    while (left := events - audit.application().count(name)) > 0:
        state.write(script, *itertools.islice(facts, min(BATCH, left)))
    return script


def file_bytes() -> int:
    """Return the size of the database without free pages, in bytes."""
    from django.db import connection

    with connection.cursor() as cursor:
        pages, free, size = (
            cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


def us_of(act: Callable[[], Any]) -> float:
    """Return the median microseconds of a call."""
    act()
    times = []
    for _ in range(READS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def reads_of(name: str, size: int) -> dict[str, float]:
    """Return the microseconds of each kind of read."""
    from evennia_ai import audit

    app, middle = audit.application(), size // 2 + 1
    moment = app.page(name, before=middle + 1, limit=1)[0].at
    return {
        f"a page of {PAGE}": us_of(lambda: app.page(name, limit=PAGE)),
        "a page in the middle": us_of(lambda: app.page(name, before=middle, limit=PAGE)),
        "only one kind of event": us_of(lambda: app.page(name, events=("TickCompleted",))),
        "the newest state": us_of(lambda: app.newest(name)),
        "the state in the middle": us_of(lambda: app.at(name, middle)),
        "the version at a moment": us_of(lambda: app.version_at(name, moment)),
    }


def measure_reading(sizes: Iterable[int]) -> None:
    """Fill audit logs, and print the second table."""
    times = {}
    for size in sizes:
        before, began = file_bytes(), time.perf_counter()
        fill(f"Reader{size}", size)
        if size > max(SIZES):
            grown, seconds = file_bytes() - before, time.perf_counter() - began
            print(
                f"\n{size:,} events: {grown / size:.0f} bytes each, indexes and snapshots included"
            )
            print(f"written in {seconds:.1f} s, {BATCH} at once")
    for size in sizes:
        times[size] = reads_of(f"Reader{size}", size)
    *smaller, largest = times
    ratios = " | ".join(f"{largest:,} / {size:,}" for size in smaller)
    print(f"\n| | {' | '.join(f'{size:,} events' for size in times)} | {ratios} | aim |")
    print("|---|" + "---|" * (len(times) + len(smaller) + 1))
    for row, slowest in times[largest].items():
        shown = " | ".join(f"{figures[row]:.0f} us" for figures in times.values())
        ratios = " | ".join(f"{slowest / times[size][row]:.2f}" for size in smaller)
        print(f"| {row} | {shown} | {ratios} | flat |")
    print(f"\na page of {min(times)} events has no more than these: {PAGE} rows are more to read")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100_000)
    options = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{datetime.now(UTC):%Y-%m-%d}, load of the machine before: {load}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boot(folder)
        peer = Peer(folder)
        measure_ticks(make_game(folder), peer, options.ticks, options.rounds)
        peer.close()
        measure_reading((*SIZES, options.events))
        print(f"\nload of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
