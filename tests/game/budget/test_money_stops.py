"""Stopped assistants send nothing, and no way around the limits is open."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

from django.test.utils import override_settings
from evennia.server.models import ServerConfig
from twisted.internet.defer import Deferred

from evennia_ai import emergency, operations
from evennia_ai.agent.compaction import compact_conversation_history
from evennia_ai.approvals import checkpoints
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import WORLD, Recollection
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.mem0_store import open_embedded
from evennia_ai.memory_store.table import Table
from evennia_ai.models import ModelCall, TracedMessage
from evennia_ai.operations.models.choosing import check_chosen
from evennia_ai.operations.settings.changing import set_setting
from evennia_ai.operations.tools.running import execute_tool
from evennia_ai.runtime import services, state
from tests.game.budget.test_money import NO_CAPS, NOON, MoneyTest
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import GameTest, pump, whispers


class Embeddings:
    """An embeddings API on loopback that records its requests.

    Attributes:
        asked: the texts of each request.
        is_down: True to answer each request with an error.
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.is_down = False
        self.port = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """The API answers until the end of the block."""
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                api.asked.append(body["input"])
                rows = [
                    {"index": number, "object": "embedding", "embedding": [1.0, len(text), 3.0]}
                    for number, text in enumerate(body["input"])
                ]
                answer = json.dumps({"object": "list", "model": "m", "data": rows}).encode()
                self.send_response(500 if api.is_down else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join(5)


class TestEmbeddings(MemoryTest):
    """A game whose vectors are made by an API elsewhere."""

    def setUp(self) -> None:
        self.api = Embeddings()
        self.enterContext(self.api.running())
        values = {
            "EVENNIA_AI_EMBEDDINGS": "endpoint",
            "EVENNIA_AI_EMBEDDING_MODEL": "m",
            "EVENNIA_AI_EMBEDDINGS_URL": f"http://127.0.0.1:{self.api.port}/v1",
            "NO_PROXY": "127.0.0.1",
        }
        self.enterContext(mock.patch.dict(os.environ, values))
        super().setUp()
        service = services.memory()
        service._open_store = lambda: open_embedded(service._embedder, Table(is_shared=True))

    def test_hole_d28_nothing_is_embedded_after_a_stop(self) -> None:
        """A retry was scheduled before the stop."""
        self.api.is_down = True
        self.remember("The boat Heron.")
        assert 1 == len(self.api.asked)
        emergency.stop_all([self.ada_script], "test")
        self.api.is_down = False
        for _ in range(20):
            self.advance(30)
        assert 1 == len(self.api.asked)
        assert 1 == indexing.status(self.ada_script).waiting

    def test_hole_d28_what_is_kept_meanwhile_waits_until_it_is_cleared(self) -> None:
        emergency.stop_all([self.ada_script], "test")
        self.remember("The boat Heron.")
        assert self.search() is None
        indexing.reindex(self.ada_script)
        self.advance(400)
        assert [] == self.api.asked
        emergency.clear_emergency_stop(self.ada_script)
        self.catch_up()
        assert [["The boat Heron."]] == [texts for texts in self.api.asked if "memory" not in texts]
        assert 0 == indexing.status(self.ada_script).waiting
        assert 1 == len(self.search())

    def test_hole_d28_a_run_is_broken_off(self) -> None:
        """The stop comes between two batches."""
        real = services.memory()._embedder.embed_passages

        def embed(texts: Any) -> Any:
            vectors = real(texts)
            emergency.stop_all([self.ada_script], "test")
            return vectors

        services.memory()._embedder.embed_passages = embed
        for number in range(60):
            self.keep(f"Fact {number}.")
        indexing.soon(self.ada_script)
        self.catch_up()
        sent = [texts for texts in self.api.asked if "memory" not in texts]
        assert 1 == len(sent)

    def test_nothing_is_embedded_before_a_stop_of_many_is_stored(self) -> None:
        """A stop of many is stored in portions, and holds before Ada's own turn comes."""
        others = [self.make(f"Brass{number}")[0] for number in range(emergency.PORTION)]
        self.keep("The boat Heron.")
        indexing.when_quiet(self.ada_script)
        timer = self.ada_script.work.indexing.due
        emergency.stop_all([*others, self.ada_script], "test")
        assert (False, False) == (self.ada_script.db.emergency_stop, timer.active())
        indexing.when_quiet(self.ada_script)
        self.clock.advance(indexing.QUIET_SECONDS)
        assert self.search() is None
        self.catch_up()
        assert [] == self.api.asked

    def keep(self, text: str) -> None:
        """Let Ada know something that is not indexed yet."""
        rows.insert(
            self.ada_script.pk,
            [Recollection(new_key(), text=text, audience=WORLD, kind="fact", at=1.0)],
        )

    def test_hole_d28_a_start_sends_nothing_for_who_is_stopped(self) -> None:
        """Opening the store would ask the API for its dimensions."""
        emergency.stop_all([self.ada_script], "test")
        self.ada_script.at_pause()
        self.ada_script.at_start()
        self.advance(400)
        assert [] == self.api.asked


@override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS)
class TestStopped(MoneyTest):
    def test_hole_d28_no_summary_is_asked_for(self) -> None:
        """Staff cannot ask for one either."""
        self.counted.behave(content="Yes.")
        for number in range(12):
            self.type(self.tom, f"whisper Ada = {number} {'storm ' * 50}")
        before = len(self.counted.bodies)
        emergency.stop_all([self.ada_script], "test")
        state.write(self.ada_script, compact_preserve_window=2)
        outcome: list[Any] = []
        compact_conversation_history(self.ada_script).addCallback(outcome.append)
        pump()
        assert before == len(self.counted.bodies)
        assert "is stopped" in outcome[0].detail

    def test_hole_d28_no_attempt_follows_a_stop(self) -> None:
        self.counted.behave(kind="status", status=503)
        self.type(self.tom, "whisper Ada = hello")
        assert 1 == len(self.counted.bodies)
        emergency.stop_all([self.ada_script], "test")
        self.advance(60)
        assert 1 == len(self.counted.bodies)

    def test_hole_d28_its_model_is_not_even_checked(self) -> None:
        emergency.stop_all([self.ada_script], "test")
        report: Any = operations.check_model(self.ada_script).result
        assert "Ada is stopped" in report.lines[0].text
        assert [] == self.counted.bodies

    def test_hole_d28_a_call_by_hand_is_broken_off(self) -> None:
        """A remote tool under way is cancelled, and no other begins."""
        cancelled: list[bool] = []
        servers = services.remote_servers()
        spec = ToolSpec("far__look", "Look.", {"type": "object", "properties": {}},
                        category=ToolCategory.SAFE_CHAIN, timeout_seconds=30)  # fmt: skip
        asked: list[str] = []

        def call(name: str, *_: Any) -> Deferred[str]:
            asked.append(name)
            return Deferred(lambda _: cancelled.append(True))

        servers.specs, servers.call = lambda: {spec.name: spec}, call  # type: ignore[method-assign]
        servers.are_any = True
        self.addCleanup(services.remote_servers.cache_clear)
        results: list[Any] = []
        execute_tool(self.ada_script, spec.name, {}, person=self.tom).addCallback(results.append)
        pump()
        assert [spec.name] == asked
        emergency.stop_all([self.ada_script], "test")
        pump()
        assert [True] == cancelled
        assert not results[0].ok
        execute_tool(self.ada_script, spec.name, {}, person=self.tom).addCallback(results.append)
        assert "cannot do anything now" in results[1].message
        assert [spec.name] == asked


