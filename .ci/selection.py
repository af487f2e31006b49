"""Which tests run where: lists of folders, files and single tests for the steps of `suite.py`."""

from collections.abc import Iterable, Mapping


def in_game(rooms: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Modules of tests/game, by room and name."""
    return tuple(
        f"tests/game/{room}/test_{name}.py" for room, names in rooms.items() for name in names
    )


CORE = ("tests/core", "tests/resilience", "tests/engine", "tests/test_errors.py")
# Tests that start servers and browsers wait part of the time, so more of them than there are
# processors run at once, and other tests beside them.
SERVERS = ("tests/journeys", "tests/browser", "tests/play")
# Tests that do not depend on Python or Evennia, or read only our own files: run once.
ONCE = (
    *CORE,
    "tests/crash",
    "tests/endpoints",
    "tests/fakes",
    "tests/journeys/games",
    *(
        f"tests/journeys/test_{name}.py"
        for name in (
            *("a2a_hooks", "a2a_hostile", "a2a_questions", "assistants_together"),
            *("budget", "crowd", "endpoints", "failures", "faults", "harness", "limits"),
            *("mcp_hostile", "mcp_staff", "real_model", "remembering"),
            *("one_ledger", "remote_specialists", "safety", "schemathesis"),
            *("thinking", "two_games"),
            # test_install and test_removing follow README's steps with each Evennia, and
            # tests/game/messages/test_roleplay speaks behind masks.
            "roleplay",
            # Other tests cover Evennia's part of these: test_removing adopts and releases,
            # test_restarts reloads, and tests/game/operations/test_bundles moves an assistant.
            *("adopting", "moving", "reloads"),
        )
    ),
    # A browser with our own pages. Other tests cover that it shows them in each Evennia's frame.
    "tests/browser/test_browser.py",
    *(
        f"tests/browser/test_workbench.py::test_{name}"
        for name in (
            *("everybody_can_use_every_page", "every_page_is_worked_by_the_keyboard"),
            "whatever_is_done_on_a_page_is_done_by_the_keyboard",
        )
    ),
    "tests/browser/test_workbench_live.py",
    # Streams, files and hostile requests of A2A.
    *(
        f"tests/journeys/test_a2a.py::test_{name}"
        for name in (
            *("a6_a_stream_goes_on_where_it_broke_off", "a6_an_idle_stream_is_heard_of"),
            *("what_is_attached_goes_with_the_report", "what_cannot_be_attached"),
            *("what_is_attached_is_streamed_and_told_and_kept", "files_of_text_are_read"),
            *("other_files_are_refused", "what_a_peer_takes_is_kept_to"),
            "a1_what_is_wrong_has_its_number",
        )
    ),
    # What a kill or a stop leaves is told by the plugin's own rows; a kill while the model answers
    # and a reload are tested with each Evennia.
    *(
        f"tests/journeys/test_restarts.py::test_{name}"
        for name in (
            *("hole_d27_a_kill_and_its_person_comes_back_later", "a_kill_right_after_the_answer"),
            *("a_kill_in_the_moment_in_which_an_answer_is_noted", "a_kill_while_a_program_waits"),
        )
    ),
    # Workers among themselves. Other tests run workers with each Evennia.
    *(
        f"tests/journeys/test_workers.py::test_{name}"
        for name in (
            "any_worker_is_killed_at_every_step_of_a_night",
            "a_worker_is_killed_with_vectors_in_its_hands",
            "a_worker_that_is_asked_to_end_finishes_what_it_is_at",
            "a_stop_takes_back_what_workers_are_at",
            "what_ends_every_worker_is_given_up_in_words",
            "a_worker_without_the_key_says_so",
            "a_worker_outlives_its_connections",
            "memories_get_vectors_by_workers",
        )
    ),
    # Each runs on SQLite and on PostgreSQL already, in its own processes.
    "tests/audit/test_processes.py",
    *(f"tests/ledger/test_{name}.py" for name in ("games", "names", "outages", "processes")),
    "tests/llm",
    "tests/mcp",
    "tests/play",
    "tests/memory",
    # Their processes have their own SQLite file.
    *(f"tests/memory/test_{name}.py" for name in ("recall_benchmark", "store_kills", "week")),
    # Settings, and making vectors of texts.
    *(f"tests/memory/test_store_{name}.py" for name in ("embedding", "settings")),
    "tests/api/test_rights.py",
    "tests/api/test_rights.py::TestNobodyLearnsNames",
    "tests/mcp_server",
    "tests/game/walks/test_model_check.py",
    "tests/game/walks/test_model_check.py::TestWalks::test_hole_d30_a_seed_walks_the_same_walks",
    "tests/game/walks/test_till.py",
    "tests/game/rights/test_command_rights.py",
    "tests/game/rights/test_command_rights.py::TestRows",
    "tests/game/agent/test_misbehaviour.py",
    "tests/game/walks/test_soak.py",
    "tests/game/agent/test_telemetry.py",
    # Rules of the plugin: when it answers, where a turn ends, who is asked and who pays, the
    # content of a prompt, nights. They touch nothing of Evennia and of the database that the
    # remaining tests in tests/game do not touch, too.
    "tests/game/consolidation",
    "tests/game/llm",
    "tests/game/tasks",
    *in_game(
        {
            "agent": (
                *("compaction", "compaction_cut_off", "days", "dry_runs", "failures"),
                *("goal_times", "goals", "idle", "inner_contexts", "needed_tools"),
                *("own_turns", "planning", "recorded_turns", "resting", "steps"),
                *("summary_cap", "testing", "trace", "turn_limits", "turns"),
            ),
            "approvals": (
                *("changed_limits", "confirmation", "every_limit", "guidelines"),
                *("hop_limit", "interventions", "interventions_people"),
                *("interventions_restart", "set_aside"),
            ),
            "audit": ("auditing_check", "revealing"),
            "budget": (
                *("budget_command", "ledger_order", "ledger_time", "money", "money_chains"),
                *("money_stops", "paying", "reported_usage"),
            ),
            "commands": ("history_command", "telling"),
            "docs": ("documents", "promised_names"),
            "emergency": ("cooling", "emergency", "kill_all"),
            "memory": (
                *("consent", "episodes", "grounding", "lore_packs", "memory_injection"),
                *("memory_leaks", "profiles", "retention", "told_memories"),
            ),
            "messages": (
                *("answerers", "hearing_properties", "hush", "loops", "manners"),
                *("message_size", "overheard", "phrasing", "private_words", "queue"),
                *("relays", "roleplay_properties", "stale_answers", "waiting"),
            ),
            "operations": (
                *("cards", "configuring_properties", "configuring_table", "executing"),
                "why",
            ),
            "prompts": ("fence", "prompt_secrets", "prompts"),
            "rights": ("hole_borrowing", "hole_caps"),
            "runtime": ("keys", "private_files"),
            "tools": (
                *("tools_hostile_schemas", "tools_notes", "tools_projects"),
                *("tools_registry", "tools_running", "tools_schema", "tools_useful"),
            ),
            "walks": ("flow", "found_by_walks", "older_epochs", "queue_walks"),
        }
    ),
    *(
        f"tests/game/operations/test_bundles.py::{name}"
        for name in ("TestMeanwhile", "TestWrongFiles")
    ),
    # These check the crash walks themselves.
    "tests/crash/test_crashes.py::test_lies_are_found",
    "tests/crash/test_crashes.py::test_two_transactions_are_found",
    # Its database is asked by the other tests of the record.
    "tests/audit/test_history.py",
    # The smoke test has these with the same Evennia.
    *("tests/prompts", "tests/test_package.py", "tests/api/test_schema.py"),
    "tests/a2a_client",
    # Their queries are also those of other pages and operations.
    *(
        f"tests/web/test_{name}.py"
        for name in (
            *("bench_page", "charts", "health_page", "lore_page", "make_page", "money_page"),
            *("pictures", "prompt_page", "settings_page"),
        )
    ),
    "tests/web/test_memory_page.py::MemoryPageTest::test_hostile_texts_stay_texts",
    "tests/web/test_memory_page.py::NightsTest::test_what_a_night_made_of_what",
    "tests/test_docs.py",
    "tests/test_feature_requests.py",
    "tests/test_floors.py",
    "tests/test_guards.py",
    "tests/test_owasp.py",
    "tests/test_safety_cases.py",
)
# Tests that query the database, of which PostgreSQL gets a sample: they run again, as the next
# Evennia has PostgreSQL, though ONCE lists most of them. `make proof` runs all of each there.
STORED = (
    "tests/crash",
    "tests/memory",
    "tests/api/test_rights.py",
    "tests/web/test_rights.py",
    *in_game({"rights": ("command_rights",), "walks": ("model_check", "till")}),
)
# Left to `make proof`; CONTRIBUTING.md says why the rest is enough for each run.
RARE = (
    "tests/memory/test_store_kills.py::test_a_game_of_before_moves_over",
    "tests/browser/test_webclient.py::test_hostile_text_is_text_in_every_way",
    "tests/journeys/test_soak_games.py",
    # Two games each, whose steps other tests take one by one.
    *(f"tests/journeys/test_{name}.py" for name in ("adopting", "moving", "one_ledger")),
    # Tests in tests/endpoints ask the proxy, and one that fails now and then, without a game.
    *(f"tests/journeys/test_{name}.py" for name in ("endpoints", "faults")),
    "tests/memory/test_week.py",
    "tests/play/test_database_url.py::test_a_game_is_made_in_it",
)
# The whole path of a message and of an act, on a Python whose Evennia is already fully tested.
# Several processes on one ledger depend on the database, and ran on both databases before.
SMOKE = (
    *CORE,
    "tests/test_package.py",
    "tests/api/test_schema.py",
    "tests/audit/test_recorder.py",
    "tests/prompts",
    *in_game(
        {
            "agent": ("turn_limits",),
            "budget": ("ledger",),
            "emergency": ("kill", "lockout"),
            "memory": ("recall",),
            "messages": ("hearing", "inbox", "talking"),
            "operations": ("operations", "why"),
            "tasks": ("sub_agents",),
            "tools": ("tools",),
        }
    ),
)
