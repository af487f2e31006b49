"""Web requests to the API and to pages: settings, session, the client's address, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError

from evennia_ai.core.safety.addresses import client_of, is_network, is_within
from evennia_ai.core.settings.services import ApiConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import portal_peers
from evennia_ai.runtime.game_thread import GameBusyError

LOOPBACK = ("127.0.0.1", "127.0.0.0/8", "::1")
INTERNAL_ERROR = "Something went wrong in the game; its log has more."
_MALFORMED = (BadRequest, MultiPartParserError, SuspiciousOperation)
LONGEST_HEADER = 2000  # characters of X-Forwarded-For that are read, from its end


def api_config() -> ApiConfig:
    """The game's settings of the API, which apply to pages too."""
    return ApiConfig.from_settings(settings)


def trusted_proxies() -> tuple[str, ...]:
    """Addresses of proxies that are trusted to name their clients."""
    # Evennia puts loopback into UPSTREAM_IPS for its own proxy, which forwards any header that a
    # client sends; for that one `portal_peers` tells the address.
    addresses = [str(address) for address in getattr(settings, "UPSTREAM_IPS", ())]
    believed = [entry for entry in addresses if not is_within(entry, LOOPBACK)]
    return (*api_config().trusted_proxies, *filter(is_network, believed))


def address_of(meta: Mapping[str, object]) -> str:
    """The address that a request comes from; the client's own claims are not trusted."""
    forwarded = str(meta.get("HTTP_X_FORWARDED_FOR", ""))
    peer = portal_peers.peer_of(str(meta.get(portal_peers.KEY, "")))
    if not peer:
        peer = str(meta.get("REMOTE_ADDR") or "")
        # Evennia's web server replaces its proxy's address with a part of that header.
        if peer in forwarded:
            peer = LOOPBACK[0]
    # The end, where proxies append what they saw; the client itself wrote the beginning.
    return client_of(peer, forwarded[-LONGEST_HEADER:], trusted_proxies())[:60]


def read_only_session(key: str | None) -> SessionBase:
    """A stored session that is never written."""
    session: SessionBase = _read_only_class(settings.SESSION_ENGINE)(key)
    return session


@lru_cache(maxsize=4)
def _read_only_class(engine: str) -> Any:
    """Derive a class from the game's session store that only reads."""
    kind: Any = import_module(engine).SessionStore

    class ReadOnly(kind):
        """A session that is never written."""

        def save(self, must_create: bool = False) -> None:
            """Do nothing: changes end with the request."""

        def create(self) -> None:
            """Do nothing."""

        def delete(self, session_key: str | None = None) -> None:
            """Do nothing: the stored session stays."""

    # Django's signature of a session includes the name of the class that stored it.
    ReadOnly.__qualname__ = kind.__qualname__
    return ReadOnly


def problem_of(error: BaseException) -> tuple[HTTPStatus, str] | None:
    """The status and the message of an error that may happen; None for any other."""
    if isinstance(error, GameBusyError):
        return HTTPStatus.SERVICE_UNAVAILABLE, f"Not now: {error}."
    if isinstance(error, ConfigurationError):
        return HTTPStatus.SERVICE_UNAVAILABLE, f"The game is set up wrongly: {error}."
    if isinstance(error, RequestDataTooBig):  # a kind of SuspiciousOperation
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large."
    return (
        (HTTPStatus.BAD_REQUEST, "The request is malformed.")
        if isinstance(error, _MALFORMED)
        else None
    )
