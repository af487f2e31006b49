"""The mother that a test worker has its games' processes forked of, begun when first asked."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
# What the floors of tests/test_floors.py keep free of Evennia, of Django and of the clock.
ROOMS = tuple(f"evennia_ai.{room}" for room in ("core", "engine", "errors", "resilience"))
COMMAND_BYTES = 4096
START_SECONDS, LOOK_SECONDS = 90.0, 0.01


def command_of(program: Sequence[str], library: Path) -> list[str]:
    """The command that runs a Python program in a fork, or the program where it may be none.

    None is used where this is no test, at night, when every process loads for itself what it needs,
    and where it would have loaded something else than the game: a plugin that is installed, or one
    without a guard.

    Args:
        program: a script of this environment, and its arguments.
        library: the folder in front of a game's search path.
    """
    plugin = library / "evennia_ai"
    is_as_usual = (
        "PYTEST_VERSION" in os.environ
        and os.environ.get("EVENNIA_AI_TEST_PROFILE", "quick") == "quick"
        and "GUARDS_OUT" not in os.environ
        and plugin.resolve() == ROOT / "evennia_ai"
    )
    if not is_as_usual:
        return list(program)
    return [sys.executable, "-I", "-S", str(HERE / "born.py"), str(_mother()), *program]


def fill(library: Path) -> None:
    """Make the folder in front of a game's search path: the plugin, and what is read first."""
    library.mkdir()
    (library / "evennia_ai").symlink_to(ROOT / "evennia_ai")
    shutil.copy(HERE / "sitecustomize.py", library)


@cache
def _mother() -> Path:
    """The socket of this process's mother."""
    folder = Path(tempfile.mkdtemp(prefix="evennia-ai-mother-"))
    fill(folder / "lib")
    path = folder / "socket"
    padding = "-" * COMMAND_BYTES
    process = subprocess.Popen(
        [sys.executable, str(HERE / "mother.py"), str(path), padding, *ROOMS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "lib")},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def end() -> None:
        process.communicate(timeout=20)
        shutil.rmtree(folder)

    atexit.register(end)
    ends = time.monotonic() + START_SECONDS
    while not path.exists():
        assert process.poll() is None, "the mother of games ended before she was asked"
        assert time.monotonic() < ends, "the mother of games is not ready"
        time.sleep(LOOK_SECONDS)
    return path
