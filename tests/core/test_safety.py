"""Errors in a row."""

from __future__ import annotations

import pytest

from evennia_ai.core.safety import is_error_limit_reached


@pytest.mark.parametrize(
    ("expected", "errors", "limit"),
    [
        pytest.param(False, 0, 5, id="none"),
        pytest.param(False, 4, 5, id="one below"),
        pytest.param(True, 5, 5, id="exactly"),
        pytest.param(True, 6, 5, id="above"),
        pytest.param(False, 0, 0, id="a limit of 0 does not stop a healthy assistant"),
        pytest.param(True, 1, 0, id="a limit of 0 counts as 1"),
        pytest.param(True, 1, -3, id="a limit below 0 counts as 1"),
    ],
)
def test_error_limit(expected: bool, errors: int, limit: int) -> None:
    """The emergency stop comes at the limit, and never without an error."""
    assert expected is is_error_limit_reached(errors, limit)
