"""Time from an emergency stop to the last closed socket of the model.

    python -m benchmarks.stop [--crowd 1000] [--rounds 3]

The model is a separate process that never answers, and records when each socket closed. Measured
are one call in flight with 100 messages behind it, and one call for each assistant with `emergency
stop all`, both typed as commands. The peer is plain asyncio: the same number of requests of the
openai SDK, cancelled one after the other. Game and peer take turns; the best round of each counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
QUEUED = 100
AIM = "under 50 ms"
PATIENCE_SECONDS = 120.0
BODY = {"model": "silent", "messages": [{"role": "user", "content": "x" * 6000}]}
ROWS = (
    ("one call, 100 messages behind it: socket closed after", "one_closed", AIM),
    ("- stored, all 100 told, after", "one_done", ""),
    ("all: last model call cancelled after", "all_ended", AIM),
    ("all: last socket closed after", "all_closed", "under 150 ms"),
    ("all: last turn unwound after", "all_cancelled", ""),
    ("- CPU of its thread until then", "all_until", ""),
    ("- all stored, everybody told, after", "all_done", ""),
    ("- the longest that the game stood still", "all_still", AIM),
    ("- the most CPU that its thread used at once", "all_cpu", AIM),
    ("- CPU of its thread in all", "all_used", ""),
    ("peer: last socket closed after", "peer_closed", ""),
)
Figures = dict[str, float]


# ---- the model ---------------------------------------------------------------------------------


class SilentModel:
    """A server that takes requests and never answers. Times are by a clock that processes share."""

    def __init__(self) -> None:
        self.arrived = 0
        self.closed: list[float] = []

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hold one connection until its client closes it."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            self.arrived += 1
            await reader.read()
        self.closed.append(time.monotonic())
        writer.close()

    async def tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Report how many requests came and when each socket closed; reset if asked to."""
        async for line in reader:
            report = json.dumps({"arrived": self.arrived, "closed": self.closed})
            if line == b"reset\n":
                self.arrived, self.closed = 0, []
            writer.write(report.encode() + b"\n")

    async def serve(self) -> None:
        """Run until standard input ends."""
        servers = [
            await asyncio.start_server(act, "127.0.0.1", 0, backlog=4096)
            for act in (self.take, self.tell)
        ]
        print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
        await asyncio.to_thread(sys.stdin.read)


class Watch:
    """A client that reads the model's report."""

    def __init__(self, port: int) -> None:
        self._stream = socket.create_connection(("127.0.0.1", port)).makefile("rw")

    def look(self, order: str = "look") -> tuple[int, list[float]]:
        """Return how many requests came, and the times at which their sockets closed."""
        self._stream.write(f"{order}\n")
        self._stream.flush()
        counts = json.loads(self._stream.readline())
        return counts["arrived"], counts["closed"]

    def has(self, arrived: int, closed: int) -> bool:
        """Return whether that many requests came and closed."""
        seen = self.look()
        return seen[0] >= arrived and len(seen[1]) >= closed


@contextmanager
def silent_model() -> Iterator[list[str]]:
    """Run a model in its own process; yield its port and that of its report."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "benchmarks.stop", "model"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        assert process.stdout is not None
        yield [str(port) for port in json.loads(process.stdout.readline())]
    finally:
        process.communicate(timeout=10)


# ---- the game ----------------------------------------------------------------------------------


def seen(watch: Watch, arrived: int, closed: int) -> Any:
    """Return a Deferred that fires when the model has seen that much."""
    return reached(lambda: watch.has(arrived, closed))


def reached(is_so: Callable[[], bool]) -> Any:
    """Return a Deferred that fires when a condition is true, while the reactor runs."""
    from twisted.internet import reactor, task
    from twisted.internet.defer import Deferred

    waiting: Deferred[None] = Deferred()
    ends = time.monotonic() + PATIENCE_SECONDS

    def look() -> None:
        if is_so():
            loop.stop()
            waiting.callback(None)
        elif time.monotonic() > ends:
            raise TimeoutError(f"it was not so within {PATIENCE_SECONDS:g} s")

    loop = task.LoopingCall(look)
    loop.clock = reactor
    loop.start(0.02).addErrback(waiting.errback)
    return waiting


def all_stopped(waiting: list[Any]) -> bool:
    """Return whether all stops are stored; finished assistants are not checked again."""
    while waiting and waiting[-1].db.emergency_stop:
        waiting.pop()
    return not waiting


def note_ends(ended: list[float]) -> None:
    """Record when each request under way ends; call it in the loop's thread."""
    for task in asyncio.all_tasks():
        task.add_done_callback(lambda _: ended.append(time.monotonic()))
    ended.append(0.0)  # the start of the measurement


