"""Django views and OpenAPI operations from rows: a view for each path, a method for each row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.fields import Field
from rest_framework.request import Request

from evennia_ai.api.base import ApiView
from evennia_ai.api.fields import MOST_NUMBER, PERSON
from evennia_ai.api.results import PROBLEM, response_of
from evennia_ai.api.rows import Row
from evennia_ai.core.cards.lore_pack import PACK_NAME
from evennia_ai.operations.rights import ACTS, OF_THE_BODY, Right

STATUS_TEXTS = {
    400: "Something in the request is unknown or invalid; `fields` says what.",
    401: "Authentication is missing, or the token is invalid.",
    403: "The account is not allowed to do this.",
    404: "Not found.",
    406: "The API only sends JSON.",
    409: "Not possible in the assistant's present state.",
    413: "The body is too large.",
    415: "The API only accepts JSON.",
    429: "Too many requests; the header Retry-After says when to try again.",
    503: (
        "The game is busy or cannot do this now; the header Retry-After may say when to try again."
    ),
}
NEEDS = {
    Right.STAFF: "For staff (the lock `EVENNIA_AI_STAFF_LOCK`).",
    **{right: f"For whoever has `{right}` over the assistant." for right in OF_THE_BODY},
    Right.OWNER: "For owners (the lock `EVENNIA_AI_OWNER_LOCK`).",
}
RETRY = OpenApiParameter(
    "Retry-After",
    OpenApiTypes.INT,
    OpenApiParameter.HEADER,
    description="Seconds to wait before the next try.",
    response=[429, 503],
)
CHALLENGE = OpenApiParameter(
    "WWW-Authenticate",
    str,
    OpenApiParameter.HEADER,
    response=[401],
    description="Authentication scheme to use.",
)
_NOT_LETTERS = re.compile(r"[^a-z]+")
ACCOUNT: list[Any] = [{"token": []}, {"session": []}]
OPEN: list[Any] = [{}, *ACCOUNT]
_NUMBER = {"type": "integer", "minimum": 0, "maximum": MOST_NUMBER}
_NAME = {"type": "string", "pattern": r"^[^/]+$", "maxLength": 200}
_KEY = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_ID = {"type": "string", "pattern": "^([0-9]{1,18}|a[0-9a-f]{8})$"}
_PERSON = {"type": "string", "pattern": PERSON}
PATHS: Mapping[str, tuple[dict[str, Any], str]] = {
    "key": (_NAME, "Name of the assistant; case does not matter."),
    "number": (_NUMBER, "Number, as the list shows it."),
    "version": (_NUMBER, "Version number in the assistant's audit log."),
    "name": (_NAME, "Name, as the list shows it."),
    "pack": ({"type": "string", "pattern": PACK_NAME}, "Name of the lore pack."),
    "memory": (_KEY, "`key` of the memory, as the list shows it."),
    "id": (_ID, "Identifier, as the list shows it."),
    "person": (
        _PERSON,
        "A player by account number, such as `account-3`; others such as `object-12`.",
    ),
    "setting": (
        _NAME,
        "Name of a setting, such as `tick_rate` or `execution_config.sub_agents_enabled`.",
    ),
}


def addresses(rows: Iterable[Row]) -> list[URLPattern]:
    """Make the URL patterns of rows, in their order, each with all methods of its path."""
    rows_by_path: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_path.setdefault(row.route.path, []).append(row)
    return [_address(where, methods) for where, methods in rows_by_path.items()]


def _address(where: str, rows: list[Row]) -> URLPattern:
    # One of each: unpacking fails at import if rows of one path disagree.
    (name,), (kind,) = {row.route.name for row in rows}, {row.view for row in rows}
    methods = {row.route.method.lower(): _handler(row) for row in rows}
    # DRF takes the view's name from the class: the log shows it if a method is not allowed.
    title = "".join(word.capitalize() for word in name.split("-"))
    view: type[ApiView] = type(title, (kind or ApiView,), methods)
    return path(where, view.as_view(), name=name)


def _handler(row: Row) -> Any:
    def handler(view: ApiView, request: Request, **path: Any) -> HttpResponseBase:
        return view.serve(row, request, path)

    # `dispatch` reads the row for the log; drf-spectacular looks for its class in `kwargs`.
    handler.row = row  # type: ignore[attr-defined]
    handler.kwargs = {"schema": AutoSchema}  # type: ignore[attr-defined]
    right = row.needs or (NEEDS[ACTS[row.route.act]] if row.route.act else "For every account.")
    described = extend_schema(
        # Clients are generated with these ids, so a row keeps its id when its summary is reworded.
        operation_id=row.operation_id
        or _NOT_LETTERS.sub("_", row.summary.casefold().replace("'", "")),
        summary=row.summary,
        description=f"{row.details}\n\n{right}",
        tags=[row.route.tag.name],
        auth=OPEN if row.is_open else ACCOUNT,
        request=_request(row.body),
        responses=_responses(row),
        parameters=[*_parameters(row.names), *filter(None, [row.query]), RETRY, CHALLENGE],
        examples=_examples(row),
    )
    return described(handler)


def _responses(row: Row) -> dict[Any, Any]:
    codes = [400, 401, 403, 406, 429, 503]
    # 404 if a parameter may name nothing; the last three only for methods with a body.
    codes += [404] if row.names or row.may_be_missing else []
    codes += [409, 413, 415] if not row.reads else []
    wrong = {
        (code, "application/json"): OpenApiResponse(PROBLEM, description=STATUS_TEXTS[code])
        for code in sorted(codes)
    }
    response = response_of(row)
    done = OpenApiResponse(response, description="Done.")
    media = row.media or "application/json"
    return {(row.status, media) if response else row.status: done, **wrong}


def _request(body: type[Field] | None) -> Any:
    if body is None:
        return None
    described = getattr(body, "described", None)
    return {"application/json": described} if described else body()


def _parameters(names: Iterable[str]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, PATHS[name][0], OpenApiParameter.PATH, description=PATHS[name][1])
        for name in names
    ]


def _examples(row: Row) -> list[OpenApiExample]:
    examples, codes = [], [str(row.status)]
    if row.example is not None:
        examples.append(OpenApiExample("Request", row.example, request_only=True))
    if row.answer is not None:
        examples.append(
            OpenApiExample("Answer", row.answer, response_only=True, status_codes=codes)
        )
    return examples
