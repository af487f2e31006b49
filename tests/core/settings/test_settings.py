"""The catalogue of all settings."""

import ast
import json
from collections.abc import Iterator
from functools import cache

import pytest

from evennia_ai.core.hearing.perception import ChannelConfig, Ear
from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.settings.assistant import AssistantSettings, Component
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.game import (
    ATTRIBUTES,
    GAME_SETTINGS,
    Setting,
    named_function,
    without_effect,
)
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.core.settings.services import (
    ApiConfig,
    AuditConfig,
    BreakerConfig,
    McpServerConfig,
    TraceConfig,
)
from evennia_ai.core.turn.contexts import ContextFields
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.errors import ConfigurationError
from tests import floors

ALL = {**GAME_SETTINGS, **ATTRIBUTES}


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_is_plain_and_told(name: str) -> None:
    """The text must fit into a table of the documents."""
    setting: Setting = ALL[name]
    json.dumps(setting.default)
    assert [setting.text] == setting.text.splitlines()
    assert "|" not in setting.text


def test_names_are_told_apart() -> None:
    assert all(name.isupper() for name in GAME_SETTINGS)
    assert all(name.islower() for name in ATTRIBUTES)


def test_defaults_agree_with_the_rules() -> None:
    ear = Ear(names=())
    plain = ("interaction_enabled", "enable_addressing", "max_agent_hops", "trigger_permissions")
    for name in (*plain, "room_messages", "addressed_by"):
        assert ATTRIBUTES[name].default == getattr(ear, name)
    assert ATTRIBUTES["channel_configs"].default == ear.channels
    assert tuple(ATTRIBUTES["trust_overrides"].default.items()) == ear.trust_overrides
    assert HearingConfig() == HearingConfig.from_stored(ATTRIBUTES["hearing_config"].default)
    assert ExecutionConfig() == ExecutionConfig.from_stored(ATTRIBUTES["execution_config"].default)


def test_what_it_keeps_for_itself_is_marked() -> None:
    expected = {
        "pending_events",
        "conversation_history",
        "current_tool_call",
        "usage",
        "emergency_stop",
        "consecutive_errors",
        "is_ticking",
        "muted_by",
        "company",
        "overheard",
        "records",
        "current_goals",
        "notes",
        "last_note",
        "last_compaction",
        "adopted",
        "lockout",
        "own_turns",
        "cooling",
        "hushed",
        "execution_log",
        "metrics",
        "projects",
        "strangers",
        "unremembered",
        "operating_mode",
        "sleep_phase",
        "scheduled_wake_time",
        "consolidation_progress",
        "last_night",
        "facts_awake",
        "reflection_state",
    }
    assert expected == {name for name, setting in ATTRIBUTES.items() if setting.is_state}


# ---- every setting is read ---------------------------------------------------------------------

# Modules that name settings only to set or show them, and read none.
DEFINING = (
    "evennia_ai.commands.configuring",
    "evennia_ai.core.settings.assistant",
    "evennia_ai.core.settings.game",
    "evennia_ai.operations.settings.checks",
    "evennia_ai.operations.models.texts",
)
GROUPS = (
    *(AssistantSettings, ApiConfig, AuditConfig, BreakerConfig, BudgetConfig, TraceConfig),
    McpServerConfig,
    *(ContextFields, Component, ChannelConfig),
)


def _named_in(node: ast.AST) -> str:
    """The name that a node reads something by: an attribute, or a text such as of `state.read`."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""


@cache
def named() -> frozenset[str]:
    """Every name that some module reads something by."""
    trees = [
        ast.parse(text) for name, text in floors.read_package().items() if name not in DEFINING
    ]
    return frozenset(_named_in(node) for tree in trees for node in ast.walk(tree))


def lines_of(group: type[SettingsGroup], path: str = "") -> Iterator[tuple[str, str]]:
    """The path and name of every setting in a group and its subgroups."""
    for name, line in group.model_fields.items():
        here = f"{path}.{name}" if path else name
        yield here, name
        if isinstance(line.default, SettingsGroup):
            yield from lines_of(type(line.default), here)


LINES = sorted(
    {line for group in GROUPS for line in lines_of(group, group.GAME_NAME or group.NAME)}
)


@pytest.mark.parametrize(("path", "name"), [pytest.param(*line, id=line[0]) for line in LINES])
def test_each_line_is_read_by_something(path: str, name: str) -> None:
    """A setting that nothing reads would be a false promise."""
    assert name in named(), f"{path} is defined, and nothing reads it"


@pytest.mark.parametrize("name", sorted(GAME_SETTINGS))
def test_each_setting_of_a_game_is_read_by_something(name: str) -> None:
    assert name in named()


def test_what_nothing_reads_would_be_found() -> None:
    assert "max_agent_hips" not in named()
    assert ("safety_config.loop.max_own_turns", "max_own_turns") in LINES
    assert len(LINES) > 150


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("EVENNIA_AI_STAF_LOCK", "is no setting; did you mean EVENNIA_AI_STAFF_LOCK?"),
        ("EVENNIA_AI_TOOL_MODULE", "is no setting; did you mean EVENNIA_AI_TOOL_MODULES?"),
        ("EVENNIA_AI_QQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "docs/settings.md has all names"),
        ("EVENNIA_AI_CACHE_DIR", "set it in the environment"),
    ],
)
def test_a_name_that_nothing_reads_is_told(name: str, told: str) -> None:
    """A misspelt lock or cap would leave the default in force, and nobody would see it."""
    assert [True] == [name in line and told in line for line in without_effect([name])]


def test_names_that_are_read_and_those_of_others_are_not_told() -> None:
    read = set(GAME_SETTINGS) - {"EVENNIA_AI_CACHE_DIR", "EVENNIA_AI_LOCAL_MODEL"}
    assert [] == without_effect([*read, "EVENNIA_AI_ROOT_URLCONF", "MY_AI_LOCK", "DEBUG"])


def test_a_function_of_the_game_is_found_by_its_path() -> None:
    assert json.dumps is named_function("json.dumps", "EVENNIA_AI_EMBEDDINGS")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("nowhere.moon", "which is not there: No module named", id="no module"),
        pytest.param("json.moon", "which is not there: Module 'json' has no 'moon'", id="no name"),
        pytest.param("moon", "which is not there", id="no path"),
        pytest.param("string.digits", "which is not a function", id="a text"),
    ],
)
def test_what_is_no_function_of_the_game_is_refused(path: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^EVENNIA_AI_MACROS names '{path}', {problem}"):
        named_function(path, "EVENNIA_AI_MACROS")
