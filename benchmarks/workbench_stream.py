"""Cost of watching: the change stream, the recording of a turn, and a page that follows it.

    python -m benchmarks.workbench_stream [--clients 200] [--left 300] [--rounds 40]

The game is a separate process with the reactor, Evennia's web server and its web threads; streams
and pages are real HTTP. The cost of a turn is CPU time of that process: turns without a recording,
with one, and with one that a page follows come one after the other, and a ratio is the median over
the rounds. Abandoned streams are sockets that nobody closes, as Evennia's proxy leaves them.
"""

from __future__ import annotations

import argparse
import gc
import http.client
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scene import Crowd, build, rss_bytes, set_up_game
from tests.fakes.handle import FakeModel

ROOT = Path(__file__).resolve().parents[1]
PER_ACCOUNT, CHANGES, PAUSE_SECONDS = 4, 20, 0.7
TURNS_A_ROUND, WARM_TURNS = 10, 40
PAGE_REQUESTS, TIMEOUT_SECONDS = 60, 30.0
MODES = ("none", "recorded", "watched")
PAGE = "/ai/assistants/Ada0/"


# ---- the game ----------------------------------------------------------------------------------


def prepare(accounts: int) -> list[str]:
    """Return a session cookie for each of some staff accounts."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.db import transaction
    from evennia.utils.create import create_account

    cookies = []
    with transaction.atomic():
        for number in range(accounts):
            account = create_account(f"Staff{number}", "", "kestrel-harbour-94", is_superuser=True)
            session = SessionStore()
            session[SESSION_KEY] = str(account.pk)
            session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
            session[HASH_SESSION_KEY] = account.get_session_auth_hash()
            session.create()
            cookies.append(f"{settings.SESSION_COOKIE_NAME}={session.session_key}")
    return cookies


def compare(rounds: int) -> Generator[Any, Any, dict[str, Any]]:
    """Return CPU milliseconds of a turn in each mode, and ratios to turns without a recording."""
    from evennia_ai.engine.recording import TurnRing
    from evennia_ai.runtime.watching import FEED, ring_for

    people = Crowd("ours", 1)
    script = people.pairs[0][1].assistant_script
    watchers = set(FEED.watchers)
    rings = {"none": TurnRing(0), "recorded": ring_for("Ada0"), "watched": ring_for("Ada0")}
    for number in range(WARM_TURNS):
        yield people.question(number)
    spent: dict[str, list[float]] = {mode: [] for mode in MODES}
    for number in range(rounds):
        for place in range(len(MODES)):
            mode = MODES[(place + number) % len(MODES)]
            script.work.recorded = rings[mode]
            FEED.watchers = watchers if mode == "watched" else set()
            gc.collect()
            began = time.process_time()
            for turn in range(TURNS_A_ROUND):
                yield people.question(turn)
            spent[mode].append((time.process_time() - began) / TURNS_A_ROUND * 1000)
    FEED.watchers = watchers
    figures = {f"{mode}_ms": round(statistics.median(spent[mode]), 3) for mode in MODES}
    for mode in MODES[1:]:
        pairs = zip(spent[mode], spent["none"], strict=True)
        figures[f"{mode}_ratio"] = round(statistics.median(one / other for one, other in pairs), 4)
    return figures | {"watchers": len(watchers)}


def serve(game: Path, model: FakeModel, accounts: int, rounds: int) -> None:
    """Run the game. It reads commands, one a line, and prints JSON."""
    set_up_game(game, model.root_url, remembers=False)
    from django.conf import settings

    settings.ALLOWED_HOSTS = ["*"]
    from evennia.scripts.models import ScriptDB
    from evennia.server.webserver import DjangoWebRoot, LockableThreadPool, Website
    from twisted.internet import reactor
    from twisted.internet.defer import inlineCallbacks

    from evennia_ai.runtime.watching import FEED
    from evennia_ai.web import service, stream

    ScriptDB.objects.update_scripts_after_server_start()
    limits = settings.WEBSERVER_THREADPOOL_LIMITS
    threads = LockableThreadPool(minthreads=max(1, limits[0]), maxthreads=max(1, limits[1]))

    class Server:
        """The part of Evennia's server that our code needs."""

        web_root = DjangoWebRoot(threads)

    service.start_plugin_services(Server)
    streams = Server.web_root.children[b"ai-stream"].streams
    port = reactor.listenTCP(
        0, Website(Server.web_root, logPath=os.devnull), 400, interface="127.0.0.1"
    )

    def look() -> None:
        gc.collect()
        tell({"streams": len(streams), "cpu": time.process_time(), "rss": rss_bytes()})

    def change() -> None:
        FEED.tell("Ada0")
        tell({"at": time.perf_counter(), "number": FEED.count})

    usual, stream.LIFETIME_SECONDS = stream.LIFETIME_SECONDS, 3600.0  # while turns are compared

    def told(figures: dict[str, Any]) -> None:
        stream.LIFETIME_SECONDS = usual
        tell(figures)

    def turns() -> None:
        done = inlineCallbacks(compare)(rounds).addCallback(told)
        done.addErrback(lambda failure: failure.printTraceback(sys.stderr))

    words = {"look": look, "change": change, "turns": turns}

    def listen() -> None:
        for line in sys.stdin:
            reactor.callFromThread(words[line.strip()])
        reactor.callFromThread(reactor.stop)

    def begin() -> None:
        threads.start()
        reactor.addSystemEventTrigger("during", "shutdown", threads.stop)
        threading.Thread(target=listen, daemon=True).start()
        tell({"port": port.getHost().port, "cookies": prepare(accounts)})

    reactor.callWhenRunning(begin)
    reactor.run()


