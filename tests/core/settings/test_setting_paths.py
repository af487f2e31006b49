"""Paths and accepted values of all settings."""

from typing import Any

import pytest
from pydantic.json_schema import JsonSchemaValue

from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.safety.audit_events import masked
from evennia_ai.core.settings.assistant import SCHEMAS, check_setting
from evennia_ai.core.settings.budget import OwnCaps
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.settings.memory import MemoryConfig, SleepSchedule
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.core.settings.paths import (
    NESTED,
    locate,
    looks_like_key,
    schema_of_keys,
    sounds_secret,
    text_at,
)
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.settings.schema import kind_of
from evennia_ai.core.text.plain_data import plain
from evennia_ai.core.turn.autonomy import AutonomyConfig
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.errors import ConfigurationError

CONFIGS: dict[str, type[SettingsGroup]] = {
    "execution_config": ExecutionConfig,
    "hearing_config": HearingConfig,
    "autonomy_config": AutonomyConfig,
    "memory_config": MemoryConfig,
    "sleep_schedule": SleepSchedule,
    "safety_config": SafetyConfig,
    "budget_config": OwnCaps,
}


def test_whatever_can_be_set_has_a_row() -> None:
    assert set(ATTRIBUTES) - STATE == set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(set(SCHEMAS) - {"assistant_key"}))
def test_a_default_is_a_right_value(name: str) -> None:
    check_setting(name, plain(ATTRIBUTES[name].default, name))


def test_what_a_setting_does_not_take_is_refused() -> None:
    for name, value, wanted in (
        ("hearing_config", "fast", "a mapping, such as {'calls_per_player': 6}"),
        ("tick_rate", 0, "a whole number from 1 to 86400"),
    ):
        with pytest.raises(ConfigurationError) as raised:
            check_setting(name, value)
        assert f"{name} is {value!r}; it must be {wanted}" == str(raised.value)
    check_setting("hearing_config", {"what it holds": "is judged by its reader"})


def test_each_key_is_found_by_its_path() -> None:
    for path, keys in NESTED.items():
        assert keys == locate(path) == locate(f" {path.upper()} ")


def test_each_key_is_told_of() -> None:
    """The modes of single limits are described by their table."""
    texts = {path: text_at(keys) for path, keys in NESTED.items() if keys[-2] != "modes"}
    assert [] == [path for path, text in texts.items() if not text or "\n" in text]


def _ends() -> list[Any]:
    rows = []
    for path, keys in NESTED.items():
        schema = schema_of_keys(keys)
        if keys[0] in CONFIGS and kind_of(schema) in ("integer", "number"):
            rows.append(pytest.param(keys, schema, id=path))
    return rows


@pytest.mark.parametrize(("keys", "schema"), _ends())
def test_ends_are_those_of_the_reader(keys: tuple[str, ...], schema: JsonSchemaValue) -> None:
    read = CONFIGS[keys[0]].from_stored
    least, most = schema.get("minimum"), schema.get("maximum")
    for value in (each for each in (least, most) if each is not None):
        if "same_successes" not in keys and "window" not in keys:  # these have to fit others
            assert read(_given(keys, value))
    with pytest.raises(ConfigurationError):
        read(_given(keys, schema.get("exclusiveMinimum", -1) if least is None else least - 1))
    if most is not None:
        with pytest.raises(ConfigurationError):
            read(_given(keys, most + 1))


def _given(keys: tuple[str, ...], value: object) -> dict[str, Any]:
    return {keys[1]: _given(keys[1:], value) if len(keys) > 2 else value}