def stop_by(owner: Any, line: str, scripts: list[Any], watch: Watch) -> Iterator[Any]:
    """Type a stop; return the milliseconds until all is cancelled, closed and done, by name.

    "ended" is when the last request of the loop was cancelled, "cancelled" when the last turn was,
    which comes later. "still" is the longest time without a reactor iteration, "cpu" the most CPU
    of its thread at once, "until" the CPU until all was cancelled, and "used" until all was done.
    """
    from twisted.internet import reactor

    from benchmarks.scene import Lag
    from evennia_ai.llm.bridge import lane

    cancelled: list[tuple[float, float]] = []
    for script in scripts:
        script.work.in_flight.addBoth(
            lambda _: cancelled.append((time.monotonic(), time.thread_time()))
        )
    ended: list[float] = []
    lane().call(partial(note_ends, ended))
    yield reached(lambda: bool(ended))
    lag = Lag(reactor)
    lag.start()
    began, cpu = time.monotonic(), time.thread_time()
    owner.execute_cmd(line)
    yield reached(partial(all_stopped, list(scripts)))
    done, used = time.monotonic(), time.thread_time() - cpu
    yield seen(watch, len(scripts), len(scripts))
    yield reached(lambda: bool(lag.samples))
    late = lag.stop()
    closed = watch.look("reset")[1]
    assert len(scripts) == len(cancelled) == len(closed)
    last, until = max(cancelled)
    moments = {"ended": max(ended), "done": done, "cancelled": last, "closed": max(closed)}
    took = {name: (at - began) * 1000 for name, at in moments.items()}
    took |= {"used": used * 1000, "until": (until - cpu) * 1000}
    return {**took, "still": late["max"], "cpu": late["cpu"]}


def play(watch: Watch, crowd: int) -> Iterator[Any]:
    """Stop one assistant with a hundred messages, then all; an inlineCallbacks generator."""
    from evennia.scripts.models import ScriptDB
    from evennia.utils.create import create_object
    from twisted.internet.defer import inlineCallbacks

    from benchmarks.scene import Crowd, freeze
    from evennia_ai.commands import AssistantCmdSet
    from evennia_ai.operations import clear, find_assistant

    ScriptDB.objects.update_scripts_after_server_start()
    people = Crowd("ours", crowd)
    freeze()
    scripts = [find_assistant(ada.key) for _, ada in people.pairs]
    owner = create_object("evennia.objects.objects.DefaultCharacter", "Owner", home=None)
    owner.permissions.add("Developer")
    owner.cmdset.add(AssistantCmdSet, persistent=False)
    stop = inlineCallbacks(stop_by)

    ada = people.pairs[0][1]
    scripts[0].db.max_pending_events = 2 * QUEUED
    people.question(0)
    yield seen(watch, 1, 0)
    for number in range(1, QUEUED + 1):
        people._whisper(people.pairs[number % crowd][0], ada)
    assert QUEUED + 1 == len(scripts[0].work.inbox)
    one = yield stop(owner, f"assistant emergency stop {ada.key}", scripts[:1], watch)
    clear(scripts[0])

    for number in range(crowd):
        people.question(number)
    yield seen(watch, crowd, 0)
    every = yield stop(owner, "assistant emergency stop all", scripts, watch)
    figures = {f"one_{name}": value for name, value in one.items()}
    return figures | {f"all_{name}": value for name, value in every.items()}


