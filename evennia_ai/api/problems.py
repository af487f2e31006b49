"""Errors of requests. Every error, wherever it comes from, is answered in the same form.

`{"error": {"code": ..., "message": ..., "fields": {...}}}`
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from evennia.utils import logger
from rest_framework import exceptions
from rest_framework.response import Response

from evennia_ai.operations import Result
from evennia_ai.operations.result import STATUSES, ProblemKind
from evennia_ai.runtime.web_requests import INTERNAL_ERROR, problem_of

# A hostile body may have thousands of wrong fields.
MOST_FIELDS = 50
LONGEST_MESSAGE = 2000
CODES: Mapping[int, str] = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "missing",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    429: "throttled",
    500: "internal",
    503: "unavailable",
}
DJANGO_ERRORS: Mapping[type[Exception], type[exceptions.APIException]] = {
    Http404: exceptions.NotFound,
    PermissionDenied: exceptions.PermissionDenied,
}


class ProblemError(exceptions.APIException):
    """A request that is refused.

    Attributes:
        retry_seconds: when to try again; 0 if that would not help.
        fields: the errors of each field.
    """

    def __init__(self, status_code: int, message: str, retry_seconds: int = 0) -> None:
        super().__init__(message[:LONGEST_MESSAGE])
        self.status_code = status_code
        self.retry_seconds = retry_seconds
        self.fields: dict[str, list[str]] = {}


def problem(kind: ProblemKind, message: str) -> ProblemError:
    """Make the error for a kind of problem that operations know."""
    # Only these pass by themselves.
    retry_seconds = 5 if kind is ProblemKind.UNAVAILABLE else 0
    return ProblemError(STATUSES[kind], message, retry_seconds)


def raise_if_refused(result: Result, *, has_input: bool) -> None:
    """Raise the error of a result that is a refusal.

    Args:
        has_input: the request has a body or a query.
    """
    if result.ok:
        return
    kind = result.problem
    # Without input nothing in the request can be wrong: the assistant's state does not allow it.
    if kind is ProblemKind.INVALID and not has_input:
        kind = ProblemKind.CONFLICT
    raised = problem(kind, result.message)
    raised.fields = {name: [text] for name, text in result.errors.items()}
    raise raised


def answer_to(error: BaseException) -> Response:
    """Make the response to any exception."""
    known = _as_api_exception(error)
    # Unexpected errors are logged in full, and the client learns nothing about them.
    if known is None:
        logger.log_trace(f"[assistant] the API failed: {type(error).__name__}")
        known = ProblemError(500, INTERNAL_ERROR)
    headers = {}
    if getattr(known, "auth_header", None):
        headers["WWW-Authenticate"] = known.auth_header
    wait = getattr(known, "retry_seconds", 0) or getattr(known, "wait", 0)
    if known.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        # DRF does not always know; after a minute the count is empty.
        wait = wait or 60
    if wait:
        headers["Retry-After"] = str(math.ceil(wait))
    return Response(body_of(known), status=known.status_code, headers=headers)


def _as_api_exception(error: BaseException) -> Any:
    if isinstance(error, exceptions.APIException):
        return error
    if known := problem_of(error):
        return ProblemError(*known, retry_seconds=getattr(error, "retry_seconds", 0))
    plain = next((kind for kind in DJANGO_ERRORS if isinstance(error, kind)), None)
    return DJANGO_ERRORS[plain]() if plain else None


def body_of(error: exceptions.APIException) -> dict[str, Any]:
    """Make the body of an error."""
    code = CODES.get(error.status_code, "error")
    if not isinstance(error, exceptions.ValidationError):
        known = dict(list(getattr(error, "fields", {}).items())[:MOST_FIELDS])
        extra = {"fields": known} if known else {}
        return {"error": {"code": code, "message": _sentence(error.detail), **extra}}
    fields = dict(list(_fields(error.detail))[:MOST_FIELDS])
    errors = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in list(fields.items())[:3])
    message = f"What was given cannot be taken: {errors}"[:LONGEST_MESSAGE]
    return {"error": {"code": code, "message": message, "fields": fields}}


def _sentence(detail: object) -> str:
    if isinstance(detail, (list, tuple)):
        return " ".join(map(_sentence, detail))
    if isinstance(detail, Mapping):
        return " ".join(map(_sentence, detail.values()))
    return str(detail)


def _fields(
    detail: Mapping[str, Any] | Sequence[Any], path: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """Flatten nested errors to pairs of a path, such as `aliases.0`, and its messages."""
    if isinstance(detail, Mapping):
        for name, part in detail.items():
            yield from _fields(part, f"{path}.{name}" if path else str(name))
    elif all(isinstance(part, str) for part in detail):
        yield path or "body", [str(part)[:300] for part in detail]
    else:
        for number, part in enumerate(detail):
            if part:
                yield from _fields(part, f"{path}.{number}")
