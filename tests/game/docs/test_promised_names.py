"""The names in the public texts about this assistant, whose code runs as it stands.

In those texts the package is `evennia.contrib.base_systems.ai`; here it is `evennia_ai`.
"""

import json
from dataclasses import asdict
from typing import Any

import pytest
from django.test import override_settings
from twisted.internet.defer import maybeDeferred

from evennia_ai import operations
from evennia_ai.llm.endpoints import LOCAL_MODEL
from evennia_ai.runtime import services, state
from evennia_ai.tools import TOOL_REGISTRY
from tests.game.support import GameTest, whispers

STARTS_WITH = {
    "assistant_key": "Ada",
    "enabled": True,
    "tick_rate": 5,
    "emergency_stop": False,
    "max_consecutive_errors": 5,
    "consecutive_errors": 0,
    "pending_events": [],
    "conversation_history": [],
    "current_tool_call": None,
    "current_goals": {},
    "operating_mode": "awake",
    "scheduled_wake_time": None,
    "activity_since_wake": 0,
    "estimated_tokens": 0,
    "memory_links": {},
    "consolidation_progress": {},
    "reflection_state": {},
}
EXECUTION = {
    "multi_action_enabled": True,
    "max_iterations_per_tick": 5,
    "task_assessment_enabled": False,
    "sub_agent_budget": 3,
}
SLEEP = {"enabled": False, "sleep_start_hour": 2, "sleep_duration_hours": 4, "tick_rate_sleep": 60}
TEXTS = ("llm_provider", "llm_model", "system_prompt", "system_prompt_native", "sleep_phase")


class TestSettings(GameTest):
    """`script.db` of an assistant without any settings."""

    def test_what_was_never_set_reads_as_it_holds(self) -> None:
        """Reading a default costs no query and writes nothing."""
        script = self.ada_script
        before = [attribute.key for attribute in script.attributes.all()]
        names = [name for name in STARTS_WITH if name != "memory_links"]
        with self.assertNumQueries(0):
            read = {name: getattr(script.db, name) for name in names}
            execution = {key: script.db.execution_config[key] for key in EXECUTION}
            sleep = {key: script.db.sleep_schedule[key] for key in SLEEP}
            texts = [getattr(script.db, name) for name in TEXTS]
        assert {**read, "memory_links": script.db.memory_links} == STARTS_WITH
        assert (EXECUTION, SLEEP) == (execution, sleep)
        assert all(isinstance(text, str) for text in texts), texts
        assert before == [attribute.key for attribute in script.attributes.all()]

    def test_the_texts_own_condition(self) -> None:
        """The texts write `if script.db.enabled`."""
        assert self.ada_script.db.enabled
        self.ada_script.db.enabled = False
        assert not self.ada_script.db.enabled
        del self.ada_script.db.enabled
        assert self.ada_script.db.enabled

    def test_assigning_works_as_before(self) -> None:
        """A group that is stored in part is read with its other defaults."""
        self.ada_script.db.execution_config = {"max_iterations_per_tick": 3}
        assert 3 == self.ada_script.db.execution_config["max_iterations_per_tick"]
        assert 3 == self.ada_script.db.execution_config["sub_agent_budget"]
        assert {"max_iterations_per_tick": 3} == state.read(self.ada_script, "execution_config")

    def test_a_change_in_place_stores_that_alone(self) -> None:
        """Only the changed key is stored; the others follow the game's settings."""
        script = self.ada_script
        script.db.safety_config["loop"]["max_own_turns"] = 7
        assert {"loop": {"max_own_turns": 7}} == state.read(script, "safety_config")
        assert 7 == state.safety_config(script).loop.max_own_turns
        with override_settings(EVENNIA_AI_SAFETY_CONFIG={"loop": {"max_iterations_per_task": 9}}):
            assert 9 == script.db.safety_config["loop"]["max_iterations_per_task"]
        script.db.safety_config["loop"]["max_own_turns"] = 25
        assert {} == state.read(script, "safety_config")

    def test_a_list_that_was_never_stored_can_be_added_to(self) -> None:
        self.ada_script.db.notes.append({"text": "Tide at nine."})
        assert [{"text": "Tide at nine."}] == state.read(self.ada_script, "notes")

    @override_settings(EVENNIA_AI_SAFETY_CONFIG={"loop": 3})
    def test_wrong_settings_of_the_game_are_no_traceback(self) -> None:
        """The defaults are read then; the system check reports the mistake."""
        assert 25 == self.ada_script.db.safety_config["loop"]["max_own_turns"]

    def test_views_follow_what_happens(self) -> None:
        """`ndb` shows objects that the process shares."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert self.ada_script.db.estimated_tokens > 100
        assert 1 == self.ada_script.db.activity_since_wake
        ndb = self.ada_script.ndb
        assert 0 == ndb.active_sub_agents
        assert (self.ada_script.work.tool_cache, self.ada_script.work.breakers) == (
            ndb.tool_cache,
            ndb.circuit_breaker_registry,
        )
        assert services.memory() is ndb.mem0_client
        ndb.anything = 3
        assert 3 == ndb.anything

    def test_without_memory_there_is_no_client(self) -> None:
        self.ada_script.db.memory_config = {"enabled": False}
        self.ada_script.work.drop_cached_settings()
        assert self.ada_script.ndb.mem0_client is None


class TestSafety(GameTest):
    def test_stop_and_clear(self) -> None:
        script, names = self.ada_script, {}
        exec(
            "from evennia_ai.emergency import trigger_emergency_stop\n"
            "from evennia_ai.emergency import clear_emergency_stop\n"
            "trigger_emergency_stop(script, reason)\n"
            "stopped = script.db.emergency_stop\n"
            "success, message = clear_emergency_stop(script)\n"
            "again = clear_emergency_stop(script)\n",
            {"script": script, "reason": "smoke"},
            names,
        )
        assert names["stopped"] is True
        assert names["success"]
        assert names["message"].startswith("Emergency stop cleared")
        assert (False, "Emergency stop is not active") == names["again"]
        assert (False, 0, False) == (
            script.db.emergency_stop,
            script.db.consecutive_errors,
            script.db.is_ticking,
        )

    def test_the_status_tells_of_it(self) -> None:
        status = asdict(operations.status(self.ada_script).data)
        assert {"emergency_stop", "consecutive_errors", "max_consecutive_errors"} <= set(status)


# Lines of the texts that run within a tick.
TICK = """
if script.db.emergency_stop:
    skipped = True
