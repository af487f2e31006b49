"""Response times of the REST API, in an idle game and while all its assistants are busy.

    python -m benchmarks.api_latency [--crowd 200] [--requests 400] [--model-seconds 2]

The game is a separate process with the reactor, Evennia's web server and its web threads. Each
request is real HTTP and switches from its web thread to the game's thread and back. Busy means that
each assistant is asked again as soon as it has answered, with a slow model server. The peer in the
same run is Evennia's own REST API, which stays in the web thread.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twisted.internet.defer import gatherResults

from benchmarks.scene import Crowd, Lag, build, set_up_game
from tests.fakes.handle import FakeModel

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = 2
PAUSE_SECONDS = 0.02
SPREAD_SECONDS = 4.0
WARM_SECONDS = 10.0
TIMEOUT_SECONDS = 30.0
OURS = "/api/ai/assistants/Ada{number}"
PATHS = {
    "GET status/": f"{OURS}/status/",
    "GET audit/": f"{OURS}/audit/",
    "GET audit/{version}/": f"{OURS}/audit/1/",
    "GET health/": "/api/ai/health/",
    "Evennia's GET scripts/{id}/": "/api/scripts/{script}/",
}


# ---- the game ----------------------------------------------------------------------------------


def prepare(game: Path) -> dict[str, Any]:
    """Write the settings of a game with both APIs, and create an account that may use them."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from evennia.accounts.models import AccountDB
    from evennia.scripts.models import ScriptDB
    from evennia.utils.create import create_account

    if not AccountDB.objects.exists():
        account = create_account("Owner", "", "kestrel-harbour-94", is_superuser=True)
        account.is_staff = True
        account.save()
    account = AccountDB.objects.get(username="Owner")
    session = SessionStore()
    session[SESSION_KEY] = str(account.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = account.get_session_auth_hash()
    session.create()
    script = ScriptDB.objects.get(db_key="Ada0")
    return {"cookie": f"{settings.SESSION_COOKIE_NAME}={session.session_key}", "script": script.pk}


class Busy:
    """A crowd that asks each assistant again as soon as it has answered."""

    def __init__(self, crowd: int) -> None:
        from twisted.internet import reactor

        self.people = Crowd("ours", crowd)
        self.lag = Lag(reactor)
        self.answers = 0
        self._is_on = False
        self._began = self._cpu = 0.0

    def begin(self) -> None:
        """Reset the counters."""
        self.answers, self._began, self._cpu = 0, time.perf_counter(), time.process_time()
        self.lag.start()

    def once(self) -> None:
        """Let everybody ask once; fires when all are answered."""
        asked = [self.people.question(number) for number in range(len(self.people.pairs))]
        gatherResults(asked).addCallback(lambda answers: tell({"answered": sum(answers)}))

    def crowd(self) -> None:
        """Let everybody ask, spread over time: people do not all come at the same moment."""
        from twisted.internet import reactor

        self._is_on = True
        each = SPREAD_SECONDS / len(self.people.pairs)
        for number in range(len(self.people.pairs)):
            reactor.callLater(number * each, self._ask, number)

    def _ask(self, number: int) -> None:
        if self._is_on:
            self.people.question(number).addCallback(self._again, number)

    def _again(self, _: Any, number: int) -> None:
        from twisted.internet import reactor

        self.answers += 1
        reactor.callLater(0, self._ask, number)

    def end(self) -> dict[str, Any]:
        """Return the counts and the lag since `begin`."""
        seconds = time.perf_counter() - self._began
        cpu = (time.process_time() - self._cpu) / seconds
        figures = {"answers_a_second": round(self.answers / seconds, 1), "cpu": round(cpu * 100)}
        return figures | {f"lag_{name}_ms": value for name, value in self.lag.stop().items()}


def serve(game: Path, crowd: int, model: FakeModel) -> None:
    """Run the game. It reads commands, one a line (once, begin, crowd, end), and prints JSON."""
    set_up_game(game, model.root_url)
    from django.conf import settings

    settings.ROOT_URLCONF = "tests.api.urls"
    settings.REST_API_ENABLED = True
    settings.ALLOWED_HOSTS = ["*"]
    settings.EVENNIA_AI_API_CONFIG = {"reads_per_minute": 0}
    from evennia.scripts.models import ScriptDB
    from evennia.server.webserver import DjangoWebRoot, LockableThreadPool, Website
    from twisted.internet import reactor

    ScriptDB.objects.update_scripts_after_server_start()
    limits = settings.WEBSERVER_THREADPOOL_LIMITS
    threads = LockableThreadPool(minthreads=max(1, limits[0]), maxthreads=max(1, limits[1]))
    site = Website(DjangoWebRoot(threads), logPath=os.devnull)
    port = reactor.listenTCP(0, site, interface="127.0.0.1")
    busy = Busy(crowd)
    words = {"once": busy.once, "begin": busy.begin, "crowd": busy.crowd}
    words["end"] = lambda: tell(busy.end())

    def listen() -> None:
        for line in sys.stdin:
            if (word := line.strip()) in words:
                reactor.callFromThread(words[word])
        reactor.callFromThread(reactor.stop)

    def begin() -> None:
        threads.start()
        reactor.addSystemEventTrigger("during", "shutdown", threads.stop)
        threading.Thread(target=listen, daemon=True).start()
        tell({"port": port.getHost().port, **prepare(game)})

    reactor.callWhenRunning(begin)
    reactor.run()


def tell(told: dict[str, Any]) -> None:
    """Print a value as a line of JSON for the measuring process."""
    print(json.dumps(told), flush=True)


# ---- who measures ------------------------------------------------------------------------------


class Game:
    """The game's process, seen from the measuring process."""

    def __init__(self, process: subprocess.Popen[str], crowd: int) -> None:
        self._process = process
        self._crowd = crowd
        self._told = self.read()

    def read(self) -> dict[str, Any]:
        """Return the next line of JSON that the game prints."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise SystemExit("the game ended")

    def say(self, word: str) -> None:
        """Send a command to the game."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def ask(self, path: str, count: int) -> list[float]:
        """Return the seconds that each of some requests took, by a few clients with pauses."""
        times: list[float] = []
        each = [
            threading.Thread(target=self._ask, args=(path, count // CLIENTS, times))
            for _ in range(CLIENTS)
        ]
        for thread in each:
            thread.start()
        for thread in each:
            thread.join()
        if len(times) < count // CLIENTS * CLIENTS:
            raise SystemExit(f"{path}: a client did not get through")
        return times

    def _ask(self, path: str, count: int, found: list[float]) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._told["port"], TIMEOUT_SECONDS)
        for turn in range(count):
            wanted = path.format(number=turn % self._crowd, script=self._told["script"])
            began = time.perf_counter()
            client.request("GET", wanted, headers={"Cookie": self._told["cookie"]})
            response = client.getresponse()
            body = response.read()
            taken = time.perf_counter() - began
            if response.status != 200:
                raise SystemExit(f"{wanted}: {response.status} {body[:300]!r}")
            found.append(taken)
            time.sleep(PAUSE_SECONDS)
        client.close()


@contextmanager
def running(folder: Path, crowd: int, model: FakeModel) -> Iterator[Game]:
    """Run a game with that many assistants."""
    command = [sys.executable, "-m", "benchmarks.api_latency", "--serve", str(folder)]
    command += ["--crowd", str(crowd), "--model", f"{model.port},{model.control_port}"]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=errors, text=True)
    try:
        yield Game(process, crowd)
    except SystemExit as end:
        raise SystemExit(f"{end}\n{(folder / 'errors').read_text()[-3000:]}") from None
    finally:
        process.communicate(timeout=TIMEOUT_SECONDS)


def measure(game: Game, requests: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return the times of each path, and the game's counters meanwhile."""
    for path in PATHS.values():
        game.ask(path, CLIENTS * 3)
    game.say("begin")
    times = {name: sorted(game.ask(path, requests)) for name, path in PATHS.items()}
    game.say("end")
    return times, game.read()


def show(times: list[float]) -> tuple[float, float]:
    """Return median and 99th percentile in milliseconds."""
    return statistics.median(times) * 1000, times[int(len(times) * 0.99)] * 1000


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", type=int, default=200)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--model-seconds", type=float, default=2.0)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--model", default="1,1", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve or options.build:
        model = FakeModel(*map(int, options.model.split(",")))
        if options.serve:
            serve(options.serve, options.crowd, model)
        else:
            set_up_game(options.build, model.root_url)
            build(options.build, options.crowd)
        return
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name, FakeModel.in_process() as model:
        build_it = [sys.executable, "-m", "benchmarks.api_latency", "--build", name]
        subprocess.run([*build_it, "--crowd", str(options.crowd)], cwd=ROOT, check=True)
        with running(Path(name), options.crowd, model) as game:
            game.say("once")
            game.read()
            idle, idle_game = measure(game, options.requests)
            model.behave(delay_seconds=options.model_seconds)
            game.say("crowd")
            time.sleep(WARM_SECONDS)
            busy, busy_game = measure(game, options.requests)
    print("| | idle p50 | idle p99 | busy p50 | busy p99 | p99 busy / idle |")
    print("|---|---|---|---|---|---|")
    for path in PATHS:
        (p50, p99), (slow50, slow99) = show(idle[path]), show(busy[path])
        figures = " | ".join(f"{value:.1f} ms" for value in (p50, p99, slow50, slow99))
        print(f"| {path} | {figures} | {slow99 / p99:.1f} |")
    print(f"\nidle: {idle_game}\nbusy: {busy_game}, {options.crowd} assistants, a model of")
    print(f"{options.model_seconds:g} s; load of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
