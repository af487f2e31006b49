"""The base of all views: authenticates, validates, and calls the operation in the game's thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar
from urllib.parse import quote

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, reverse
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    NotAuthenticated,
    Throttled,
)
from rest_framework.fields import Field
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.api import people, request_log
from evennia_ai.api.bodies import JsonOnly, JsonParser, JsonRenderer, plain
from evennia_ai.api.fields import Nothing, query_of
from evennia_ai.api.limits import throttles_of
from evennia_ai.api.problems import ProblemError, answer_to, problem, raise_if_refused
from evennia_ai.api.rows import Call, Row
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import AccessToken, TokenScope
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.monitoring import counts
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import acts, refusal
from evennia_ai.operations.rights.acts import NOT_YOURS
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime.game_thread import ANY, LONG, run
from evennia_ai.runtime.web_requests import address_of, api_config

Kind = TypeVar("Kind")
ONLY_READS = "This token is read-only; its owner can create another one."
NO_REVEAL = "This token is read-only, which does not include revealing private words."


class ApiView(APIView):
    """A view of the API: it serves the rows of one path, in the game's thread.

    Attributes:
        needs_account: an anonymous request is refused.
        is_counted: rate limits apply.
        is_change: its methods that are not GET need a token that may do more than read.
        given: the body of a change, for the log.
    """

    # All set here, so that the game's settings for REST framework do not apply.
    schema = AutoSchema()
    parser_classes: tuple[type[JsonParser], ...] = (JsonParser,)
    renderer_classes: tuple[type[JsonRenderer], ...] = (JsonRenderer,)
    content_negotiation_class = JsonOnly
    permission_classes = ()
    throttle_classes = ()
    versioning_class = None
    metadata_class = None
    http_method_names = ("get", "post", "put", "patch", "delete", "head")
    needs_account = True
    is_counted = True
    is_change = True
    given: object = None

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        """Make the view without a transaction around it (ATOMIC_REQUESTS).

        The view waits for the game's thread, which writes on a connection of its own: an open
        transaction here could block it.
        """
        return transaction.non_atomic_requests(super().as_view(**options))

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Use our own authenticators, whatever the game configures for other APIs."""
        return people.authenticators()

    def get_authenticate_header(self, request: Request) -> str:
        """The `WWW-Authenticate` header of a 401."""
        return people.scheme()

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the request, and count it, also if it is refused."""
        try:
            known = bool(request.user.is_authenticated)
        except AuthenticationFailed:
            # Otherwise tokens could be guessed without limit.
            self._count(request)
            raise
        self._count(request)
        if self.needs_account and not known:
            raise NotAuthenticated("Authentication is required: log in, or send a token.")
        if request.method in request_log.CHANGING and self.is_change and _only_reads(request.auth):
            raise problem(ProblemKind.FORBIDDEN, ONLY_READS)

    def _count(self, request: Request) -> None:
        for throttle in throttles_of(request) if self.is_counted else ():
            if not throttle.allow_request(request, self):
                raise Throttled(throttle.wait())

    def handle_exception(self, exc: Exception) -> Response:
        """Answer every error with a body of the same form."""
        if isinstance(exc, (NotAuthenticated, AuthenticationFailed)):
            exc.auth_header = people.scheme()
        response = answer_to(exc)
        response.exception = True
        return response

    def dispatch(self, request: HttpRequest, *args: Any, **path: Any) -> Response:
        """Serve a request; every attempt to change something is logged, whatever its outcome."""
        response = super().dispatch(request, *args, **path)
        if request.method in request_log.CHANGING:
            row: Row | None = getattr(getattr(self, request.method.lower(), None), "row", None)
            action = (row.action or row.route.act) if row is not None else ""
            key = str(path.get("key", ""))
            request_log.write(
                self.request,
                action or self.get_view_name().lower(),
                key,
                self.given,
                response.status_code,
                is_private=row is not None and row.is_private,
            )
        # Metrics are labelled with the route's name: a label for each path would be without bound.
        match = request.resolver_match
        route = match.url_name if match is not None else ""
        counts.count_request(str(request.method), str(route), response.status_code)
        return response

    # ---- one request -----------------------------------------------------------------------

    def serve(self, row: Row, request: Request, path: dict[str, str]) -> HttpResponseBase:
        """Validate a request, run its operation in the game's thread, and return the result."""
        config = api_config()
        wrong: APIException | None = None
        self._check_right_before_reading(row, request, path)
        body: dict[str, Any] = {}
        query: dict[str, Any] = {}
        try:
            self.given = {} if row.reads else request.data
            body = validated(row.body or Nothing, self.given)
            parameters = query_of(request.query_params, row.query or Nothing)
            query = validated(row.query or Nothing, parameters)
        except APIException as error:
            # Raised once the right was checked: 403 and 404 come before errors of the body, so that
            # a stranger learns nothing about the endpoint.
            wrong = error
        pk = self.account_pk(request, body) if wrong is None else request.user.pk
        address, headers = address_of(request.META), dict[str, str]()
        token = request.auth.pk if isinstance(request.auth, AccessToken) else None
        may_change = not _only_reads(request.auth)

        def act() -> Any:
            # Loaded here by its primary key: Evennia's objects belong to the game's thread.
            account: Any = self.account_for(pk, address) if pk is not None else None
            with audit.acting(str(account.key if account else ""), "api", is_logged=False):
                script: Any = find_allowed(row.route.act, account, path.get("key"))
                if wrong is not None:
                    raise wrong
                call = Call(account, script, body, query, path, address, token, headers, may_change)
                outcome = row.operation(call)
                if isinstance(outcome, Deferred):  # `run` waits for it
                    return outcome.addCallback(payload_of, row)
                return payload_of(outcome, row)

        seconds = config.long_timeout_seconds if row.is_long else config.timeout_seconds
        own_room = LONG.place(config.long_requests) if row.is_long else nullcontext()
        # Evennia's web server has few threads: waiting requests must leave some for the web site.
        with ANY.place(config.waiting_requests), own_room:
            payload = run(act, seconds)
        return self.answer(payload, row.status, headers)

    def _check_right_before_reading(self, row: Row, request: Request, path: dict[str, str]) -> None:
        """Check the right early if the body may be long, so that only permitted bodies are read.

        Raises:
            ProblemError: the caller may not do that, or there is no such assistant.
        """
        if row.reads or not any(parser.most_bytes for parser in self.parser_classes):
            return
        config, pk, address = api_config(), request.user.pk, address_of(request.META)

        def ask() -> None:
            account: Any = self.account_for(pk, address)
            with audit.acting(str(account.key), "api", is_logged=False):
                find_allowed(row.route.act, account, path.get("key"))

        with ANY.place(config.waiting_requests):
            run(ask, config.timeout_seconds)

    def account_pk(self, request: Request, body: dict[str, Any]) -> int | None:
        """The primary key of the account that asks; None if there is none."""
        pk: int | None = request.user.pk
        return pk

    def account_for(self, pk: int, address: str) -> Account | None:
        """Load the account that asks, if it may use the API; called in the game's thread."""
        return people.account_for(pk, address)

    def answer(self, payload: object, status: int, headers: dict[str, str]) -> HttpResponseBase:
        """Make the response of a request that succeeded."""
        return Response(payload, status=status, headers=headers)


