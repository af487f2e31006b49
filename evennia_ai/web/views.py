"""The views: each makes one call in the game's thread, and renders a page in the web thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from itertools import accumulate
from json import dumps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import get_script_prefix, set_script_prefix
from django.utils.decorators import decorator_from_middleware
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.operations import Result
from evennia_ai.operations.result import STATUSES, ProblemKind
from evennia_ai.operations.rights import acts, is_allowed
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import zone_name
from evennia_ai.runtime.game_thread import ANY, LONG, run
from evennia_ai.runtime.web_requests import (
    INTERNAL_ERROR,
    address_of,
    api_config,
    problem_of,
)
from evennia_ai.web.forms import query_string
from evennia_ai.web.menu import BY_NAME, menu_of
from evennia_ai.web.rows import REVEAL, Action, Download, File, Page, Shown, Visit, page_address
from evennia_ai.web.sending import ASKED, do_once, is_from_here, unsent_shown

# Only our own files: even if a text of a player or a model were not escaped, no script would run.
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# Of every response, also of that to a failed CSRF check.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
# The page that every account may see.
FALLBACK_PAGE = "mine"
# Characters; messages are sent in a cookie, in which little fits beside a login. There letters
# outside of ASCII are escaped, and what does not fit would be lost, as sessions are only read.
LONGEST_MESSAGE, LONGEST_ESCAPED = 1000, 2500
NOT_FROM_HERE = "Nothing is done: the form has no valid token of this site. Open its page again."


class PageRefusedError(Exception):
    """A request is refused, for the reason in a result."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.result = result


def page_view(page: Page) -> Callable[..., HttpResponseBase]:
    """Make the view of a page; a POST with "reveal" shows private words, and is recorded."""

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        is_revealing = _is_revealing(request)

        def show(visit: Visit) -> Any:
            if is_revealing:
                _reveal(visit)
            return _contents_of(page, visit)

        try:
            contents = _in_the_game(request, page.act, path, show, is_long=page.is_long)
        except PageRefusedError as error:
            if page.otherwise and error.result.problem is ProblemKind.FORBIDDEN:
                return redirect(page_address(page.otherwise))
            raise
        return _page_response(request, page, path, contents, is_revealed=is_revealing)

    return _view(serve)


def action_view(action: Action) -> Callable[..., HttpResponseBase]:
    """Make the view of a button: it runs its function, then shows its page with the outcome."""
    page = BY_NAME[action.page]

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        # After a refusal the browser shows the button's address, and may load it by GET.
        if request.method != "POST":
            return redirect(_address(page, path))

        def press(visit: Visit) -> Any:
            outcome = action.do(visit)
            if isinstance(outcome, Deferred):
                return outcome.addCallback(_after_action, action, visit)
            return _after_action(outcome, action, visit)

        def do(visit: Visit) -> Any:
            return do_once(visit, action.name, partial(press, visit))

        outcome = _in_the_game(request, action.act, path, do, is_long=action.is_long)
        if isinstance(outcome, tuple):
            result, address = outcome
            messages.success(request, _fitting_a_cookie(result.message))
            # A redirect, so that reloading the page does not press the button again.
            return redirect(address)
        return _page_response(request, page, path, outcome)

    return _view(serve)


def download_view(download: Download) -> Callable[..., HttpResponseBase]:
    """Make the view of a download; if there is no file, it shows its page with the reason."""
    page = BY_NAME[download.page]

    def serve(request: HttpRequest, **path: Any) -> HttpResponseBase:
        def give(visit: Visit) -> Any:
            if _is_revealing(request):
                _reveal(visit)
            result = download.give(visit)
            if isinstance(result, Deferred):
                return result.addCallback(sent, visit)
            return sent(result, visit)

        def sent(result: Result[File], visit: Visit) -> Any:
            return result.data if result.ok else _page_again(page, visit, result)

        outcome = _in_the_game(request, download.act, path, give, is_long=download.is_long)
        if not isinstance(outcome, File):
            return _page_response(request, page, path, outcome)
        response = HttpResponse(outcome.content, content_type=outcome.media)
        response["Content-Disposition"] = content_disposition_header(True, outcome.name)
        return response

    return _view(serve)


