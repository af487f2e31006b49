"""In Evennia's portal: passes the client's real address to the server, in a signed header.

The portal's web proxy forwards requests as they came. To the server they all come from the portal,
or from the address that a header of the client claims. `evennia_ai.apps` adds this module to
PORTAL_SERVICES_PLUGIN_MODULES.
"""

from __future__ import annotations

from django.utils.crypto import constant_time_compare, salted_hmac
from evennia.utils import logger
from twisted.application.service import MultiService
from twisted.web.server import Request, Site

HEADER = b"x-evennia-ai-peer"
KEY = "HTTP_X_EVENNIA_AI_PEER"
# Signed with the game's SECRET_KEY, so that a client cannot send the header itself.
SALT = "evennia_ai.runtime.portal_peers"
NO_PROXY = "[assistant] no web proxy was found in the portal: limits by address hold for all as one"


def start_plugin_services(portal: MultiService) -> None:
    """Let every web proxy add the header; called by Evennia's portal when it starts."""
    # Twisted keeps a TCP service's factory, here the site, among the service's arguments.
    sites = [site for service in portal for site in getattr(service, "args", ())]
    proxies = [site for site in sites if isinstance(site, Site)]
    for site in proxies:
        site.requestFactory = _with_header(site.requestFactory)
    if not proxies:
        logger.log_warn(NO_PROXY)


def _with_header(kind: type[Request]) -> type[Request]:
    """Derive a request class that adds the header."""

    class WithHeader(kind):
        """A request that adds the client's address before it is processed."""

        def process(self) -> None:
            """Add the header before anything reads the headers."""
            add_header(self)
            super().process()

        def finish(self) -> None:
            """End the answer, unless the client has left."""
            # Twisted's proxy does not check that: the portal would log a traceback for each
            # event stream that a browser closes.
            if self.channel is not None:
                super().finish()

    return WithHeader


def add_header(request: Request) -> None:
    """Set the header, replacing any that the client sent."""
    headers = request.requestHeaders
    for name, _ in list(headers.getAllRawHeaders()):
        # WSGI maps "-" and "_" to the same variable, so both spellings must go.
        if name.lower().replace(b"_", b"-") == HEADER:
            headers.removeHeader(name)
    peer = _connected(request)
    if peer:
        headers.setRawHeaders(HEADER, [f"{peer} {_signature(peer)}".encode()])


def peer_of(header: str) -> str:
    """The address that the portal signed; "" where the header is missing or forged."""
    peer, _, signature = header.partition(" ")
    return peer if peer and constant_time_compare(signature, _signature(peer)) else ""


def _connected(request: Request) -> str:
    """The address at the other end of the socket."""
    # From the socket: Evennia may have replaced the request's client by what a header says.
    try:
        return str(request.transport.getHandle().getpeername()[0])
    # The connection may be closed already.
    except (AttributeError, OSError, IndexError):
        return ""


def _signature(peer: str) -> str:
    return str(salted_hmac(SALT, peer, algorithm="sha256").hexdigest())
