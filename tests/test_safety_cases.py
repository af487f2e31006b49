"""Every safety case and every closed hole has a test."""

import pytest

from tests import holes, safety_cases


@pytest.mark.parametrize("case", safety_cases.CASES)
def test_a_case_has_a_test_of_its_name(case: str) -> None:
    assert case in {name for name, _, _ in safety_cases.find_tests()}


@pytest.mark.parametrize("hole", holes.HOLES)
def test_a_hole_has_a_test_of_its_name(hole: str) -> None:
    assert hole in {name for name, _, _ in holes.find_tests()}
