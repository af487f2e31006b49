"""The sending of spans by OTLP over HTTP; the one module that needs the extra `otel`.

Spans wait in a bounded queue, and a thread of the SDK's sends them: the game never waits. Where
nobody answers, what does not fit into the queue is dropped, and the log is told once. Nothing of
the SDK is made global: a game may export its own.
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
MOST_WAITING = 2_048
# OpenInference has some for each message; the SDK's own bound of 128 is soon reached.
MOST_ATTRIBUTES = 2_000
NANOSECONDS = 1_000_000_000
UNREACHABLE = "[assistant] turns cannot be exported to {address}; this is told once"
# What complains of a receiver that does not answer, and of the queue that is full for that.
LOGGERS = (trace_exporter.__name__, "opentelemetry.sdk._shared_internal")
_sending = threading.local()


def address_of(endpoint: str) -> str:
    """The address that spans are sent to: as it is set, with OTLP's own path where it has none."""
    base = endpoint.rstrip("/")
    return endpoint if "/" in base.partition("://")[2] else base + PATH


class Spans:
    """Spans on their way out of the game.

    Args:
        service: the name of the game.
        seconds: how long one request may take.
    """

    def __init__(self, endpoint: str, service: str, seconds: float) -> None:
        address = address_of(endpoint)
        self._provider = TracerProvider(
            ALWAYS_ON,
            Resource.create({SERVICE_NAME: service}),
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attributes=MOST_ATTRIBUTES),
        )
        sender = SpanSender(OTLPSpanExporter(address, timeout=seconds), address)
        self._provider.add_span_processor(BatchSpanProcessor(sender, max_queue_size=MOST_WAITING))
        self._tracer = self._provider.get_tracer("evennia_ai")

    def put(self, span: TurnSpan) -> None:
        """Put a span, with all below it, into the queue. They are a trace of their own."""
        _sending.is_ours = True
        try:
            self._put(span, Context())
        finally:
            _sending.is_ours = False

    def _put(self, told: TurnSpan, above: Context) -> None:
        span = self._tracer.start_span(
            told.name,
            context=above,
            kind=SpanKind.CLIENT if told.is_call else SpanKind.INTERNAL,
            attributes=told.attributes,
            start_time=int(told.began * NANOSECONDS),
        )
        if told.error:
            span.set_attribute("error.type", told.error)
            span.set_status(Status(StatusCode.ERROR))
        for below in told.below:
            self._put(below, set_span_in_context(span, Context()))
        span.end(int(told.ended * NANOSECONDS))

    def flush(self) -> None:
        """Send what waits, and wait until that is done."""
        self._provider.force_flush()

    def end(self) -> None:
        """Send what waits, and take no more."""
        self._provider.shutdown()


class SpanSender(SpanExporter):
    """Sends spans; of failures in a row the log is told of the first.

    Args:
        address: for the log.
    """

    def __init__(self, inner: SpanExporter, address: str) -> None:
        self._inner, self._address, self._has_failed = inner, address, False
        for name in LOGGERS:
            library = logging.getLogger(name)
            if is_of_others not in library.filters:
                library.addFilter(is_of_others)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send some spans, in a thread of the SDK's."""
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
        """Take no more."""
        self._inner.shutdown()


def is_of_others(record: logging.LogRecord) -> bool:
    """False for what the library logs while it works for us, again and again: we tell it once."""
    return not getattr(_sending, "is_ours", False)