def _fitting_a_cookie(message: str) -> str:
    """The beginning of a message that fits into its cookie."""
    ends = accumulate(len(dumps(letter)) - 2 for letter in message[:LONGEST_MESSAGE])
    return message[: sum(end <= LONGEST_ESCAPED for end in ends)]


def _after_action(result: Result, action: Action, visit: Visit) -> Any:
    """The outcome of a button: its message and the address to visit, or its page again."""
    page = BY_NAME[action.page]
    if not result.ok or action.is_look:
        return _page_again(page, visit, result)
    if not _may_see(page, visit):  # the button's right does not imply that of its page
        return result, page_address(FALLBACK_PAGE)
    there = action.goes_to
    if not isinstance(there, str):
        return result, there(visit, result)
    # The same part of a list, where a button was on it.
    query = "" if there or not visit.query else query_string(**visit.query)
    return result, _address(BY_NAME[there or page.name], visit.path) + query


def _may_see(page: Page, visit: Visit) -> bool:
    """True if the visitor has the page's own right, besides that of a button on it."""
    return is_allowed(page.act, visit.account, visit.script if page.is_of_one else None)


def _page_again(page: Page, visit: Visit, result: Result) -> Shown | Deferred[Shown]:
    """Show the page of a button or download again, with its message.

    Raises:
        PageRefusedError: the visitor may not see that page; the error has the message.
    """
    if not _may_see(page, visit):
        raise PageRefusedError(
            Result.forbidden(acts.NOT_YOURS) if result.ok else result.as_refusal()
        )
    visit.result = result
    return _contents_of(page, visit)


def _is_revealing(request: HttpRequest) -> bool:
    return request.method == "POST" and REVEAL in request.POST


def _reveal(visit: Visit) -> None:
    """Let the visitor see private words.

    Raises:
        PageRefusedError: the visitor does not have that right.
    """
    allowed = acts.find_allowed("reveal", visit.account, visit.path.get("key"))
    if not allowed.ok:
        raise PageRefusedError(allowed)
    visit.look = PrivateView.of(visit.account, is_revealing=True)


def _contents_of(page: Page, visit: Visit) -> Shown | Deferred[Shown]:
    """Build the template's context of a page, with its menu."""

    def with_menu(shown: Shown) -> Shown:
        return {
            "menu": menu_of(visit, page.name),
            # Messages may end in a command to type; pages have buttons instead.
            "result": None if visit.result is None else visit.result.untyped(),
            "form": visit.form,
            "zone": zone_name(),
            "may_reveal": is_allowed("reveal", visit.account, visit.script),
            **shown,
        }

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
    """Check the visitor's right and call a function, both in the game's thread.

    Raises:
        PageRefusedError: the visitor does not have the right, or there is no such assistant.
        GameBusyError: the game does not answer in time.
    """
    config, pk, address = api_config(), request.user.pk, address_of(request.META)
    # Read in the web thread: a body may still be arriving, and the game must not wait for it.
    form = {name: _without_nul(value) for name, value in request.POST.items()}
    files = dict(request.FILES.items())
    query = {name: _without_nul(value) for name, value in request.GET.items()}

    prefix = get_script_prefix()

    def enter() -> Any:
        # `reverse` is called in the game's thread. Django keeps the script prefix for each thread,
        # and has set it in the web thread only.
        set_script_prefix(prefix)
        known = acts.account_of(pk, address)
        if not known.ok:
            raise PageRefusedError(Result.forbidden(known.message))
        account = known.data
        with audit.acting(str(account.key), "web"):
            result = acts.find_allowed(act, account, path.get("key"))
            if not result.ok:
                raise PageRefusedError(result)
            visit = Visit(account, result.data, PrivateView.of(account), query, form, files, path)
            return do(visit)

    own_room = LONG.place(config.long_requests) if is_long else nullcontext()
    with ANY.place(config.waiting_requests), own_room:
        return run(enter, config.long_timeout_seconds if is_long else config.timeout_seconds)


def _without_nul(value: object) -> str:
    # PostgreSQL cannot store NUL in text.
    return str(value).replace("\x00", "")


def _address(page: Page, path: Mapping[str, object]) -> str:
    """The address of a page, with those parameters of a button's path that it has too."""
    names = {name: value for name, value in path.items() if f":{name}>" in page.path}
    return page_address(page.name, **names)


