"""The export of ended turns by OpenTelemetry, where the game names an endpoint for it.

Before that nothing of the SDK is imported. Words leave the game only where the setting says so;
those of private turns, and of people who want nothing kept, need settings of their own or never do.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import TYPE_CHECKING

from django.conf import settings
from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai.agent.telemetry_spans import span_of
from evennia_ai.core.hearing.audience import Held
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.settings.services import OtelConfig
from evennia_ai.core.turn.compaction import summary_text
from evennia_ai.engine.recording import RecordedTurn
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory.consent import prompt_has_unstorable_words
from evennia_ai.runtime import signals
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.watching import ENDED

if TYPE_CHECKING:
    from evennia_ai.agent.otlp import Spans

REQUIRED_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
MISSING = (
    "{name}.endpoint is set, but what exports is not installed; install it with: "
    "pip install 'evennia-ai[otel]'"
)
# The longest that the end of the game waits for spans to be sent.
SECONDS_AT_THE_END = 2.0


def config() -> OtelConfig:
    """The game's setting.

    Raises:
        ConfigurationError: something in it is wrong, or a package that it needs is missing.
    """
    otel_config = OtelConfig.from_settings(settings)
    if otel_config.endpoint and not _is_installed():
        raise ConfigurationError(MISSING.format(name=OtelConfig.NAME))
    return otel_config


def _is_installed() -> bool:
    try:
        return all(importlib.util.find_spec(name) is not None for name in REQUIRED_MODULES)
    except ModuleNotFoundError:  # not even the package above it
        return False


def begin() -> TurnExporter | None:
    """Export each turn that ends from now on, if the game wants that.

    Returns:
        None where it does not, and where the setting is wrong, which the system check reports.
    """
    try:
        otel_config = config()
    except ConfigurationError as error:
        logger.log_err(f"[assistant] no turn is exported: {error}")
        return None
    if not otel_config.endpoint:
        return None
    export = TurnExporter(otel_config)
    ENDED.append(export.take)
    reactor.addSystemEventTrigger("before", "shutdown", export.end)
    return export


class TurnExporter:
    """Exports turns until the game ends."""

    def __init__(self, read: OtelConfig) -> None:
        otlp = importlib.import_module("evennia_ai.agent.otlp")
        self.config = read
        self.spans: Spans = otlp.Spans(read.endpoint, settings.SERVERNAME, read.timeout_seconds)

    def take(self, name: str, record: RecordedTurn) -> None:
        """Queue a turn that has ended."""
        try:
            script = signals.RUNNING.get(name)
            with_words = script is not None and may_tell(script, record, self.config)
            self.spans.put(span_of(name, record, with_words=with_words))
        # The turn is over for the game; a fault in its export must not fail it.
        except Exception as error:
            signals.log_fault(f"a turn of {name} is not exported, {type(error).__name__}", error)

    def end(self) -> None:
        """Send what waits, for two seconds at most; the rest is lost."""
        if self.take in ENDED:
            ENDED.remove(self.take)
        # In a thread: the SDK's shutdown blocks for as long as a receiver does not answer.
        ending = threading.Thread(target=self.spans.end, daemon=True)
        ending.start()
        ending.join(SECONDS_AT_THE_END)


def may_tell(script: Assistant, record: RecordedTurn, read: OtelConfig) -> bool:
    """True where the words of a turn may be exported."""
    if not (read.words or read.private_words):
        return False
    if _audiences_of(record) and not read.private_words:
        return False
    if any(summary_text(message) for message in script.work.history):
        return False  # nobody knows whose words are in a summary
    return not prompt_has_unstorable_words(script, record.turn)


def _audiences_of(record: RecordedTurn) -> Held:
    """The audiences of a turn's words that not everybody may know."""
    turn = record.turn
    alone = map(person_audience, turn.asides.values())
    return turn.kept_audiences.union(alone, *(event.held for event in turn.events))
