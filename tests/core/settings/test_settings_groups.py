"""Small groups of settings: accepted values, and refusals."""

from types import SimpleNamespace
from typing import Any

import pytest

from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.core.settings.services import (
    AuditConfig,
    BreakerConfig,
    LedgerConfig,
    TraceConfig,
    WorkersConfig,
)
from evennia_ai.errors import ConfigurationError

Group = type[SettingsGroup]
TAKEN: tuple[tuple[Group, dict[str, Any], dict[str, Any]], ...] = (
    (AuditConfig, {},
     {"keep_days": 7.5, "keep_events": 10, "archive_folder": "old", "keep_archives": 3}),
    (TraceConfig, {"keep_days": 7.0, "keep_messages": 5_000, "private_words": False},
     {"keep_days": 0, "keep_messages": 100, "private_words": True}),
    (LedgerConfig, {"reserve_tokens": 0, "reserve_dollars": 0.0},
     {"database": "ledger", "game": "lantern", "reserve_tokens": 5_000}),
    # As the specification has it: off, from two in the morning for four hours.
    (SleepSchedule,
     {"enabled": False, "sleep_start_hour": 2, "sleep_duration_hours": 4, "tick_rate_sleep": 60},
     {"enabled": True, "sleep_duration_hours": 0.5}),
    (WorkersConfig, {"engine": ""}, {"calls_at_once": 4.0}),
    (
        BreakerConfig,
        {},
        {
            "attempts": 3,
            "failure_threshold": 8,
            "failure_rate": 0,
            "least_calls": 20,
            "window_seconds": 60,
            "timeout_seconds": 0.5,
            "success_threshold": 2,
            "max_probes": 4,
        },
    ),
)  # fmt: skip
REFUSED: tuple[tuple[Group, Any, str], ...] = (
    (AuditConfig, [], "EVENNIA_AI_AUDIT_CONFIG is []; it must be a mapping"),
    (AuditConfig, {"days": 3}, "has no key 'days'; it has keep_days"),
    (AuditConfig, {"keep_days": -1}, "keep_days is -1; it must be a number from 0 up, 0 for ever"),
    (AuditConfig, {"keep_events": 1.5}, "keep_events is 1.5; it must be a whole number"),
    (AuditConfig, {"keep_events": -1}, ", 0 for all"),
    (AuditConfig, {"keep_archives": True}, "keep_archives is True"),
    (AuditConfig, {"archive_folder": ""}, "must be text, such as server/ai_archive"),
    (AuditConfig, {"archive_folder": 3}, "must be text, such as server/ai_archive"),
    (TraceConfig, [], "EVENNIA_AI_TRACE_CONFIG is []; it must be a mapping"),
    (TraceConfig, {"keep_day": 3}, "EVENNIA_AI_TRACE_CONFIG has no key 'keep_day'"),
    (TraceConfig, {"keep_days": -1}, "EVENNIA_AI_TRACE_CONFIG.keep_days is -1; it must be"),
    (TraceConfig, {"keep_days": float("nan")}, "keep_days is nan"),
    (TraceConfig, {"keep_messages": 99}, "a whole number from 100 to 1000000"),
    (TraceConfig, {"keep_messages": True}, "keep_messages is True"),
    (TraceConfig, {"private_words": "no"}, "it must be True or False"),
    (LedgerConfig, [], "EVENNIA_AI_LEDGER_CONFIG is []; it must be a mapping"),
    (LedgerConfig, {"alias": "x"}, "has no key 'alias'; it has database"),
    (LedgerConfig, {"database": " "}, "not an empty one"),
    (LedgerConfig, {"database": "ledger"}, "a name that no other game has"),
    (LedgerConfig, {"reserve_tokens": -1}, "reserve_tokens is -1"),
    (LedgerConfig, {"reserve_tokens": 9}, "0 where the ledger is in the game's own"),
    (
        LedgerConfig,
        {"database": "ledger", "game": "lantern", "reserve_dollars": 2},
        "reserve_dollars is 2.0; it must be 0 where reserve_tokens is 0",
    ),
    (SleepSchedule, {"hour": 3}, "sleep_schedule has no key 'hour'"),
    (
        SleepSchedule,
        {"enabled": "yes"},
        "sleep_schedule.enabled is 'yes'; it must be True or False",
    ),
    (SleepSchedule, {"sleep_start_hour": 24}, "is 24; it must be a whole number from 0 to 23"),
    (SleepSchedule, {"sleep_start_hour": 2.5}, "hour is 2.5; it must be a whole number"),
    (SleepSchedule, {"sleep_duration_hours": 24}, "hours is 24; it must be a number"),
    (SleepSchedule, {"tick_rate_sleep": 0}, "is 0; it must be a number from 1 to 3600"),
    (SleepSchedule, {"token_budget": -1}, "token_budget is -1; it must be a whole number"),
    (SleepSchedule, {"token_budget": True}, "token_budget is True; it must be a whole number"),
    (SleepSchedule, {"min_awake_minutes": float("nan")}, "minutes is nan; it must be a number"),
    (SleepSchedule, {"min_activity": "5"}, "min_activity is '5'; it must be a whole number"),
    (WorkersConfig, {"engine": "celery"}, "engine is 'celery'; it must be"),
    (WorkersConfig, {"workers": 3}, f"{WorkersConfig.NAME} has no key 'workers'"),
    (WorkersConfig, {"attempts": 0}, f"{WorkersConfig.NAME}.attempts is 0; it must be"),
    (WorkersConfig, {"poll_seconds": 0}, "poll_seconds is 0; it must be"),
    (WorkersConfig, {"heartbeat_seconds": "1"}, "heartbeat_seconds is '1'"),
    (BreakerConfig, 5, "EVENNIA_AI_BREAKER_CONFIG is 5; it must be a mapping"),
    (BreakerConfig, {"rate": 1}, "has no key 'rate'; it has attempts, failure_thr"),
    (BreakerConfig, {"attempts": 0}, "attempts is 0; it must be a whole number from 1 up"),
    (BreakerConfig, {"attempts": 1.5}, "attempts is 1.5; it must be a whole"),
    (BreakerConfig, {"failure_rate": 1.2}, "failure_rate is 1.2; it must be a number from 0 to 1"),
    (BreakerConfig, {"failure_rate": -1}, ", 0 for any"),
    (BreakerConfig, {"window_seconds": 0}, "window_seconds is 0; it must be a number above 0"),
    (BreakerConfig, {"max_probes": True}, "max_probes is True"),
)


@pytest.mark.parametrize(
    ("group", "defaults", "given"), TAKEN, ids=lambda row: getattr(row, "__name__", "")
)
def test_what_is_set_takes_the_place_of_the_default(
    group: Group, defaults: dict[str, Any], given: dict[str, Any]
) -> None:
    assert group() == group.from_stored({})
    assert defaults.items() <= group.from_stored({}).model_dump().items()
    assert given == group.from_stored(given).model_dump(exclude_unset=True)
    of_game = SimpleNamespace(**{group.NAME: given})
    assert [group(), group.from_stored(given)] == [
        *map(group.from_settings, (SimpleNamespace(), of_game))
    ]


@pytest.mark.parametrize(("group", "given", "told"), REFUSED)
def test_a_wrong_value_is_refused_with_its_path(group: Group, given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        group.from_stored(given)
    assert told in str(caught.value)


@pytest.mark.parametrize(("given", "is_shared"), [({}, False), (TAKEN[2][2], True)])
def test_another_database_is_shared(given: dict[str, Any], is_shared: bool) -> None:
    assert is_shared is LedgerConfig.from_stored(given).is_shared
