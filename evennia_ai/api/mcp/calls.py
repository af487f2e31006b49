"""Calls in the game's thread: who may come in, what they are offered, and what a call comes to.

Rights, masks and bounds are those of the REST API: its rows are called, and its errors told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import AuthenticationFailed, Throttled, ValidationError
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.api import people
from evennia_ai.api.base import NO_REVEAL, ONLY_READS, find_allowed, payload_of, require, validated
from evennia_ai.api.bodies import read_json
from evennia_ai.api.limits import Throttle, of_address
from evennia_ai.api.mcp.inputs import REVEAL, SAID, Parts, sort
from evennia_ai.api.mcp.tools import McpTool, tools
from evennia_ai.api.problems import answer_to, problem
from evennia_ai.api.rows import Call, Row
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import TokenScope
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import is_allowed, is_staff, tokens
from evennia_ai.runtime.web_requests import api_config

VIA = "mcp"
SCHEME = "bearer "
WHO = "Say who you are: send `Authorization: Bearer <token>`."
FOR_STAFF = "This is for staff of the game."
ASSISTANT = SAID["key"]


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Whoever sent a request, by their token.

    Attributes:
        pk: number of their account.
        address: where they are.
        token: its number.
        may_change: they may do more than read.
    """

    pk: int
    address: str
    token: int
    may_change: bool


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call.

    Attributes:
        text: a sentence for people; "" where the value has none.
        value: plain data of the tool's output schema; None where something went wrong.
    """

    text: str
    value: dict[str, Any] | None

    @property
    def texts(self) -> list[str]:
        """The sentence, and the value as JSON, for clients that read nothing but texts."""
        told = [] if self.value is None else [json.dumps(self.value, ensure_ascii=False)]
        return [*filter(None, [self.text]), *told]


def admit(authorization: str, address: str) -> McpCaller:
    """Let somebody in who sent a token of staff's.

    Args:
        authorization: the header of that name.

    Raises:
        APIException: they may not come in, or not now.
    """
    if not people.has_tokens():
        raise problem(ProblemKind.UNAVAILABLE, tokens.NO_TOKENS)
    strangers = of_address("anonymous_per_minute", address)
    if strangers.is_over(None, None):
        raise Throttled(strangers.wait())
    try:
        if authorization[: len(SCHEME)].lower() != SCHEME:
            raise AuthenticationFailed(WHO)
        key = authorization[len(SCHEME) :].strip()
        owner, token = people.TokenAccess().authenticate_credentials(key)
        pk: Any = owner.pk
        account = people.account_for(pk, address)
    except AuthenticationFailed:
        _count(strangers)
        raise
    _count(Throttle("reads_per_minute", f"#{pk}"))
    if not is_staff(account):
        raise problem(ProblemKind.FORBIDDEN, FOR_STAFF)
    return McpCaller(pk, address, token.pk, token.scope == TokenScope.WRITE.value)


def offered(caller: McpCaller) -> list[McpTool]:
    """The tools that somebody may use, of an assistant at least where it may be some."""
    account = people.account_for(caller.pk, caller.address)
    return [
        tool
        for tool in tools().values()
        if (tool.reads or caller.may_change) and is_allowed(tool.row.route.act, account)
    ]


def call(
    caller: McpCaller, tool: McpTool, given: Mapping[str, object]
) -> CallAnswer | Deferred[CallAnswer]:
    """Call a tool; whatever goes wrong is an answer too."""
    try:
        outcome = _begin(caller, tool, given)
    except Exception as error:
        return refused(error)
    if not isinstance(outcome, Deferred):
        return outcome
    return outcome.addErrback(_failed)


def _begin(
    caller: McpCaller, tool: McpTool, given: Mapping[str, object]
) -> CallAnswer | Deferred[CallAnswer]:
    account, row = people.account_for(caller.pk, caller.address), tool.row
    if not tool.reads:
        if not caller.may_change:
            raise problem(ProblemKind.FORBIDDEN, ONLY_READS)
        _count(Throttle("writes_per_minute", f"#{account.pk}"))
    with audit.acting(str(account.key), VIA):
        script, parts = _read(caller, tool, account, given)
        made = Call(
            account,
            script,
            parts.body,
            parts.query,
            parts.path,
            caller.address,
            caller.token,
            may_change=caller.may_change,
        )
        outcome = row.operation(made)
        if isinstance(outcome, Deferred):  # the reactor's hop waits for it
            return outcome.addCallback(_told, row)
        return _told(outcome, row)


def _read(
    caller: McpCaller, tool: McpTool, account: Account, given: Mapping[str, Any]
) -> tuple[AssistantScript, Parts]:
    """The assistant that is meant and the arguments; the right is asked before they are judged."""
    read, wrong = dict[str, Any](), None
    try:
        # By way of JSON, so that its bounds hold here as they do for REST.
        read = validated(tool.input, read_json(json.dumps(given).encode(), api_config().body_depth))
    except ValidationError as error:
        wrong = error
    key = given.get(ASSISTANT) if "key" in tool.row.names else None
    if wrong is not None and "key" in tool.row.names and not isinstance(key, str):
        raise wrong
    script: Any = find_allowed(tool.row.route.act, account, key)
    if wrong is not None:
        raise wrong
    if read.get(REVEAL):
        if not caller.may_change:
            raise problem(ProblemKind.FORBIDDEN, NO_REVEAL)
        require(account, "reveal", script)
    return script, sort(tool.row, read)


def _told(outcome: object, row: Row) -> CallAnswer:
    value = payload_of(outcome, row) or {}
    sentence = outcome.message if isinstance(outcome, Result) else ""
    return CallAnswer(sentence, value)


def _failed(failure: Failure) -> CallAnswer:
    error = failure.value
    return refused(error if isinstance(error, Exception) else RuntimeError(str(error)))


def refused(error: Exception) -> CallAnswer:
    """The sentence of an error, as REST has it."""
    return CallAnswer(answer_to(error).data["error"]["message"], None)


def _count(throttle: Throttle) -> None:
    if not throttle.allow_request(None, None):
        raise Throttled(throttle.wait())
