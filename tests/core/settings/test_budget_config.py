"""Settings of the budget caps."""

import math
from typing import Any

import pytest

from evennia_ai.core.settings.budget import BudgetConfig, Caps, Scope
from evennia_ai.core.settings.model import MOST_KNOWN
from evennia_ai.errors import ConfigurationError


def test_nothing_set_lets_an_owner_sleep() -> None:
    """The defaults cap the tokens of a day for the game, each assistant, each player, the bench."""
    config = BudgetConfig.from_layers({}, {})
    assert BudgetConfig() == config
    tokens = [config.caps_of(scope).tokens_per_day for scope in Scope]
    assert [0, 4_000_000, 1_500_000, 500_000, 200_000] == tokens
    assert [0, 600, 60, 0, 0] == [config.caps_of(scope).calls_per_minute for scope in Scope]
    assert (2, 0.8, "") == (config.calls_in_flight, config.warn_at, config.cost_cap)


def test_what_is_set_takes_the_place_of_the_defaults() -> None:
    config = BudgetConfig.from_layers(
        {"assistant": {"tokens_per_day": 0}, "calls_in_flight": 5, "warn_at": 0.5}, {}
    )
    assert Caps(calls_per_minute=60) == config.assistant
    assert (5, 0.5) == (config.calls_in_flight, config.warn_at)
    assert BudgetConfig().game == config.game


@pytest.mark.parametrize(
    ("cap", "game", "own"),
    [
        pytest.param(1_500_000, {}, {}, id="the default"),
        pytest.param(900_000, {}, {"tokens_per_day": 900_000}, id="its own, over the default"),
        pytest.param(0, {}, {"tokens_per_day": 0}, id="none, over the default"),
        pytest.param(7, {"tokens_per_day": 7}, {}, id="the game's"),
        pytest.param(7, {"tokens_per_day": 7}, {"tokens_per_day": 9}, id="not above the game's"),
        pytest.param(5, {"tokens_per_day": 7}, {"tokens_per_day": 5}, id="tighter than the game's"),
        pytest.param(7, {"tokens_per_day": 7}, {"tokens_per_day": 0}, id="no limit beats no cap"),
        pytest.param(9, {"tokens_per_day": 0}, {"tokens_per_day": 9}, id="where the game has none"),
    ],
)
def test_o15_an_own_cap_never_loosens_what_the_game_sets(
    cap: int, game: dict[str, Any], own: dict[str, Any]
) -> None:
    """0 is no limit, and so more than any number."""
    config = BudgetConfig.from_layers({"assistant": game}, {"assistant": own})
    assert cap == config.assistant.tokens_per_day


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("", {"game": {"tokens_per_day": 5}}, id="tokens"),
        pytest.param(
            "budget_config.player.cost_per_day", {"player": {"cost_per_day": 0.1}}, id="a player's"
        ),
        pytest.param(
            "EVENNIA_AI_BUDGET_CONFIG.game.cost_per_month",
            {"game": {"cost_per_month": 5}},
            id="the game's",
        ),
    ],
)
def test_a_cap_on_money_is_known(path: str, scope: dict[str, Any]) -> None:
    """A refusal for an unknown price names the setting that caps money."""
    config = BudgetConfig.from_layers(scope, {})
    assert path == config.cost_cap
    caps = [config.caps_of(scope) for scope in Scope]
    assert bool(path) is any(each.cost_per_day or each.cost_per_month for each in caps)


GAME = "EVENNIA_AI_BUDGET_CONFIG"
CAPS = "it has tokens_total, tokens_per_day, tokens_per_month, cost_per_day, cost_per_month"
WHOLE = "it must be a whole number from 0 up, 0 for no limit"


@pytest.mark.parametrize(
    ("text", "game", "own"),
    [
        pytest.param(f"{GAME} is 5; it must be a mapping of all_games, ", 5, {}, id="no mapping"),
        pytest.param(f"{GAME} has no key 'gme'; it has all_games, ", {"gme": {}}, {}, id="a typo"),
        pytest.param(f"{GAME}.game is 5; it must be a map", {"game": 5}, {}, id="no caps"),
        pytest.param(f"{GAME}.game has no key 'x'; {CAPS}", {"game": {"x": 1}}, {},
                     id="no such cap"),
        pytest.param(f"{GAME}.assistant.tokens_per_day is -1; {WHOLE}",
                     {"assistant": {"tokens_per_day": -1}}, {}, id="negative"),
        pytest.param("budget_config.assistant.tokens_per_day is True; it must be", {},
                     {"assistant": {"tokens_per_day": True}}, id="yes"),
        pytest.param("budget_config.player.cost_per_day is nan; it must be a number from 0 up", {},
                     {"player": {"cost_per_day": math.nan}}, id="not a number"),
        pytest.param("budget_config has no key 'game'; it has assistant, player", {}, {"game": {}},
                     id="the game's caps are the game's"),
        pytest.param(f"{GAME}.calls_in_flight is 1.5; {WHOLE}", {"calls_in_flight": 1.5}, {},
                     id="broken"),
        pytest.param(f"{GAME}.warn_at is 80; it must be a number from 0 to 1", {"warn_at": 80}, {},
                     id="percent"),
    ],
)  # fmt: skip
def test_l2_what_makes_no_sense_is_refused(text: str, game: Any, own: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        BudgetConfig.from_layers(game, own)
    assert str(caught.value).startswith(text)


def test_what_did_not_change_is_not_read_again() -> None:
    given: dict[str, Any] = {"calls_in_flight": 5}
    first = BudgetConfig.from_stored(given)
    assert first is BudgetConfig.from_stored({"calls_in_flight": 5})
    given["calls_in_flight"] = 7
    assert 7 == BudgetConfig.from_stored(given).calls_in_flight


def test_only_so_many_are_known() -> None:
    for number in range(MOST_KNOWN + 2):
        assert number == BudgetConfig.from_stored({"calls_in_flight": number}).calls_in_flight


def test_the_benchs_money_is_its_own() -> None:
    """A cap on the bench needs prices there alone; a cap on the game needs them everywhere."""
    bench = BudgetConfig.from_layers({"bench": {"cost_per_day": 1.0}}, {})
    assert ("", "EVENNIA_AI_BUDGET_CONFIG.bench.cost_per_day") == (
        bench.cost_cap,
        bench.cost_cap_on_bench,
    )
    game = BudgetConfig.from_layers({"game": {"cost_per_day": 1.0}}, {})
    assert game.cost_cap == game.cost_cap_on_bench == "EVENNIA_AI_BUDGET_CONFIG.game.cost_per_day"
    assert "" == BudgetConfig.from_layers({}, {"player": {"cost_per_day": 1.0}}).cost_cap_on_bench


def test_an_assistant_sets_nothing_of_the_bench() -> None:
    with pytest.raises(ConfigurationError, match="bench"):
        BudgetConfig.from_layers({}, {"bench": {"tokens_per_day": 1}})
