"""The export of ended turns by OpenTelemetry."""

import json
import logging
import sys
import time
from typing import Any
from unittest import mock

import pytest
from django.test import override_settings
from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.agent import telemetry
from evennia_ai.agent.otlp import address_of
from evennia_ai.agent.telemetry import TurnExporter
from evennia_ai.apps import check_settings
from evennia_ai.core.settings.services import OtelConfig
from evennia_ai.errors import ConfigurationError, ModelStatusError
from evennia_ai.operations.dry_runs.running import Trial, try_message
from evennia_ai.runtime.watching import ENDED
from tests.game.agent.otlp_receiver import Receiver, attributes_of
from tests.game.docs.test_documents import snippet
from tests.game.memory.remembering_case import RememberingTest
from tests.game.support import calls, pump, says, whispers

SECRET = "xylophone"
OPEN = "marimba"


class TelemetryTest(RememberingTest):
    """Ada answers Tom and Mira; a receiver takes what is exported."""

    def setUp(self) -> None:
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.end)
        self.addCleanup(ENDED.clear)

    def export(self, **config: Any) -> TurnExporter:
        given = {"endpoint": self.receiver.address, "timeout_seconds": 1.0, **config}
        adding = mock.patch.object(reactor, "addSystemEventTrigger")
        with override_settings(EVENNIA_AI_OTEL_CONFIG=given), adding:
            export = telemetry.begin()
        assert export is not None
        self.addCleanup(export.spans.end)
        return export

    def sent(self, export: TurnExporter) -> str:
        export.spans.flush()
        return b"".join(self.receiver.bodies).decode("latin-1")


class TestSpans(TelemetryTest):
    def test_a_turn_is_a_trace(self) -> None:
        export = self.export()
        self.ask("whisper Ada = hello", calls("look"), whispers("Hello, Tom."))
        export.spans.flush()
        spans = {each.name: each for each in self.receiver.spans()}
        assert {
            "invoke_agent Ada",
            "chat scripted",
            "execute_tool look",
            "execute_tool whisper",
        } == set(spans)
        assert 1 == len({each.trace_id for each in spans.values()})
        (root,) = (each for each in spans.values() if not each.parent_span_id)
        assert "invoke_agent Ada" == root.name
        assert {root.span_id} == {e.parent_span_id for e in spans.values() if e is not root}
        values = attributes_of(root)
        assert ("AGENT", "invoke_agent", "Ada", "answered") == (
            values["openinference.span.kind"],
            values["gen_ai.operation.name"],
            values["gen_ai.agent.name"],
            values["evennia_ai.outcome"],
        )
        values = attributes_of(spans["chat scripted"])
        assert ("LLM", "chat", "scripted", "scripted") == (
            values["openinference.span.kind"],
            values["gen_ai.operation.name"],
            values["gen_ai.provider.name"],
            values["gen_ai.request.model"],
        )
        assert values["gen_ai.usage.input_tokens"] == values["llm.token_count.prompt"]
        values = attributes_of(spans["execute_tool look"])
        assert ("TOOL", "look") == (values["openinference.span.kind"], values["gen_ai.tool.name"])
        assert ["/v1/traces"] == self.receiver.paths

    def test_a_failure_is_told_by_its_kind(self) -> None:
        """The spans have a status, and no text of the service."""
        export = self.export()
        self.ask("whisper Ada = hello", ModelStatusError(400, f"no {SECRET}"))
        assert SECRET not in self.sent(export)
        for span in self.receiver.spans():
            assert 2 == span.status.code
            assert attributes_of(span)["error.type"] in ("llm_error", "model_error")

    def test_a_stop_ends_the_span(self) -> None:
        export = self.export()
        self.ask("whisper Ada = hello")
        operations.stop(self.ada_script, "enough")
        export.spans.flush()
        roots = [each for each in self.receiver.spans() if not each.parent_span_id]
        assert ["broke_off"] == [attributes_of(each)["evennia_ai.outcome"] for each in roots]

    def test_without_pages_too(self) -> None:
        """The export works with no turns kept in memory."""
        export = self.export()
        with override_settings(EVENNIA_AI_WEB_CONFIG={"recorded_turns": 0}):
            self.ada_script.at_pause()
            self.ada_script.at_start()
            self.ask("whisper Ada = hello", whispers("Hello, Tom."))
        export.spans.flush()
        assert self.receiver.spans()
        assert [] == self.ada_script.work.recorded.newest()

    def test_a_message_that_is_tried_is_not_exported(self) -> None:
        export = self.export()
        self.model.answers.append(whispers("Hello, Tom."))
        try_message(self.ada_script, self.tom, Trial("hello"))
        pump()
        assert "" == self.sent(export)


