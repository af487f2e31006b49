"""Every case of safety is a test."""

from __future__ import annotations

import pytest

from tests.safety_cases import CASES, find_tests


@pytest.mark.parametrize("case", CASES)
def test_a_case_has_a_test_of_its_name(case: str) -> None:
    """Somewhere a test begins with its id."""
    assert case in {found for found, _, _ in find_tests()}
