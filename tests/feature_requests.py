"""Forty feature requests of owners and players of games with models, and the test of each.

Collected from the issues, forums and wikis of other games, bots and agent frameworks, in our words.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One feature request.

    Attributes:
        wish: what people want.
        here: how it is met, with the command or setting.
        tests: names of test functions; "path::name" if several files have the name.
    """

    wish: str
    here: str
    tests: tuple[str, ...]


MONEY = (
    Request(
        "a cap that really stops: for an assistant, a player and the game, across all "
        "its processes",
        "`assistant budget`, `EVENNIA_AI_BUDGET_CONFIG`; reserved before each call",
        ("test_l15_two_processes_share_one_ledger_and_one_cap", "test_a_cap_of_the_game"),
    ),
    Request(
        "no call while nothing happens or nobody is near",
        "events start turns, not the clock; goals wait for somebody near",
        ("test_nothing_happens_and_nothing_is_spent", "test_an_idle_beat_costs_nothing"),
    ),
    Request(
        "off means off, even for timers that were set before",
        "`db.enabled = False`, `assistant stop`",
        ("test_what_is_switched_off_stops", "test_her_answer_is_dropped"),
    ),
    Request(
        "a stop at repeated calls and rounds without progress",
        "told once, then ended: `safety_config.checks` same_failures, same_successes",
        (
            "test_the_same_failure_is_told_once_and_then_ends_the_turn",
            "test_the_same_call_with_other_results_is_progress",
        ),
    ),
    Request(
        "a cap on the rounds of a turn",
        "`execution_config.max_iterations_per_tick`, 5",
        ("test_l1_iterations_grant_exactly_what_was_asked",),
    ),
    Request(
        "no beat starts while the last one still works or summarizes",
        "one gate for beats and events",
        (
            "test_a_beat_that_is_on_its_way",
            "tests/game/agent/test_compaction_cut_off.py::test_one_at_a_time",
        ),
    ),
    Request(
        "a stable beginning of the prompt, for the provider's cache",
        "rules, persona and the tools that are always shown come first, in one order",
        (
            "test_the_head_does_not_change_with_the_conversation",
            "test_the_first_tools_are_always_the_same",
        ),
    ),
    Request(
        "tokens and money by assistant, task and player, today",
        "`assistant usage`, `assistant budget`, `assistant why`, `metrics/`",
        ("test_usage_is_counted", "test_hole_d25_a_message_knows_who_paid"),
    ),
)
TRUST = (
    Request(
        "a stop that drops the answer in flight and survives a reload",
        "`assistant stop`, `assistant emergency`",
        ("test_a_stop_drops_the_call_in_flight", "test_a_late_answer_is_dropped"),
    ),
    Request(
        "players can silence it in the room, within the story",
        "`hush`",
        ("test_hushed_she_is_quiet_here_and_hears_a_whisper",),
    ),
    Request(
        "it talks neither over people nor to other bots, and not all answer at once",
        "eight rules of hearing; `EVENNIA_AI_ANSWERS_PER_LINE`, 1",
        (
            "test_one_answers",
            "test_what_is_aimed_at_another_is_left_alone",
            "test_by_bare_names_they_do_not_call_each_other",
        ),
    ),
    Request(
        "conversations end",
        "`db.max_agent_hops`, cooldowns of `db.hearing_config`",
        (
            "test_they_stop_after_max_agent_hops",
            "tests/core/hearing/test_rate_limits.py::test_cooldown",
        ),
    ),
    Request(
        "two bots cannot echo each other for ever",
        "hops are counted by the server, over rooms, whispers and pages",
        ("test_two_silent_assistants_do_not_echo_each_other", "test_messages_carry_one_hop_more"),
    ),
    Request(
        "it says that it is an AI; people who want nothing to do with it can mute it "
        "or be left out",
        "`assistant mute`, `assistant memory off`",
        ("test_that_it_is_an_ai_is_seen", "test_the_muted_are_not_heard", "test_rooms"),
    ),
    Request(
        "the game decides, the model only asks: an allowlist, and a lock on each action",
        "one gate for all tools; `db.command_allowlist`, `db.attribute_allowlist`",
        ("test_no_text_makes_what_only_metadata_can",),
    ),
)
FAILURE = (
    Request(
        "a time limit and one line in character; the true cause only for staff",
        "`EVENNIA_AI_CALL_DEADLINE_SECONDS`, `db.failure_line`",
        ("test_a_player_is_told_and_staff_know_why",),
    ),
    Request(
        "429 and Retry-After are respected",
        "waited for within the call's time; not counted as a failure",
        ("test_a_wait_that_the_service_names_uses_up_no_attempt", "test_who_is_told_to_wait_waits"),
    ),
    Request(
        "one command that tells why it is silent",
        "`assistant status`, `assistant why`",
        ("test_what_would_keep_her_silent_is_said_too", "test_status_begins_with_how_it_is"),
    ),
    Request(
        "a clear error for a prompt that is too long, with what to change",
        "`assistant check`, `assistant why`",
        (
            "tests/endpoints/test_doors.py::test_a_prompt_that_is_too_long_is_called_so",
            "test_a_prompt_that_is_too_long_for_the_model",
        ),
    ),
    Request(
        "a change of the embedding model is noticed and does no harm",
        "vectors of the old one are not used, and are made anew from the table",
        ("test_another_embedding_model_starts_anew", "test_a_changed_embedding_model"),
    ),
    Request(
        "if the memory store fails it keeps talking, and tells staff",
        "`assistant status`, `health/`",
        (
            "tests/game/memory/test_recall.py::test_a_store_that_is_down",
            "test_all_agree_that_the_store_is_down",
        ),
    ),
)
TEXT = (
    Request(
        "no thoughts, no tool JSON, no name before the words, no stage directions",
        "`db.plain_speech`, `db.stage_directions`; on every way out",
        (
            "test_without_thoughts",
            "test_stage_directions_are_posed",
            "test_it_speaks_for_nobody_else",
        ),
    ),
    Request(
        "braces, `$func()`, colour codes and commands from the model are plain text",
        "escaped where they leave",
        ("test_a_a_reply_that_holds_braces_is_said", "test_her_answer_shows_no_markup"),
    ),
    Request(
        "a small model that recites its instructions or a tool's syntax is corrected "
        "once, then quiet",
        "what was meant as a call is run as one; a recital is not said",
        (
            "test_the_second_attempt_is_said",
            "test_twice_is_the_end",
            "test_a_tool_call_told_as_speech_is_run_and_not_shown",
        ),
    ),
    Request(
        "long answers end with a sentence",
        "cut there",
        ("test_a_long_speech_is_cut_at_a_sentence",),
    ),
)
MEMORY = (
    Request(
        "what one player said in private is in nobody else's prompt",
        "an owner for each private word; `db.private_words`",
        ("test_no_secret_of_one_is_sent_for_another", "test_a_whisper_is_not_told_to_anybody_else"),
    ),
    Request(
        "staff, and the player they are about, can see, correct and delete memories",
        "`assistant memory`, `assistant forget`, `aimemory`, `me/memory/`",
        ("test_she_corrects_and_forgets_one", "test_somebody_is_exported_and_forgotten"),
    ),
    Request(
        "limits on the number and age of memories",
        "`memory_config` max_memories, retention_days, journal_days",
        ("test_all_go_after_the_days_that_are_set", "test_too_many_memories"),
    ),
    Request(
        "characters and rooms that are left out, with another choice for each assistant",
        "`memory_config` never_rooms, never_characters",
        ("test_rooms",),
    ),
    Request(
        "lore of a place or a faction, which changes as the story goes on",
        "`aimemory lore`, `lore/`",
        ("test_lore_lives_and_is_gone",),
    ),
    Request(
        "rumours kept apart from knowledge",
        "trust of each memory's source; told as hearsay, or not at all",
        ("test_hearsay_is_parted_from_what_is_known", "test_a_rumour_stays_one"),
    ),
)
UPKEEP = (
    Request(
        "any OpenAI-compatible address, with a key or without",
        "`OPENAI_BASE_URL`; tried with five programs, see models.md",
        (
            "tests/endpoints/test_doors.py::test_check_finds_nothing_wrong",
            "test_a_key_is_sent_only_when_there_is_one",
        ),
    ),
    Request(
        "keys come from the environment or the secret settings, never from the game",
        "refused in commands, shown nowhere",
        ("test_the_key_is_sent_but_kept_nowhere", "test_no_key_is_shown"),
    ),
    Request(
        "it works without any model, to build and test with",
        "`EVENNIA_AI_MODEL=scripted`",
        ("test_the_scripted_model_answers",),
    ),
    Request(
        "prompt and settings can be edited while the game runs",
        "`assistant prompt`, `assistant config`; they hold from the next turn",
        (
            "test_a_text_that_makes_no_prompt_stays_in_the_editor",
            "test_a_template_is_applied_at_once",
        ),
    ),
    Request(
        "a model can be tested before players meet it: tools, JSON, context, speed",
        "`assistant check`",
        ("test_a_fit_endpoint_passes_in_four_lines", "test_check_says_that_all_is_well"),
    ),
    Request(
        "a cheap model for some jobs, another for one assistant",
        "`db.llm_model`, `db.compact_model`; a delegate has a model of its own",
        ("test_an_assistant_may_have_a_model_of_its_own",),
    ),
    Request(
        "several actions in order from one reply",
        "`execution_config.calls_per_reply`, 4",
        ("test_several_calls_in_one_reply",),
    ),
    Request(
        "staff or code tell it what to do",
        "`assistant tell`, `goals/`, `ask`",
        ("test_what_she_reports_comes_back", "test_a_task_has_a_turn_of_its_own"),
    ),
    Request(
        "a plain API for the game's code",
        "`ada.ask(...)`, signals, hooks, `@tool`; see asking.md and extending.md",
        ("test_a_decorator_without_brackets", "test_a_hook_that_raises_harms_nothing"),
    ),
)
REQUESTS = (*MONEY, *TRUST, *FAILURE, *TEXT, *MEMORY, *UPKEEP)
