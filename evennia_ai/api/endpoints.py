"""One method of one view: what it takes and gives, and how the OpenAPI schema tells of both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)

from evennia_ai.api.base import Method, Plan
from evennia_ai.api.fields import MOST_NUMBER, PERSON
from evennia_ai.api.limits import METHODS_THAT_READ
from evennia_ai.api.shapes import Problem
from evennia_ai.operations.rights import ACTS, Right
from evennia_ai.rights import OF_THE_BODY

TOLD = {
    400: "Something given is unknown or wrong; `fields` says what.",
    401: "Nobody is logged in, or the token is wrong.",
    403: "The account may not do that.",
    404: "There is no such thing.",
    406: "Only JSON is sent.",
    409: "The assistant is not in a state for that.",
    413: "The body is too large.",
    415: "Only JSON is read.",
    429: "Too many requests; the header Retry-After says when to try again.",
    503: "The game is busy or cannot do that now; the header Retry-After may say when it can.",
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
    description="Seconds to wait.",
    response=[429, 503],
)
CHALLENGE = OpenApiParameter(
    "WWW-Authenticate", str, OpenApiParameter.HEADER, response=[401], description="What to send."
)
_NO_WORD = re.compile(r"[^a-z]+")
ACCOUNT: list[Any] = [{"token": []}, {"session": []}]
_NUMBER = {"type": "integer", "minimum": 0, "maximum": MOST_NUMBER}
_NAME = {"type": "string", "pattern": r"^[^/]+$", "maxLength": 200}
_KEY = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_ID = {"type": "string", "pattern": "^([0-9]{1,18}|a[0-9a-f]{8})$"}
_PERSON = {"type": "string", "pattern": PERSON}
PATHS: Mapping[str, tuple[dict[str, Any], str]] = {
    "key": (_NAME, "The assistant's name, in any case."),
    "number": (_NUMBER, "As the list shows it."),
    "version": (_NUMBER, "Of the assistant's record."),
    "name": (_NAME, "As the list shows it."),
    "memory": (_KEY, "The `key` that the list shows."),
    "id": (_ID, "As the list shows it."),
    "person": (_PERSON, "`account-3` is a player, by the number of the account; `object-12` not."),
    "setting": (_NAME, "A setting, such as `tick_rate` or `execution_config.sub_agents_enabled`."),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Makes a method of a view, such as `post`, of a function that runs in the game's thread.

    Attributes:
        act: the right it needs, a name in `rights.ACTS`; "" where an account is enough.
        summary: what it does, in a line; its name in the schema is made of that.
        gives: serializer of what is sent; None: nothing.
        body: serializer or field of the body.
        query: serializer of what may stand in the address after `?`.
        is_long: a model or a tool is waited for.
        example: a body.
        answer: what is sent, as an example.
        paths: the names in the address.
        action: what the record calls it, where that is not the act.
        needs: who may, where no act says it.
        media: the type of what is sent, where it is no JSON.
        may_be_missing: whether there may be nothing here, though no name is in the address.
        is_open: whether it can be had without an account.
        is_private: whether what is given are words of people, which no log may have.
    """

    act: str
    summary: str
    tag: str = field(kw_only=True)
    gives: Any = field(default=None, kw_only=True)
    body: Any = field(default=None, kw_only=True)
    query: Any = field(default=None, kw_only=True)
    status: int = field(default=200, kw_only=True)
    is_long: bool = field(default=False, kw_only=True)
    example: Any = field(default=None, kw_only=True)
    answer: Any = field(default=None, kw_only=True)
    paths: tuple[str, ...] = field(default=("key",), kw_only=True)
    action: str = field(default="", kw_only=True)
    needs: str = field(default="", kw_only=True)
    media: str = field(default="", kw_only=True)
    may_be_missing: bool = field(default=False, kw_only=True)
    is_open: bool = field(default=False, kw_only=True)
    is_private: bool = field(default=False, kw_only=True)

    def __call__(self, function: Method) -> Any:
        """The method."""
        action = self.action or self.act
        plan = Plan(
            self.act,
            self.body,
            self.query,
            self.status,
            self.is_long,
            action,
            self.is_private,
        )

        def handler(view: Any, request: Any, **path: Any) -> Any:
            return view.serve(plan, function, request, path)

        handler.plan = plan  # type: ignore[attr-defined]
        handler.kwargs = {"schema": AutoSchema}  # type: ignore[attr-defined]
        handler.__doc__ = function.__doc__
        right = self.needs or (NEEDS[ACTS[self.act]] if self.act else "For every account.")
        described = extend_schema(
            operation_id=_NO_WORD.sub("_", self.summary.casefold().replace("'", "")),
            summary=self.summary,
            description=f"{function.__doc__ or self.summary}\n\n{right}",
            tags=[self.tag],
            auth=[{}, *ACCOUNT] if self.is_open else ACCOUNT,
            request=_request(self.body),
            responses=self._responses(function.__name__.upper()),
            parameters=[*_parameters(self.paths), *filter(None, [self.query]), RETRY, CHALLENGE],
            examples=_examples(self.example, self.answer, self.status),
        )
        return described(handler)

    def _responses(self, method: str) -> dict[Any, Any]:
        codes = [400, 401, 403, 406, 429, 503]
        codes += [404] if self.paths or self.may_be_missing else []
        codes += [409, 413, 415] if method not in METHODS_THAT_READ else []
        wrong = {
            (code, "application/json"): OpenApiResponse(Problem, description=TOLD[code])
            for code in sorted(codes)
        }
        done = OpenApiResponse(self.gives, description="Done.")
        media = self.media or "application/json"
        return {(self.status, media) if self.gives else self.status: done, **wrong}


def _request(body: Any) -> Any:
    if body is None:
        return None
    described = getattr(body, "described", None)
    return {"application/json": described} if described else body()


def _parameters(paths: tuple[str, ...]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, PATHS[name][0], OpenApiParameter.PATH, description=PATHS[name][1])
        for name in paths
    ]


def _examples(example: Any, answer: Any, status: int) -> list[OpenApiExample]:
    found = []
    if example is not None:
        found.append(OpenApiExample("Request", example, request_only=True))
    if answer is not None:
        found.append(
            OpenApiExample("Answer", answer, response_only=True, status_codes=[str(status)])
        )
    return found
