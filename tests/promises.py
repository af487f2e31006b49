"""Promises of the first descriptions of this assistant, and the tests of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """One promise.

    Attributes:
        told: the promise.
        kept: how it is kept, with the command or setting.
        tests: names of test functions; "path::name" if several files have the name.
    """

    told: str
    kept: str
    tests: tuple[str, ...]


GOALS = (
    Promise(
        "goals: a tree with progress, split and set by the model",
        "`assistant goal`, `split_goal`, `create_goal`; four levels, fifty open",
        (
            "tests/game/agent/test_goals.py::test_a_week_with_a_goal_of_three_levels",
            "tests/core/turn/test_goals.py::test_progress_follows_from_the_parts",
            "tests/core/turn/test_goals.py::test_splitting_ends",
            "tests/game/agent/test_goal_times.py::test_a_model_that_splits_for_ever_stops",
        ),
    ),
    Promise(
        "schedules: at dusk to the pier",
        "`assistant goal ada daily at dusk = ...`; a missed time is reported once",
        (
            "tests/game/agent/test_goal_times.py::test_at_dusk_to_the_pier",
            "tests/game/agent/test_goal_times.py::test_a_daily_goal_comes_back_over_restarts",
            "tests/game/agent/test_goal_times.py::test_days_away_are_told_once",
        ),
    ),
    Promise(
        "self-monitoring",
        "`my_state`, in its own turns and for people who may run it",
        (
            "tests/game/tools/test_tools_control.py::test_how_it_stands",
            "tests/game/tools/test_tools_control.py::test_who_is_told",
        ),
    ),
)
MEMORY = (
    Promise(
        "facts without a night",
        "a few calls a day, when a talk is over: `memory_config.awake_calls_per_day`",
        (
            "tests/game/consolidation/test_facts_awake.py::test_after_a_real_talk",
            "tests/game/consolidation/test_facts_awake.py::test_a_few_a_day",
            "tests/game/consolidation/test_facts_awake.py::test_idle_it_costs_no_statement",
        ),
    ),
    Promise(
        "links between memories",
        "an insight is told without its sources; `script.db.memory_links`",
        ("tests/core/memory/test_recollection.py::test_nothing_is_told_twice",),
    ),
)
NAMES = (
    Promise(
        "`if script.db.enabled:`, `db.tick_rate`, `db.execution_config[...]` work for "
        "a fresh assistant",
        "an unset value reads as the value that applies, without a query or a write",
        (
            "tests/game/docs/test_promised_names.py::test_what_was_never_set_reads_as_it_holds",
            "tests/game/docs/test_promised_names.py::test_the_texts_own_condition",
        ),
    ),
    Promise(
        "`estimated_tokens`, `activity_since_wake`, `memory_links`, `mem0_client`, "
        "`active_sub_agents`",
        "read-only views",
        (
            "tests/game/docs/test_promised_names.py::test_views_follow_what_happens",
            "tests/game/docs/test_promised_names.py::test_without_memory_there_is_no_client",
        ),
    ),
    Promise(
        "every Python line in the descriptions works",
        "imports, calls and attributes as written there",
        (
            "tests/game/docs/test_promised_names.py::test_errors_are_counted_and_stop_it",
            "tests/game/docs/test_promised_names.py::test_a_tools_results_are_cached",
            "tests/game/docs/test_promised_names.py::test_a_service_behind_a_breaker",
            "tests/game/docs/test_promised_names.py::test_a_client_with_a_breaker",
            "tests/llm/test_offers.py::test_a_tool_can_be_written_as_the_api_writes_it",
        ),
    ),
    Promise(
        "every setting does something",
        "some module reads each one",
        (
            "tests/core/settings/test_settings.py::test_each_line_is_read_by_something",
            "tests/core/settings/test_settings.py::test_each_setting_of_a_game_is_read_by_something",
        ),
    ),
)
RUNNING = (
    Promise(
        "`assistant emergency clear`, `/history reset` and the rest by staff out of character",
        "also on the account's command set, and in the first line after a crash",
        (
            "tests/journeys/test_out_of_character.py::test_each_command_without_a_character",
            "tests/journeys/test_out_of_character.py::test_after_a_kill_the_first_line_counts",
            "tests/game/commands/test_out_of_character.py::test_others_may_no_more_than_in_character",
        ),
    ),
    Promise(
        "a failed tool counts towards the emergency stop",
        "steps with nothing but failures are one error in a row: decision 0232",
        (
            "tests/game/agent/test_failures.py::test_a_tool_that_fails_is_no_turn_that_fails",
            "tests/game/agent/test_failures.py::test_steps_that_bring_nothing_are_one_failure",
        ),
    ),
    Promise(
        "time travel shows the values that applied",
        "`aiaudit`, `audit/state/`: an unset setting shows the value that applied",
        ("tests/game/audit/test_auditing.py::test_what_nobody_had_set_is_told_as_it_held",),
    ),
    Promise(
        "messages that are true",
        "at a day's cap people hear in how many hours it ends; deleting raises no "
        "alarm; a stop says what happened",
        (
            "tests/game/messages/test_queue.py::test_a_cap_that_is_used_up",
            "tests/game/operations/test_lifecycle_delete.py::test_it_is_no_alarm",
            "tests/game/commands/test_staff_texts.py::test_every_producer_begins_like_a_person",
        ),
    ),
    Promise(
        "a prompt of less than 1,500 tokens for talk, and caps that last a day of play",
        "tools by need; `python -m benchmarks.prompts`: 1,186 tokens, and 414,000 of a player's "
        "500,000 for 120 questions",
        (
            "tests/game/agent/test_needed_tools.py::test_a_trivial_whisper",
            "tests/game/agent/test_needed_tools.py::test_every_tool_can_be_looked_up",
            "tests/core/settings/test_budget_config.py::test_nothing_set_lets_an_owner_sleep",
        ),
    ),
)
TOGETHER = (
    Promise(
        "a delegate's report is summarized",
        "`result_summarization`: one call within the turn's limits, else a cut that says why",
        (
            "tests/game/tasks/test_report_summary.py::test_the_model_reads_a_summary_that_says_so",
            "tests/game/tasks/test_report_summary.py::test_a_cap_of_the_budget_leaves_nothing",
            "tests/game/tasks/test_report_summary.py::test_a_limit_of_the_turn_leaves_nothing",
        ),
    ),
    Promise(
        "what a specialist was told in private is in no report that is said aloud",
        "a report has the audience of its task",
        (
            "tests/game/tasks/test_private_reports.py::test_a_task_for_others_finds_nothing_of_it",
            "tests/game/tasks/test_private_reports.py::test_a_report_for_one_alone_is_said_aloud_by_nobody",
        ),
    ),
    Promise(
        "stale answers are dropped or delivered differently",
        "`stale_answers`; shown by `assistant why`",
        (
            "tests/game/messages/test_stale_answers.py::test_it_may_be_paged",
            "tests/game/messages/test_stale_answers.py::test_it_may_be_dropped",
            "tests/game/messages/test_stale_answers.py::test_it_is_not_said_to_strangers",
            "tests/game/messages/test_stale_answers.py::test_each_way",
        ),
    ),
)
INNER = (
    Promise(
        "seven contexts, each with its own prompt, tools and limits",
        "`db.context_configs`, `assistant prompt ada <context>`; each is used where it belongs",
        (
            "tests/game/agent/test_inner_contexts.py::"
            "test_each_contexts_words_are_in_its_calls_and_in_no_other",
            "tests/game/agent/test_inner_contexts.py::test_each_key_of_each_context",
            "tests/game/agent/test_inner_contexts.py::test_each_context",
            "tests/game/agent/test_planning.py::test_the_model_is_asked_for_the_parts",
        ),
    ),
    Promise(
        "reflection while awake",
        "in a quiet moment, past a threshold or an interval, within the budget",
        (
            "tests/game/consolidation/test_reflection_awake.py::test_at_the_threshold_when_a_talk_is_over",
            "tests/game/consolidation/test_reflection_awake.py::test_after_an_interval",
            "tests/game/consolidation/test_reflection_awake.py::test_it_is_filled",
        ),
    ),
    Promise(
        "self-modification",
        "`propose_guideline`: a person says yes; versioned, and undone by one command",
        (
            "tests/game/approvals/test_guidelines.py::test_nothing_changes_before_the_yes",
            "tests/game/approvals/test_guidelines.py::test_a_yes_is_an_edit_of_that_person",
            "tests/game/approvals/test_guidelines.py::test_a_player_cannot_bring_it_about",
        ),
    ),
)
BROUGHT = (
    Promise(
        "character cards, V1 to V3, PNG and JSON, imported and exported without loss",
        "`assistant import`, `assistant export`; read and written by `@lenml/char-card-reader`",
        (
            "tests/core/cards/test_character_cards.py::test_json_comes_out_as_it_went_in",
            "tests/core/cards/test_character_cards.py::test_any_card_comes_back",
            "tests/core/cards/test_png.py::test_a_thousand_mutated_cards_neither_crash_nor_grow",
            "tests/endpoints/test_character_cards.py::test_ours_are_read_there",
            "tests/endpoints/test_character_cards.py::test_theirs_is_read_here_and_goes_back",
        ),
    ),
    Promise(
        "instructions in a card are data, below our rules",
        "`db.card_notes`, quoted; what is kept but unused is shown before it is stored",
        (
            "tests/game/operations/test_cards.py::test_notes_stand_below_the_rules_and_quoted",
            "tests/game/operations/test_cards.py::test_it_is_shown_before_it_is_stored",
        ),
    ),
    Promise(
        "macros",
        "`{{char}}`, `{{user}}`, `{{time}}` and others; a game's own by `EVENNIA_AI_MACROS`",
        (
            "tests/game/prompts/test_macros.py::test_a_persona_and_lore",
            "tests/game/prompts/test_macros.py::test_a_games_own",
        ),
    ),
    Promise(
        "lore packs",
        "`assistant lore import`, `export`; tags, conditions, quest states",
        (
            "tests/game/memory/test_lore_packs.py::test_what_goes_out_comes_in_again",
            "tests/game/memory/test_lore_packs.py::test_each_kind_of_condition",
        ),
    ),
)
PROMISES = (*INNER, *GOALS, *MEMORY, *NAMES, *RUNNING, *TOGETHER, *BROUGHT)
