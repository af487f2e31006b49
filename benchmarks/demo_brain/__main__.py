"""Newcomers' questions, asked over telnet in a running Lantern Library.

    python -m benchmarks.demo_brain [--half seen unseen ...] [--show] [--model FILE.gguf]

The model is that of `make play`, or a file. Each question comes from a newcomer whom nobody
remembers. An answer is judged by the words that it needs and those that it must not contain.
Answers are shown only for the halves that the model was tuned with; of `unseen`, `check` and `kept`
only the total is shown, so that nobody tunes for them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.demo_brain.questions import SEEN, Question, read
from benchmarks.demo_brain.unseen import UNSEEN
from evennia_ai.llm.endpoints import SCRIPTED
from tests.journeys.clients import Player
from tests.journeys.game import UNHURRIED, Game, make_product_folder
from tests.journeys.staging import run

STATE_DIR = "server/.local_model"
MODEL = "EVENNIA_AI_LOCAL_MODEL"
START_SECONDS, REPLY_SECONDS = 600.0, 60.0
NEWCOMER = "Tom"
HALVES = {
    "seen": SEEN,
    "unseen": UNSEEN,
    "practice": read("practice.txt"),
    "check": read("check.txt"),
    "wordings": read("wordings.txt"),
    "kept": read("kept.txt"),
}
TUNED = ("seen", "practice", "wordings")
LINES = {
    "whisper": "whisper {whom} = {line}",
    "say": "say @{whom} {line}",
    "page": "page {whom} = {line}",
}
ANSWERS = {
    "whisper": '{name} whispers: "(.+)"',
    "say": '{name} says, "(.+)"',
    "page": "{name} pages: (.+)",
}
_FORGET = """
from evennia_ai.memory import forgetting
for script in (ada, brass):
    forgetting.forget_all(script)
character({name!r}).move_to({whom}.obj.location, quiet=True)
told = 'forgotten'
"""
_IS_WARMING = """
from evennia_ai.agent import warming
told = warming.is_under_way()
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question and its answer.

    Attributes:
        seconds: time from the last line to its answer.
    """

    half: str
    question: Question
    answer: str
    seconds: float

    @property
    def is_sensible(self) -> bool:
        """True if the answer has the words it needs and no forbidden one."""
        return self.question.is_sensible(self.answer)


@contextmanager
def running_game(model: str) -> Iterator[Game]:
    """Run the Lantern Library with the embedded model, in a temporary folder.

    Args:
        model: a GGUF file, or "scripted"; "" for that of `make play`.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        Game.make(Path(folder) / "game", make_product_folder) as game,
    ):
        if model == SCRIPTED:
            game.env["EVENNIA_AI_MODEL"] = SCRIPTED
        elif model:
            game.env[MODEL] = str(Path(model).resolve(strict=True))
        if cache := os.environ.get("EVENNIA_AI_CACHE_DIR"):
            game.env["EVENNIA_AI_CACHE_DIR"] = cache
        game.build_product()
        game.settings |= UNHURRIED | {"EVENNIA_AI_CALL_DEADLINE_SECONDS": REPLY_SECONDS}
        local = ("-m", "evennia_ai.llm.local")
        if model != SCRIPTED:
            start = (*local, "start", "--state-dir", STATE_DIR)
            game.run_python(*start, timeout_seconds=START_SECONDS)
        try:
            game.start()
            yield game
        finally:
            game.run_python(*local, "stop", "--state-dir", STATE_DIR)


def wait_until_warm(owner: Player) -> None:
    """Wait until the demo brain has read prompts in advance; a real newcomer looks around first."""
    ends_at = time.monotonic() + START_SECONDS
    while run(owner, _IS_WARMING) == "True" and time.monotonic() < ends_at:
        time.sleep(1.0)


def ask(newcomer: Player, owner: Player, question: Question) -> tuple[str, float]:
    """Return the answer to the last line of a question, and the seconds it took."""
    run(owner, _FORGET.format(name=NEWCOMER, whom=question.whom))
    pattern = ANSWERS[question.way].format(name=question.whom.capitalize())
    answer, began = "", 0.0
    for line in question.says:
        began = time.monotonic()
        sent = LINES[question.way].format(whom=question.whom, line=line)
        try:
            answer = newcomer.ask(sent, f"{pattern}\\r?\\n", REPLY_SECONDS)[1]
        except AssertionError:  # no answer within the time, which counts as not sensible
            answer = ""
    return re.sub(r"\s+", " ", answer), time.monotonic() - began


def measure(halves: list[str], model: str) -> Iterator[Outcome]:
    """Ask all questions of some halves, one after the other."""
    with (
        running_game(model) as game,
        game.log_in_admin() as owner,
        game.open_telnet() as newcomer,
    ):
        newcomer.create_account(NEWCOMER)
        newcomer.log_in(NEWCOMER)
        wait_until_warm(owner)
        for half in halves:
            for question in HALVES[half]:
                yield Outcome(half, question, *ask(newcomer, owner, question))


def report(outcomes: list[Outcome]) -> str:
    """Print for each half the sensible answers, by kind, and the median of the seconds."""
    lines = []
    for half in dict.fromkeys(outcome.half for outcome in outcomes):
        of_half = [outcome for outcome in outcomes if outcome.half == half]
        all_of, good = Counter[str](), Counter[str]()
        for outcome in of_half:
            all_of[outcome.question.kind] += 1
            good[outcome.question.kind] += outcome.is_sensible
        kinds = ", ".join(f"{kind} {good[kind]}/{count}" for kind, count in all_of.items())
        middle = statistics.median(outcome.seconds for outcome in of_half)
        share = good.total() / len(of_half)
        lines.append(
            f"{half:<8} {good.total():>2} of {len(of_half)} sensible ({share:.0%}), "
            f"median {middle:.1f} s: {kinds}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(prog="benchmarks.demo_brain", description=__doc__)
    parser.add_argument("--half", nargs="+", choices=HALVES, default=["seen", "unseen"])
    parser.add_argument("--model", default="", help="a GGUF file, or: scripted")
    parser.add_argument("--show", action="store_true", help="show answers, of tuned halves only")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    outcomes = []
    for outcome in measure(options.half, options.model):
        outcomes.append(outcome)
        if options.show and outcome.half in TUNED:
            mark = "   " if outcome.is_sensible else "BAD"
            print(f"{mark} {outcome.question.says[-1]}\n      {outcome.answer}", flush=True)
    if options.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes]))
    else:
        print(report(outcomes))


if __name__ == "__main__":
    main()
