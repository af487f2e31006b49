"""A middleware that lets requests to the API and to our pages read a login, and never write one.

Evennia saves a session for each request that comes without one, and counts in a session's row each
request that comes with one. A program that asks each second would fill the table, or rewrite a row.
`evennia_ai.apps` puts it before Evennia's middleware for logins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

APP_NAMES = {"evennia_ai_api", "evennia_ai_web"}
WEBCLIENT_LOGIN = "webclient_authenticated_uid"


class ReadOnlySessions:
    """The middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Put a session that is only read in the place of a request's own."""
        if hasattr(request, "session") and _is_ours(request):
            session = _kind(settings.SESSION_ENGINE)(request.session.session_key)
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


@lru_cache(maxsize=4)
def _kind(engine: str) -> Any:
    """Sessions as the game keeps them, but only read."""
    kind: Any = import_module(engine).SessionStore

    class ReadOnly(kind):
        """A session of which nothing is written."""

        def save(self, must_create: bool = False) -> None:
            """Changes are forgotten with the request."""

        def create(self) -> None:
            """There is none."""

        def delete(self, session_key: str | None = None) -> None:
            """The stored session stays."""

    # Django signs what it stores with the name of the class that stored it.
    ReadOnly.__qualname__ = kind.__qualname__
    return ReadOnly
