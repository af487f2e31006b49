"""The ways in which an answer can come too late, and their settings."""

import pytest

from evennia_ai.core.hearing.staleness import StaleAnswers, Staleness
from evennia_ai.errors import ConfigurationError


def test_each_way_is_a_setting_with_words() -> None:
    assert set(StaleAnswers.model_fields) == {each.value for each in Staleness}
    assert all("{name}" in each.text for each in Staleness)


@pytest.mark.parametrize(
    ("key", "way"),
    [
        pytest.param("asker_gone", "whisper", id="nobody whispers to who has gone"),
        pytest.param("room_changed", "shout", id="no way at all"),
        pytest.param("topic_closed", "wait", id="whoever is there need not come back"),
    ],
)
def test_a_way_that_is_none(key: str, way: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        StaleAnswers.from_stored({key: way})
