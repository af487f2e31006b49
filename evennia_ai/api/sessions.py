"""A middleware that lets requests to the API and to our pages read a login, and never write one.

Evennia saves a session for each request that comes without one, and counts in a session's row each
request that comes with one. A program that asks each second would fill the table, or rewrite a row.
`evennia_ai.apps` puts it before Evennia's middleware for logins.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from evennia_ai.runtime.web_requests import read_only_session

APP_NAMES = {"evennia_ai_api", "evennia_ai_web"}
WEBCLIENT_LOGIN = "webclient_authenticated_uid"


class ReadOnlySessions:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Put a session that is only read in the place of a request's own."""
        if hasattr(request, "session") and _is_ours(request):
            session = read_only_session(request.session.session_key)
            if not _is_half_a_login(session):
                request.session = session
        return self.get_response(request)


def _is_ours(request: HttpRequest) -> bool:
    try:
        found = resolve(request.path_info, getattr(request, "urlconf", None))
    except Resolver404:
        return False
    return not APP_NAMES.isdisjoint(found.app_names)


def _is_half_a_login(session: SessionBase) -> bool:
    """True for a login on the webclient only: Evennia makes that one login of both."""
    if not session.session_key:
        return False
    return WEBCLIENT_LOGIN in session and SESSION_KEY not in session
