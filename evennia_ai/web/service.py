"""Plugin of Evennia's server: adds the event stream of the workbench to the game's web site.

`evennia_ai.apps` adds this module to SERVER_SERVICES_PLUGIN_MODULES, so that no file of the game
has to. A stream occupies no web thread, and queries the database only when it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from evennia.utils import logger
from twisted.internet import reactor
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from evennia_ai import audit
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.operations.rights import acts
from evennia_ai.runtime import portal_peers
from evennia_ai.runtime.watching import FEED
from evennia_ai.runtime.web_requests import address_of, read_only_session
from evennia_ai.web.stream import StreamQuery, Streams, child_name

NO_LOGIN = "Log in to the game's web site first."
LONGEST_MARK = 40


class StreamResource(Resource):
    """The stream's resource, served in the game's thread."""

    isLeaf = True  # noqa: N815 - Twisted's name

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self.streams = streams

    def render_GET(self, request: Request) -> Any:  # noqa: N802 - Twisted's name
        """Open a stream, or refuse it."""
        try:
            result = _query_of(request)
        except Exception:  # traceback to the game's log, a plain 500 to the page
            logger.log_trace("[assistant] a stream failed")
            return _refused(request, HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong.")
        if not result.ok:
            status = {
                ProblemKind.UNAVAILABLE: HTTPStatus.UNAUTHORIZED,
                ProblemKind.FORBIDDEN: HTTPStatus.FORBIDDEN,
            }.get(result.problem, HTTPStatus.NOT_FOUND)
            return _refused(request, status, result.message)
        self.streams.open(request, result.data)
        return NOT_DONE_YET


def _refused(request: Request, status: HTTPStatus, message: str) -> bytes:
    request.setResponseCode(status.value)
    request.setHeader(b"content-type", b"text/plain; charset=utf-8")
    request.setHeader(b"cache-control", b"no-store")
    return message.encode()


def _query_of(request: Request) -> Result[StreamQuery]:
    """Authenticate and check a request for a stream; the query, or a refusal."""
    cookie = request.getCookie(settings.SESSION_COOKIE_NAME.encode()) or b""
    asker = HttpRequest()
    asker.session = read_only_session(cookie.decode("ascii", "replace"))
    user = get_user(asker)  # it also checks that the password was not changed since the login
    if not user.is_authenticated:
        return Result.unavailable(NO_LOGIN)
    known = acts.account_of(user.pk, address_of(_meta(request)))
    if not known.ok:
        return Result.forbidden(known.message)
    name = _parameter(request, b"assistant")
    result = acts.find_allowed("status" if name else "list", known.data, name or None)
    if not result.ok:
        return result.as_refusal()
    mark = request.getHeader("last-event-id") or _parameter(request, b"after")
    key = str(result.data.key) if result.data is not None else ""
    return Result(True, "", StreamQuery(int(user.pk), key, mark[:LONGEST_MARK]))


def _parameter(request: Request, name: bytes) -> str:
    values: list[bytes] = request.args.get(name, [])
    return values[0].decode("utf-8", "replace") if values else ""


def _meta(request: Request) -> dict[str, object]:
    """The headers that `address_of` reads, under the names that Django's `META` gives them."""
    return {
        "REMOTE_ADDR": getattr(request.getClientAddress(), "host", ""),
        "HTTP_X_FORWARDED_FOR": request.getHeader("x-forwarded-for") or "",
        portal_peers.KEY: request.getHeader(portal_peers.HEADER.decode()) or "",
    }


def tell_pages(event: str, name: str, details: Mapping[str, object]) -> None:
    """Listener of the audit log: notify the pages that follow an assistant."""
    FEED.tell(name)


def start_plugin_services(server: object) -> None:
    """Add the stream to the web site; called by Evennia's server when it starts."""
    if not hasattr(server, "web_root"):
        return  # a game without a web site
    server.web_root.putChild(child_name().encode(), StreamResource(Streams(reactor)))
    if tell_pages not in audit.LISTENERS:
        audit.LISTENERS.append(tell_pages)