def run_game(game: Path, crowd: int, ports: list[str]) -> None:
    """Run the reactor with a crowd; prints one line of JSON."""
    from benchmarks.scene import set_up_game

    set_up_game(game, f"http://127.0.0.1:{ports[0]}")
    from twisted.internet import reactor
    from twisted.internet.defer import inlineCallbacks

    def begin() -> None:
        ran = inlineCallbacks(play)(Watch(int(ports[1])), crowd)
        ran.addCallback(lambda figures: print(json.dumps(figures), flush=True))
        ran.addErrback(lambda failure: failure.printTraceback(sys.stderr))
        ran.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()


# ---- the peer ----------------------------------------------------------------------------------


async def run_peer(crowd: int, ports: list[str]) -> None:
    """Run the same number of requests of the SDK on its own loop; prints one line of JSON."""
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=2 * crowd, max_keepalive_connections=crowd)
    http = openai.DefaultAioHttpClient(limits=limits, timeout=None, trust_env=False)
    url = f"http://127.0.0.1:{ports[0]}/v1"
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http)
    watch = Watch(int(ports[1]))
    tasks = [
        asyncio.create_task(client.post("/chat/completions", cast_to=httpx2.Response, body=BODY))
        for _ in range(crowd)
    ]
    while not watch.has(crowd, 0):
        await asyncio.sleep(0.02)
    began = time.monotonic()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    while not watch.has(crowd, crowd):
        await asyncio.sleep(0.02)
    print(json.dumps({"peer_closed": (max(watch.look("reset")[1]) - began) * 1000}), flush=True)


# ---- the table ---------------------------------------------------------------------------------


def measure(act: str, options: argparse.Namespace, game: Path, ports: list[str]) -> Figures:
    """Run one contender in its own process, on a fresh copy of the database."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(game, folder, dirs_exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.stop", act, "--crowd", str(options.crowd)]
        command += ["--game", folder, "--ports", *ports]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{act} ended without figures:\n{ran.stderr[-3000:]}")
    figures: Figures = json.loads(lines[-1])
    return figures


def compare(options: argparse.Namespace) -> None:
    """Build the crowd, measure the contenders in turns, print the table."""
    rounds: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder, silent_model() as ports:
        scene = [sys.executable, "-m", "benchmarks.scene", "build", "--game", folder]
        subprocess.run([*scene, "--crowd", str(options.crowd)], cwd=ROOT, check=True)
        for _ in range(options.rounds):
            result: Figures = {}
            for act in ("game", "peer"):
                result |= measure(act, options, Path(folder), ports)
            rounds.append(result)
    best = {key: min(figures[key] for figures in rounds) for _, key, _ in ROWS}
    title = f"{options.crowd} calls in flight, best of {options.rounds}"
    print(f"Python {platform.python_version()}, {title}\n\n| | ms | aim |\n|---|---|---|")
    for name, key, aim in ROWS:
        print(f"| {name} | {best[key]:.1f} | {aim} |")
    print(f"\nRatio to the peer: {best['all_closed'] / best['peer_closed']:.2f}")


def main() -> None:
    """Parse the arguments and run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("act", nargs="?", choices=("compare", "model", "game", "peer"))
    parser.add_argument("--crowd", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--game", type=Path)
    parser.add_argument("--ports", nargs=2, help="of the model, and of the view of it")
    options = parser.parse_args()
    if options.act == "model":
        asyncio.run(SilentModel().serve())
    elif options.act == "game":
        run_game(options.game, options.crowd, options.ports)
    elif options.act == "peer":
        asyncio.run(run_peer(options.crowd, options.ports))
    else:
        compare(options)


if __name__ == "__main__":
    main()