@override_settings(
    EVENNIA_AI_BUDGET_CONFIG=NO_CAPS, EVENNIA_AI_PRICES={"big": {"input": 10, "output": 1}}
)
class TestCostOfADroppedTurn(MoneyTest):
    environ = {"EVENNIA_AI_MODEL": "big", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

    def test_its_trace_has_all_that_the_ledger_has(self) -> None:
        self.counted.behave(kind="hang")
        self.type(self.tom, "whisper Ada = hello")
        assert 1 == len(self.counted.waiting)
        emergency.stop_all([self.ada_script], "test")
        pump()
        (call,) = self.rows()
        (traced,) = TracedMessage.objects.all()
        assert call.cost_nano == traced.facts["cost_nano"] > 0
        assert ("stopped", "itself: test") == (traced.facts["stop"], traced.facts["why"])


class TestSideDoors(MoneyTest):
    def checks(self) -> list[ModelCall]:
        return [call for call in self.rows() if call.purpose == "check"]

    def test_hole_d29_a_check_is_counted(self) -> None:
        """It is charged to the assistant whose model is checked, or to the game."""
        for script, name in ((self.ada_script, "ada"), (None, "")):
            with self.subTest(name=name):
                ModelCall.objects.all().delete()
                before = self.counted.tokens
                operations.check_model(script)
                assert 3 == len(self.checks())
                assert {(name, "", "settled")} == {
                    (call.assistant, call.person, call.state) for call in self.checks()
                }
                used = sum(call.prompt_tokens + call.completion_tokens for call in self.checks())
                assert self.counted.tokens - before == used > 0

    def test_hole_d29_a_model_that_is_chosen_is_counted(self) -> None:
        """A check before the choice is the game's call."""
        check_chosen("", "")
        assert {""} == {call.assistant for call in self.checks()}

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 1}})
    def test_hole_d29_caps_hold_for_checks(self) -> None:
        for script in (self.ada_script, None):
            report: Any = operations.check_model(script).result
            assert "cost.tokens_per_day" in report.lines[0].text
        assert [] == self.counted.bodies

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=NO_CAPS)
    def test_hole_d29_further_members_cannot_loosen_limits(self) -> None:
        """Such a member is refused when it is set, and left out where it is stored already."""
        for member in ("max_completion_tokens", "max_tokens", "n", "best_of", "models"):
            with self.subTest(member=member):
                self.ada_script.db.llm_extra_params = {}
                result = set_setting(
                    self.ada_script, f"llm_extra_params.{member}", "16000", by="Tom"
                )
                assert not result.ok
                assert f"llm_extra_params cannot have {member!r}" in result.message
                self.ada_script.db.llm_extra_params = {member: 16_000, "min_p": 0.05}
                self.ada_script.db.llm_max_tokens = 50
                self.counted.behave(answer_tokens=16_000)
                self.type(self.tom, "whisper Ada = tell me all of it")
                assert 0.05 == self.counted.bodies[-1]["min_p"]
                assert 16_000 not in self.counted.bodies[-1].values()
                assert 50 == self.counted.sent[-1].completion_tokens


