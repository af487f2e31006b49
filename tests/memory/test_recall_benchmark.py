"""The recall benchmark: validation of its file, and agreement of its figures with prompts."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recall_data import BadFileError, Said, plan, read, seconds_of

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 200
BEGAN = datetime(2026, 1, 5, 18, tzinfo=UTC)
TOLD = (
    ("Tom", "My lantern broke in the flooded quarry.", "Whose lantern broke in the quarry?"),
    ("Mira", "Grandmother Odile taught me to weave baskets.", "Who taught to weave baskets?"),
    ("Tom", "I sold the grey mare to a miller.", "Who was the grey mare sold to?"),
    ("Mira", "The ferryman owes me salted herring.", "What does the ferryman owe of herring?"),
)
# Newer than the answers, and each shares a word with every question, so that neither recency nor
# likeness alone finds the answer.
CHATTER = tuple(
    f"Of lantern, baskets, mare and ferryman nobody spoke on evening {number} of the market."
    for number in range(20, 50)
)
EARLIER = 2


def conversation(**changed: Any) -> dict[str, Any]:
    """Two people over some months: four facts, then small talk; a question for each fact."""
    lines = [(speaker, text) for speaker, text, _ in TOLD]
    lines += [("Tom", text) for text in CHATTER]
    turns = [
        {"id": f"t{number}", "speaker": speaker, "at": _after(number), "text": text}
        for number, (speaker, text) in enumerate(lines)
    ]
    questions = [
        {"text": question, "category": number % 4 + 1, "evidence": [f"t{number}"]}
        for number, (_, _, question) in enumerate(TOLD)
    ]
    talk = {"id": "one", "speakers": ["Tom", "Mira"], "turns": turns, "questions": questions}
    return {**talk, **changed}


def _after(days: int) -> str:
    return (BEGAN + timedelta(days=days)).isoformat()


def _file(folder: Path, content: object) -> Path:
    path = folder / "talks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def _rows(told: list[dict[str, Any]], **wanted: str) -> list[dict[str, Any]]:
    return [row for row in told if wanted.items() <= row.items()]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The output of the command for a small file, run in a process of its own."""
    folder = tmp_path_factory.mktemp("recall")
    command = [sys.executable, "-m", "benchmarks.recall", "--json", "--embeddings", "hashing"]
    command += ["--data", str(_file(folder, [conversation()])), "--earlier", str(EARLIER)]
    command += ["--vectors", str(folder / "vectors")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("protocol", ["soon", "month", "late", "after 0", f"after {EARLIER}"])
def test_what_was_told_is_in_the_prompt_of_who_asks(figures: dict[str, Any], protocol: str) -> None:
    """Much newer talk lies between the fact and the question."""
    (ours,) = _rows(figures["recall"], protocol=protocol, by="ours", of="all")
    assert 1.0 == ours["@6"]
    (prompt,) = _rows(figures["prompt"], protocol=protocol)
    assert 1.0 == prompt["recall"]
    assert 0 < prompt["characters"]


def test_earlier_questions_are_kept_and_counted(figures: dict[str, Any]) -> None:
    """Earlier questions of the same player are not among those that count."""
    asked = {
        row["protocol"]: row["questions"] for row in _rows(figures["recall"], by="ours", of="all")
    }
    assert {"soon": 4, "month": 4, "late": 4, "after 0": 2, f"after {EARLIER}": 2} == asked


def test_the_peers_find_the_same_by_the_same_vectors(figures: dict[str, Any]) -> None:
    """Plain mem0 and the cosine of its vectors must agree."""
    peers = {row["by"]: row for row in _rows(figures["recall"], protocol="late", of="all")}
    assert {"ours", "plain mem0", "cosine"} <= peers.keys()
    assert 1.0 == peers["cosine"]["@5"]
    assert peers["cosine"]["@5"] == peers["plain mem0"]["@5"]


def test_each_category_and_each_cost_has_its_row(figures: dict[str, Any]) -> None:
    late = _rows(figures["recall"], protocol="late", by="ours")
    assert ["all", "multi-hop", "temporal", "open domain", "single-hop"] == [
        row["of"] for row in late
    ]
    (cpu,) = _rows(figures["cpu"], by="ours")
    assert 0 < cpu["search ms"]
    assert 0 < cpu["add ms"]


def test_time_passes_in_order(tmp_path: Path) -> None:
    """A question asked soon comes before later talk, and nothing is said twice."""
    (one,) = plan(read(_file(tmp_path, [conversation()])), None, EARLIER, seed=7)
    steps = one.agenda()
    assert steps == sorted(steps, key=seconds_of)
    assert len(TOLD) + len(CHATTER) == sum(isinstance(step, Said) for step in steps)
    assert not isinstance(steps[2], Said)
    others = one.agenda_of_earlier([EARLIER])
    assert len(TOLD) + len(CHATTER) + EARLIER == sum(isinstance(step, Said) for step in others)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("no JSON", "the whole file: Invalid JSON"),
        ({"turns": []}, "the whole file: Input should be a valid array"),
        ([], "holds no conversation"),
        ([conversation(turns=[])], "0 -> turns: List should have at least 1 item"),
        ([conversation(turns=[{"id": "t0", "speaker": "Tom", "at": "noon", "text": "hi"}])],
         "0 -> turns -> 0 -> at: Input should be a valid datetime"),
        ([conversation(speakers=["Tom", "Ada"])],
         "'one': turn 't1' is said by 'Mira'; it must be 'Tom' or 'Ada'"),
        ([conversation(questions=[{"text": "who?", "category": 1, "evidence": ["t99"]}])],
         "'one': question 1 has the evidence 't99'; it must be the id of a turn"),
        ([conversation(questions=[{"text": "who?", "category": 5, "evidence": ["t1"]}])],
         "0 -> questions -> 0 -> category: Input should be less than or equal to 4"),
        ([conversation(turns=2 * conversation()["turns"])],
         "'one': two turns have the id 't0'; it must be of one"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_where_it_is_bad(tmp_path: Path, content: object, named: str) -> None:
    path = _file(tmp_path, content)
    with pytest.raises(BadFileError) as raised:
        read(path)
    assert str(path) in str(raised.value)
    assert named in str(raised.value)
    assert "must be" in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match=r"none\.json cannot be read: No such file"):
        read(tmp_path / "none.json")