def view_for_long_bodies(most_bytes: int, most_parts: int = 0) -> type[ApiView]:
    """Make a view that accepts long bodies; the arguments are attributes of `JsonParser`."""
    bounds = {"most_bytes": most_bytes, "most_parts": most_parts}
    parser = type("LongParser", (JsonParser,), bounds)
    return type("LongView", (ApiView,), {"parser_classes": (parser,)})


def _only_reads(auth: object) -> bool:
    return isinstance(auth, AccessToken) and auth.scope == TokenScope.READ.value


def validated(kind: type[Field], given: object) -> dict[str, Any]:
    """Validate input with a serializer or a field.

    Raises:
        ValidationError: it is invalid.
    """
    return dict(kind().run_validation(given))


def payload_of(outcome: object, row: Row) -> Any:
    """Convert the outcome of an operation to plain data.

    Raises:
        ProblemError: the operation refused.
    """
    if isinstance(outcome, bytes):
        return outcome
    if not isinstance(outcome, Result):
        return plain(outcome)
    raise_if_refused(outcome, has_input=row.takes_input)
    message = {row.says: outcome.message} if row.says else {}
    return {**plain(outcome.data), **message}


def find_allowed(act: str, person: Account, key: str | None) -> AssistantScript | None:
    """Find an assistant that the person has the right for; see `operations.rights.acts`.

    Raises:
        ProblemError: there is no such assistant, or the person does not have the right.
    """
    result = acts.find_allowed(act, person, key)
    if not result.ok:
        raise problem(result.problem, result.message)
    return result.data


def not_found(message: str) -> ProblemError:
    """The error for something that does not exist."""
    return problem(ProblemKind.NOT_FOUND, message)


def require_found(result: Result[Kind]) -> Result[Kind]:
    """Return a result that succeeded.

    Raises:
        ProblemError: it is a refusal; whatever its kind, the answer is a 404.
    """
    if not result.ok:
        raise not_found(result.message)
    return result


def require(person: Account, act: str, script: AssistantScript | None = None) -> None:
    """Check a right in addition to the one that the row needs.

    Raises:
        ProblemError: the person does not have it.
    """
    if refusal(act, person, script) is not None:
        raise problem(ProblemKind.FORBIDDEN, NOT_YOURS)


def set_location(call: Call, name: str, **path: object) -> None:
    """Set the `Location` header to the address of something that was created.

    Args:
        name: the name of the route.
        path: the parameters in its path.
    """
    try:
        address = reverse(f"evennia_ai_api:{name}", kwargs=path)
    except NoReverseMatch:  # the MCP server calls the same rows in games that do not mount the API
        return
    call.headers["Location"] = quote(address, safe="/%")


def look_of(call: Call) -> PrivateView:
    """The caller's view of private words: masked, unless the parameter `reveal` is true.

    Raises:
        ProblemError: `reveal` is true, but the token only reads, or the caller lacks the right.
    """
    is_revealing = call.query.get("reveal") == "true"
    if is_revealing and not call.may_change:
        raise problem(ProblemKind.FORBIDDEN, NO_REVEAL)
    if is_revealing:
        require(call.account, "reveal", call.script)
    return PrivateView.of(call.account, is_revealing=is_revealing)


def limit_of(query: Mapping[str, Any]) -> int:
    """The number of entries on a page."""
    config = api_config()
    return min(int(query.get("limit", config.page_size)), config.max_page_size)


def page_of(query: Mapping[str, Any], entries: Sequence[Kind]) -> tuple[Sequence[Kind], int | None]:
    """Cut a page out of a list; also return the offset of the next page, or None at the end."""
    offset = query.get("offset", 0)
    page = entries[offset : offset + limit_of(query)]
    return page, next_of(query, page, len(entries))


def next_of(query: Mapping[str, Any], page: Sequence[Kind], count: int) -> int | None:
    """The offset of the page after this one, or None at the end.

    Args:
        count: number of entries on all pages.
    """
    end = int(query.get("offset", 0)) + len(page)
    return end if page and end < count else None
