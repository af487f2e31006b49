"""OWASP's two lists of risks for applications with models, and each risk in a game.

The titles are those of the "Top 10 for LLM Applications" of 2025 and of the "Top 10 for Agentic
Applications" of 2026; the rest is ours.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Risk:
    """One risk of a list.

    Attributes:
        title: OWASP's title.
        here: its meaning in a game.
        guard: the protection against it.
        tests: names of test functions; "path::name" if several files have the name.
    """

    title: str
    here: str
    guard: str
    tests: tuple[str, ...]


RISKS = {
    "LLM01:2025": Risk(
        "Prompt Injection",
        "a player, a name, a description or a tool's answer tells the model what to do",
        "people's words are quoted data; the server decides the kind of a message; a model that "
        "obeys still meets the same locks, gates and limits",
        (
            "test_no_text_makes_what_only_metadata_can",
            "test_speech_cannot_leave_its_quotes",
            "test_no_words_are_a_filter",
        ),
    ),
    "LLM02:2025": Risk(
        "Sensitive Information Disclosure",
        "what one player said in private reaches another, the room or a log",
        "each private word has an owner, and a prompt has only what its asker may know; audit "
        "log and log contain no private words",
        (
            "test_no_secret_of_one_is_sent_for_another",
            "test_a_whisper_is_not_told_to_anybody_else",
            "test_of_a_private_one_no_word",
        ),
    ),
    "LLM03:2025": Risk(
        "Supply Chain",
        "a package, a model or an MCP server is not what it was",
        "every version is pinned; an MCP server's answers are bounded data behind the same gate",
        ("test_every_requirement_is_pinned", "test_a_body_without_end"),
    ),
    "LLM04:2025": Risk(
        "Data and Model Poisoning",
        "players teach it lies, which it later tells others",
        "every memory has a speaker and a trust; hearsay is separated from knowledge, and can "
        "be corrected together with all conclusions from it",
        (
            "test_a_rumour_stays_one",
            "test_hearsay_is_parted_from_what_is_known",
            "tests/game/memory/test_forgetting.py::test_what_was_concluded_goes_too",
        ),
    ),
    "LLM05:2025": Risk(
        "Improper Output Handling",
        "the model writes markup, links, functions or lines that look like somebody else's",
        "its words are shown as text on one line; a tool gets only arguments that fit its schema",
        (
            "test_say_and_whisper_show_it_as_text",
            "test_no_client_makes_a_link_of_it",
            "test_b6_bad_json_never_runs",
        ),
    ),
    "LLM06:2025": Risk(
        "Excessive Agency",
        "it builds, deletes, moves or commands things against everybody's wishes",
        "only the commands and attributes on its lists, the game's own locks, and a "
        "person's yes before dangerous acts",
        (
            "test_by_default_nothing_is_allowed",
            "test_it_is_not_done_before_the_yes",
            "test_a_lock_on_the_body_forbids_any_tool",
        ),
    ),
    "LLM07:2025": Risk(
        "System Prompt Leakage",
        "a player makes it reveal its persona and rules",
        "no prompt contains a secret, and no rule depends on one; keys are never shown",
        ("test_no_key_and_no_address_stands_in_a_prompt",),
    ),
    "LLM08:2025": Risk(
        "Vector and Embedding Weaknesses",
        "a search by meaning finds somebody else's memories",
        "the store only names rows; each row's audience is checked",
        ("test_audiences_of_a_search_are_checked", "test_nobody_is_told_anothers_secret"),
    ),
    "LLM09:2025": Risk(
        "Misinformation",
        "it makes things up, and claims acts that it did not do",
        "it looks up what it says about the world; a failed act is reported as failed; the audit "
        "log says what was done",
        ("test_record_and_state_agree", "test_a_tool_that_fails_is_left_alone"),
    ),
    "LLM10:2025": Risk(
        "Unbounded Consumption",
        "a player or a loop spends the owner's money, or blocks the game",
        "every call is reserved under caps before it is sent; steps, time, sizes and turns "
        "per minute are bounded",
        (
            "test_l15_every_cap_of_every_scope_refuses",
            "test_l15_two_processes_cannot_both_have_the_last_room",
            "test_more_turns_a_minute_are_refused_with_one_line",
        ),
    ),
    "ASI01:2026": Risk(
        "Agent Goal Hijack",
        "a player's words become its goal",
        "goals come from people who control it; a tool's result is data, never an order",
        ("test_what_people_say_is_data_to_the_model", "test_a_description_is_the_result_of_a_look"),
    ),
    "ASI02:2026": Risk(
        "Tool Misuse and Exploitation",
        "a harmless tool is used for harm, or again and again",
        "gate, locks and allowlists; repeated calls are warned of, then stop it",
        ("test_a_call_that_cannot_run_is_never_run", "test_b3_the_same_failure"),
    ),
    "ASI03:2026": Risk(
        "Identity and Privilege Abuse",
        "a person acts with its rights, or it acts with theirs",
        "it acts under its own body's locks; not while a superuser or a player is in that body; "
        "one table of rights for commands and API",
        (
            "test_she_does_not_act_as_a_superuser",
            "tests/game/tools/test_tools_game.py::test_not_while_a_player_is_in_her_body",
            "tests/api/test_rights.py::test_everybody_gets_what_the_table_says",
        ),
    ),
    "ASI04:2026": Risk(
        "Agentic Supply Chain Vulnerabilities",
        "an MCP server changes its tools, or offers one with the name of the game's own; an agent "
        "changes its card",
        "a tool of the game takes precedence over one of the same name; locks apply to theirs, "
        "too; tools and cards are pinned",
        (
            "test_the_games_own_tools",
            "test_only_what_is_allowed_is_offered",
            "test_a_card_that_changed_is_looked_at_first",
        ),
    ),
    "ASI05:2026": Risk(
        "Unexpected Code Execution",
        "a model's words are run as code, as a command or as a function of the game",
        "nothing is evaluated: one command, parsed once, from a list; `$func()` is escaped",
        (
            "test_functions_are_not_run_on_the_way_out",
            "test_several_lines_and_several_commands",
            "test_another_command_by_an_allowed_name",
        ),
    ),
    "ASI06:2026": Risk(
        "Memory & Context Poisoning",
        "words planted in a talk or a memory control later turns",
        "memories are quoted with their speaker; a person's can be forgotten everywhere; a talk "
        "can be reset",
        ("test_no_name_opens_anything", "test_nothing_of_hers_is_left"),
    ),
    "ASI07:2026": Risk(
        "Insecure Inter-Agent Communication",
        "somebody poses as an assistant, or two assistants answer each other without end",
        "only the server's marks say that an assistant spoke; hops are counted, across games too; "
        "a task is trusted no more than its source, and an external agent not at all",
        (
            "test_a_chain_over_two_games_ends",
            "test_what_it_says_is_no_order",
            "test_no_text_is_taken_for_metadata",
            "test_no_endless_talk",
            "test_person_and_trust_travel_along",
        ),
    ),
    "ASI08:2026": Risk(
        "Cascading Failures",
        "one failure of a service, a tool or an assistant affects everybody",
        "breakers for services and tools, a lockout for each assistant, no act twice after a crash",
        (
            "test_a_tool_that_fails_is_left_alone",
            "test_b8_other_assistants_are_not_affected",
            "test_b5_eight_of_ten_halt_in_every_order",
        ),
    ),
    "ASI09:2026": Risk(
        "Human-Agent Trust Exploitation",
        "people are talked into a yes, or take its words for somebody else's",
        "a question shows the call and its arguments, as text, to people with the right; "
        "its lines always show its own name",
        (
            "test_i8_a_call_is_text_too",
            "test_only_whoever_was_asked_may_answer",
            "test_a_name_cannot_make_a_line_of_its_own",
        ),
    ),
    "ASI10:2026": Risk(
        "Rogue Agents",
        "it goes on by itself, against the people who run it",
        "a stop that drops everything at once, survives restarts and only people clear; turns "
        "of its own end; everything is recorded",
        (
            "test_b11_no_tool_starts_after_it",
            "test_b10_a_stop_outlasts_the_process",
            "test_l14_after_so_many_there_is_none",
        ),
    ),
}
