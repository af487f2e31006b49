"""A process that plays scenes, kills them at every moment, and reports its findings.

    python -m tests.crash.harness <folder>

It boots Evennia once, has a world made in a database, and forks for each moment: one child plays
the scene on a copy and is killed, another opens the rest as a starting server does. Where the
database is a file and the run is not thorough, one child plays the scene once, its files are copied
at each moment, and the copies are opened.
It answers each line, the name of a scene, with a line of JSON. While it forks, it has no other
thread and no open connection.
"""

import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests import postgres
from tests.crash import databases
from tests.profiles import IS_THOROUGH

LANES = 2
# Copies of one scene that are opened; a night has some forty. The thorough run opens all.
MOST_OPENED = 15
# The first words of a label name the kind of a moment, such as "before UPDATE" and the table.
KIND_WORDS = 4
# Later than any moment: such a scene is played to its end.
NEVER = 1_000_000
SURVIVED, KILLED, TROUBLE = 0, -signal.SIGKILL, 3


def boot(folder: Path) -> None:
    """Set up Django and Evennia on a new database with the demo's settings."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "server.conf.settings"
    os.environ["EVENNIA_AI_MODEL"] = "scripted"
    os.environ["EVENNIA_AI_MEMORY_STORE"] = "inline"
    os.environ["EVENNIA_AI_EMBEDDINGS"] = "hashing"
    os.environ["MEM0_TELEMETRY"] = "False"  # mem0 reads it while it is imported
    import django
    from django.conf import settings

    settings.DATABASES["default"] |= databases.make(folder)
    settings.LOG_DIR = str(folder)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    django.setup()
    from django.core.management import call_command

    from server.play import template

    if not databases.has_tables() and not template.is_applied(settings.DATABASES["default"]):
        call_command("migrate", interactive=False, verbosity=0)
    import evennia

    evennia._init()
    _load_what_every_child_needs()


def _load_what_every_child_needs() -> None:
    """Load code only: a process that forks must hold nothing of the database."""
    from django.conf import settings

    from evennia_ai.agent import delegating
    from evennia_ai.runtime import services
    from evennia_ai.tools import load_modules

    for name in ("ACCOUNT", "CHARACTER", "SESSION"):
        import_module(getattr(settings, f"CMDSET_{name}").rpartition(".")[0])
    load_modules((delegating.__name__, *services.tool_modules()))
    # Importing mem0 takes twice as long as all other work of a child in a night.
    import_module("evennia_ai.memory_store.mem0_parts")
    # Garbage collection in a child would copy the memory pages that it shares.
    gc.collect()
    gc.freeze()
    gc.disable()


def in_child(act: Callable[[], None], folder: Path) -> int:
    """Run something in a child process, and return its exit code."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = TROUBLE
    try:
        act()
        code = SURVIVED
    except BaseException:
        (folder / "trouble").write_text(traceback.format_exc())
    finally:
        os._exit(code)
    raise AssertionError("a child ends in the lines above")


