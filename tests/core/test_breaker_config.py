"""When a model's service is left alone, as it is set."""

from __future__ import annotations

import pytest

from evennia_ai.core.settings.services import BreakerConfig
from evennia_ai.errors import ConfigurationError


def test_what_is_set_takes_the_place_of_the_default() -> None:
    """Nothing set is the default."""
    assert BreakerConfig() == BreakerConfig.from_stored({})
    given = {
        "attempts": 3,
        "failure_threshold": 8,
        "failure_rate": 0,
        "least_calls": 20,
        "window_seconds": 60,
        "timeout_seconds": 0.5,
        "success_threshold": 2,
        "max_probes": 4,
    }
    assert given == BreakerConfig.from_stored(given).model_dump()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(5, "EVENNIA_AI_BREAKER_CONFIG is 5; it must be a mapping", id="no mapping"),
        pytest.param({"rate": 1}, "has no key 'rate'; it has attempts, failure_thr", id="unknown"),
        pytest.param(
            {"attempts": 0}, "attempts is 0; it must be a whole number from 1 up", id="no attempt"
        ),
        pytest.param({"attempts": 1.5}, "attempts is 1.5; it must be a whole", id="no whole"),
        pytest.param({"failure_rate": 1.2}, "failure_rate is 1.2.* from 0 to 1", id="above all"),
        pytest.param({"failure_rate": -1}, "failure_rate is -1.*0 for any", id="below none"),
        pytest.param({"window_seconds": 0}, "window_seconds is 0.*above 0", id="no time"),
        pytest.param({"max_probes": True}, "max_probes is True", id="yes is no number"),
    ],
)
def test_what_is_wrong_is_told(given: object, text: str) -> None:
    """The text names the path and what would be right."""
    with pytest.raises(ConfigurationError, match=text):
        BreakerConfig.from_stored(given)