class TestWords(TelemetryTest):
    def talk(self) -> None:
        """Let Mira talk in private and Tom openly, with tools that fail or do not exist."""
        self.remember(f"Mira hides a {SECRET}.", self.miras)
        self.ask(
            f"whisper Ada = I play the {SECRET}",
            calls(f"{SECRET}_tool", text=SECRET),
            calls("get", item=SECRET),
            whispers("Fine.", "Mira"),
            person=self.mira,
        )
        self.ask(
            f"whisper Ada = more of the {SECRET}",
            whispers(f"Your {SECRET}.", "Mira"),
            person=self.mira,
        )
        self.ask(f"say @ada I play the {OPEN}", says(f"Your {OPEN}!"))

    def test_none_unless_it_is_set(self) -> None:
        export = self.export()
        self.talk()
        sent = self.sent(export)
        assert "invoke_agent" in sent
        for word in (SECRET, OPEN, "Tom", "Mira"):
            assert word not in sent

    def test_open_words(self) -> None:
        export = self.export(words=True)
        self.talk()
        sent = self.sent(export)
        assert OPEN in sent
        assert SECRET not in sent

    def test_private_words(self) -> None:
        export = self.export(private_words=True)
        self.talk()
        assert SECRET in self.sent(export)
        chats = [each for each in self.receiver.spans() if each.name.startswith("chat")]
        values = attributes_of(chats[-1])
        roles = [each["role"] for each in json.loads(values["gen_ai.input.messages"])]
        assert "system" == roles[0]
        assert "system" == values["llm.input_messages.0.message.role"]
        assert "say" == values["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"]
        (part,) = json.loads(values["gen_ai.output.messages"])[0]["parts"]
        assert ("tool_call", "say") == (part["type"], part["name"])

    def test_never_of_those_who_do_not_want_it(self) -> None:
        """This holds also for later turns, while the words are still in the talk."""
        operations.set_remembered(self.ada_script, self.mira, False)
        export = self.export(words=True, private_words=True)
        self.ask(f"say @ada I play the {SECRET}", says("Fine."), person=self.mira)
        self.ask("say @ada what did she say?", says(f"The {SECRET}."))
        assert "invoke_agent" in self.sent(export)
        assert SECRET not in self.sent(export)

    def test_never_of_a_place_that_does_not_want_it(self) -> None:
        """This holds also elsewhere, while the words are still in the talk."""
        export = self.export(words=True, private_words=True)
        self.room1.tags.add("ai_no_memory")
        self.ask(f"say @ada I play the {SECRET}", says("Fine."))
        for person in (self.tom, self.mira, self.ada):
            person.location = self.room2
        self.ask("say @ada what is loud?", says("It."))
        assert SECRET in str(self.model.bodies[-1])
        assert 2 == self.sent(export).count("invoke_agent Ada")
        assert SECRET not in self.sent(export)

    def test_never_what_was_overheard_at_such_a_place(self) -> None:
        """Nothing else was said there."""
        export = self.export(words=True, private_words=True)
        self.room1.tags.add("ai_no_memory")
        self.ada_script.db.room_messages = "context"
        self.type(self.mira, f"say The {SECRET} is loud.")
        for person in (self.tom, self.mira, self.ada):
            person.location = self.room2
        for _turn in range(2):
            self.ask("say @ada what is loud?", says("Something."))
            assert SECRET in str(self.model.bodies[-1])
        assert SECRET not in self.sent(export)


