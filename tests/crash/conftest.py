"""The process that plays scenes, shared by all tests of a module."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 20
Play = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Plays a scene, killed at each of its moments, and returns the findings."""
    folder = tmp_path_factory.mktemp("crash")
    command = [sys.executable, "-m", "tests.crash.harness", str(folder)]
    complaints = folder / "complaints"
    with complaints.open("w") as errors:
        harness = subprocess.Popen(
            command, cwd=ROOT, text=True, stderr=errors, stdin=-1, stdout=-1, bufsize=1
        )

    def ask(scene: str) -> dict[str, Any]:
        assert harness.stdin is not None
        assert harness.stdout is not None
        assert harness.poll() is None, complaints.read_text()
        harness.stdin.write(f"{scene}\n")
        line = harness.stdout.readline()
        assert line, complaints.read_text()
        answer: dict[str, Any] = json.loads(line)
        return answer

    yield ask
    harness.communicate(timeout=END_SECONDS)
    assert 0 == harness.returncode, complaints.read_text()
