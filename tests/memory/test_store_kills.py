"""Processes killed while they remember or move: nothing is lost, all stays consistent."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.memory.store_support import python
from tests.profiles import IS_THOROUGH

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = 400 if IS_THOROUGH else 20
# The last commit whose games have a folder of vectors.
OLD = "1431d35f9d0829c28de4eb49425c4a3935778e55"
COUNT = 5_000 if IS_THOROUGH else 500


def run(folder: Path, *arguments: str, root: Path = ROOT) -> list[dict[str, object]]:
    """Run a module of the tests, and return the JSON lines that it printed.

    Args:
        folder: for temporary files, which a killed process does not remove.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("EVENNIA_AI")}
    ended = subprocess.run(
        python("-m", *arguments),
        cwd=root,
        env={**env, "PYTHONPATH": str(root), "MEM0_TELEMETRY": "False", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert 0 == ended.returncode, ended.stderr[-3000:]
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def test_killed_at_many_moments(tmp_path: Path) -> None:
    """Each stored row is found; it has its vector and is marked so, or waits for one.

    A killed move goes on where it stopped; a locked database is waited for.
    """
    lines = run(tmp_path, "tests.memory.store_killer", str(tmp_path / "game"), str(MOMENTS))
    assert [] == [line for line in lines if line["problem"]]
    assert {"remember": MOMENTS, "move": MOMENTS, "lock": 1} == Counter(
        line["act"] for line in lines
    )
    for act in ("remember", "move"):
        middle = [line for line in lines if line["act"] == act and 0 < int(str(line["told"])) < 10]
        assert middle, "none was killed in the middle"


def test_a_game_of_before_moves_over(tmp_path: Path) -> None:
    """The old code makes the game; the present one migrates it and moves its vectors."""
    archive = subprocess.run(["git", "archive", OLD], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip("the history lacks the code of before: NOT tested here")
    old = tmp_path / "old"
    old.mkdir()
    subprocess.run(["tar", "-x"], cwd=old, input=archive.stdout, check=True)
    script = old / "tests" / "memory" / "old_game.py"
    script.write_text((ROOT / "tests" / "memory" / "old_game.py").read_text())
    run(tmp_path, "tests.memory.old_game", "make", str(tmp_path / "game"), str(COUNT), root=old)
    (report,) = run(tmp_path, "tests.memory.old_game", "move", str(tmp_path / "game"), str(COUNT))
    assert f"{COUNT} vectors copied." in str(report["said"])
    assert (COUNT, COUNT, 0, 0) == tuple(report[n] for n in ("kept", "same", "waiting", "missing"))
