"""Readers of a model's words, and the worst shape of text for each, in ms for a megabyte.

    python -m benchmarks.parsers [--length 1000000] [--rounds 3] [--aim 50]

CPU time of one thread, the best of some rounds; values above the aim are marked. Texts are
degenerate on purpose: brackets, newlines, quotes and marks without end, and much more
(`tests.parsers`). The tests count steps instead of time.
"""

from __future__ import annotations

import argparse
import gc
import platform
import time

from tests import evennia_setup, parsers
from tests.parsers import Parser


def milliseconds(parser: Parser, text: str, rounds: int) -> float:
    """Return the CPU time of one call, at best."""
    taken = []
    for _ in range(rounds):
        gc.collect(0)
        began = time.process_time()
        parser(text)
        taken.append(1000 * (time.process_time() - began))
    return min(taken)


def worst(parser: Parser, length: int, rounds: int) -> tuple[float, str]:
    """Return the milliseconds and the name of the shape that takes longest."""
    first = sorted(
        ((milliseconds(parser, text, 1), name) for name, text in parsers.shapes(length)),
        reverse=True,
    )
    again = [
        (milliseconds(parser, parsers.SHAPES[name].text(length), rounds), name)
        for _, name in first[:3]
    ]
    return max(again)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--aim", type=float, default=50.0)
    options = parser.parse_args()
    with evennia_setup.fresh_database():
        table = {**parsers.PARSERS, **parsers.of_the_game()}
        shapes = f"{len(parsers.SHAPES)} shapes"
        print(f"Python {platform.python_version()}, {options.length:,} characters, {shapes}")
        print("| parser | worst shape | ms | |\n|---|---|---|---|")
        for name, function in table.items():
            took, shape = worst(function, options.length, options.rounds)
            mark = f"above {options.aim:g}" if took > options.aim else ""
            print(
                f"| {name} | {shape.replace('|', chr(92) + '|')} | {took:.1f} | {mark} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
