"""Authentication, the list of tools, and tool calls; all in the game's thread.

Rights, masks and limits are those of the REST API: its rows are called, with its errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import AuthenticationFailed, Throttled, ValidationError
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.api import people
from evennia_ai.api.base import ONLY_READS, find_allowed, payload_of, validated
from evennia_ai.api.bodies import read_json
from evennia_ai.api.limits import Throttle, of_address
from evennia_ai.api.mcp.inputs import ARGUMENT_NAMES, RequestParts, split_arguments
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
ASSISTANT = ARGUMENT_NAMES["key"]


@dataclass(frozen=True, slots=True)
class McpCaller:
    """The authenticated sender of a request.

    Attributes:
        pk: primary key of the account.
        address: the network address.
        token: primary key of the token.
        may_change: the token's scope is `write`.
    """

    pk: int
    address: str
    token: int
    may_change: bool


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call.

    Attributes:
        text: a sentence for people; "" if there is none.
        value: plain data of the tool's output schema; None if the call failed.
    """

    text: str
    value: dict[str, Any] | None

    @property
    def texts(self) -> list[str]:
        """The sentence, and the value as JSON for clients that do not read structured content."""
        value = [] if self.value is None else [json.dumps(self.value, ensure_ascii=False)]
        return [*filter(None, [self.text]), *value]


def admit(authorization: str, address: str) -> McpCaller:
    """Authenticate a request by the token of a staff member.

    Args:
        authorization: the header of that name.

    Raises:
        APIException: the caller is refused, or has to wait.
    """
    if not people.has_tokens():
        raise problem(ProblemKind.UNAVAILABLE, tokens.NO_TOKENS)
    # Only failures are counted for the address: staff behind it share no limit with each other.
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
    # Every request counts as a read; a call that changes something counts as a write, too.
    _count(Throttle("reads_per_minute", f"#{pk}"))
    if not is_staff(account):
        raise problem(ProblemKind.FORBIDDEN, FOR_STAFF)
    return McpCaller(pk, address, token.pk, token.scope == TokenScope.WRITE.value)


def list_tools(caller: McpCaller) -> list[McpTool]:
    """List the tools that the caller may use, at least on some assistant."""
    account = people.account_for(caller.pk, caller.address)
    return [
        tool
        for tool in tools().values()
        if (tool.reads or caller.may_change) and is_allowed(tool.row.route.act, account)
    ]


def call(
    caller: McpCaller, tool: McpTool, given: Mapping[str, object]
) -> CallAnswer | Deferred[CallAnswer]:
    """Call a tool; an error becomes an answer, too, which the model can read."""
    try:
        outcome = _begin(caller, tool, given)
    except Exception as error:
        return error_answer(error)
    if not isinstance(outcome, Deferred):
        return outcome
    return outcome.addErrback(lambda failure: error_answer(failure.value))


def _begin(
    caller: McpCaller, tool: McpTool, given: Mapping[str, object]
) -> CallAnswer | Deferred[CallAnswer]:
    account, row = people.account_for(caller.pk, caller.address), tool.row
    if not tool.reads:
        if not caller.may_change:
            raise problem(ProblemKind.FORBIDDEN, ONLY_READS)
        _count(Throttle("writes_per_minute", f"#{account.pk}"))
    with audit.acting(str(account.key), VIA):
        script, parts = _resolve(caller, tool, account, given)
        api_call = Call(
            account=account,
            script=script,
            body=parts.body,
            query=parts.query,
            path=parts.path,
            address=caller.address,
            token=caller.token,
            may_change=caller.may_change,
        )
        outcome = row.operation(api_call)
        if isinstance(outcome, Deferred):  # `run_async` waits for it
            return outcome.addCallback(_answer_of, row)
        return _answer_of(outcome, row)


def _resolve(
    caller: McpCaller, tool: McpTool, account: Account, given: Mapping[str, Any]
) -> tuple[AssistantScript, RequestParts]:
    """Find the assistant and validate the arguments.

    As in REST, errors of the arguments are raised only once the right was checked.
    """
    arguments, wrong = dict[str, Any](), None
    try:
        # Through JSON, so that the bounds on bodies apply as in REST.
        arguments = validated(
            tool.input, read_json(json.dumps(given).encode(), api_config().body_depth)
        )
    except ValidationError as error:
        wrong = error
    key = given.get(ASSISTANT) if "key" in tool.row.names else None
    if wrong is not None and "key" in tool.row.names and not isinstance(key, str):
        raise wrong
    script: Any = find_allowed(tool.row.route.act, account, key)
    if wrong is not None:
        raise wrong
    return script, split_arguments(tool.row, arguments)


def _answer_of(outcome: object, row: Row) -> CallAnswer:
    value = payload_of(outcome, row) or {}  # structured content has to be an object
    sentence = outcome.message if isinstance(outcome, Result) else ""
    return CallAnswer(sentence, value)


def error_answer(error: BaseException) -> CallAnswer:
    """Make an answer from an error, with the message that REST would send."""
    return CallAnswer(answer_to(error).data["error"]["message"], None)


def _count(throttle: Throttle) -> None:
    if not throttle.allow_request(None, None):
        raise Throttled(throttle.wait())
