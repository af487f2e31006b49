"""Our whole reply compared with `evennia.contrib.rpg.llm`, in one run, on the same model server.

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

from benchmarks.scene import CONTENDERS, crowd_of
from tests.calls import BETWEEN, LAYERS
from tests.fakes.handle import FakeModel

ROOT = Path(__file__).resolve().parents[1]
SCENE = [sys.executable, "-m", "benchmarks.scene"]
MOST_EACH = 10  # questions to one character, in about a minute
ROWS = (
    ("CPU per reply, warm", "cpu_ms_per_reply", "ms", "at most 2, without memory 1.3"),
    ("including work it leaves for later", "cpu_ms_with_deferred", "ms", ""),
    ("Python calls per reply", "calls_per_reply", "", ""),
    ("in functions of the package", "own_calls_per_reply", "", "at most 1,200"),
    ("of these, from one module into another", "changes_per_reply", "", "at most 400"),
    ("functions of the package that run", "own_functions", "", ""),
    ("modules involved", "own_modules", "", "at most 60"),
    ("SQL statements per reply, including later ones", "sql_per_reply", "", ""),
    ("of these, that read or write rows", "sql_rows_per_reply", "", "at most 10"),
    ("replies a second, 20 in flight", "replies_per_second", "", ""),
    ("everybody asked at once, model 1.0 s", "burst_seconds", "s", "3 s for 1,000"),
    ("unanswered", "burst_unanswered", "", "0"),
    ("reactor lag meanwhile, p99", "burst_lag_p99_ms", "ms", "under 20 ms"),
    ("SQL statements per 1,000 idle beats", "sql_per_1000_idle_ticks", "", "0"),
    ("model calls while idle", "idle_model_calls", "", "0"),
    ("memory per idle assistant", "kb_per_idle_assistant", "KB", "under 60 KB"),
    ("start of all assistants", "start_seconds", "s", "2 s for 1,000"),
)


def run_round(game: Path, model: FakeModel, contender: str, options: argparse.Namespace) -> Any:
    """Run one contender in its own process, on a fresh copy of the database."""
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
    """Return the figures of the round with the least CPU per reply."""
    return min(rounds, key=lambda figures: figures["cpu_ms_per_reply"])


def as_table(found: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown table: ours as shipped and without memory, with their ratios."""
    contrib = found["contrib"]
    lines = [
        "| | as shipped | ratio | memory off | ratio | contrib.rpg.llm | aim |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for name, key, unit, aim in ROWS:
        right = contrib.get(key)
        cells = [name]
        for contender in ("ours", "without_memory"):
            left = found[contender].get(key)
            cells += [f"{left} {unit}".strip(), f"{left / right:.2f}" if right and left else ""]
        cells += ["-" if right is None else f"{right} {unit}".strip(), aim]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_layer(found: dict[str, dict[str, Any]]) -> str:
    """Return the Python calls of each layer of a reply, and their ratio to all of the contrib's."""
    whole = found["contrib"]["calls_per_reply"]
    lines = ["| layer | as shipped | ratio | memory off | ratio |", "|---|--:|--:|--:|--:|"]
    for layer in (*LAYERS, BETWEEN):
        counts = [found[name]["calls_by_layer"].get(layer, 0) for name in CONTENDERS[:2]]
        cells = [f"{count:.0f} | {count / whole:.2f}" for count in counts]
        lines.append(f"| {layer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Build the crowd, let the contenders take turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", type=crowd_of, default=1000)
    parser.add_argument("--warm", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.warm > MOST_EACH * options.crowd:
        parser.error(f"--warm is at most {MOST_EACH} times --crowd: rate limits would refuse more")
    results: dict[str, list[dict[str, Any]]] = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder, FakeModel.in_process() as model:
        game = Path(folder)
        subprocess.run(
            [*SCENE, "build", "--game", folder, "--crowd", str(options.crowd)], cwd=ROOT, check=True
        )
        for _ in range(options.rounds):
            for contender, rounds in results.items():
                rounds.append(run_round(game, model, contender, options))
    title = f"{options.crowd} characters, best of {options.rounds}"
    print(f"Python {platform.python_version()}, {title}")
    figures = {contender: best(rounds) for contender, rounds in results.items()}
    print(as_table(figures))
    print("\nPython calls of the game's thread, by layer; memory's own threads are in CPU alone.\n")
    print(by_layer(figures))


if __name__ == "__main__":
    main()
