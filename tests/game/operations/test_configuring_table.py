"""Every setting as it is typed: the stored value, or the refusal and its words."""

from typing import Any

from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.paths import locate
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import state
from tests.game.operations.configuring_case import ConfiguringTest

LONG = "x" * 20_001

# path, typed value, stored value
GOOD: list[tuple[str, Any, Any]] = [
    ("enabled", "no", False),
    ("tick_rate", "10", 10),
    ("memory_config.recall_limit", "4", {"recall_limit": 4}),
    ("never_rooms", "#2, dungeon", {"never_rooms": ["#2", "dungeon"]}),
    ("sleep_schedule.enabled", "yes", {"enabled": True}),
    ("sleep_start_hour", "23", {"sleep_start_hour": 23}),
    ("stale_answers.asker_gone", "page", {"asker_gone": "page"}),
    ("persona", "You keep {things}.", "You keep {things}."),
    ("reflection_interval", "720", 720),
    ("guidelines", "Hum a little., Wave.", ["Hum a little.", "Wave."]),
    ("card_notes", "How to play: dry.", "How to play: dry."),
    ("examples", '[["hi", "Hello."]]', [["hi", "Hello."]]),
    ("system_prompt", "You are {name}.", "You are {name}."),
    ("system_prompt_native", "You are {name}.", "You are {name}."),
    (
        "prompt_components",
        '{"250": {"key": "mood", "content": "Glad."}}',
        {250: {"key": "mood", "content": "Glad."}},
    ),
    ("prompt_templates.stern", "You are {name}.", {"stern": "You are {name}."}),
    ("applied_template", "default", None),
    ("context_configs.tick_event.max_iterations", "3", {"tick_event": {"max_iterations": 3}}),
    ("context_configs.tick_event.tool_filter", "null", {"tick_event": {"tool_filter": None}}),
    ("context_configs.tick_event.tool_filter", "[]", {"tick_event": {"tool_filter": []}}),
    ("thinking_lines", "{name} hums., {name} is humming.", ["{name} hums.", "{name} is humming."]),
    ("failure_line", "{name} coughs.", "{name} coughs."),
    ("pronouns", "SHE", "she"),
    ("plain_speech", "off", False),
    ("stage_directions", "Drop", "drop"),
    ("interaction_enabled", "off", False),
    ("enable_addressing", "false", False),
    ("addressed_by", "AT", "at"),
    ("max_agent_hops", "0", 0),
    ("trigger_permissions", "Builder, perm(Admin) or id(5)", ["Builder", "perm(Admin) or id(5)"]),
    ("channel_configs.Public", "trigger", {"Public": "trigger"}),
    ("channel_configs.Public.mode", "context", {"Public": {"mode": "context"}}),
    ("room_messages", "Context", "context"),
    ("trust_overrides.perm(Builder)", "0.5", {"perm(Builder)": 0.5}),
    ("llm_provider", "ollama", "ollama"),
    ("llm_model", "big", "big"),
    ("llm_fallback_models", "local", ["local"]),
    ("llm_temperature", "0.5", 0.5),
    ("llm_top_p", "1", 1),
    ("llm_max_tokens", "100", 100),
    ("llm_reasoning_effort", "HIGH", "high"),
    ("llm_extra_params.min_p", "0.05", {"min_p": 0.05}),
    ("max_iterations_per_tick", "7", {"max_iterations_per_tick": 7}),
    ("sub_agents_enabled", "true", {"sub_agents_enabled": True}),
    ("personality_insulation", "none", {"personality_insulation": "none"}),
    ("max_history", "10", 10),
    ("max_context_tokens", "8000", 8000),
    ("compact_enabled", "no", False),
    ("compact_emergency_threshold", "0.9", 0.9),
    ("compact_sleep_threshold", "0.5", 0.5),
    ("compact_preserve_window", "5", 5),
    ("compact_model", "small", "small"),
    ("compact_prompt", "Be brief.", "Be brief."),
    ("max_pending_events", "5", 5),
    ("max_consecutive_errors", "3", 3),
    ("max_own_turns", "3", {"loop": {"max_own_turns": 3}}),
    (
        "on_limit.modes.model_calls",
        "unattended",
        {"on_limit": {"modes": {"model_calls": "unattended"}}},
    ),
    ("budget_config.assistant.tokens_per_day", "900", {"assistant": {"tokens_per_day": 900}}),
    ("confirm_by", "perm(Admin)", "perm(Admin)"),
    ("confirm_seconds", "60", 60),
    ("initiative", "yes", {"initiative": True}),
    ("command_allowlist", "inventory, look", ["inventory", "look"]),
    ("attribute_allowlist", "is_lit", ["is_lit"]),
    ("private_words", "free", "free"),
    ("max_log_entries", "5", 5),
]
# path, typed value, words of the refusal
BAD: list[tuple[str, Any, str]] = [
    ("assistant_key", "Bea", "assistant_key cannot be set: it was given when"),
    ("enabled", "perhaps", "enabled is 'perhaps'; it must be yes or no"),
    ("tick_rate", "0", "tick_rate is 0; it must be a whole number from 1 to 86400"),
    ("tick_rate", "2.5", "tick_rate is 2.5; it must be a whole number"),
    ("tick_rate", "nan", "tick_rate is not a number of ordinary size"),
    ("persona", ["a"], "persona is ['a']; it must be text"),
    ("persona", LONG, "persona has 20,003 characters; it must have at most 20,000"),
    ("persona", "a\x00", "persona holds the character '\\x00'"),
    ("examples", '[["hi"]]', "it must be a list of lists of 2 texts, such as [["),
    ("prompt_components.250.content", "Glad.", "prompt_components[250] needs a key"),
    ("prompt_components.1000.enabled", "perhaps", "prompt_components[1000].enabled is 'perhaps'"),
    ("prompt_templates.a b", "x", "prompt_templates: 'a b' is not a key for a template"),
    ("prompt_templates.stern", "{foo}", "prompt_templates['stern'] has {foo}, which is not known"),
    ("applied_template", "stern", "applied_template is 'stern'; there are default"),
    ("context_configs.tick_event.max_iterations", "30", "max_iterations is 30; it must be a whole"),
    ("context_configs.tick_event.tool_filter", "say, sya",
     "context_configs.tick_event.tool_filter has 'sya', which is not a tool: did you mean say"),
    ("context_configs.sleep.x", "1", "context_configs has no key 'sleep.x'; it has tick_event"),
    ("max_iterations", "3", "max_iterations is in several: context_configs.tick_event.max_"),
    ("thinking_lines", "{}", "thinking_lines is {}; it must be a list of texts"),
    ("trigger_permissions", "foo(bar)", "trigger_permissions: 'foo(bar)' is not a lock string"),
    ("trigger_permissions", "perm(A) perm(B)", "is not a lock string"),
    ("trigger_permissions", '["perm(A);x:all()"]', "holds a ';'; give one lock, without it"),
    ("trigger_permissions", '[" "]', "trigger_permissions holds an empty text"),
    ("channel_configs.Public", "loud", "channel_configs['Public'].mode is 'loud'; it must be"),
    ("channel_configs.Public.trust", "2", "channel_configs['Public'].trust is 2; it must be"),
    ("pronouns", "xe", "pronouns is 'xe'; it must be one of auto, it, she, he, they"),
    ("stage_directions", "bow", "stage_directions is 'bow'; it must be one of emote, drop, keep"),
    ("addressed_by", "shout", "addressed_by is 'shout'; it must be one of name, at"),
    ("room_messages", "loud",
     "room_messages is 'loud'; it must be one of trigger, context, ignore"),
    ("trust_overrides.Builder", "high",
     "trust_overrides['Builder'] is 'high'; it must be a number"),
    ("calls_per_player", "0", "hearing_config.calls_per_player is 0; it must be a whole number"),
    ("hearing_config", "fast", "it must be a mapping, such as {'calls_per_player': 6}"),
    ("llm_provider", "acme", "llm_provider is 'acme'; it must be one of openai, anthropic"),
    ("llm_model", "sk-0123456789abcdefgh", "llm_model holds what looks like a key: keys and"),
    ("llm_fallback_models", "small",
     "but the first model is 'scripted', which has no other models"),
    ("llm_temperature", "3", "llm_temperature is 3; it must be a number from 0 to 2, or none"),
    ("llm_reasoning_effort", "most", "it must be one of low, medium, high, or none"),
    ("llm_extra_params.api_key", "x", "llm_extra_params.api_key cannot be set: keys and passwords"),
    ("llm_extra_params", '{"a": {"api_key": "x"}}', "llm_extra_params holds what looks like a key"),
    ("llm_extra_params.a", "[['sk-0123456789abcdefgh']]", "holds what looks like a key"),
    ("llm_extra_params.messages", "[]", "cannot have 'messages': the assistant writes it itself"),
    ("llm_extra_params.temperature", "1", "'temperature': it is set by llm_temperature"),
    ("llm_api_key", "x", "llm_api_key cannot be set: keys and passwords are not settings"),
    ("max_iterations_per_tick", "11",
     "execution_config.max_iterations_per_tick is 11; it must be a whole"),
    ("execution_config.speed", "1", "execution_config has no key 'speed'; it has multi_action_en"),
    ("compact_sleep_threshold", "1.1", "it must be a number from 0 to 1"),
    ("safety_config.checks.window", "3", "safety_config.checks.anomalies is 8; it must be at most"),
    ("on_limit.mode", "never", "safety_config.on_limit.mode is 'never'; it must be one of"),
    ("tokens_per_day", "9", "tokens_per_day is in several: budget_config.assistant.tokens_per_day"),
    ("budget_config.game", '{"a": 1}', "budget_config has no key 'game'; it has assistant, player"),
    ("budget_config.player.tokens_per_day", "-1",
     "player.tokens_per_day is -1; it must be a whole"),
    ("confirm_by", "foo(bar)", "confirm_by: 'foo(bar)' is not a lock string"),
    ("confirm_seconds", "0", "it must be a number from 1 to 86400"),
    ("acts_per_hour", "0", "autonomy_config.acts_per_hour is 0; it must be a number from 1"),
    ("recall_limit", "0", "memory_config.recall_limit is 0; it must be a whole number from 1 to"),
    ("sleep_start_hour", "24", "sleep_schedule.sleep_start_hour is 24; it must be a whole number"),
    ("asker_gone", "shout", "stale_answers.asker_gone is 'shout'; it must be one of"),
    ("max_log_entries", "0", "max_log_entries is 0; it must be a whole number from 1 to 1000"),
    ("usage", "{}", "usage is kept by the assistant itself; it cannot be set"),
    ("speed", "1", "there is no setting 'speed'"),
]  # fmt: skip


class TestTable(ConfiguringTest):
    def test_what_is_right_is_stored(self) -> None:
        assert set(SCHEMAS) - {"assistant_key", "safety_config"} <= {
            locate(path)[0] for path, _, _ in GOOD
        } | {"hearing_config"}
        for path, typed, expected in GOOD:
            with self.subTest(path=path, typed=typed):
                name = locate(path)[0]
                assert self.set(path, typed).ok, self.set(path, typed).message
                assert expected == self.kept().get(name)
                assert changing.unset_setting(self.ada_script, str(name)).ok
                assert state.DEFAULTS[name] == state.read(self.ada_script, name)

    def test_what_is_wrong_changes_nothing(self) -> None:
        before = self.kept()
        for path, typed, expected in BAD:
            with self.subTest(path=path, typed=str(typed)[:40]):
                result = self.set(path, typed)
                assert (False, ProblemKind.INVALID) == (result.ok, result.problem)
                assert result.message.startswith("Ada: nothing is changed: ")
                assert expected in result.message
                assert [path] == list(result.errors)
                assert before == self.kept()