if tool_result.get("success"):
    script.db.consecutive_errors = 0
else:
    script.db.consecutive_errors += 1
if script.db.consecutive_errors >= script.db.max_consecutive_errors:
    script.trigger_emergency_stop(
        f"Maximum consecutive errors reached ({script.db.consecutive_errors})"
    )
told = {
    "emergency_stop": script.db.emergency_stop or False,
    "consecutive_errors": script.db.consecutive_errors or 0,
    "max_consecutive_errors": script.db.max_consecutive_errors or 5,
}
"""
RESET = """
script.db.consecutive_errors = 0
script.db.emergency_stop = False
"""
CACHING = """
from evennia_ai.resilience import get_cache_key
tool.cacheable = True
tool.cache_scope = "tick"
tool.cache_scope = "session"
tool.cache_ttl = 300.0
parameters = {"room_id": "abc123"}
cache_key = get_cache_key(tool.name, **parameters)
missed = script.ndb.tool_cache.get(cache_key)
result = {"success": True, "walls": 4}
if tool.cacheable and result.get("success"):
    script.ndb.tool_cache.set(
        cache_key,
        result,
        scope=tool.cache_scope,
        ttl=tool.cache_ttl
    )
cached = script.ndb.tool_cache.get(cache_key)
cached_result = script.ndb.tool_cache.get(cache_key, scope=tool.cache_scope)
of_another_scope = script.ndb.tool_cache.get(cache_key, scope="tick")
"""
SERVICE = """
from twisted.internet import defer
from twisted.internet.defer import inlineCallbacks
from evennia_ai.resilience import CircuitBreaker
breaker = CircuitBreaker("external")
@inlineCallbacks
def call_external_service():
    if not breaker.is_available:
        defer.returnValue("fallback")
    try:
        result = yield external_service.call()
        breaker.record_success()
        defer.returnValue(result)
    except Exception as e:
        breaker.record_failure(e)
        raise
