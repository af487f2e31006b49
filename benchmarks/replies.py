"""Our whole path beside `evennia.contrib.rpg.llm`, in one run, against the same server.

    python -m benchmarks.replies [--crowd 1000] [--warm 2000] [--rounds 3]

A reply is everything from the question to the listener hearing the answer: hear, queue durably,
tick, model call over HTTP, tool, speech, settle. The contenders take turns; the best round of each
counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fakes.handle import FakeModel

ROOT = Path(__file__).resolve().parents[1]
SCENE = [sys.executable, "-m", "benchmarks.scene"]
ROWS = (
    ("CPU per reply, warm", "cpu_ms_per_reply", "ms", "not above the contrib's"),
    ("replies a second, 20 in flight", "replies_per_second", "", ""),
    ("everybody asked at once, model 1.0 s", "burst_seconds", "s", "3 s for 1,000"),
    ("of these unanswered", "burst_unanswered", "", "0"),
    ("reactor lag meanwhile, p99", "burst_lag_p99_ms", "ms", "under 50 ms"),
    ("SQL statements per reply", "sql_per_reply", "", ""),
    ("SQL statements per 1,000 idle beats", "sql_per_1000_idle_ticks", "", "0"),
    ("model calls while idle", "idle_model_calls", "", "0"),
    ("memory per idle assistant", "kb_per_idle_assistant", "KB", "under 100 KB"),
    ("start of all assistants", "start_seconds", "s", ""),
)


def run_round(game: Path, model: FakeModel, contender: str, options: argparse.Namespace) -> Any:
    """One contender in a process of its own, on a fresh copy of the database."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(game, folder, dirs_exist_ok=True)
        model.reset()
        arguments = ["--game", folder, "--crowd", str(options.crowd), "--warm", str(options.warm)]
        arguments += ["--contender", contender, "--model", f"{model.port},{model.control_port}"]
        ran = subprocess.run(
            [*SCENE, "measure", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{contender} ended without figures:\n{ran.stderr[-3000:]}")
    return json.loads(lines[-1])


def best(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of the round with the least CPU per reply."""
    return min(rounds, key=lambda figures: figures["cpu_ms_per_reply"])


def as_table(ours: dict[str, Any], contrib: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = ["| | evennia_ai | contrib.rpg.llm | ratio | aim |", "|---|---|---|---|---|"]
    for name, key, unit, aim in ROWS:
        left, right = ours.get(key), contrib.get(key)
        if left is None:
            continue
        ratio = f"{left / right:.2f}" if right and left else ""
        shown = "-" if right is None else f"{right} {unit}".strip()
        lines.append(f"| {name} | {f'{left} {unit}'.strip()} | {shown} | {ratio} | {aim} |")
    return "\n".join(lines)


def main() -> None:
    """Build the crowd, let the contenders take turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "contrib": []}
    with tempfile.TemporaryDirectory() as folder, FakeModel.in_process() as model:
        game = Path(folder)
        subprocess.run(
            [*SCENE, "build", "--game", folder, "--crowd", str(options.crowd)], cwd=ROOT, check=True
        )
        for _ in range(options.rounds):
            for contender, rounds in found.items():
                rounds.append(run_round(game, model, contender, options))
    title = f"{options.crowd} characters, best of {options.rounds}"
    print(f"Python {platform.python_version()}, {title}")
    print(as_table(best(found["ours"]), best(found["contrib"])))


if __name__ == "__main__":
    main()