def tell(told: dict[str, Any]) -> None:
    """Print a value as a line of JSON for the measuring process."""
    print(json.dumps(told), flush=True)


# ---- who measures ------------------------------------------------------------------------------


class Game:
    """The game's process, seen from the measuring process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        answer = self._read()
        self.port, self.cookies = answer["port"], answer["cookies"]

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise SystemExit("the game ended")

    def ask(self, word: str) -> dict[str, Any]:
        """Send a command, and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._read()

    def open_page(self, count: int) -> list[float]:
        """Return the milliseconds of each of several requests of a page."""
        times = []
        client = http.client.HTTPConnection("127.0.0.1", self.port, TIMEOUT_SECONDS)
        for _ in range(count):
            began = time.perf_counter()
            client.request("GET", PAGE, headers={"Cookie": self.cookies[-1], "HX-Request": "true"})
            response = client.getresponse()
            body = response.read()
            times.append((time.perf_counter() - began) * 1000)
            assert response.status == 200, body[:500]
        client.close()
        return sorted(times)


class Pages:
    """Browsers that listen, all in one thread.

    Attributes:
        came: milliseconds from each change until a page received it.
    """

    def __init__(self, game: Game, count: int) -> None:
        self.came: list[float] = []
        self._told: dict[int, float] = {}
        self._heard: list[tuple[int, float]] = []
        self._selector = selectors.DefaultSelector()
        self._is_on = True
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", game.port), TIMEOUT_SECONDS)
            cookie = game.cookies[number // PER_ACCOUNT]
            connection.sendall(
                f"GET /ai-stream?assistant=Ada0&after=- HTTP/1.1\r\nHost: x\r\nCookie: {cookie}"
                "\r\n\r\n".encode()
            )
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while self._is_on:
            for key, _ in self._selector.select(0.2):
                connection: Any = key.fileobj
                text = connection.recv(65536).decode()
                if not text:
                    self._selector.unregister(connection)
                elif "event: change" in text:
                    mark = text.partition("id: ")[2].partition("\n")[0]
                    self._heard.append((int(mark.partition("-")[2]), time.perf_counter()))

    def note(self, told: dict[str, Any]) -> None:
        """Record the time of a change."""
        self._told[told["number"]] = told["at"]

    def close(self) -> None:
        """Close all streams, and calculate the delays."""
        self._is_on = False
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            connection: Any = key.fileobj
            connection.close()
        heard = [(self._told.get(number), at) for number, at in self._heard]
        self.came = sorted((at - start) * 1000 for start, at in heard if start is not None)


@contextmanager
def running(folder: Path, model: FakeModel, accounts: int, rounds: int) -> Iterator[Game]:
    """Run a game with two assistants."""
    command = [sys.executable, "-m", "benchmarks.workbench_stream", "--serve", str(folder)]
    command += ["--model", f"{model.port},{model.control_port}"]
    command += ["--accounts", str(accounts), "--rounds", str(rounds)]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=errors, text=True)
    try:
        yield Game(process)
    except SystemExit as end:
        raise SystemExit(f"{end}\n{(folder / 'errors').read_text()[-3000:]}") from None
    finally:
        process.communicate(timeout=TIMEOUT_SECONDS)