"""


class TestInATick(GameTest):
    """Lines that read and write a script's state."""

    def run_lines(self, code: str, **given: Any) -> dict[str, Any]:
        """The names that some lines define, with Ada's script given."""
        names: dict[str, Any] = {"script": self.ada_script, **given}
        exec(code, names)
        return names

    def test_errors_are_counted_and_stop_it(self) -> None:
        """A success resets the count; the fifth failure in a row stops her until a reset."""
        outcomes = [False] * 4 + [True] + [False] * 5
        names: dict[str, Any] = {}
        for success in outcomes:
            assert not self.ada_script.db.emergency_stop
            names = self.run_lines(TICK, tool_result={"success": success})
        assert names["told"] == {
            "emergency_stop": True,
            "consecutive_errors": 5,
            "max_consecutive_errors": 5,
        }
        assert self.run_lines(TICK, tool_result={"success": True})["skipped"]
        self.run_lines(RESET)
        assert (False, 0) == (
            self.ada_script.db.emergency_stop,
            self.ada_script.db.consecutive_errors,
        )
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)

    def test_a_tools_results_are_cached(self) -> None:
        ours = TOOL_REGISTRY["inspect_location"]
        self.addCleanup(TOOL_REGISTRY.__setitem__, ours.name, ours)
        names = self.run_lines(CACHING, tool=run(TOOL)["tool"])
        assert names["missed"] is None
        assert names["result"] == names["cached"] == names["cached_result"]
        assert names["of_another_scope"] is None

    @pytest.mark.filterwarnings("ignore:twisted.internet.defer.returnValue:DeprecationWarning")
    def test_a_service_behind_a_breaker(self) -> None:
        class Service:
            def __init__(self, outcome: Any) -> None:
                self.call = lambda: maybeDeferred(outcome)

        def fail() -> None:
            raise OSError("Connection timeout")

        for outcome, successes, failures in ((lambda: 7, 1, 0), (fail, 0, 1)):
            names = self.run_lines(SERVICE, external_service=Service(outcome))
            ended: list[Any] = []
            names["call_external_service"]().addBoth(ended.append)
            stats = names["breaker"].get_stats()
            assert (successes, failures) == (stats["total_successes"], stats["total_failures"])
            assert (ended == [7]) == bool(successes)


RESILIENCE = """
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig, CircuitOpenError
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache, get_cache_key
config = CircuitBreakerConfig(
    failure_threshold=5,
    success_threshold=2,
    timeout_seconds=60.0,
    window_seconds=120.0,
    excluded_exceptions=(ValueError, KeyError),
)
breaker = CircuitBreaker("llm_service", config)
assert breaker.is_available
breaker.record_success()
breaker.record_failure(OSError("Connection timeout"))
stats = breaker.get_stats()
registry = CircuitBreakerRegistry()
llm_breaker = registry.get_or_create("llm")
memory_breaker = registry.get_or_create("memory", config)
health = registry.get_all_stats()
registry.reset_all()
cache = ToolResultCache()
key = get_cache_key("inspect_location", room_id="abc123")
assert cache.get(key) is None
cache.set(key, 1, scope="tick")
cache.set(key, 2, scope="session", ttl=300.0)
assert cache.get(key) == 2
cache.clear_tick()
cache.clear_session()
cache.clear_all()
cache.prune_expired()
cache_stats = cache.get_stats()
"""
STATS = {
    *("name", "state", "failures_in_window", "failure_threshold", "total_failures"),
    *("total_successes", "total_rejections", "last_failure_error", "retry_after"),
    *("half_open_successes", "success_threshold"),
}
TOOL = """
from evennia_ai.tools import TOOL_REGISTRY, Tool, ToolCategory
class InspectLocationTool(Tool):
    name = "inspect_location"
    category = ToolCategory.SAFE_CHAIN
    cacheable = True
    cache_ttl = 60.0
    cache_scope = "tick"
    def execute(self, character, **arguments):
        return "walls"
tool = InspectLocationTool()
from evennia_ai.tool_execution import _TOOL_RETRY_CONFIG, execute_react_loop, execute_tool_call
"""
CLIENT = """
from evennia_ai.llm import UnifiedLLMClient
from evennia_ai.resilience import CircuitBreaker
breaker = CircuitBreaker("llm")
client = UnifiedLLMClient(provider="openai", circuit_breaker=breaker)
local = UnifiedLLMClient(provider="local")
"""


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_resilience() -> None:
    names = run(RESILIENCE)
    assert set(names["stats"]) >= STATS
    assert {"llm", "memory"} == set(names["health"])
    wanted = {"hits", "misses", "hit_rate_percent", "total_entries", "entries_by_scope"}
    assert wanted <= set(names["cache_stats"])
    assert names["key"].startswith("inspect_location:")
    json.dumps([names["stats"], names["health"], names["cache_stats"]])


def test_a_tool_as_a_class() -> None:
    names = run(TOOL)
    assert names["tool"].spec.cacheable
    assert "walls" == names["tool"].execute(None)
    retry = names["_TOOL_RETRY_CONFIG"]
    waits = (retry.backoff_base, retry.backoff_max, retry.backoff_multiplier)
    assert (4, (1.0, 10.0, 2.0), True) == (retry.max_attempts, waits, retry.jitter)


def test_a_client_with_a_breaker() -> None:
    names = run(CLIENT)
    assert names["breaker"] is names["client"].circuit_breaker
    assert ("local", LOCAL_MODEL) == (names["local"].provider_name, names["local"].model)


def test_nothing_else_is_in_the_room_of_models() -> None:
    with pytest.raises(ImportError, match="Unified"):
        run("from evennia_ai.llm import Unified")
