"""The views: into the game's thread, once, and back with a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import get_script_prefix, set_script_prefix
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations import Result
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import callers, is_allowed
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.operations.times import zone_name
from evennia_ai.runtime.game_thread import ANY, LONG, GameBusyError, run
from evennia_ai.runtime.web_requests import address_of, api_config
from evennia_ai.web.menu import BY_NAME, Menu, menu_of
from evennia_ai.web.rows import REVEAL, Action, Download, File, Page, Shown, Visit, page_address

# Nothing but our own files: no text of a player's or of a model's can bring a script along.
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
STATUSES: Mapping[ProblemKind, HTTPStatus] = {
    ProblemKind.NONE: HTTPStatus.OK,
    ProblemKind.INVALID: HTTPStatus.BAD_REQUEST,
    ProblemKind.FORBIDDEN: HTTPStatus.FORBIDDEN,
    ProblemKind.MISSING: HTTPStatus.NOT_FOUND,
    ProblemKind.CONFLICT: HTTPStatus.CONFLICT,
    ProblemKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}
OWN_FAULT = "Something went wrong in the game; its log has more."
# The page that every account may see.
OF_EVERYBODY = "mine"
# What fits in a cookie beside a login.
LONGEST_MESSAGE = 1000
Seen = tuple[Menu, Shown]


class PageRefusedError(Exception):
    """A request that is not served, for the reason of a result."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.result = result


def page_view(page: Page) -> Callable[..., HttpResponseBase]:
    """The view of a page. A POST of it shows the same with private words, which is recorded."""

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        is_revealing = _is_revealing(request)

        def show(visit: Visit) -> Any:
            if is_revealing:
                _reveal(visit)
            return _shown(page, visit)

        try:
            menu, shown = _in_the_game(request, page.act, path, show, is_long=page.is_long)
        except PageRefusedError as error:
            if page.otherwise and error.result.problem is ProblemKind.FORBIDDEN:
                return redirect(page_address(page.otherwise))
            raise
        return _rendered(request, page, path, menu, shown, is_revealed=is_revealing)

    return _view(serve)


def action_view(action: Action) -> Callable[..., HttpResponseBase]:
    """The view of a button: what it does, then its page again with what came of it."""
    page = BY_NAME[action.page]

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        if request.method != "POST":
            return redirect(_address(page, path))

        def do(visit: Visit) -> Any:
            outcome = action.do(visit)
            if isinstance(outcome, Deferred):
                return outcome.addCallback(_come_of, action, visit)
            return _come_of(outcome, action, visit)

        outcome = _in_the_game(request, action.act, path, do, is_long=action.is_long)
        if isinstance(outcome[0], Result):
            messages.success(request, outcome[0].message[:LONGEST_MESSAGE])
            # To an address, so that to load the page anew does not press the button again.
            return redirect(outcome[1])
        menu, shown = outcome
        return _rendered(request, page, path, menu, shown)

    return _view(serve)


def download_view(download: Download) -> Callable[..., HttpResponseBase]:
    """The view of a file; where there is none, its page with why."""
    page = BY_NAME[download.page]

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        def give(visit: Visit) -> Any:
            if _is_revealing(request):
                _reveal(visit)
            found = download.give(visit)
            if isinstance(found, Deferred):
                return found.addCallback(sent, visit)
            return sent(found, visit)

        def sent(found: Result[File], visit: Visit) -> Any:
            return found.data if found.ok else _shown_again(page, visit, found)

        given = _in_the_game(request, download.act, path, give, is_long=download.is_long)
        if not isinstance(given, File):
            return _rendered(request, page, path, *given)
        response = HttpResponse(given.content, content_type=given.media)
        response["Content-Disposition"] = content_disposition_header(True, given.name)
        return response

    return _view(serve)


def _come_of(result: Result, action: Action, visit: Visit) -> Any:
    """The answer to a button: where it leads, with what it said; or its page again."""
    page = BY_NAME[action.page]
    if not result.ok or action.is_look:
        return _shown_again(page, visit, result)
    if not _may_see(page, visit):  # it was theirs to do, and is not theirs to look at
        return result, page_address(OF_EVERYBODY)
    there = action.goes_to
    return result, there(visit, result) if there else _address(page, visit.path)


def _may_see(page: Page, visit: Visit) -> bool:
    """True where a visitor has the page's own right, and not only that of a button on it."""
    return is_allowed(page.act, visit.account, visit.script if page.is_of_one else None)


def _shown_again(page: Page, visit: Visit, said: Result) -> Seen | Deferred[Seen]:
    """The page of a button or a file that came to nothing, with what was said to it.

    Raises:
        PageRefusedError: the visitor may not see that page: then it is only said.
    """
    if not _may_see(page, visit):
        raise PageRefusedError(
            Result.forbidden(callers.NOT_YOURS) if said.ok else said.as_refusal()
        )
    visit.said = said
    return _shown(page, visit)


def _is_revealing(request: HttpRequest) -> bool:
    return request.method == "POST" and REVEAL in request.POST


def _reveal(visit: Visit) -> None:
    """Let a visitor see private words, who has the right to."""
    refused = callers.find_allowed("reveal", visit.account, visit.path.get("key"))
    if not refused.ok:
        raise PageRefusedError(refused)
    visit.look = Look.of(visit.account, is_revealing=True)


def _shown(page: Page, visit: Visit) -> Seen | Deferred[Seen]:
    """The contents of a page, with the menu, and what was said to an action that was refused."""

    def with_menu(shown: Shown) -> Seen:
        given = {
            # Without the command that would do it: a page has a button for each.
            "said": None if visit.said is None else visit.said.untyped(),
            "form": visit.form,
            "zone": zone_name(),
            "may_reveal": is_allowed("reveal", visit.account, visit.script),
        }
        return menu_of(visit, page.name), {**given, **shown}

    shown = page.show(visit)
    return shown.addCallback(with_menu) if isinstance(shown, Deferred) else with_menu(shown)


