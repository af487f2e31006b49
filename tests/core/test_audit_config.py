"""How long records are kept, as it is set."""

from __future__ import annotations

import pytest

from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.errors import ConfigurationError


def test_what_is_set_takes_the_place_of_the_default() -> None:
    """Nothing set is the default."""
    assert AuditConfig() == AuditConfig.from_stored({})
    given = {"keep_days": 7.5, "keep_events": 10, "archive_folder": "old", "keep_archives": 3}
    assert given == AuditConfig.from_stored(given).model_dump()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param([], "EVENNIA_AI_AUDIT_CONFIG is []; it must be a mapping", id="no mapping"),
        pytest.param({"days": 3}, "has no key 'days'; it has keep_days", id="unknown key"),
        pytest.param({"keep_days": -1}, r"keep_days is -1.*0 for ever", id="negative"),
        pytest.param({"keep_events": 1.5}, r"keep_events is 1.5.*whole.*0 for all", id="no whole"),
        pytest.param({"keep_archives": True}, "keep_archives is True", id="yes is no number"),
        pytest.param(
            {"archive_folder": ""}, "must be a text, such as server/ai_archive", id="no folder"
        ),
        pytest.param(
            {"archive_folder": 3}, "must be a text, such as server/ai_archive", id="a number"
        ),
    ],
)
def test_what_is_wrong_is_told(given: object, text: str) -> None:
    """The text names the path and what would be right."""
    with pytest.raises(ConfigurationError, match=text.replace("[]", r"\[\]")):
        AuditConfig.from_stored(given)
