"""Health and metrics, for programs that monitor the game."""

from pathlib import Path
from typing import Any
from unittest import mock

from django.db import DatabaseError, connection
from prometheus_client.parser import text_string_to_metric_families
from twisted.internet import reactor

from evennia_ai import audit, operations
from evennia_ai.api.bodies import plain
from evennia_ai.approvals import store
from evennia_ai.budget import ledger
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.safety.questions import ApprovalRequest, Question
from evennia_ai.operations.monitoring import counts as observing
from evennia_ai.operations.monitoring import health as monitoring
from evennia_ai.operations.monitoring import metrics
from evennia_ai.runtime import services, state
from tests.game.support import GameTest, one_by_one, whispers

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "monitoring.md"
KINDS = {True: "counter", False: "gauge"}


def broken(*_: Any) -> None:
    """Stand in for a database that fails."""
    raise DatabaseError("disk full at 10.0.0.1")


class MonitoringTest(GameTest):
    """Ada and Brass, and counters at zero."""

    def setUp(self) -> None:
        super().setUp()
        observing.start_anew()
        self.brass_script, _ = self.make("Brass")

    def health(self, **options: Any) -> dict[str, Any]:
        result = monitoring.health(**options)
        assert result.ok
        return dict(plain(result.data))

    def scrape(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        text = metrics.metrics().decode()
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def sample(self, name: str, **labels: str) -> float | None:
        return self.scrape().get((f"evennia_ai_{name}", tuple(sorted(labels.items()))))

    def breaker(self) -> Any:
        """The circuit breaker of the model."""
        return services.pool().client(services.endpoint()).circuit_breaker


class TestHealth(MonitoringTest):
    def test_all_is_well(self) -> None:
        report = self.health()
        assert "ok" == report["status"]
        assert 2 == report["assistants"]["waiting_for_event"]
        assert 2 == sum(report["assistants"].values())
        assert ("ok", "ok", 0, 0, 0) == tuple(
            report[name] for name in ("database", "model", "breakers", "waiting", "questions")
        )

    def test_what_each_does_is_counted(self) -> None:
        operations.set_enabled(self.brass_script, False)
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        report = self.health()
        assert {"running": 1, "silent": 1} == {k: n for k, n in report["assistants"].items() if n}
        assert 2 == report["waiting"]
        assert "ok" == report["status"]

    def test_one_is_stopped(self) -> None:
        """The game itself is well."""
        operations.stop(self.ada_script, "x")
        assert ("ok", 1) == (self.health()["status"], self.health()["assistants"]["stopped"])

    def test_all_are_stopped(self) -> None:
        """That is a state of its own, whatever else is wrong."""
        operations.stop_all([self.ada_script, self.brass_script], "x")
        self.breaker().force_open()
        assert "stopped" == self.health()["status"]

    def test_no_assistants_at_all(self) -> None:
        self.ada_script.delete()
        self.brass_script.delete()
        report = self.health()
        assert ("ok", 0) == (report["status"], sum(report["assistants"].values()))

    def test_an_open_breaker_degrades(self) -> None:
        self.breaker().force_open()
        report = self.health(with_reasons=True)
        assert ("degraded", 1) == (report["status"], report["breakers"])
        assert ["llm:scripted: breaker open"] == report["reasons"]

    def test_wrong_settings_degrade(self) -> None:
        self.ada_script.db.safety_config = {"no such": 1}
        report = self.health(with_reasons=True)
        assert ("degraded", 1) == (report["status"], report["assistants"]["unable"])
        assert "no such" in report["reasons"][0]

    def test_a_model_that_is_not_set_up_degrades(self) -> None:
        with mock.patch.dict("os.environ", {"EVENNIA_AI_TOOL_MODE": "telepathy"}):
            report = self.health(with_reasons=True)
        assert ("degraded", "not set up") == (report["status"], report["model"])
        assert "EVENNIA_AI_TOOL_MODE" in report["reasons"][0]

    def test_a_slow_database_degrades(self) -> None:
        report = self.health(slow_seconds=0.0)
        assert ("degraded", "slow") == (report["status"], report["database"])

    def test_a_database_that_fails_degrades(self) -> None:
        """The text of the database error is not shown."""
        with connection.execute_wrapper(broken):
            report = self.health(with_reasons=True)
        states = ("degraded", "failed", "failed")
        assert states == (report["status"], report["database"], report["memory"])
        assert ["the database is failed"] == report["reasons"]

    def test_it_names_nobody_unless_asked(self) -> None:
        """No assistant, person, service or word is in the plain answer."""
        self.type(self.tom, "whisper Ada = the secret of the lamp")
        self.ada_script.db.safety_config = {"no such": 1}
        self.breaker().force_open()
        result = monitoring.health()
        text = f"{result.message} {plain(result.data)}"
        for word in ("Ada", "Brass", "Tom", "lamp", "no such", "llm:", "reasons"):
            assert word not in text, text

    def test_it_costs_one_statement(self) -> None:
        self.health()
        for name in ("Edda", "Finn", "Gil"):
            self.make(name)
        self.health()
        with self.assertNumQueries(1):
            self.health()

    def test_one_that_is_deleted_counts_no_more(self) -> None:
        self.brass_script.delete()
        assert 1 == sum(self.health()["assistants"].values())

    def test_one_that_is_paused(self) -> None:
        self.ada_script.pause()
        assert 1 == self.health()["assistants"]["paused"]


class TestMetrics(MonitoringTest):
    def test_they_are_what_the_table_says(self) -> None:
        families = {
            family.name: family
            for family in text_string_to_metric_families(metrics.metrics().decode())
        }
        for name, row in metrics.METRICS.items():
            is_counter = name.endswith("_total")
            metric = families[name.removesuffix("_total")]
            assert (KINDS[is_counter], row.text) == (metric.type, metric.documentation), name
        assert "histogram" == families[metrics.TICKS].type
        assert len(families) == len(metrics.METRICS) + 1
        assert metrics.METRICS_TYPE.startswith("text/plain")

    def test_the_document_lists_them(self) -> None:
        text = DOCUMENT.read_text(encoding="utf-8")
        for name, row in metrics.METRICS.items():
            labels = ", ".join(f"`{label}`" for label in row.labels)
            assert f"| `{name}` | {labels} | {row.text} |" in text, name
        assert f"| `{metrics.TICKS}` |  | {metrics.TICKS_TEXT} (histogram) |" in text

    def test_assistants_by_state(self) -> None:
        """Every state has a sample, also with a count of zero."""
        operations.stop(self.brass_script, "x")
        assert 1 == self.sample("assistants", state="stopped")
        assert 1 == self.sample("assistants", state="waiting_for_event")
        assert 0 == self.sample("assistants", state="safety_lockout")

    def test_what_waits(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        assert (1, 0) == (
            self.sample("inbox_events", assistant="Ada"),
            self.sample("inbox_events", assistant="Brass"),
        )

    def test_questions_and_errors(self) -> None:
        asked = Question(ApprovalRequest("k", "tool.x", "may I?", "", "Ada"), number=3)
        store.begin(self.ada_script, asked)
        state.write(self.ada_script, consecutive_errors=2)
        assert (1, 2) == (
            self.sample("questions_open", assistant="Ada"),
            self.sample("consecutive_errors", assistant="Ada"),
        )

    def test_a_model_call(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        assert (1, 0) == (self.sample("model_calls_in_flight"), self.sample("model_calls_total"))
        self.model_answers(whispers("Hello."))
        ledger.store().flush()
        assert (0, 1) == (self.sample("model_calls_in_flight"), self.sample("model_calls_total"))
        assert self.sample("model_tokens_total", kind="completion")
        assert 0 == self.sample("model_cost_dollars_total")

    def test_counters_of_the_ledger_never_go_back(self) -> None:
        """Rows of the ledger are pruned, but a counter of Prometheus may only rise."""
        seen = observing.observed()
        assert [5, 5, 7] == [seen.rise("calls", value) for value in (5, 3, 7)]

    def test_a_ledger_that_cannot_be_read(self) -> None:
        with connection.execute_wrapper(broken):
            names = {name for name, _ in self.scrape()}
        assert "evennia_ai_assistants" in names
        assert "evennia_ai_model_calls_total" not in names

    def test_breakers(self) -> None:
        """Credentials in an address are left out."""
        self.breaker().force_open()
        services.pool().breakers.get_or_create("llm:http://me:hunter2@host/v1")
        assert (1, 0) == (
            self.sample("breaker_state", breaker="llm:scripted", state="open"),
            self.sample("breaker_state", breaker="llm:scripted", state="closed"),
        )
        assert 1 == self.sample("breaker_state", breaker="llm:http://host/v1", state="closed")
        self.ada_script.work.breakers.get_or_create("tool:look").force_open()
        assert 1 == self.sample("tool_breakers_unwell", assistant="Ada")

    def test_a_turn_and_a_stop_are_counted(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        operations.stop(self.ada_script, "enough")
        assert (1, 1, 0, 1) == (
            self.sample("ticks_total", outcome="answered"),
            self.sample("tool_calls_total", tool="whisper"),
            self.sample("tool_errors_total", tool="whisper"),
            self.sample("emergency_stops_total", cause="stopped"),
        )
        assert 1 == self.sample("tick_duration_seconds_count")

    def test_facts_are_counted(self) -> None:
        for seconds, outcome in ((0.2, "answered"), (3.0, "failed")):
            self.tell("TickCompleted", duration_ms=seconds * 1000, outcome=outcome)
        self.tell("ToolExecuted", tool_name="say", success=True, duration_ms=1500)
        self.tell("ToolExecuted", tool_name="say", success=False, duration_ms=500)
        self.tell("EmergencyStopTriggered", cause="loop")
        self.tell("limit_extended", kind=LimitKind.TICK_SECONDS.value)
        self.tell("limit_denied", kind=LimitKind.TICK_SECONDS.value)
        assert (2, 3.2) == tuple(
            self.sample(f"tick_duration_seconds_{name}") for name in ("count", "sum")
        )
        assert (0, 1, 1, 2) == tuple(
            self.sample("tick_duration_seconds_bucket", le=end)
            for end in ("0.1", "0.25", "2.5", "5.0")
        )
        assert (1, 1) == tuple(
            self.sample("ticks_total", outcome=word) for word in ("answered", "failed")
        )
        assert (2, 1, 2.0) == tuple(
            self.sample(f"tool_{name}_total", tool="say") for name in ("calls", "errors", "seconds")
        )
        assert 1 == self.sample("emergency_stops_total", cause="loop")
        for decision in ("extended", "denied"):
            kind = LimitKind.TICK_SECONDS.value
            assert 1 == self.sample("limits_total", kind=kind, decision=decision)

    def tell(self, event: str, **details: Any) -> None:
        """Send an event about Ada to the listeners of the audit."""
        for listener in audit.LISTENERS:
            listener(event, "Ada", details)

    def test_what_a_game_tells_under_our_names_breaks_nothing(self) -> None:
        """Games may send events of their own, with details that are missing or malformed."""
        for event in ("TickCompleted", "ToolExecuted", "EmergencyStopTriggered", "limit_denied"):
            self.tell(event)
            self.tell(event, duration_ms="long", cause=None, tool_name=["x"])
        assert 2 == self.sample("tick_duration_seconds_count")

    def test_there_is_an_end_to_names(self) -> None:
        """Models make up tool names, and clients make up routes: labels stay bounded."""
        for number in range(300):
            self.tell("ToolExecuted", tool_name=f"tool_{number}", success=True)
            self.tell("TickCompleted", outcome=f"{number}")
            observing.count_request("GET", f"route-{number}", 200)
        samples = self.scrape()
        counts = [
            sum(name == f"evennia_ai_{kind}_total" for name, _ in samples)
            for kind in ("tool_calls", "ticks", "api_requests")
        ]
        assert [201, 101, 101] == counts
        assert 100 == self.sample("tool_calls_total", tool="(others)")

    def test_requests(self) -> None:
        observing.count_request("get", "assistant-list", 200)
        observing.count_request("GET", "assistant-list", 200)
        observing.count_request("BREW", "assistant-list", 9000)
        labels = {"endpoint": "assistant-list"}
        assert 2 == self.sample("api_requests_total", method="GET", status="200", **labels)
        others = {"method": "(others)", "status": "(others)"}
        assert 1 == self.sample("api_requests_total", **others, **labels)

    def test_no_person_is_in_it(self) -> None:
        self.ask("whisper Ada = the secret lamp", whispers("Under the stairs."))
        text = metrics.metrics().decode()
        for word in ("Tom", "Mira", "lamp", "stairs", "#"):
            assert word not in text.replace("# HELP", "").replace("# TYPE", ""), word

    def test_a_ledger_that_cannot_be_read_is_left_out(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_budgettotal RENAME TO elsewhere")
        with one_by_one():
            assert metrics._read_ledger() is None

    def test_a_scrape_is_one_statement(self) -> None:
        metrics.metrics()
        with self.assertNumQueries(1):
            metrics.metrics()

    def test_the_lag_is_of_what_is_overdue(self) -> None:
        calls = [reactor.callLater(seconds, int) for seconds in (0, 60)]
        lag = self.sample("reactor_lag_seconds")
        for call in calls:
            call.cancel()
        assert lag is not None
        assert 0 < lag < 5
