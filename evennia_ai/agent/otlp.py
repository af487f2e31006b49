"""The export of spans by OTLP over HTTP; the only module that needs the extra `otel`.

Spans wait in a bounded queue, and a thread of the SDK sends them, so the game never waits. Without
a receiver, spans that do not fit into the queue are dropped, and the log is told once. No part of
the SDK is made global, since the game may export spans of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from evennia.utils import logger
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from twisted.internet import reactor

from evennia_ai.agent.telemetry_spans import TurnSpan

PATH = "/v1/traces"
MOST_WAITING = 2_048  # spans in the queue
# OpenInference uses several for each message; the SDK's own bound of 128 is soon reached.
MOST_ATTRIBUTES = 2_000
NANOSECONDS = 1_000_000_000
UNREACHABLE = "[assistant] turns cannot be exported to {address}; this is told once"
# These loggers report a receiver that does not answer, and the queue that overflows for it.
LOGGERS = (trace_exporter.__name__, "opentelemetry.sdk._shared_internal")
# Marks the threads that work for us, since the loggers are shared with the game's own exports.
_sending = threading.local()


def address_of(endpoint: str) -> str:
    """The address that spans are sent to: the endpoint, with OTLP's own path where it has none."""
    base = endpoint.rstrip("/")
    return endpoint if "/" in base.partition("://")[2] else base + PATH


class Spans:
    """The queue of spans on their way out of the game.

    Args:
        service: the name of the game.
    """

    def __init__(self, endpoint: str, service: str, seconds: float) -> None:
        address = address_of(endpoint)
        self._provider = TracerProvider(
            ALWAYS_ON,
            Resource.create({SERVICE_NAME: service}),
            # Its atexit handler could wait long for a receiver; `TurnExporter.end` bounds that.
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attributes=MOST_ATTRIBUTES),
        )
        sender = SpanSender(OTLPSpanExporter(address, timeout=seconds), address)
        self._provider.add_span_processor(BatchSpanProcessor(sender, max_queue_size=MOST_WAITING))
        self._tracer = self._provider.get_tracer("evennia_ai")

    def put(self, span: TurnSpan) -> None:
        """Queue a span with everything below it, as a trace of its own."""
        _sending.is_ours = True
        try:
            self._put(span, Context())
        finally:
            _sending.is_ours = False

    def _put(self, turn_span: TurnSpan, above: Context) -> None:
        span = self._tracer.start_span(
            turn_span.name,
            context=above,
            kind=SpanKind.CLIENT if turn_span.is_call else SpanKind.INTERNAL,
            attributes=turn_span.attributes,
            start_time=int(turn_span.began * NANOSECONDS),
        )
        if turn_span.error:
            span.set_attribute("error.type", turn_span.error)
            span.set_status(Status(StatusCode.ERROR))
        for below in turn_span.below:
            self._put(below, set_span_in_context(span, Context()))
        span.end(int(turn_span.ended * NANOSECONDS))

    def flush(self) -> None:
        """Send what waits, and block until that is done."""
        self._provider.force_flush()

    def end(self) -> None:
        """Send what waits, and accept no more."""
        self._provider.shutdown()


class SpanSender(SpanExporter):
    """Sends spans; of several failures in a row, only the first is logged."""

    def __init__(self, inner: SpanExporter, address: str) -> None:
        self._inner, self._address, self._has_failed = inner, address, False
        for name in LOGGERS:
            library = logging.getLogger(name)
            if is_of_others not in library.filters:
                library.addFilter(is_of_others)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send some spans; the SDK calls this in its own thread."""
        _sending.is_ours = True
        try:
            result = self._inner.export(spans)
        except Exception:  # whatever the library raises, the batch is lost
            result = SpanExportResult.FAILURE
        finally:
            _sending.is_ours = False
        is_failure = result is not SpanExportResult.SUCCESS
        if is_failure and not self._has_failed:
            reactor.callFromThread(logger.log_warn, UNREACHABLE.format(address=self._address))
        self._has_failed = is_failure
        return result

    def shutdown(self) -> None:
        """Accept no more spans."""
        self._inner.shutdown()


def is_of_others(record: logging.LogRecord) -> bool:
    """Logging filter: drop what the library logs while it works for us, which is logged once."""
    return not getattr(_sending, "is_ours", False)
