"""The place of work that nobody waits for, as a game sets it."""

from __future__ import annotations

from typing import Any

import pytest

from evennia_ai.core.settings.workers import WorkersConfig
from evennia_ai.errors import ConfigurationError

NAME = WorkersConfig.NAME


def test_nothing_set_is_no_workers() -> None:
    """The game does the work itself; whole numbers may be written as 4.0."""
    assert "" == WorkersConfig.from_stored({}).engine
    assert 4 == WorkersConfig.from_stored({"calls_at_once": 4.0}).calls_at_once


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"engine": "celery"}, f"{NAME}.engine is 'celery'; it must be", id="engine"),
        pytest.param({"workers": 3}, f"{NAME} has no key 'workers'", id="unknown"),
        pytest.param({"attempts": 0}, f"{NAME}.attempts is 0; it must be", id="never"),
        pytest.param({"poll_seconds": 0}, f"{NAME}.poll_seconds is 0; it must be", id="no wait"),
        pytest.param({"heartbeat_seconds": "1"}, "heartbeat_seconds is '1'", id="a text"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(given: Any, told: str) -> None:
    """And with what would be right."""
    with pytest.raises(ConfigurationError) as found:
        WorkersConfig.from_stored(given)
    assert told in str(found.value)
