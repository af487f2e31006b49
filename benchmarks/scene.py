"""A crowd of characters with one listener each, in a real database, for one contender to answer.

    python -m benchmarks.scene build   --game DIR --crowd N
    python -m benchmarks.scene measure --game DIR --crowd N --contender NAME --model P,P

NAME is "ours", "without_memory" (ours, with memory switched off) or "contrib".

`measure` runs the reactor and prints one line of JSON. Both contenders use the same rooms,
listeners, database and model server; each is asked the way its own command asks it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from tests.calls import CountedCalls
from tests.fakes.handle import FakeModel

BEAT_SECONDS = 0.002
IN_FLIGHT = 20
CONTENDERS = ("ours", "without_memory", "contrib")
MODEL_SECONDS = 1.0
# Longer than any work is put off, so that a reply's later work is counted with it.
SETTLING_SECONDS = 2.0
COUNTED = 50
# Work that was put off counts as done when a process has used no more CPU than this for a while.
QUIET_SECONDS, QUIET_CPU_SECONDS, MOST_QUIET = 0.5, 0.01, 120

# The same few people ask all the time, which nobody may in a game.
# Each call is reserved, counted and settled all the same.
_NO_CAP = {"tokens_per_day": 0, "calls_per_minute": 0}
NO_CAPS = {"game": _NO_CAP, "assistant": _NO_CAP, "player": _NO_CAP}
NO_LIMITS = {"calls_per_player": 10**9, "cooldown_seconds": 0, "batch_seconds": 0}


def set_up_game(game: Path, url: str, *, remembers: bool = True) -> None:
    """Set up Django and Evennia with their own database."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "server.conf.settings",
        "OPENAI_BASE_URL": f"{url}/v1",
        "EVENNIA_AI_MODEL": "scripted-model",
        "EVENNIA_AI_MAX_CALLS_IN_FLIGHT": "1000",
    }
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = str(game / "crowd.db3")
    settings.LLM_HOST, settings.LLM_PATH = url, "/api/v1/generate"
    settings.LOG_DIR = str(game)
    settings.EVENNIA_AI_HEARING_CONFIG = NO_LIMITS
    settings.EVENNIA_AI_BUDGET_CONFIG = NO_CAPS
    if not remembers:
        settings.EVENNIA_AI_MEMORY_CONFIG = {"enabled": False}
    import django

    django.setup()
    import evennia

    evennia._init()
    from django.db import connection

    for pragma in settings.SQLITE3_PRAGMAS:
        connection.cursor().execute(pragma)


def build(game: Path, crowd: int) -> None:
    """Make the database: for each number a room, a listener, an assistant and a contrib NPC."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import transaction
    from evennia.objects.objects import DefaultObject
    from evennia.utils.create import create_object

    call_command("migrate", verbosity=0)
    limbo = create_object(DefaultObject, key="Limbo", nohome=True)
    settings.DEFAULT_HOME = f"#{limbo.id}"
    from evennia_ai.operations import create_assistant

    with transaction.atomic():
        for number in range(crowd):
            room = create_object(DefaultObject, key=f"Room{number}", home=limbo)
            create_object("benchmarks.listener.Listener", f"Tom{number}", room, home=limbo)
            create_object(
                "evennia.contrib.rpg.llm.llm_npc.LLMNPC", f"Npc{number}", room, home=limbo
            )
            create_assistant(f"Ada{number}", location=room, persona="You keep the library.")


def rss_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


class Lag:
    """Lag of the reactor, sampled every few milliseconds.

    Attributes:
        most_cpu: the most CPU seconds of its thread between two samples. On a machine with other
            work the reactor is late for other reasons too, and this is not.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self.samples: list[float] = []
        self.most_cpu = 0.0
        self._used = 0.0
        self._due = 0.0
        self._call: Any = None

    def start(self) -> None:
        """Begin a new series."""
        self.samples, self.most_cpu = [], 0.0
        self._wait()

    def _wait(self) -> None:
        self._due, self._used = self._reactor.seconds() + BEAT_SECONDS, time.thread_time()
        self._call = self._reactor.callLater(BEAT_SECONDS, self._sample)

    def _sample(self) -> None:
        self.samples.append(self._reactor.seconds() - self._due)
        self.most_cpu = max(self.most_cpu, time.thread_time() - self._used)
        self._wait()

    def stop(self) -> dict[str, float]:
        """Return median, 99th percentile, maximum and most CPU at once, in milliseconds."""
        self._call.cancel()
        ordered = sorted(self.samples)
        p99 = ordered[int(len(ordered) * 0.99)]
        figures = {
            "p50": statistics.median(ordered),
            "p99": p99,
            "max": ordered[-1],
            "cpu": self.most_cpu,
        }
        return {name: round(value * 1000, 2) for name, value in figures.items()}


