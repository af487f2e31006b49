"""Settings of an assistant: type, default, bounds and help of each on one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from evennia_ai.core.hearing.perception import MAX_AGENT_HOPS, AddressedBy, ChannelConfig, Mode
from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.hearing.staleness import StaleAnswers
from evennia_ai.core.safety.guidelines import LONGEST_GUIDELINE, MOST_GUIDELINES, checked
from evennia_ai.core.settings.budget import OwnCaps
from evennia_ai.core.settings.memory import MemoryConfig, SleepSchedule
from evennia_ai.core.settings.model import (
    LONGEST_SHOWN,
    Flag,
    Line,
    Number,
    Part,
    SettingsGroup,
    Text,
    Whole,
    setting,
)
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.settings.schema import kind_of, known_keys, schema_of, wanted
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.phrasing import StageDirections
from evennia_ai.core.text.words import Pronouns
from evennia_ai.core.turn.autonomy import AutonomyConfig
from evennia_ai.core.turn.compaction import PRESERVE_WINDOW
from evennia_ai.core.turn.contexts import LEAST_TOKEN_BUDGET, ContextFields, ContextType, fields_of
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.errors import ConfigurationError

A_DAY_SECONDS = 86_400
Names = tuple[Line, ...]
Guidelines = Annotated[tuple[Line, ...], AfterValidator(checked)]
Pair = Annotated[tuple[Line, ...], Field(min_length=2, max_length=2)]
# In JSON these keys are text; at run time they are integers.
Id = Annotated[int, WithJsonSchema({"type": "string", "pattern": r"^\d+$"})]


class Component(SettingsGroup):
    """A block of a prompt, added by a game or an assistant."""

    key: Text = setting("", "its name, one word.")
    content: Text = setting("", "its text, with placeholders.")
    name: Text = setting("", "its display name.")
    description: Text = setting("", "what it is for.")
    is_static: Flag = setting(False, "whether it is the same in every turn.")
    enabled: Flag = setting(True, "whether it is part of the prompt.")
    role: Literal["system", "user", "assistant"] = setting("system", "role of its message.")


class AssistantSettings(SettingsGroup):
    """All settings of one assistant. The contents of mappings are validated where they are read."""

    assistant_key: Text = Field(
        default="", description="its name", json_schema_extra={"readOnly": True}
    )
    enabled: Flag = setting(True, "whether it answers at all")
    tick_rate: Whole = setting(
        5, "seconds between beats; an event does not wait for the next one", ge=1, le=A_DAY_SECONDS
    )
    reflection_interval: Whole = setting(
        0,
        "beats after which it reflects while awake, however little is new; 0: only at "
        "`memory_config.reflection_threshold`",
        ge=0,
        le=1_000_000_000,
    )
    persona: Text = setting("", "who it is and what it knows, for the model")
    guidelines: Guidelines = setting(
        (),
        "lines on how it behaves, added below its rules; it may propose one, which a "
        "person approves",
        note=f"at most {MOST_GUIDELINES} of at most {LONGEST_GUIDELINE} characters each",
        example="['Keep to one sentence.']",
    )
    card_notes: Text = setting(
        "",
        "notes of its character card on how to play it, quoted below the rules; see docs/cards.md",
    )
    examples: tuple[Pair, ...] = setting(
        (),
        "pairs of a question and its answer, shown to a small model; a question may be "
        "worded in several ways, one on each line",
        example='[["where are the maps?", "Upstairs, by the window."]]',
    )
    system_prompt: Text = setting(
        "", "your own prompt for tool mode `json`, with {name} and {persona}"
    )
    system_prompt_native: Text = setting("", "the same for tool mode `native`")
    prompt_components: dict[Id, Component] = setting(
        {},
        "further blocks of its prompt, by id; see docs/prompts.md",
        example='{"250": {"key": "mood", "content": "You are glad."}}',
    )
    prompt_templates: dict[str, Text] = setting(
        {}, "system prompts to choose from, by key", example='{"stern": "You are {name}."}'
    )
    applied_template: Text = setting("default", "key of the template used as its system prompt")
    context_configs: dict[ContextType, ContextFields] = Field(
        default={},
        description="by context: fields that differ from the defaults",
        json_schema_extra={
            "properties": {str(kind): schema_of(fields_of(kind)) for kind in ContextType},
            "additionalProperties": False,
            "examples": ['{"tick_event": {"max_iterations": 3}}'],
        },
    )
    thinking_lines: Names = setting(
        (),
        "lines shown while it waits for its model; {name} stands for its name",
        example="['{name} hums.', '{name} is still humming.']",
    )
    failure_line: Text = setting("", "what it says when its model fails")
    pronouns: Pronouns = setting(
        "auto", "`it`, `she`, `he` or `they`, in texts about it; `auto`: by `db.gender` of its body"
    )
    plain_speech: Flag = setting(
        True,
        "whether Markdown becomes plain text, and lines that the model writes for other "
        "characters are cut",
    )
    stage_directions: StageDirections = setting(
        "emote",
        "what happens to `*smiles*` in its speech: `emote` poses it, `drop` removes it, "
        "`keep` leaves it in",
    )
    interaction_enabled: Flag = setting(True, "whether it hears anybody (rule 0)")
    enable_addressing: Flag = setting(True, "whether it can be addressed in public (rule 2)")
    addressed_by: AddressedBy = setting(
        "name", "`name`: people may call it by its name (rule 2); `at`: only by @name"
    )
    max_agent_hops: Whole = setting(
        MAX_AGENT_HOPS,
        "messages in a row between assistants before they fall silent; 0: no limit",
        note="0 for no limit",
        ge=0,
        le=1000,
    )
    trigger_permissions: Names = setting(
        (),
        "permissions or lock strings; people who have one need not address it (rule 5)",
        example="['Builder', 'perm(Admin) or id(5)']",
    )
    # A mode alone is short for {"mode": ...}.
    channel_configs: dict[str, ChannelConfig] = setting(
        {},
        "by channel name: trigger, context or ignore, or a mapping of mode and trust (rule 6)",
        example='{"Public": "context"}',
    )
    room_messages: Mode = setting(
        "ignore",
        "what it does with speech in the room that addresses nobody: trigger, context "
        "or ignore (rule 7)",
    )
    trust_overrides: dict[str, Part] = setting(
        {},
        "by permission or lock string: trust of people who have it, 0 to 1",
        example='{"Builder": 0.9}',
    )
    hearing_config: HearingConfig = setting(
        HearingConfig(), "how often each player is answered; its keys are in [hearing](hearing.md)"
    )
    llm_provider: Text = setting("", "its own provider; empty: the game's")
    llm_model: Text = setting("", "its own model; empty: the game's")
    llm_fallback_models: Names = setting(
        (),
        "names of models to call when its own fails; empty: the game's EVENNIA_AI_FALLBACK_MODELS",
        example="['a-smaller-model', 'local']",
    )
    llm_temperature: Number | None = setting(
        None, "sampling temperature, 0 to 2; None: the provider's default", ge=0, le=2
    )
    llm_top_p: Part | None = setting(None, "nucleus sampling, 0 to 1; None: the provider's default")
    llm_max_tokens: Whole | None = setting(None, "longest answer in tokens", ge=1, le=10_000_000)
    llm_reasoning_effort: Literal["low", "medium", "high"] | None = setting(
        None, "reasoning effort: low, medium or high, if the model supports it"
    )
    llm_extra_params: dict[str, Any] = setting(
        {}, "additional members of the request body", example='{"min_p": 0.05}'
    )
    execution_config: ExecutionConfig = setting(
        ExecutionConfig(), "what one tick may do; its keys are in [prompts](prompts.md)"
    )
    max_history: Whole = setting(50, "messages kept in the conversation", ge=1, le=5000)
    max_context_tokens: Whole | None = setting(
        None,
        "maximum tokens of a prompt; None: what the model accepts",
        ge=LEAST_TOKEN_BUDGET,
        le=100_000_000,
    )
    compact_enabled: Flag = setting(
        True, "whether the older conversation is summarized; see docs/tokens.md"
    )
    compact_emergency_threshold: Part = setting(
        0.8, "share of `max_context_tokens` or `max_history` at which that happens"
    )
    compact_sleep_threshold: Part = setting(0.7, "the same while it sleeps")
    compact_preserve_window: Whole = setting(
        PRESERVE_WINDOW, "newest messages that are never summarized", ge=0, le=5000
    )
    compact_model: Text | None = setting(
        None, "model for summaries, of the same provider; None: its own"
    )
    compact_prompt: Text | None = setting(None, "prompt for summaries; None: the built-in one")
    max_pending_events: Whole = setting(20, "maximum number of waiting events", ge=1, le=1000)
    max_consecutive_errors: Whole = setting(
        5, "errors in a row after which it stops itself", ge=1, le=1000
    )
    safety_config: SafetyConfig = setting(
        SafetyConfig(), "limits and checks; its keys are in [safety](safety.md)"
    )
    budget_config: OwnCaps = setting(
        OwnCaps(),
        "its own caps; its keys are in [safety](safety.md)",
        example="{'assistant': {'tokens_per_day': 100000}}",
    )
    confirm_by: Text = setting(
        "asker",
        "who has to approve a dangerous action: `asker`, `staff`, a name, a permission "
        "or a lock string",
    )
    confirm_seconds: Number = setting(
        300, "seconds that such a question stays open", ge=1, le=A_DAY_SECONDS
    )
    stale_answers: StaleAnswers = setting(
        StaleAnswers(),
        "what happens to an answer that comes too late; its keys are in [hearing](hearing.md)",
    )
    autonomy_config: AutonomyConfig = setting(
        AutonomyConfig(),
        "how often it works on its goals by itself; its keys are in [goals](goals.md)",
    )
    memory_config: MemoryConfig = setting(
        MemoryConfig(), "what it remembers; its keys are in [memory](memory.md)"
    )
    sleep_schedule: SleepSchedule = setting(
        SleepSchedule(), "when it sleeps; its keys are in [memory](memory.md)"
    )
    command_allowlist: Names = setting(
        (),
        "keys of the commands, not aliases, that its tool execute_command may run; empty: none",
        example="['inventory']",
    )
    private_words: Literal["kept", "free"] = setting(
        "kept",
        "`kept`: private words go only to people who may know them; `free`: its model decides",
    )
    attribute_allowlist: Names = setting(
        (),
        "names of the attributes that its tool set_attribute may set; empty: none",
        example="['is_lit']",
    )
    max_log_entries: Whole = setting(50, "tool calls kept in `execution_log`", ge=1, le=1000)


# Built once at import: settings commands and the API look schemas up by name.
SCHEMAS = known_keys(schema_of(AssistantSettings))


def check_setting(name: str, value: object) -> None:
    """Reject a plain value that a setting does not accept.

    The contents of a mapping are validated where it is read, together with the game's settings.

    Raises:
        ConfigurationError: the value does not fit.
    """
    schema = SCHEMAS[name]
    if kind_of(schema) != "object":
        AssistantSettings.from_stored({name: value})
    elif not isinstance(value, Mapping):
        shown = one_line(repr(value), LONGEST_SHOWN)
        raise ConfigurationError(f"{name} is {shown}; it must be {wanted(schema)}")


# Settings that are stored as one mapping each, with their models.
GROUPS: Mapping[str, type[SettingsGroup]] = {
    name: type(line.default)
    for name, line in AssistantSettings.model_fields.items()
    if isinstance(line.default, SettingsGroup)
}