class TestSwitch(TelemetryTest):
    def test_off_unless_an_address_is_set(self) -> None:
        with override_settings(EVENNIA_AI_OTEL_CONFIG={}):
            assert telemetry.begin() is None
        assert [] == ENDED

    def test_wrong_settings_are_told_by_the_check(self) -> None:
        for wrong in ({"endpoint": "localhost:4318"}, {"private_words": "yes"}, {"no": 1}):
            with override_settings(EVENNIA_AI_OTEL_CONFIG=wrong):
                (error,) = check_settings(None)
                assert str(error.msg).startswith("EVENNIA_AI_OTEL_CONFIG")
                assert next(iter(wrong)) in str(error.msg)
                assert telemetry.begin() is None

    def test_what_the_docs_say(self) -> None:
        """The setting that an owner copies is right, and exports no words."""
        given = snippet("EVENNIA_AI_OTEL_CONFIG", of="monitoring")["EVENNIA_AI_OTEL_CONFIG"]
        config = OtelConfig.from_stored(given)
        assert ("http://localhost:6006", False) == (config.endpoint, config.words)

    def test_what_is_not_installed_is_named(self) -> None:
        given = {"endpoint": "http://localhost:4318"}
        missing = mock.patch.object(telemetry, "REQUIRED_MODULES", ("no.such.package",))
        with override_settings(EVENNIA_AI_OTEL_CONFIG=given), missing:
            with pytest.raises(ConfigurationError, match=r"evennia-ai\[otel\]"):
                telemetry.config()
            assert telemetry.begin() is None

    def test_the_address(self) -> None:
        for given, address in (
            ("http://localhost:6006", "http://localhost:6006/v1/traces"),
            ("http://localhost:6006/", "http://localhost:6006/v1/traces"),
            ("https://a.example/api/otel/v1/traces", "https://a.example/api/otel/v1/traces"),
        ):
            assert address == address_of(given)

    def test_nobody_answers(self) -> None:
        """The game does not wait, answers go on, and the log has one line."""
        lines: list[str] = []
        self.receiver.end()
        export = self.export()
        with (
            mock.patch.object(logger, "log_warn", lines.append),
            mock.patch.object(logging.Logger, "callHandlers") as handled,
        ):
            began = time.monotonic()
            for _ in range(3):
                self.ask("whisper Ada = hello", whispers("Hello, Tom."))
            took = time.monotonic() - began
            for _ in range(2):
                self.ask("whisper Ada = hello", whispers("Hello, Tom."))
                export.spans.flush()
            pump()
        assert took < 1.0
        assert 1 == len(lines)
        assert "cannot be exported" in lines[0]
        assert not [c for c in handled.call_args_list if c.args[0].name.startswith("opentel")]

    def test_a_defect_of_ours_disturbs_nobody(self) -> None:
        """The log says what failed, without words of the talk."""
        self.export()
        broken = mock.patch.object(telemetry, "span_of", side_effect=ValueError(SECRET))
        with broken, mock.patch.object(logger, "log_err") as log:
            self.ask(f"whisper Ada = {SECRET}", whispers("Hello, Tom."))
        self.assert_heard(self.tom, "Hello, Tom.")
        assert "is not exported, ValueError" in str(log.call_args_list)
        assert SECRET not in str(log.call_args_list)

    def test_the_end_of_the_game(self) -> None:
        export = self.export()
        self.ask("whisper Ada = hello", whispers("Hello, Tom."))
        export.end()
        assert self.receiver.spans()
        assert [] == ENDED


def test_the_sdk_is_not_imported_unless_it_is_used() -> None:
    """A game without the extra starts, and one with it pays nothing."""
    import subprocess

    code = (
        "import sys, tests.evennia_setup; import evennia_ai.agent.telemetry; "
        "sys.exit('opentelemetry.sdk.trace' in sys.modules)"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode


def test_no_word_by_default() -> None:
    config = OtelConfig()
    assert (False, False, "") == (config.words, config.private_words, config.endpoint)