def freeze() -> None:
    """Freeze the garbage collector, as a game's server does once everything is loaded."""
    gc.collect()
    gc.freeze()


class Crowd:
    """The listeners and their assistants or NPCs."""

    def __init__(self, contender: str, size: int) -> None:
        from evennia.objects.models import ObjectDB

        self.is_ours = contender != "contrib"
        prefix = "Ada" if self.is_ours else "Npc"
        by_key = {obj.key: obj for obj in ObjectDB.objects.all()}
        self.pairs = [(by_key[f"Tom{i}"], by_key[f"{prefix}{i}"]) for i in range(size)]
        self.ask = self._whisper if self.is_ours else self._talk

    @staticmethod
    def _whisper(tom: Any, npc: Any) -> None:
        tom.at_say("where are the books about storms?", receivers=[npc], whisper=True)

    @staticmethod
    def _talk(tom: Any, npc: Any) -> None:
        npc.at_talked_to("where are the books about storms?", tom)

    def question(self, number: int) -> Any:
        """Ask one question; the Deferred fires when the listener hears an answer."""
        from twisted.internet.defer import Deferred

        tom, npc = self.pairs[number % len(self.pairs)]
        heard: Deferred[None] = Deferred()
        tom.await_answer(npc, heard)
        self.ask(tom, npc)
        return heard


def count_calls(people: Crowd) -> Generator[Any, Any, dict[str, Any]]:
    """Count the Python calls of a reply, including work that is put off."""
    from twisted.internet import reactor
    from twisted.internet.task import deferLater

    with CountedCalls() as calls:
        for number in range(COUNTED):
            yield people.question(number)
        yield deferLater(reactor, SETTLING_SECONDS)
    own = {
        "own_calls_per_reply": round(calls.ours / COUNTED),
        "own_modules": len(calls.modules),
        "own_functions": len(calls.functions),
        "changes_per_reply": round(calls.changes / COUNTED),
    }
    by_layer = {name: count / COUNTED for name, count in calls.by_layer.items()}
    return {
        "calls_per_reply": round(calls.all / COUNTED),
        "calls_by_layer": by_layer,
        **(own if people.is_ours else {}),
    }


def quiet() -> Iterator[Any]:
    """Wait until no work that was put off is left."""
    from twisted.internet import reactor
    from twisted.internet.task import deferLater

    for _ in range(MOST_QUIET):
        used = time.process_time()
        yield deferLater(reactor, QUIET_SECONDS)
        if time.process_time() - used <= QUIET_CPU_SECONDS:
            return