class TestCounters(GameTest):
    """The counters of `auto_extend` at cost limits, day after day."""

    def test_hole_d29_counters_of_days_gone_by_are_freed(self) -> None:
        """A cap of the game is extended by the game's settings, and counted once for all."""
        self.clock.advance(NOON)
        auto = {"on_limit": {"mode": "auto_extend", "auto_extend_times": 1}}
        state.write(self.ada_script, safety_config=auto)
        for scope, accounts in (("player", 2), ("assistant", 1)):
            caps = {"tokens_per_day": 10}
            games = {**NO_CAPS, "player": caps} if scope == "player" else NO_CAPS
            own = {scope: caps} if scope == "assistant" else {}
            state.write(self.ada_script, budget_config=own)
            ServerConfig.objects.conf(checkpoints.STORED_EXTENSIONS, delete=True)
            with (
                self.subTest(scope),
                override_settings(EVENNIA_AI_BUDGET_CONFIG=games, EVENNIA_AI_SAFETY_CONFIG=auto),
            ):
                self.ada_script.work.drop_cached_settings()
                self.days(accounts)

    def days(self, accounts: int) -> None:
        for _ in range(20):
            for person in (self.tom, self.mira):
                self.ask("whisper Ada = hello", whispers("Yes.", person.key), person=person)
            counts = ServerConfig.objects.conf(checkpoints.STORED_EXTENSIONS)
            assert accounts == len(counts), counts
            days = {scope.split(" ")[-1] for scope, *_ in counts}
            assert {time.strftime("%Y-%m-%d", time.gmtime(self.clock.seconds()))} == days
            self.clock.advance(86_400)
