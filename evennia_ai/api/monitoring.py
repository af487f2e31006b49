"""Endpoints for monitoring: the game's health, and its metrics for Prometheus."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from evennia_ai.api.base import ApiView, not_found
from evennia_ai.api.bodies import JsonRenderer, TextRenderer
from evennia_ai.api.limits import Throttle, cache
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import Call, Route, Row, Tag
from evennia_ai.core.safety.addresses import counted_as
from evennia_ai.core.settings.services import NAME, Metrics
from evennia_ai.core.typed_objects import Account
from evennia_ai.operations.monitoring import health, metrics
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import is_staff
from evennia_ai.operations.rights.acts import NOT_YOURS
from evennia_ai.runtime.web_requests import address_of, api_config

TAG = Tag("Monitoring", "Health and metrics for monitoring.")
# Key and lifetime of the health report that callers over their limit get.
KEPT, KEPT_SECONDS = "evennia_ai_api_health", 1
CLOSED = f"This game shows no metrics; {NAME} opens them, with 'metrics': 'staff' or 'all'."


class HealthView(ApiView):
    """The view of the assistants' health."""

    needs_account = False
    # It counts by itself, since it never refuses.
    is_counted = False

    def serve(self, row: Row, request: Request, path: dict[str, Any]) -> HttpResponseBase:
        """Serve the report; a caller over the limit gets that of a second ago instead of a 429."""
        counted = Throttle("anonymous_per_minute", f"health {counted_as(address_of(request.META))}")
        if not counted.allow_request(request, self):
            cached = cache().get(KEPT)
            if cached is not None:
                return self.answer(cached, row.status, {})
        response = super().serve(row, request, path)
        # Only the public report: that of staff has reasons in it.
        if not request.user.is_authenticated:
            cache().set(KEPT, response.data, KEPT_SECONDS)
        return response

    def account_for(self, pk: int, address: str) -> Account | None:
        """Treat an account that may not use the API as anonymous, instead of refusing it."""
        try:
            return super().account_for(pk, address)
        except APIException:
            return None


class MetricsPage(ApiView):
    """The view of the metrics."""

    renderer_classes = (JsonRenderer, TextRenderer)

    @property
    def needs_account(self) -> bool:  # type: ignore[override]
        """True, unless the settings publish the metrics."""
        return api_config().metrics is not Metrics.ALL

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        """Answer 404 if the settings switch metrics off."""
        if api_config().metrics is Metrics.OFF:
            raise not_found(CLOSED)
        super().initial(request, *args, **path)

    def answer(self, payload: object, status: int, headers: dict[str, str]) -> HttpResponseBase:
        """Make a response of Prometheus's media type."""
        return HttpResponse(payload, status=status, content_type=metrics.METRICS_TYPE)


def _metrics(call: Call) -> bytes:
    is_open = api_config().metrics is Metrics.ALL
    if not is_open and not is_staff(call.account):
        raise problem(ProblemKind.FORBIDDEN, NOT_YOURS)
    return metrics.metrics()


ROWS = (
    Row(
        Route("GET", "health/", "health", "", TAG),
        lambda call: health.health(
            with_reasons=call.account is not None and is_staff(call.account)
        ),
        "See whether the assistants are well",
        "`ok`, `degraded`, or `stopped` if all of them are stopped.",
        result=health.Health,
        is_open=True,
        needs="Open to everybody; staff also get the reasons.",
        view=HealthView,
    ),
    Row(
        Route("GET", "metrics/", "metrics", "", TAG),
        _metrics,
        "Read the metrics",
        "In the text format of Prometheus.",
        result=str,
        media="text/plain",
        is_open=True,
        may_be_missing=True,
        needs=f"For whom `metrics` in `{NAME}` says: nobody, staff or all.",
        view=MetricsPage,
    ),
)