def measure(contender: str, crowd: int, warm: int, model: FakeModel) -> Iterator[Any]:
    """Return all figures of one contender; an inlineCallbacks generator."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext
    from evennia.scripts.models import ScriptDB
    from twisted.internet import reactor
    from twisted.internet.defer import gatherResults
    from twisted.internet.task import Cooperator, deferLater

    figures: dict[str, Any] = {"contender": contender}
    # The code that the package loads once is not part of an idle assistant's memory.
    if contender != "contrib":
        import evennia_ai.assistant_character
        import evennia_ai.assistant_script  # noqa: F401
    gc.collect()
    before, began = rss_bytes(), time.perf_counter()
    if contender != "contrib":
        ScriptDB.objects.update_scripts_after_server_start()
        figures["start_seconds"] = round(time.perf_counter() - began, 2)
        gc.collect()
        figures["kb_per_idle_assistant"] = round((rss_bytes() - before) / crowd / 1024, 1)
        scripts = list(ScriptDB.objects.all())
        for script in scripts:
            script.at_repeat()
        with CaptureQueriesContext(connection) as idle:
            for script in scripts:
                script.at_repeat()
        figures["sql_per_1000_idle_ticks"] = len(idle) * 1000 // crowd
        figures["idle_model_calls"] = model.count_calls()
    people = Crowd(contender, crowd)
    freeze()
    for number in range(crowd):
        yield people.question(number)
    yield deferLater(reactor, SETTLING_SECONDS)
    # The first reply after a minute reads the listener's profile again; most replies do not.
    yield people.question(0)
    yield deferLater(reactor, SETTLING_SECONDS)
    with CaptureQueriesContext(connection) as one:
        yield people.question(0)
        yield deferLater(reactor, SETTLING_SECONDS)
    figures["sql_per_reply"] = len(one)
    around = sum(query["sql"].startswith(("BEGIN", "COMMIT")) for query in one)
    figures["sql_rows_per_reply"] = len(one) - around

    figures |= yield from count_calls(people)

    cooperator = Cooperator()
    cpu, wall = time.process_time(), time.perf_counter()
    numbers = iter(range(warm))
    yield gatherResults(
        [
            cooperator.coiterate(people.question(number) for number in numbers)
            for _ in range(IN_FLIGHT)
        ]
    )
    figures["cpu_ms_per_reply"] = round((time.process_time() - cpu) / warm * 1000, 3)
    figures["replies_per_second"] = round(warm / (time.perf_counter() - wall))
    yield from quiet()
    figures["cpu_ms_with_deferred"] = round((time.process_time() - cpu) / warm * 1000, 3)

    model.behave(delay_seconds=MODEL_SECONDS)
    lag = Lag(reactor)
    lag.start()
    cpu, wall = time.process_time(), time.perf_counter()
    # Questions arrive one by one in a busy reactor, like commands from as many sockets.
    asked: list[Any] = []
    yield cooperator.coiterate(asked.append(people.question(number)) for number in range(crowd))
    answers = yield gatherResults(asked)
    figures["burst_unanswered"] = crowd - sum(answers)
    figures["burst_seconds"] = round(time.perf_counter() - wall, 2)
    figures["burst_cpu_ms_per_reply"] = round((time.process_time() - cpu) / crowd * 1000, 3)
    figures |= {f"burst_lag_{name}_ms": value for name, value in lag.stop().items()}
    return figures


def crowd_of(text: str) -> int:
    """Parse a number of characters, for argparse."""
    if not text.isdecimal() or int(text) < IN_FLIGHT:
        problem = f"{text!r} is no number from {IN_FLIGHT} up: so many are asked at the same time"
        raise argparse.ArgumentTypeError(problem)
    return int(text)


def main() -> None:
    """Parse the arguments and run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("build", "measure"))
    parser.add_argument("--game", type=Path, required=True)
    parser.add_argument("--crowd", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=2000)
    parser.add_argument("--contender", choices=CONTENDERS, default="ours")
    parser.add_argument("--model", default="1,1", help="ports of the scripted model server")
    arguments = parser.parse_args()
    if arguments.action == "measure":
        crowd_of(str(arguments.crowd))
    model = FakeModel(*map(int, arguments.model.split(",")))
    remembers = arguments.contender != "without_memory"
    set_up_game(arguments.game, model.root_url, remembers=remembers)
    if arguments.action == "build":
        build(arguments.game, arguments.crowd)
        return
    from twisted.internet import reactor
    from twisted.internet.defer import inlineCallbacks

    def begin() -> None:
        run = inlineCallbacks(measure)(arguments.contender, arguments.crowd, arguments.warm, model)
        run.addCallback(lambda figures: print(json.dumps(figures)))
        run.addErrback(lambda failure: failure.printTraceback(sys.stderr))
        run.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()


if __name__ == "__main__":
    main()
