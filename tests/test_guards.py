"""The table of guards: each can be removed, and its test exists."""

import os
from pathlib import Path

import pytest

from tests.guards import GUARDS, Edit, Guard
from tests.mutants import begin, end, without
from tests.named_tests import find, node_id

FEWEST = 40
STEPS = "test_b1_the_steps_of_a_task_count_over_its_ticks"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.text)
def test_hole_d30_a_guard_can_be_taken_out(guard: Guard) -> None:
    for edit in guard.edits:
        assert without(edit)
    find(guard.test)


def test_hole_d30_every_guard_is_told_apart() -> None:
    assert len({guard.text for guard in GUARDS}) == len(GUARDS) >= FEWEST


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Edit("evennia_ai/errors.py", "no such words", ""), "has it 0 times"),
        (Edit("evennia_ai/errors.py", "class", "klass"), "times: 'class'"),
        (Edit("evennia_ai/engine/checkpoint.py", "REASONS = {", "NONE = {"), "not inside a func"),
    ],
)
def test_hole_d30_what_cannot_be_taken_out_is_said(edit: Edit, words: str) -> None:
    """An outdated row must be an error, not a mutant without an effect."""
    with pytest.raises(ValueError, match=words):
        without(edit)


@pytest.mark.parametrize(
    ("test", "is_noticed"), [(STEPS, True), ("test_b3_the_alert_says_what_to_do", False)]
)
def test_hole_d30_a_missing_guard_is_noticed(tmp_path: Path, test: str, is_noticed: bool) -> None:
    """The tool tells a test that fails without a guard from one that passes."""
    guard = next(each for each in GUARDS if each.test == STEPS)
    child = begin(guard, [node_id(test)], tmp_path)
    finding = end(child, os.waitpid(child.pid, 0)[1])
    assert is_noticed is finding.is_noticed, finding.told
