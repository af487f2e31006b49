"""An endpoint as a row of a table: its method, path, right, operation, body and result."""

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
    """A request in the game's thread: who asks what of whom.

    Attributes:
        account: who asks, whose rights count; only an open row meets None, of a stranger.
        script: the assistant in the address; a row without one in it does not ask for it.
        body: what was given, as the row's `body` reads it.
        query: what stands in the address after `?`, as the row's `query` reads it.
        path: the names in the address.
        address: the network address that it came from.
        token: the number of the token that was sent; None: another way to say who one is.
        headers: of the response; an operation may add some.
        may_change: False for whoever sent a token that only reads.
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
        """The account's name, for the record."""
        return str(self.account.key)


Operation = Callable[[Call], Any]
"""Gives a `Result`, a typed result, or a Deferred of one; raises what `problems` knows."""


class Route(NamedTuple):
    """A method of an address, and who may ask it.

    Attributes:
        method: such as "GET".
        path: below `api/ai/`, as Django writes paths.
        name: of the address, for `reverse` and the metrics.
        act: the right it needs, a name in `runtime.rights.ACTS`; "" where an account is enough.
        tag: its heading in the schema.
    """

    method: str
    path: str
    name: str
    act: str
    tag: str


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint.

    Attributes:
        route: its method, its address, the right it needs and its heading.
        operation: what is done, in the game's thread.
        summary: what it does, in a line; its name in the schema is made of that.
        details: the same in a sentence or two.
        result: the type of what is sent; None: at most a sentence.
        says: the name under which the result's sentence is sent; "" where it is not, as by default
            where something is only read.
        body: serializer or field of the body.
        query: serializer of what may stand in the address after `?`.
        status: of the response where all went well.
        is_long: a model or a tool is waited for, or a whole assistant is read.
        example: a body.
        answer: what is sent, as an example.
        action: what the record calls it, where that is not the act.
        needs: who may, where no act says it.
        media: the type of what is sent, where it is not JSON.
        may_be_missing: there may be nothing here, though no name is in the address.
        is_open: it can be had without an account.
        is_private: what is given are words of people, which no log may have.
        view: the class that serves it, where `ApiView` is not enough.
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
    action: str = ""
    needs: str = ""
    media: str = ""
    may_be_missing: bool = False
    is_open: bool = False
    is_private: bool = False
    view: type[APIView] | None = None

    def __post_init__(self) -> None:
        if self.reads and self.says == "message":
            object.__setattr__(self, "says", "")

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return self.route.method in METHODS_THAT_READ

    @property
    def takes_input(self) -> bool:
        """Something could be given that is wrong."""
        return self.body is not None or self.query is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the address."""
        return tuple(_IN_PATH.findall(self.route.path))