def at_part(values: list[float], part: float) -> float:
    """Return a quantile of sorted values."""
    return values[min(len(values) - 1, int(len(values) * part))]


def wait_for(game: Game, count: int) -> dict[str, Any]:
    """Wait until there are that many streams; return the game's usage."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while (seen := game.ask("look"))["streams"] != count and time.monotonic() < end:
        time.sleep(0.05)
    if seen["streams"] != count:
        raise SystemExit(f"{seen['streams']} streams, not {count}")
    return seen


def measure_turns(game: Game) -> None:
    """Measure the cost of a turn while one page follows it."""
    pages = Pages(game, 1)
    wait_for(game, 1)
    print(f"a turn: {game.ask('turns')}")
    pages.close()
    before = game.ask("look")
    page = game.open_page(PAGE_REQUESTS)
    cpu = (game.ask("look")["cpu"] - before["cpu"]) * 1000 / PAGE_REQUESTS
    print(f"the page made anew: p50 {at_part(page, 0.5):.1f} ms, CPU {cpu:.1f} ms each")


def measure_streams(game: Game, clients: int) -> None:
    """Measure the delays of many pages, and the game's CPU and memory."""
    game.open_page(5)
    before = game.ask("look")
    pages = Pages(game, clients)
    opened = wait_for(game, clients)
    began = time.perf_counter()
    for _ in range(CHANGES):
        pages.note(game.ask("change"))
        time.sleep(PAUSE_SECONDS)
    after, seconds = game.ask("look"), time.perf_counter() - began
    pages.close()
    cpu = (after["cpu"] - opened["cpu"]) / seconds * 100
    memory = (after["rss"] - before["rss"]) / 1e6
    print(
        f"{opened['streams']} streams, {len(pages.came)} of {CHANGES * clients} changes heard: "
        f"p50 {at_part(pages.came, 0.5):.1f} ms, p99 {at_part(pages.came, 0.99):.1f} ms, "
        f"CPU {cpu:.1f} %, memory {memory:+.1f} MB, to open them all "
        f"{(opened['cpu'] - before['cpu']) * 1000 / clients:.1f} ms of CPU each"
    )


def measure_left(game: Game, left: int) -> None:
    """Measure when abandoned streams are closed, and a page's time meanwhile."""
    wait_for(game, 0)
    began = time.perf_counter()
    pages = Pages(game, left)
    wait_for(game, left)
    most, times = 0, []
    while (streams := game.ask("look")["streams"]) and time.perf_counter() - began < 90:
        most = max(most, streams)
        times += game.open_page(3)
        time.sleep(1)
    seconds = time.perf_counter() - began
    pages.close()
    times.sort()
    print(
        f"{most} streams that were left: {streams} after {seconds:.0f} s; a page meanwhile: p50 "
        f"{at_part(times, 0.5):.0f} ms, p99 {at_part(times, 0.99):.0f} ms"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--left", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--accounts", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--model", default="1,1", help=argparse.SUPPRESS)
    options = parser.parse_args()
    model = FakeModel(*map(int, options.model.split(",")))
    if options.serve:
        serve(options.serve, model, options.accounts, options.rounds)
        return
    if options.build:
        set_up_game(options.build, model.root_url)
        build(options.build, 2)
        return
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    accounts = max(options.clients, options.left) // PER_ACCOUNT + 2
    with tempfile.TemporaryDirectory() as name, FakeModel.in_process() as model:
        build_it = [sys.executable, "-m", "benchmarks.workbench_stream", "--build", name]
        subprocess.run(build_it, cwd=ROOT, check=True)
        with running(Path(name), model, accounts, options.rounds) as game:
            measure_turns(game)
            measure_streams(game, options.clients)
            measure_left(game, options.left)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
