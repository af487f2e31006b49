"""Settings of safety: accepted values, and refusals that name the path (L2)."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from evennia_ai.core.safety.limits import LIMITS, LimitKind, Mode
from evennia_ai.core.settings.safety import (
    Checks,
    Cooling,
    CoolingMode,
    Loop,
    OnLimit,
    Oversize,
    SafetyConfig,
    Size,
    Timeout,
)
from evennia_ai.core.settings.schema import known_keys, schema_of
from evennia_ai.errors import ConfigurationError

DEFAULTS = SafetyConfig()
SCHEMAS = {
    f"{section}.{name}": schema
    for section, below in known_keys(schema_of(SafetyConfig)).items()
    for name, schema in known_keys(below).items()
}
NUMBERS = [name for name, schema in SCHEMAS.items() if schema["type"] in ("integer", "number")]
WHOLE = [name for name in NUMBERS if SCHEMAS[name]["type"] == "integer"]
RANGES = {
    "timeout.wrap_up_seconds": "above 0",
    "cooling.people": "from 2 up",
    "checks.window": "from 0 to 100",
}
NOTES = {
    "on_limit.auto_extend_times": "0 for never",
    "on_limit.ask_timeout_seconds": "0 to wait for ever",
    "timeout.wrap_up_seconds": "so that the last call always has its end",
    "cooling.people": "or cooling.mode 'lock', which locks whoever asked",
    "cooling.window_seconds": "0 for: only what comes at the same moment",
    "cooling.first_seconds": "0 for no wait at all",
    "cooling.longest_seconds": "0 for no wait at all",
}


def told_of(name: str, value: Any) -> str:
    kind = "a whole number" if name in WHOLE else "a number"
    wanted = f"{kind} {RANGES.get(name, 'from 0 up')}, {NOTES.get(name, '0 for no limit')}"
    return f"safety_config.{name} is {value!r}; it must be {wanted}"


def given(name: str, value: Any) -> dict[str, Any]:
    section, key = name.split(".")
    return {section: {key: value}}


def value_of(config: SafetyConfig, name: str) -> Any:
    section, key = name.split(".")
    return getattr(getattr(config, section), key)


def refusal_of(game: Any, own: Any) -> str:
    with pytest.raises(ConfigurationError) as refusal:
        SafetyConfig.from_layers(game, own)
    return str(refusal.value)


def test_the_defaults_are_the_documented_ones() -> None:
    expected = SafetyConfig(
        on_limit=OnLimit(
            mode=Mode.INTERACTIVE, auto_extend_times=1, ask_timeout_seconds=60.0, modes={}
        ),
        loop=Loop(
            max_model_calls_per_tick=20,
            max_tool_calls_per_context=25,
            max_context_visits=25,
            max_iterations_per_task=50,
            max_tokens_per_task=100_000,
            max_delegations_per_task=5,
            max_own_turns=25,
        ),
        timeout=Timeout(tick_seconds=0.0, delegation_seconds=60.0, wrap_up_seconds=20.0),
        size=Size(message_characters=2000, on_oversize=Oversize.CUT, summary_tokens=1500),
        checks=Checks(
            same_failures=3, same_successes=3, failures_in_a_row=5, window=10, anomalies=8
        ),
        cooling=Cooling(
            mode=CoolingMode.COOL_OFF,
            people=2,
            window_seconds=3600.0,
            first_seconds=60.0,
            longest_seconds=3600.0,
        ),
    )
    assert expected == SafetyConfig.from_layers({}, {})
    assert 23 == len(NUMBERS)


@pytest.mark.parametrize("value", [-1, -0.5, True, False, math.nan, math.inf, -math.inf, "5", ""])
@pytest.mark.parametrize("name", NUMBERS)
def test_l2_what_is_no_number_from_0_up_is_refused(name: str, value: Any) -> None:
    assert told_of(name, value) == refusal_of({}, given(name, value))


@pytest.mark.parametrize("value", [None, [5], {"a": 1}, b"5", 1 + 0j], ids=repr)
@pytest.mark.parametrize("name", NUMBERS)
def test_l2_nor_anything_else(name: str, value: Any) -> None:
    """No type of value may crash the reader."""
    assert f"safety_config.{name} is {value!r}; it must be" in refusal_of({}, given(name, value))


@pytest.mark.parametrize("name", WHOLE)
def test_l2_a_part_of_a_whole_is_refused(name: str) -> None:
    assert "it must be a whole number" in refusal_of({}, given(name, 2.5))
    value = value_of(SafetyConfig.from_layers({}, given(name, 9.0)), name)
    assert (9, int) == (value, type(value))


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - set(WHOLE)))
def test_a_part_of_a_second_is_taken(name: str) -> None:
    assert 2.5 == value_of(SafetyConfig.from_layers({}, given(name, 2.5)), name)
    value = value_of(SafetyConfig.from_layers({}, given(name, 9)), name)
    assert (9.0, float) == (value, type(value))


def test_l2_a_number_of_any_size_is_judged() -> None:
    assert "max_own_turns is 1000" in refusal_of({}, {"loop": {"max_own_turns": 10**400}})
    large = SafetyConfig.from_layers({}, {"loop": {"max_own_turns": 10**300}})
    assert 10**300 == large.loop.max_own_turns


@pytest.mark.parametrize("name", NUMBERS)
def test_l2_0_is_one_thing(name: str) -> None:
    """0 means off everywhere except in these two places."""
    if name in ("timeout.wrap_up_seconds", "cooling.people"):
        assert told_of(name, 0) == refusal_of({}, given(name, 0))
    else:
        assert 0 == value_of(SafetyConfig.from_layers({}, given(name, 0)), name)


@pytest.mark.parametrize(
    ("told", "settings"),
    [
        pytest.param(
            "safety_config has no key 'loops'; it has on_limit, loop, timeout, size, checks",
            {"loops": {}},
            id="a section",
        ),
        pytest.param(
            "safety_config.timeout has no key 'tick'; it has tick_seconds, delegation_seconds",
            {"timeout": {"tick": 5}},
            id="a key",
        ),
        pytest.param("safety_config has no key 5; it has", {5: {}}, id="a key that is not text"),
        pytest.param("safety_config is None; it must be a mapping of", None, id="nothing"),
        pytest.param("safety_config is [1]; it must be a mapping of", [1], id="a list"),
        pytest.param("safety_config.loop is 5; it must be a mapping of", {"loop": 5}, id="no map"),
        pytest.param(
            "safety_config.on_limit.mode is 'ask'; it must be one of interactive, auto_extend",
            {"on_limit": {"mode": "ask"}},
            id="an unknown mode",
        ),
        pytest.param("on_limit.mode is 'Interactive'; it", {"on_limit": {"mode": "Interactive"}},
                     id="case"),
        pytest.param("on_limit.mode is None; it", {"on_limit": {"mode": None}}, id="no mode"),
        pytest.param(
            "safety_config.on_limit.modes is 'unattended'; it must be a mapping of max_iterations",
            {"on_limit": {"modes": "unattended"}},
            id="modes that are one",
        ),
        pytest.param("on_limit.modes.model_calls is 'no'; it must be one of interactive,",
                     {"on_limit": {"modes": {"model_calls": "no"}}},
                     id="an unknown mode of one limit"),
        pytest.param("on_limit.modes has no key 'max_steps'; it has max_iterations, model_calls",
                     {"on_limit": {"modes": {"max_steps": "unattended"}}}, id="an unknown limit"),
        pytest.param("size.on_oversize is 'drop'; it must be one of cut, deny, ask, allow",
                     {"size": {"on_oversize": "drop"}}, id="an unknown way"),
        pytest.param("cooling.mode is 'wait'; it must be one of cool_off, lock",
                     {"cooling": {"mode": "wait"}}, id="an unknown way to cool off"),
        pytest.param("safety_config.cooling.people is 1; it must be a whole number from 2 up",
                     {"cooling": {"people": 1}}, id="a crowd of one"),
        pytest.param("checks.anomalies is 11; it must be at most checks.window, which is 10",
                     {"checks": {"anomalies": 11}}, id="more anomalies than operations"),
        pytest.param("safety_config.checks.window is 101; it must be a whole number from 0 to 100",
                     {"checks": {"window": 101}}, id="too long a memory"),
        pytest.param("checks.same_successes is 1; it must be 0 for off, or above 1",
                     {"checks": {"same_successes": 1}}, id="once is no repetition"),
    ],
)  # fmt: skip
def test_l2_what_makes_no_sense_is_refused(told: str, settings: Any) -> None:
    assert told in refusal_of({}, settings)


@pytest.mark.parametrize(
    "checks",
    [
        pytest.param({"window": 100}, id="the longest memory"),
        pytest.param({"anomalies": 10}, id="as many as there are"),
        pytest.param({"window": 8}, id="as short as can be"),
        pytest.param({"window": 0}, id="no window at all"),
        pytest.param({"same_successes": 2}, id="twice"),
        pytest.param({"same_failures": 1}, id="one failure"),
    ],
)
def test_l2_the_ends_of_what_makes_sense_are_taken(checks: dict[str, int]) -> None:
    config = SafetyConfig.from_layers({}, {"checks": checks}).checks
    assert checks == {key: getattr(config, key) for key in checks}


@pytest.mark.parametrize(
    "kind", [pytest.param(k, id=k.value) for k in LimitKind if not LIMITS[k].asks]
)
def test_l2_a_mode_that_would_do_nothing_is_refused(kind: LimitKind) -> None:
    """Requirement R27: a limit that is never extended has no mode."""
    problem = refusal_of({}, {"on_limit": {"modes": {kind.value: "interactive"}}})
    assert f"safety_config.on_limit.modes has no key '{kind.value}'; it has max_" in problem


def test_l2_nothing_is_taken_of_what_is_refused() -> None:
    wrong = {"loop": {"max_own_turns": 3, "max_delegations_per_task": -1}}
    with pytest.raises(ConfigurationError):
        SafetyConfig.from_layers({}, wrong)
    assert 25 == SafetyConfig.from_layers({}, {}).loop.max_own_turns
    assert SafetyConfig.from_layers({}, {}) == DEFAULTS == SafetyConfig()


def test_l2_the_games_own_mistake_is_named_as_such() -> None:
    problem = refusal_of({"size": {"summary_tokens": -5}}, {})
    assert problem.startswith("EVENNIA_AI_SAFETY_CONFIG.size.summary_tokens is -5; it must be")


def test_the_assistants_own_go_before_the_games() -> None:
    game = {
        "loop": {"max_own_turns": 3, "max_context_visits": 4},
        "on_limit": {"mode": "unattended"},
    }
    config = SafetyConfig.from_layers(game, {"loop": {"max_own_turns": 9}})
    assert (9, 4, 50) == (
        config.loop.max_own_turns,
        config.loop.max_context_visits,
        config.loop.max_iterations_per_task,
    )
    assert Mode.UNATTENDED is config.on_limit.mode


def test_modes_of_single_limits_add_up() -> None:
    game = {"on_limit": {"modes": {"model_calls": "unattended", "tool_calls": "unattended"}}}
    own = {"on_limit": {"modes": {"tool_calls": "auto_extend"}}}
    policy = SafetyConfig.from_layers(game, own).on_limit
    assert Mode.UNATTENDED is policy.mode_of(LimitKind.MODEL_CALLS)
    assert Mode.AUTO_EXTEND is policy.mode_of(LimitKind.TOOL_CALLS)
    assert Mode.INTERACTIVE is policy.mode_of(LimitKind.ITERATIONS)


@pytest.mark.parametrize("kind", list(LimitKind))
def test_the_mode_of_a_limit(kind: LimitKind) -> None:
    """A limit's mode in the settings comes first, then its built-in mode, then the common one."""
    common = OnLimit(mode=Mode.AUTO_EXTEND)
    assert (LIMITS[kind].mode or Mode.AUTO_EXTEND) is common.mode_of(kind)
    if LIMITS[kind].asks:
        assert Mode.INTERACTIVE is OnLimit(modes={kind.value: Mode.INTERACTIVE}).mode_of(kind)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_mode_is_read_as_one(mode: Mode) -> None:
    assert mode is SafetyConfig.from_layers({}, {"on_limit": {"mode": str(mode)}}).on_limit.mode


