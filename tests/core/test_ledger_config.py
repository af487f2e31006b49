"""Where the ledger is, as it is set."""

from __future__ import annotations

import pytest

from evennia_ai.core.settings.services import LedgerConfig
from evennia_ai.errors import ConfigurationError


def test_nothing_set_is_the_games_own_database() -> None:
    """No other game is in it, and nothing is set aside."""
    config = LedgerConfig.from_stored({})
    assert LedgerConfig() == config
    assert (False, 0, 0.0) == (config.is_shared, config.reserve_tokens, config.reserve_dollars)


def test_another_database_is_shared() -> None:
    """As it is set."""
    given = {"database": "ledger", "game": "lantern", "reserve_tokens": 5_000}
    config = LedgerConfig.from_stored(given)
    assert config.is_shared
    assert given == config.model_dump(exclude_unset=True)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param([], "EVENNIA_AI_LEDGER_CONFIG is []; it must be a mapping", id="no mapping"),
        pytest.param({"alias": "x"}, "has no key 'alias'; it has database", id="unknown key"),
        pytest.param({"database": " "}, "not an empty one", id="no name"),
        pytest.param({"database": "ledger"}, "a name that no other game has", id="no game"),
        pytest.param({"reserve_tokens": -1}, "reserve_tokens is -1", id="negative"),
        pytest.param({"reserve_tokens": 9}, "0 where the ledger is in the game's own", id="own"),
        pytest.param(
            {"database": "ledger", "game": "lantern", "reserve_dollars": 2},
            "reserve_dollars is 2.0; it must be 0 where reserve_tokens is 0",
            id="no tokens",
        ),
    ],
)
def test_what_is_wrong_is_told(given: object, text: str) -> None:
    """The text names the path and what would be right."""
    with pytest.raises(ConfigurationError, match=text.replace("[]", r"\[\]")):
        LedgerConfig.from_stored(given)