class Lanes:
    """Several processes at once, and their results."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[int, Path]] = {}
        self.found: dict[int, dict[str, Any]] = {}

    def begin(self, number: int, folder: Path, act: Callable[[], None]) -> None:
        """Start one more as soon as there is room."""
        while len(self._running) >= LANES:
            self._wait()
        pid = os.fork()
        if pid == 0:
            in_child(act, folder)
            os._exit(0)
        self._running[pid] = (number, folder)

    def _wait(self) -> None:
        pid, _ = os.wait()
        number, folder = self._running.pop(pid)
        self.found[number] = read_result(folder)
        databases.remove(folder)
        shutil.rmtree(folder)

    def end(self) -> None:
        while self._running:
            self._wait()


def read_result(folder: Path) -> dict[str, Any]:
    """Return the result that a process left in its folder."""
    trouble, result = folder / "trouble", folder / "result.json"
    problems = [trouble.read_text()] if trouble.exists() else []
    report = json.loads(result.read_text()) if result.exists() else {"problems": ["no result"]}
    return {**report, "problems": problems + report["problems"]}


def play_all(scene: str, template: Path, room: Path) -> dict[str, Any]:
    """Play a scene for each of its moments. Return their number and the problems."""
    lanes, began = Lanes(), time.monotonic()
    (_play_once if databases.are_files() and not IS_THOROUGH else _play_and_kill)(
        lanes, scene, template, room
    )
    labels = lanes.found[0].get("labels", [])
    names = {number: f"{number} {label}" for number, label in enumerate(labels, 1)}
    wrong = {
        names.get(number, "played to its end"): problems
        for number, report in sorted(lanes.found.items())
        if (problems := [*report["problems"], *_wrong_end(number, len(labels), report)])
    }
    seconds = time.monotonic() - began
    moments = sum(0 < number < NEVER for number in lanes.found)
    return {"moments": moments, "wrong": wrong, "seconds": seconds}


def _play_and_kill(lanes: Lanes, scene: str, template: Path, room: Path) -> None:
    """Play a scene anew for each moment, and kill its process there."""
    from tests.crash.playing import play

    def begin(number: int) -> None:
        folder = Path(tempfile.mkdtemp(dir=room))
        databases.copy(template, folder)
        lanes.begin(number, folder, lambda: play(scene, number, folder))

    begin(0)
    lanes.end()
    for number in [*_moments_to_kill_at(lanes.found[0].get("labels", [])), NEVER]:
        begin(number)
    lanes.end()


def _play_once(lanes: Lanes, scene: str, template: Path, room: Path) -> None:
    """Play a scene once, and copy its files at each moment.

    A kill would leave just these: written data is in the files, and everything else is lost. Of a
    long scene, moments evenly spread over it are opened.
    """
    from tests.crash.playing import look, play

    played, copies = Path(tempfile.mkdtemp(dir=room)), Path(tempfile.mkdtemp(dir=room))
    databases.copy(template, played)
    keep = partial(databases.keep, played, copies)
    lanes.begin(0, played, lambda: play(scene, 0, played, keep))
    lanes.end()
    numbers = sorted(int(path.name) for path in copies.iterdir())
    for number in numbers[:: -(-len(numbers) // MOST_OPENED)]:
        # Nights compare with a file that is beside these folders.
        place = (copies / f"{number}").rename(room / f"moment_{number}")
        lanes.begin(number, place, partial(look, scene, place, KILLED))
    lanes.end()
    shutil.rmtree(copies)


def _moments_to_kill_at(labels: list[str]) -> list[int]:
    """Return the moments to kill at.

    In the thorough run all of them; else those at which something begins that outlives a kill. On
    PostgreSQL, repeated pairs of a moment and its predecessor are left to the thorough run too.
    """
    from tests.crash.moments import is_begun

    every = range(1, len(labels) + 1)
    if IS_THOROUGH:
        return list(every)
    begun = [number for number in every if is_begun(labels[number - 1])]
    return _firsts_of_kind(begun, labels) if postgres.is_sampled() else begun


def _firsts_of_kind(numbers: list[int], labels: list[str]) -> list[int]:
    """Return the moments whose kind follows another kind for the first time."""
    kinds = [" ".join(labels[number - 1].split()[:KIND_WORDS]) for number in numbers]
    first: dict[tuple[str, str], int] = {}
    for number, pair in zip(numbers, pairwise(["", *kinds]), strict=True):
        first.setdefault(pair, number)
    return list(first.values())


def _wrong_end(number: int, moments: int, found: dict[str, Any]) -> list[str]:
    wanted = {KILLED if 0 < number <= moments else SURVIVED}
    # A new minute of the ledger may begin in the first play alone. The others then have fewer
    # writes and never reach the last moments, so they must be right at their end.
    if number > moments - moments // 50:
        wanted.add(SURVIVED)
    return [] if found.get("ended") in wanted else [f"it ended with {found.get('ended')}"]


def main() -> None:
    room = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    template = room / "template"
    template.mkdir()
    boot(template)
    from django.db import connections

    from tests.crash import playing

    connections.close_all()
    if in_child(playing.build, room) != SURVIVED:
        raise SystemExit((room / "trouble").read_text())
    for line in sys.stdin:
        if threading.active_count() != 1:
            raise SystemExit(f"threads run: {threading.enumerate()}")
        connections.close_all()
        result = play_all(line.strip(), template, room)
        print(json.dumps(result), file=answers, flush=True)
    databases.remove(template)


if __name__ == "__main__":
    main()