@pytest.mark.parametrize("way", list(Oversize))
def test_a_way_with_long_messages_is_read_as_one(way: Oversize) -> None:
    assert way is SafetyConfig.from_layers({}, {"size": {"on_oversize": str(way)}}).size.on_oversize


def test_settings_that_were_read_stay_as_they_are() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        DEFAULTS.loop.max_own_turns = 99  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        DEFAULTS.loop = Loop()  # type: ignore[misc]


@pytest.mark.parametrize("own", Mode)
@pytest.mark.parametrize("game", Mode)
def test_hole_d21_of_two_the_tighter_counts(own: Mode, game: Mode) -> None:
    """No assistant goes on more often than its game allows."""
    order = [Mode.UNATTENDED, Mode.INTERACTIVE, Mode.AUTO_EXTEND]
    kind = LimitKind.TOKENS_PER_DAY
    wild = OnLimit(
        mode=Mode.UNATTENDED,
        auto_extend_times=100_000,
        ask_timeout_seconds=0.0,
        modes={kind.value: own},
    )
    games = OnLimit(mode=game, auto_extend_times=2, ask_timeout_seconds=45.0)
    both = wild.tightened(games, kind)
    assert order[min(order.index(own), order.index(game))] is both.mode_of(kind)
    assert (2, 45.0) == (both.auto_extend_times, both.ask_timeout_seconds)