def test_choices_are_those_of_the_reader() -> None:
    """Every offered word is accepted, and no other."""
    for path, keys in NESTED.items():
        if keys[0] in CONFIGS and kind_of(schema_of_keys(keys)) == "enum":
            read = CONFIGS[keys[0]].from_stored
            words = schema_of_keys(keys)["enum"]
            assert words == [word for word in words if read(_given(keys, word))]
            with pytest.raises(ConfigurationError):
                read(_given(keys, f"{path}!"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("tick_rate", ("tick_rate",), id="name"),
        pytest.param(" Tick_Rate ", ("tick_rate",), id="any case"),
        pytest.param(
            "max_iterations_per_tick", ("execution_config", "max_iterations_per_tick"), id="key"
        ),
        pytest.param("loop.max_own_turns", ("safety_config", "loop", "max_own_turns"), id="end"),
        pytest.param("channel_configs.My.Own", ("channel_configs", "My.Own"), id="dots in a name"),
        pytest.param(
            "channel_configs.Pub.TRUST", ("channel_configs", "Pub", "trust"), id="key of an entry"
        ),
        pytest.param("prompt_components.250.key", ("prompt_components", 250, "key"), id="number"),
        pytest.param(
            "trust_overrides.perm(A) or id(5)", ("trust_overrides", "perm(A) or id(5)"), id="lock"
        ),
        pytest.param("llm_extra_params.a.b", ("llm_extra_params", "a", "b"), id="any depth"),
        pytest.param(
            "context_configs.tick_event.component_overrides.1000",
            ("context_configs", "tick_event", "component_overrides", 1000),
            id="deep number",
        ),
    ],
)
def test_a_path_is_understood(path: str, expected: tuple[str | int, ...]) -> None:
    assert expected == locate(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "tick_rat", "there is no setting 'tick_rat'; did you mean tick_rate", id="typo"
        ),
        pytest.param(
            "limits.calls_per_player",
            "there is no setting 'limits.calls_per_player'; did you mean "
            "hearing_config.calls_per_player?",
            id="another container",
        ),
        pytest.param(
            "zzz", "there is no setting 'zzz'; the configuration lists them all", id="nothing near"
        ),
        pytest.param(
            "usage", "usage is kept by the assistant itself; it cannot be set", id="state"
        ),
        pytest.param("notes.x", "notes is kept by the assistant itself", id="within state"),
        pytest.param(
            "tokens_per_day",
            "tokens_per_day is in several: budget_config.assistant.tokens_per_day, "
            "budget_config.player.tokens_per_day; name one of them",
            id="ambiguous",
        ),
        pytest.param("persona.x", "persona has no key 'x'; name persona alone", id="no container"),
        pytest.param("hearing_config.", "hearing_config has no key ''", id="no key"),
        pytest.param(
            "hearing_config.x", "hearing_config has no key 'x'; it has calls_per_player", id="key"
        ),
        pytest.param(
            "prompt_components.mood",
            "prompt_components has whole numbers as keys, such as 250, and not 'mood'",
            id="no number",
        ),
        pytest.param(
            "llm_auth_token",
            "llm_auth_token cannot be set: keys and passwords are not settings of an assistant: "
            "put them into the game's environment or into server/conf/secret_settings.py",
            id="secret",
        ),
    ],
)
def test_what_is_not_understood_is_told(path: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        locate(path)
    assert str(raised.value).startswith(expected)


def test_what_is_set_is_no_secret() -> None:
    """`assistant_key` is a name, the only exception."""
    named = [path for path in (*SCHEMAS, *NESTED) if sounds_secret(path.rpartition(".")[2])]
    assert ["assistant_key"] == named


@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "OPENAI_API_KEY", "x-auth", "Authorization", "access_token"]
)
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert sounds_secret(name)
    assert "***" == masked("x", name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "monkey", "keyboard", "author", "passage", "tokens"]
)
def test_other_names_are_none(name: str) -> None:
    """These words only contain or resemble a secret's word."""
    assert not sounds_secret(name)


def test_a_key_itself_is_known() -> None:
    assert looks_like_key("sk-proj-0123456789abcdefgh")
    assert looks_like_key("AIza" + "x" * 35)
    assert not looks_like_key("a sky-blue lamp, gpt-4o-mini")
