"""Requests of the web, to the API and to pages: settings, whose login it is, where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase

from evennia_ai.core.safety.addresses import client_of, is_network, is_within
from evennia_ai.core.settings.services import ApiConfig
from evennia_ai.runtime import portal_peers

LOOPBACK = ("127.0.0.1", "127.0.0.0/8", "::1")
LONGEST_HEADER = 2000


def api_config() -> ApiConfig:
    """The game's settings of the API, which hold for pages too.

    Raises:
        ConfigurationError: something in it is wrong.
    """
    return ApiConfig.from_stored(getattr(settings, ApiConfig.NAME, {}))


def trusted_proxies() -> tuple[str, ...]:
    """Addresses of proxies whose word is taken for who asked them.

    Evennia names the loopback in UPSTREAM_IPS for its own proxy, which passes on whatever header
    it is sent; that one is asked in another way.
    """
    named = [str(address) for address in getattr(settings, "UPSTREAM_IPS", ())]
    believed = [entry for entry in named if not is_within(entry, LOOPBACK)]
    return (*api_config().trusted_proxies, *filter(is_network, believed))


def address_of(meta: Mapping[str, object]) -> str:
    """The address a request comes from: what the client itself says of it is not believed.

    Args:
        meta: of Django's request, its `META`.
    """
    forwarded = str(meta.get("HTTP_X_FORWARDED_FOR", ""))
    peer = portal_peers.peer_of(str(meta.get(portal_peers.KEY, "")))
    if not peer:
        peer = str(meta.get("REMOTE_ADDR") or "")
        # Evennia's web server puts a part of that header in the place of the address of its proxy.
        if peer in forwarded:
            peer = LOOPBACK[0]
    # From the end, where proxies add what they saw; the beginning is the client's own word.
    return client_of(peer, forwarded[-LONGEST_HEADER:], trusted_proxies())[:60]


def read_only_session(key: str | None) -> SessionBase:
    """A stored session, of which nothing is ever written."""
    session: SessionBase = _kind(settings.SESSION_ENGINE)(key)
    return session


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
