"""Cost of the embedded store of memories as it grows: searching, adding, and starting again.

    python -m benchmarks.memory [--quick] [--json] [--ours] [--only NAME]

The shapes are one assistant with 10,000 and with 100,000 entries, of which one person may know some
8 of 100; the same 100,000 in one room, so that everybody may know all; and 1,000 assistants with
100 each. Each is filled in bulk, and then searched in another process, under `ulimit -n 1024`.
Vectors are made from words, and those of the questions in advance, so that the store is measured
and not a model. A search is that of a turn: by words, and then by meaning as well. The peer is
plain mem0 on its own embedded Qdrant, with a user for each person. It is left out where it would
only take longer without telling more: with all in one room, and with 1,000 assistants.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.memory_stage import Shape

SHAPES = (
    Shape(1, 10_000, False),
    Shape(1, 100_000, False),
    Shape(1, 100_000, True),
    Shape(1_000, 100, False),
    Shape(1_000, 100, True),
)
QUICK = (Shape(1, 1_000, False), Shape(20, 50, False))
# Bytes of the float32 numbers of one vector.
VECTOR_BYTES = 384 * 4
COLUMNS = (
    "memories | search p50 / p95 | its CPU | add | first search after a start | of every assistant"
    " | RSS | of it vectors | disk | files"
)
Figures = Mapping[str, float]


def step(name: str, shape: Shape, folder: Path) -> Figures:
    """Return the figures of one step, run in its own process."""
    whose = "one" if shape.is_shared else "many"
    numbers = map(str, (shape.assistants, shape.each))
    command = [sys.executable, "-m", "benchmarks.memory_stage", name, str(folder), *numbers, whose]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(shape: Shape, *, with_peer: bool) -> dict[str, Figures]:
    """Return our figures, and those of plain mem0 where it is fast enough."""
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        step("ours-fill", shape, Path(name))
        words, ours = (step(which, shape, Path(name)) for which in ("ours-words", "ours-find"))
        count = shape.assistants * shape.each * VECTOR_BYTES
        figures["ours"] = {**ours, "vectors": (ours["rss"] - words["rss"]) / count}
    if with_peer and shape.assistants == 1 and not shape.is_shared:
        with tempfile.TemporaryDirectory() as name:
            step("peer-fill", shape, Path(name))
            figures["plain mem0"] = step("peer-find", shape, Path(name))
    return figures


def line(name: str, found: Figures) -> str:
    """Return a row of the table."""
    every = f"{found['reopen']:.2f} s" if found.get("reopen_first") else ""
    cells = (
        name,
        f"{found['search_p50']:.2f} / {found['search_p95']:.2f} ms",
        f"{found['search_cpu']:.2f} ms",
        f"{found['add_p50']:.1f} ms",
        f"{found.get('reopen_first', found['reopen']):.2f} s",
        every,
        f"{found['rss'] / 1e6:.0f} MB",
        f"{found['vectors']:.2f} x" if "vectors" in found else "",
        f"{found['disk'] / 1e6:.0f} MB",
        f"{found['descriptors']:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def show(found: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print the table."""
    print(f"| {COLUMNS} |")
    print("|---" * (COLUMNS.count("|") + 1) + "|")
    for shape, sides in found.items():
        for side, figures in sides.items():
            print(line(f"{shape}: {side}", figures))
    print(
        "\nA start's first search: opening, rows, vectors and words, without importing mem0"
        f" ({max(sides['ours']['import'] for sides in found.values()):.1f} s). RSS: with all read."
        "\nof it vectors: next to 384 numbers of 4 bytes each. files: more than the game's own."
    )


def chosen(shapes: Sequence[Shape], name: str) -> list[Shape]:
    """Return the shapes whose name begins so.

    Raises:
        SystemExit: if there is none.
    """
    matches = [shape for shape in shapes if shape.name.startswith(name)]
    if not matches:
        names = "; ".join(shape.name for shape in shapes)
        raise SystemExit(f"--only {name!r} is none of: {names}")
    return matches


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--ours", action="store_true", help="without plain mem0")
    parser.add_argument("--only", default="", help="those whose name begins so: '1 x 100,000'")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    load, figures = os.getloadavg()[0], {}
    for shape in chosen(QUICK if options.quick else SHAPES, options.only):
        figures[shape.name] = measure(shape, with_peer=not options.ours)
    if options.json:
        print(json.dumps(figures))
        return
    print(f"load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}\n")
    show(figures)


if __name__ == "__main__":
    main()
