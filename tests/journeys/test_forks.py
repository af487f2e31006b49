"""Forks of the mother: like processes of their own, and ended with their requester."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys import forks, processes

# Prints a program's view of its process.
LOOKS = """
import json, os, signal, sys, threading
seen = dict(
    argv=sys.argv, orig=sys.orig_argv, path=sys.path, folder=os.getcwd(), name=__name__,
    threads=threading.active_count(), environment=dict(os.environ),
    main=sys.modules["__main__"].__file__,
    command=open("/proc/self/cmdline").read().rstrip("\\0").split("\\0")[1:],
    signals=[str(signal.getsignal(number)) for number in (2, 13, 15, 17)],
)
print(json.dumps(seen))
print("heard", file=sys.stderr)
sys.exit(3)
"""
LASTS = """
import os, select
print(os.getpid(), flush=True)
select.select([], [], [])
"""
# Modules that read the folder or settings on import, or belong to one process alone.
LEFT_OUT = ("evennia.settings_default", "evennia.utils", "twisted.internet.reactor", "numpy")
LOADED = "import sys\nprint([name in sys.modules for name in {!r}])"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder on a game's search path, in the quick profile."""
    monkeypatch.setenv("EVENNIA_AI_TEST_PROFILE", "quick")
    forks.fill(tmp_path / "lib")
    return tmp_path / "lib"


def write(library: Path, text: str) -> list[str]:
    path = library.with_name("program.py")
    path.write_text(text)
    return [str(path), "--lamp=oil", "a b"]


def see(command: list[str], library: Path) -> tuple[int, str, dict[str, Any]]:
    """The exit code of a program, its stderr, and its view of its process."""
    env = {**os.environ, "PYTHONPATH": str(library), "LAMP": "oil"}
    done = subprocess.run(
        command, cwd=library, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr, json.loads(done.stdout)


def test_a_fork_sees_what_a_process_of_its_own_sees(library: Path) -> None:
    program = write(library, LOOKS)
    command = forks.command_of(program, library)
    assert program != command[:3], "tests use forks"
    own, fork = see([sys.executable, *program], library), see(command, library)
    assert (3, "heard\n") == own[:2]
    assert own == fork


def test_nothing_of_one_game_is_loaded_before(library: Path) -> None:
    """No settings and no reactor are imported; the plugin's lowest packages are."""
    program = write(library, LOADED.format((*LEFT_OUT, "evennia_ai.core.settings.paths")))
    done = subprocess.run(
        forks.command_of(program, library), capture_output=True, text=True, check=True, timeout=60
    )
    assert [False] * len(LEFT_OUT) + [True] == json.loads(done.stdout.lower())


def test_a_fork_ends_with_whoever_asked_for_it(library: Path) -> None:
    """A test that gives up on a program leaves none of it running."""
    asker = subprocess.Popen(
        forks.command_of(write(library, LASTS), library), stdout=subprocess.PIPE, text=True
    )
    assert asker.stdout is not None
    number = int(asker.stdout.readline())
    asker.kill()
    asker.communicate(timeout=20)
    processes.wait_for_end(number, 20)


ASKED_TO_END = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *given: sys.exit(7))
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""


def begun(library: Path, log: Path) -> forks.Running:
    """A running program that has written so to the log."""
    log.touch()
    with log.open("ab") as file:
        program = forks.begin(write(library, ASKED_TO_END), library, library, os.environ, file)
    with processes.follow(log) as followed:
        assert str(program.pid) == followed.wait_for(r"ready (\d+)\n", 20)[1]
    return program


def test_a_fork_is_asked_to_end_and_is_killed(library: Path) -> None:
    asked, killed = (begun(library, library.with_name(name)) for name in ("asked", "killed"))
    assert isinstance(asked, forks.Fork), "tests use forks"
    for program, way, code in (
        (asked, asked.terminate, 7),
        (killed, killed.kill, -signal.SIGKILL),
    ):
        assert program.poll() is None
        with pytest.raises(TimeoutError):
            program.wait(0)
        way()
        assert [code, code] == [program.wait(20), program.poll()]
        way()


def test_another_plugin_is_loaded_by_each_process(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed plugin, one without a guard, and the thorough profile use no fork."""
    program = write(library, LOOKS)
    for name, value in (("GUARDS_OUT", "[]"), ("EVENNIA_AI_TEST_PROFILE", "thorough")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert program == forks.command_of(program, library)
    (library / "evennia_ai").unlink()
    assert program == forks.command_of(program, library)
