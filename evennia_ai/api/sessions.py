"""Middleware that gives requests to the API and the workbench a read-only session.

Evennia's middleware creates a session for each request without one, and counts requests in the row
of the session otherwise. A program that polls every second would fill the table, or rewrite a row
each time. `evennia_ai.apps` inserts this middleware before Evennia's.
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
        """Replace the request's session by a read-only one."""
        # A game may have removed Django's session middleware.
        if hasattr(request, "session") and _is_ours(request):
            session = read_only_session(request.session.session_key)
            if not _is_half_a_login(session):
                request.session = session
        return self.get_response(request)


def _is_ours(request: HttpRequest) -> bool:
    try:
        match = resolve(request.path_info, getattr(request, "urlconf", None))
    except Resolver404:
        return False
    return not APP_NAMES.isdisjoint(match.app_names)


def _is_half_a_login(session: SessionBase) -> bool:
    # Evennia's middleware turns a login on the webclient into one on the web site; it has to write
    # the session for that.
    if not session.session_key:
        return False
    return WEBCLIENT_LOGIN in session and SESSION_KEY not in session
