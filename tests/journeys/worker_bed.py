"""A game on PostgreSQL, workers beside it, and a model that answers the calls of nights."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg

from tests.game.consolidation.sleep_model import answer_to, kind_of
from tests.journeys import forks
from tests.journeys.game import LAUNCHER, UNHURRIED, Game, make_product_folder
from tests.journeys.games.kinds.databases import found

HEARTBEAT = 0.5
WORKERS = {
    "engine": "procrastinate",
    "heartbeat_seconds": HEARTBEAT,
    "jobs_at_once": 16,
}
WAIT_SECONDS = 60.0


def until(is_so: Callable[[], object], seconds: float = WAIT_SECONDS, told: str = "") -> Any:
    """Poll until a condition holds; returns its value.

    Raises:
        AssertionError: it does not hold in time.
    """
    ends_at = time.monotonic() + seconds
    while not (seen := is_so()):
        assert time.monotonic() < ends_at, told or "it never came to that"
        time.sleep(0.05)
    return seen


class NightServer:
    """A chat completions endpoint that answers as a model of the nights in tests does, or as given.

    Attributes:
        asked: the kinds of the requests, the oldest first.
        keys: the keys that came with them.
        before: called with the kind before each answer.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], bytes] = answer_to) -> None:
        self.asked: list[str] = []
        self.keys: set[str] = set()
        self.before: Callable[[str], object] = lambda kind: None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                kind = kind_of(body)
                server.asked.append(kind)
                server.keys.add(self.headers.get("Authorization", ""))
                server.before(kind)
                written = answer(body)
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(written)))
                    self.end_headers()
                    self.wfile.write(written)
                except OSError:
                    pass  # the worker that asked was killed

            def log_message(self, *given: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Bed:
    def __init__(self, game: Game, model: NightServer) -> None:
        self.game, self.model = game, model
        self.workers: list[forks.Running] = []

    def start_worker(self, **env: str) -> forks.Running:
        """Start another worker, without waiting until it is at work."""
        game = self.game
        with (game.root / "workers.log").open("ab") as log:
            process = forks.begin(
                [str(LAUNCHER), "ai_worker"],
                game.root / "lib",
                game.folder,
                {**game.env, **env},
                log,
            )
        self.workers.append(process)
        return process

    def start_workers(self, count: int) -> None:
        """Start some workers, and wait until all running workers are at work."""
        for _ in range(count):
            self.start_worker()
        self.wait_for_workers()

    def wait_for_workers(self) -> None:
        until(self._all_seen, told=self.log())

    def _all_seen(self) -> bool:
        names = [name for (name,) in self.rows("SELECT name FROM evennia_ai_workerseen")]
        running = [each.pid for each in self.workers if each.poll() is None]
        return all(any(f":{pid} " in name for name in names) for pid in running)

    def kill(self, pid: int) -> None:
        process = next(each for each in self.workers if each.pid == pid)
        os.kill(pid, signal.SIGKILL)
        process.wait(10)
        self.workers.remove(process)

    def end_workers(self) -> None:
        for process in self.workers:
            process.terminate()
        for process in self.workers:
            try:
                process.wait(30)
            except (subprocess.TimeoutExpired, TimeoutError):
                process.kill()
                process.wait()
        self.workers.clear()

    def log(self) -> str:
        path = self.game.root / "workers.log"
        return path.read_text("utf-8", "replace")[-6000:] if path.exists() else ""

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        given = self.game.settings["DATABASES"]["default"]
        options = {"host": given["HOST"], "port": given["PORT"], "user": given["USER"]}
        with psycopg.connect(dbname=given["NAME"], autocommit=True, **options) as connection:
            yield connection

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.connection() as connection:
            return connection.execute(sql, values).fetchall()

    def change(self, sql: str, *values: object) -> None:
        with self.connection() as connection:
            connection.execute(sql, values)


def at_work(bed: Bed) -> list[int]:
    """The process ids of workers that have a job now."""
    rows = bed.rows("SELECT worker FROM evennia_ai_workjob WHERE state = 'running'")
    return [int(name.split(":")[1].split(" ")[0]) for (name,) in rows]


@contextmanager
def running_bed(
    root: Path,
    settings: dict[str, Any],
    *,
    embeddings: str = "hashing",
    ledger: dict[str, Any] | None = None,
    model: NightServer | None = None,
) -> Iterator[Bed]:
    """A game with workers configured and none running; all of it ends with this.

    Args:
        settings: settings of the game, over those that are made here.
        ledger: the database of a ledger that it shares, or None.
        model: the model that it asks; None for one of its own.
    """
    with ExitStack() as stack:
        game = Game.make(root / "game", make_product_folder)
        stack.callback(game.clean_up)
        if model is None:
            model = NightServer()
            stack.callback(model.close)
        found(game, stack)
        game.ask_model_at(model.base_url, "night-model")
        game.env["EVENNIA_AI_EMBEDDINGS"] = embeddings
        game.settings |= {**UNHURRIED, "EVENNIA_AI_WORKERS_CONFIG": WORKERS, **settings}
        if ledger is not None:
            game.settings["DATABASES"]["ledger"] = ledger
            game.write_settings()
            game.launch("migrate", "--database", "ledger")
        game.build_product()
        game.launch("ai_worker", "--make-tables")
        bed = Bed(game, model)
        stack.callback(bed.end_workers)
        game.start()
        yield bed
