"""The rows that define endpoints: method, path, right, operation, body and result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

from rest_framework.fields import Field
from rest_framework.views import APIView

from evennia_ai.api.limits import METHODS_THAT_READ
from evennia_ai.core.typed_objects import Account
from evennia_ai.operations import AssistantScript

ONE = "assistants/<str:key>/"
_IN_PATH = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(slots=True)
class Call:
    """A validated request, as operations get it in the game's thread.

    Attributes:
        account: the caller; None only in rows that are open to anonymous requests.
        script: the assistant in the path; None in rows without one, which do not use it.
        body: the body, validated by the row's `body`.
        query: the query string, validated by the row's `query`.
        path: the parameters in the path.
        address: the network address of the caller.
        token: primary key of the token that was sent; None for a session or a password.
        headers: headers of the response, which an operation may add to.
        may_change: False if the token only reads.
    """

    account: Account
    script: AssistantScript
    body: dict[str, Any]
    query: dict[str, Any]
    path: dict[str, Any]
    address: str
    token: int | None
    headers: dict[str, str] = field(default_factory=dict)
    may_change: bool = True

    @property
    def by(self) -> str:
        """The account's name, for the audit log."""
        return str(self.account.key)


Operation = Callable[[Call], Any]
"""Returns a `Result`, a typed result, or a Deferred of one; may raise errors of `problems`."""


class Tag(NamedTuple):
    """A heading of the OpenAPI schema, and the sentence below it."""

    name: str
    description: str


class Route(NamedTuple):
    """A method of a path, and the right that it needs.

    Attributes:
        method: the HTTP method, such as "GET".
        path: the path below `api/ai/`, in Django's syntax.
        name: the name of the path, for `reverse` and the metrics.
        act: the right, a name in `runtime.rights.ACTS`; "" if any account may use it.
        tag: its heading in the OpenAPI schema.
    """

    method: str
    path: str
    name: str
    act: str
    tag: Tag


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint.

    Attributes:
        route: its method, path, right and heading.
        operation: the function that does it, in the game's thread.
        summary: a short title.
        details: a description of a sentence or two.
        result: the type of the response; None if it has at most a message.
        says: the field of the response with the result's message; "" for none, which is the default
            of GET.
        body: serializer or field of the body.
        query: serializer of the query string.
        status: the status of a successful response.
        is_long: it waits for a model or a tool, or handles a whole assistant; it has more time.
        example: an example of the body.
        answer: an example of the response.
        operation_id: its id in the schema; "" to make it from the summary.
        action: its name in the request log, if that is not the right.
        needs: the description of who may use it, if no right says it.
        media: the media type of the response, if that is not JSON.
        may_be_missing: it may answer 404 although the path has no parameter.
        is_open: anonymous requests are served.
        is_private: the body has words of people, which must not be logged.
        view: the class of the view, if `ApiView` is not enough.
    """

    route: Route
    operation: Operation
    summary: str
    details: str
    _: KW_ONLY
    result: type[Any] | None = None
    says: str = "message"
    body: type[Field] | None = None
    query: type[Field] | None = None
    status: int = 200
    is_long: bool = False
    example: Any = None
    answer: Any = None
    operation_id: str = ""
    action: str = ""
    needs: str = ""
    media: str = ""
    may_be_missing: bool = False
    is_open: bool = False
    is_private: bool = False
    view: type[APIView] | None = None

    def __post_init__(self) -> None:
        # A frozen dataclass; the default depends on the method.
        if self.reads and self.says == "message":
            object.__setattr__(self, "says", "")

    @property
    def reads(self) -> bool:
        """True if it changes nothing."""
        return self.route.method in METHODS_THAT_READ

    @property
    def takes_input(self) -> bool:
        """True if a request has input, which can be wrong."""
        return self.body is not None or self.query is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters in the path."""
        return tuple(_IN_PATH.findall(self.route.path))