def _in_the_game(
    request: HttpRequest,
    act: str,
    path: Mapping[str, Any],
    do: Callable[[Visit], Any],
    *,
    is_long: bool,
) -> Any:
    """Do something in the game's thread, as the person who asks and with the right it needs.

    Raises:
        PageRefusedError: the person may not, or there is no such assistant.
        GameBusyError: the game does not answer in time.
    """
    config, pk, address = api_config(), request.user.pk, address_of(request.META)
    # Read here: a body may still be on its way, and the game must not wait for that.
    form = {name: _typed(value) for name, value in request.POST.items()}
    files = dict(request.FILES.items())
    query = {name: _typed(value) for name, value in request.GET.items()}

    prefix = get_script_prefix()

    def enter() -> Any:
        # Addresses are made in the game's thread, which no server told below which path they are.
        set_script_prefix(prefix)
        known = callers.account_of(pk, address)
        if not known.ok:
            raise PageRefusedError(Result.forbidden(known.message))
        account = known.data
        with audit.acting(str(account.key), "web"):
            found = callers.find_allowed(act, account, path.get("key"))
            if not found.ok:
                raise PageRefusedError(found)
            visit = Visit(account, found.data, Look.of(account), query, form, files, path)
            return do(visit)

    own_room = LONG.place(config.long_requests) if is_long else nullcontext()
    with ANY.place(config.waiting_requests), own_room:
        return run(enter, config.long_timeout_seconds if is_long else config.timeout_seconds)


def _typed(value: object) -> str:
    """A text as it was typed, without NUL, which no database keeps."""
    return str(value).replace("\x00", "")


def _address(page: Page, path: Mapping[str, object]) -> str:
    """The address of a page, with what of the path it knows."""
    names = {name: value for name, value in path.items() if f":{name}>" in page.path}
    return page_address(page.name, **names)


def _view(serve: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view around a function: who has no account is sent to the login; what fails is told."""

    def guarded(request: HttpRequest, **path: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_the_login(request)
        try:
            return serve(request, **path)
        except Exception as error:  # a page always says what is wrong
            return _failed(request, error)

    # The middleware that looks for the token leaves it to us: its own page has no policy.
    view: Callable[..., HttpResponseBase] = transaction.non_atomic_requests(
        csrf_exempt(never_cache(_closed(csrf_protect(guarded))))
    )
    return view


def _closed(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view into whose page nothing comes from elsewhere, also where the form had no token."""

    def closed(request: HttpRequest, **path: Any) -> HttpResponseBase:
        response = view(request, **path)
        response["Content-Security-Policy"] = POLICY
        response["Referrer-Policy"] = "same-origin"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    return closed


def _to_the_login(request: HttpRequest) -> HttpResponse:
    """The way to the game's own login and back to the address that was asked for."""
    response = redirect_to_login(request.get_full_path())
    if request.headers.get("HX-Request"):  # a part of a page: the whole has to go there
        headers = {"HX-Redirect": response["Location"]}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    return response


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page that says why there is no other."""
    if isinstance(error, PageRefusedError):
        status, told = STATUSES[error.result.problem], error.result.message
    elif isinstance(error, GameBusyError):
        status, told = HTTPStatus.SERVICE_UNAVAILABLE, f"Not now: {error}."
    elif isinstance(error, ConfigurationError):
        status, told = HTTPStatus.SERVICE_UNAVAILABLE, f"The game is set up wrongly: {error}."
    elif isinstance(error, RequestDataTooBig):
        status, told = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too large."
    elif isinstance(error, MultiPartParserError):
        status, told = HTTPStatus.BAD_REQUEST, "The form is malformed."
    else:
        logger.log_trace(f"[assistant] a page failed: {type(error).__name__}")
        status, told = HTTPStatus.INTERNAL_SERVER_ERROR, OWN_FAULT
    context = {"told": told, "status": status.value, "page_title": status.phrase}
    return HttpResponse(_text(request, "failed", context), status=status)


def _rendered(
    request: HttpRequest,
    page: Page,
    path: Mapping[str, object],
    menu: Menu,
    shown: Shown,
    *,
    is_revealed: bool = False,
) -> HttpResponse:
    said = shown["said"]
    # The page's own also where a button was refused: to reveal there must not press that again.
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    context = {
        "page_title": page.title,
        "address": f"{_address(page, path)}{query}",
        "key": path.get("key", ""),
        "menu": menu,
        "is_revealed": is_revealed,
        **shown,
    }
    status = STATUSES[said.problem] if said is not None else HTTPStatus.OK
    return HttpResponse(_text(request, page.name, context), status=status)


def _text(request: HttpRequest, template: str, context: Mapping[str, object]) -> str:
    """A template's text, whole or, for htmx, its content alone; no context processor runs."""
    is_part = bool(request.headers.get("HX-Request"))
    given = {
        "frame": f"evennia_ai/{'part' if is_part else 'frame'}.html",
        "csrf_token": get_token(request),
        "game_name": settings.SERVERNAME,
        "game_address": get_script_prefix(),
        "visitor": str(request.user.get_username()),
        "address": request.get_full_path(),
        # To read them is to take them, and a part has no place for them.
        "messages": [] if is_part else [str(each) for each in messages.get_messages(request)],
        **context,
    }
    return str(render_to_string(f"evennia_ai/{template}.html", given))