def _view(serve: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Wrap a view: anonymous visitors go to the login page, and errors become pages."""

    def enter(request: HttpRequest, **path: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return serve(request, **path)
        return _unsent(request) if request.method == "POST" else _to_the_login(request)

    # CSRF is checked by the decorator: the middleware's error page would not have our headers. Its
    # errors become pages too, as it is the first to read the form, which may be too large.
    checked = decorator_from_middleware(_TokenCheck)(enter)

    def guarded(request: HttpRequest, **path: Any) -> HttpResponseBase:
        try:
            response = checked(request, **path)
        except Exception as error:  # an error page of ours says what is wrong
            response = _error_page(request, error)
        for name, text in HEADERS.items():
            response[name] = text
        return response

    # No transaction, since the view waits for the game's thread, which writes by itself.
    view: Callable[..., HttpResponseBase] = transaction.non_atomic_requests(
        csrf_exempt(never_cache(guarded))
    )
    return view


class _TokenCheck(CsrfViewMiddleware):
    """Django's check of a form's token, with pages of ours."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse | None:
        # A login renews the token. A browser names the page's own site; another site's form is
        # not shown, as a visitor might send it from here.
        if is_from_here(request):
            return None if ASKED in request.POST else _unsent(request)
        if not request.user.is_authenticated:
            return _to_the_login(request)
        return _error_page(request, PageRefusedError(Result.forbidden(NOT_FROM_HERE)))


def _unsent(request: HttpRequest) -> HttpResponse:
    """A page that keeps a form for which a login is missing, or was renewed."""
    is_known = request.user.is_authenticated
    context = unsent_shown(request, "" if is_known else _to_the_login(request)["Location"])
    return HttpResponse(_render(request, "unsent", context), status=HTTPStatus.FORBIDDEN)


def _to_the_login(request: HttpRequest) -> HttpResponse:
    response = redirect_to_login(request.get_full_path())
    # htmx would follow a redirect and insert the login form into the page.
    if request.headers.get("HX-Request"):
        headers = {"HX-Redirect": response["Location"]}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    return response


def _error_page(request: HttpRequest, error: Exception) -> HttpResponse:
    if isinstance(error, PageRefusedError):
        status, message = STATUSES[error.result.problem], error.result.message
    elif problem := problem_of(error):
        status, message = problem
    else:
        logger.log_trace(f"[assistant] a page failed: {type(error).__name__}")
        status, message = HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR
    context = {"told": message, "status": status.value, "page_title": status.phrase}
    # A part that the game had no time for is asked for again, see `follow.html`.
    later = {"HX-Trigger": "later"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return HttpResponse(_render(request, "failed", context), status=status, headers=later)


def _page_response(
    request: HttpRequest,
    page: Page,
    path: Mapping[str, object],
    shown: Shown,
    *,
    is_revealed: bool = False,
) -> HttpResponse:
    result = shown["result"]
    # Of the page, also after a refused button: the form of "reveal" posts to it, and must not press
    # the button again.
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    context = {
        "page_title": page.title,
        "address": f"{_address(page, path)}{query}",
        "key": path.get("key", ""),
        "is_revealed": is_revealed,
        **shown,
    }
    status = STATUSES[result.problem] if result is not None else HTTPStatus.OK
    return HttpResponse(_render(request, page.name, context), status=status)


def _messages_of(request: HttpRequest) -> list[str]:
    # Each once: a form that was sent twice has its outcome twice.
    return list(dict.fromkeys(str(each) for each in messages.get_messages(request)))


def _render(request: HttpRequest, template: str, context: Mapping[str, object]) -> str:
    """Render a template: the whole page, or for htmx its content alone.

    Without a request, so that no context processor runs: Evennia's touch characters, which belong
    to the game's thread.
    """
    is_part = bool(request.headers.get("HX-Request"))
    variables = {
        "frame": f"evennia_ai/{'part' if is_part else 'frame'}.html",
        "csrf_token": get_token(request),
        "game_name": settings.SERVERNAME,
        "game_address": get_script_prefix(),
        "visitor": str(request.user.get_username()),
        "address": request.get_full_path(),
        # Reading messages removes them, and a part of a page does not show them.
        "messages": [] if is_part else _messages_of(request),
        **context,
    }
    return str(render_to_string(f"evennia_ai/{template}.html", variables))
