"""What every setting of an assistant takes, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any

from evennia_ai.core.autonomy import AutonomyConfig
from evennia_ai.core.budget_config import Caps
from evennia_ai.core.context_fields import LEAST_TOKEN_BUDGET
from evennia_ai.core.contexts import ContextConfig, ContextType
from evennia_ai.core.execution import (
    MOST_CALLS_PER_REPLY,
    MOST_ITERATIONS,
    ExecutionConfig,
    ExecutionMode,
)
from evennia_ai.core.limits import LIMITS, Mode
from evennia_ai.core.manners import HearingConfig
from evennia_ai.core.memory_config import MemoryConfig
from evennia_ai.core.perception import AddressedBy
from evennia_ai.core.phrasing import StageDirections
from evennia_ai.core.pronouns import Pronouns
from evennia_ai.core.safety_config import SafetyConfig
from evennia_ai.core.shapes import Kind, Shape
from evennia_ai.core.sleep_config import SleepSchedule

A_DAY_SECONDS = 86_400
MODES = ("trigger", "context", "ignore")


def _whole(least: float, most: float | None = None, **more: Any) -> Shape:
    return Shape(Kind.WHOLE, least, most, **more)


def _part(**more: Any) -> Shape:
    return Shape(Kind.NUMBER, 0, 1, **more)


def _choice(*words: str, **more: Any) -> Shape:
    return Shape(Kind.CHOICE, choices=words, **more)


def _texts(example: str) -> Shape:
    return Shape(Kind.LIST, item=TEXT, example=example)


def _keys(keys: Mapping[str, Shape], **more: Any) -> Shape:
    return Shape(Kind.MAPPING, keys=keys, **more)


def texts_of(config: type) -> dict[str, str]:
    """What the attributes of a configuration do, as its docstring says."""
    _, _, told = (config.__doc__ or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in told.splitlines():
        head, colon, text = line.strip().partition(": ")
        is_new = bool(colon) and not line.startswith(" " * 9)
        if is_new:
            names = head.split(", ")
            found |= dict.fromkeys(names, text)
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def _section(config: Any, **known: Shape) -> Shape:
    """The shape of a frozen configuration, by what its defaults are.

    Args:
        known: the keys of which more is to be said.
    """
    told = texts_of(type(config))
    keys = {}
    for entry in fields(config):
        shape = known.get(entry.name) or _shape_of(getattr(config, entry.name))
        keys[entry.name] = _with_text(shape, told.get(entry.name, ""))
    name, default = next((entry.name, entry.default) for entry in fields(config))
    is_plain = isinstance(default, (bool, int, float))
    return _keys(keys, example=f"{{{name!r}: {default!r}}}" if is_plain else "")


def _with_text(shape: Shape, text: str) -> Shape:
    values = {entry.name: getattr(shape, entry.name) for entry in fields(shape)}
    return Shape(**{**values, "text": text})


def _shape_of(default: Any) -> Shape:
    if is_dataclass(default):
        return _section(default)
    if isinstance(default, bool):
        return FLAG
    if isinstance(default, StrEnum):
        return _choice(*map(str, type(default)))
    return _whole(0) if isinstance(default, int) else Shape(Kind.NUMBER, 0)


FLAG, TEXT, ANY = Shape(Kind.FLAG), Shape(Kind.TEXT), Shape(Kind.ANY)
_ON_LIMIT = _section(
    SafetyConfig().on_limit,
    modes=_keys({str(kind): _choice(*map(str, Mode)) for kind in LIMITS if LIMITS[kind].asks}),
)
_FIELDS = texts_of(ContextConfig)
_CONTEXT = _keys(
    {
        name: _with_text(shape, _FIELDS[name])
        for name, shape in {
            "enabled_components": Shape(Kind.LIST, item=_whole(0), example="0, 1000, 5000, 6000"),
            "component_overrides": Shape(Kind.MAPPING, item=TEXT, is_numbered=True),
            "tool_filter": Shape(Kind.LIST, item=TEXT, may_be_none=True),
            "token_budget": _whole(LEAST_TOKEN_BUDGET, may_be_none=True),
            "execution_mode": _choice(ExecutionMode.SINGLE_ACTION, ExecutionMode.REACT_LOOP),
            "max_iterations": _whole(1, MOST_ITERATIONS),
            "allowed_tool_categories": Shape(Kind.LIST, item=TEXT, may_be_none=True),
            "terminal_ends_loop": FLAG,
            "dangerous_requires_confirm": FLAG,
            "allows_multi_tool": FLAG,
            "allows_sub_agents": FLAG,
        }.items()
    }
)
_COMPONENT = _keys(
    dict.fromkeys(("key", "content", "name", "description"), TEXT)
    | {"is_static": FLAG, "enabled": FLAG, "role": _choice("system", "user", "assistant")}
)
_CAPS = _section(Caps())
_PERMISSIONS = _texts("['Builder', 'perm(Admin) or id(5)']")

# A row for everything that an assistant does not write itself.
SHAPES: Mapping[str, Shape] = {
    "assistant_key": Shape(Kind.FIXED),
    "enabled": FLAG,
    "tick_rate": _whole(1, A_DAY_SECONDS),
    "persona": TEXT,
    "examples": Shape(
        Kind.LIST,
        item=Shape(Kind.LIST, 2, 2, item=TEXT),
        example='[["where are the maps?", "Upstairs, by the window."]]',
    ),
    "system_prompt": TEXT,
    "system_prompt_native": TEXT,
    "prompt_components": Shape(
        Kind.MAPPING,
        item=_COMPONENT,
        is_numbered=True,
        example='{"250": {"key": "mood", "content": "You are glad."}}',
    ),
    "prompt_templates": Shape(Kind.MAPPING, item=TEXT, example='{"stern": "You are {name}."}'),
    "applied_template": TEXT,
    "context_configs": _keys(
        {str(kind): _CONTEXT for kind in ContextType},
        example='{"tick_event": {"max_iterations": 3}}',
    ),
    "thinking_lines": _texts("['{name} hums.', '{name} is still humming.']"),
    "failure_line": TEXT,
    "pronouns": _choice(*map(str, Pronouns)),
    "plain_speech": FLAG,
    "stage_directions": _choice(*map(str, StageDirections)),
    "interaction_enabled": FLAG,
    "enable_addressing": FLAG,
    "addressed_by": _choice(*map(str, AddressedBy)),
    "max_agent_hops": _whole(0, 1000),
    "trigger_permissions": _PERMISSIONS,
    "channel_configs": Shape(
        Kind.MAPPING,
        item=_keys({"mode": _choice(*MODES), "trust": _part()}),
        example='{"Public": "context"}',
    ),
    "room_messages": _choice(*MODES),
    "trust_overrides": Shape(Kind.MAPPING, item=_part(), example='{"Builder": 0.9}'),
    "hearing_config": _section(HearingConfig()),
    "llm_provider": TEXT,
    "llm_model": TEXT,
    "llm_fallback_models": _texts("['a-smaller-model', 'local']"),
    "llm_temperature": Shape(Kind.NUMBER, 0, 2, may_be_none=True),
    "llm_top_p": _part(may_be_none=True),
    "llm_max_tokens": _whole(1, 10_000_000, may_be_none=True),
    "llm_reasoning_effort": _choice("low", "medium", "high", may_be_none=True),
    "llm_extra_params": Shape(Kind.MAPPING, item=ANY, example='{"min_p": 0.05}'),
    "execution_config": _section(
        ExecutionConfig(),
        max_iterations_per_tick=_whole(1, MOST_ITERATIONS),
        calls_per_reply=_whole(1, MOST_CALLS_PER_REPLY),
        task_assessment_by=_choice("heuristic", "model"),
        sub_agent_budget=_whole(1, 10),
        delegate_assistant_tag=TEXT,
        personality_insulation=_choice("none", "orchestrator", "delegate"),
    ),
    "max_history": _whole(1, 5000),
    "max_context_tokens": _whole(LEAST_TOKEN_BUDGET, 100_000_000, may_be_none=True),
    "compact_enabled": FLAG,
    "compact_emergency_threshold": _part(),
    "compact_sleep_threshold": _part(),
    "compact_preserve_window": _whole(0, 5000),
    "compact_model": Shape(Kind.TEXT, may_be_none=True),
    "compact_prompt": Shape(Kind.TEXT, may_be_none=True),
    "max_pending_events": _whole(1, 1000),
    "max_consecutive_errors": _whole(1, 1000),
    "safety_config": _section(SafetyConfig(), on_limit=_ON_LIMIT),
    "budget_config": _keys(
        {"assistant": _CAPS, "player": _CAPS}, example="{'assistant': {'tokens_per_day': 100000}}"
    ),
    "confirm_by": TEXT,
    "confirm_seconds": Shape(Kind.NUMBER, 1, A_DAY_SECONDS),
    "autonomy_config": _section(
        AutonomyConfig(), seconds=Shape(Kind.NUMBER, 1), acts_per_hour=Shape(Kind.NUMBER, 1)
    ),
    "memory_config": _section(
        MemoryConfig(),
        min_similarity=_part(may_be_none=True),
        min_source_trust=_part(),
        rumour_trust=_part(),
        never_rooms=_texts("['#2']"),
        never_characters=_texts("['#12']"),
        faction_category=TEXT,
    ),
    "sleep_schedule": _section(SleepSchedule(), sleep_start_hour=_whole(0, 23)),
    "command_allowlist": _texts("['inventory']"),
    "attribute_allowlist": _texts("['is_lit']"),
    "private_words": _choice("kept", "free"),
    "max_log_entries": _whole(1, 1000),
}
