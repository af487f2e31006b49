"""Starting, stopping and looking at an assistant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import services, state, turns
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report, check_endpoint
from evennia_ai.operations.result import Result


def set_enabled(script: AssistantScript, enabled: bool) -> Result:
    """Let an assistant answer, or keep it silent until it is started again."""
    name = script.key
    if bool(state.read(script, "enabled")) == enabled:
        return Result(False, f"{name} is {'awake' if enabled else 'silent'} already.")
    state.write(script, enabled=enabled)
    if enabled:
        script.beat_soon()
        return Result(True, f"{name} is awake.")
    state.bump_epoch(script)
    return Result(True, f"{name} is silent until: assistant start {name}")


def stop(script: AssistantScript, reason: str) -> Result:
    """Emergency stop: whatever is under way is dropped, and it stays stopped over restarts."""
    script.trigger_emergency_stop(reason)
    return Result(True, f"{script.key} is stopped until: assistant emergency clear {script.key}")


def clear(script: AssistantScript) -> Result:
    """Clear an emergency stop."""
    ok, message = script.clear_emergency_stop()
    return Result(ok, f"{script.key}: {message}.")


def reset_history(script: AssistantScript) -> Result:
    """Forget the conversation, drop what is under way, and clear an emergency stop."""
    turns.reset_history(script)
    script.clear_emergency_stop()
    return Result(True, f"{script.key} starts a new conversation.")


def status(script: AssistantScript) -> Result:
    """What an assistant is doing, with which model, and what it has used."""
    work = script.work or state.Work()
    try:
        brain = script.endpoint().describe()
    except ConfigurationError as error:
        brain = f"not set up: {error}"
    data = {
        "key": script.key,
        "location": getattr(script.obj.location, "key", None) if script.obj else None,
        "enabled": bool(state.read(script, "enabled")),
        "emergency_stop": bool(state.read(script, "emergency_stop")),
        "consecutive_errors": state.read(script, "consecutive_errors"),
        "max_consecutive_errors": state.read(script, "max_consecutive_errors"),
        "is_ticking": work.is_ticking,
        "pending_events": len(work.inbox),
        "ignored_settings": work.ear_problem,
        "calls": work.calls,
        "tokens": work.usage.total_tokens,
        "brain": brain,
        "breakers": services.pool().breakers.get_all_stats(),
        "degraded": [*services.pool().breakers.degraded(), *work.breakers.degraded()],
        "mcp": services.remote_servers().status(),
        "context_tokens": work.context_tokens,
        "max_context_tokens": work.max_context_tokens,
        "cache": work.tool_cache.get_stats(),
    }
    return Result(True, f"{script.key}: {_mood(data)}", data)


def _mood(data: Mapping[str, Any]) -> str:
    if data["emergency_stop"]:
        return "stopped"
    if not data["enabled"]:
        return "silent"
    return "thinking" if data["is_ticking"] else "awake"


def check_model(script: AssistantScript | None = None) -> Deferred[Report]:
    """Try the model of an assistant, or the game's, with real requests.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    return check_endpoint(endpoint, services.pool())
