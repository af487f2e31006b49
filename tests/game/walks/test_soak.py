"""A short night of the soak in `benchmarks`: everything goes wrong, and nobody is lost."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.profiles import IS_THOROUGH

ROOT = Path(__file__).parents[3]
MESSAGES = 500 if IS_THOROUGH else 120
GROWTH = 1.05


def night(seed: int) -> dict[str, Any]:
    """The figures of a night, from a process of its own whose time is moved by hand."""
    command = [sys.executable, "-m", "benchmarks.soak", "--json"]
    command += ["--events", str(MESSAGES), "--seed", str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_night_loses_nobody() -> None:
    """Each message comes to one end, no cap is passed, and memory does not grow."""
    figures = night(seed=3)
    assert [] == figures["broken"]
    assert (0, 0, 0) == (figures["lost"], figures["doubled"], figures["over_cap"])
    assert MESSAGES == sum(figures["ends"].values())
    assert {"answered", "excused", "returned", "refused"} <= figures["ends"].keys()
    assert {"crash", "reload", "stop", "reset", "limits", "raise"} <= figures["acts"].keys()
    first, _, last = figures["objects"]
    assert last < first * GROWTH
