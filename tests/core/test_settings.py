"""What can be set."""

from __future__ import annotations

import json

import pytest

from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.core.manners import HearingConfig
from evennia_ai.core.perception import Ear
from evennia_ai.core.settings import ATTRIBUTES, GAME_SETTINGS, Setting

ALL = {**GAME_SETTINGS, **ATTRIBUTES}


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_is_plain_and_told(name: str) -> None:
    """A default is plain data, and its text is one line that fits into a table of a document."""
    setting: Setting = ALL[name]
    json.dumps(setting.default)
    assert [setting.text] == setting.text.splitlines()
    assert "|" not in setting.text


def test_names_are_told_apart() -> None:
    """A game's setting is in capitals, an attribute of an assistant is not."""
    assert all(name.isupper() for name in GAME_SETTINGS)
    assert all(name.islower() for name in ATTRIBUTES)


def test_defaults_agree_with_the_rules() -> None:
    """What holds while nothing is set is what the rules take when they are told nothing."""
    ear = Ear(names=())
    plain = ("interaction_enabled", "enable_addressing", "max_agent_hops", "trigger_permissions")
    for name in (*plain, "room_messages", "addressed_by"):
        assert ATTRIBUTES[name].default == getattr(ear, name)
    assert ATTRIBUTES["channel_configs"].default == ear.channels
    assert tuple(ATTRIBUTES["trust_overrides"].default.items()) == ear.trust_overrides
    assert HearingConfig() == HearingConfig.from_stored(ATTRIBUTES["hearing_config"].default)
    assert ExecutionConfig() == ExecutionConfig.from_stored(ATTRIBUTES["execution_config"].default)


def test_what_it_keeps_for_itself_is_marked() -> None:
    """What an assistant writes itself is marked, so that nobody is asked to set it."""
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
        "last_compaction",
        "questions",
        "adopted",
        "lockout",
        "own_turns",
        "cooling",
        "hushed",
        "execution_log",
        "metrics",
        "projects",
        "unremembered",
        "operating_mode",
        "sleep_phase",
        "scheduled_wake_time",
        "consolidation_progress",
        "last_night",
        "reflection_state",
    }
    assert expected == {name for name, setting in ATTRIBUTES.items() if setting.is_state}
