"""In Evennia's portal: tells the server who really asked, in a header that no client can write.

The portal's web proxy passes requests on as they came, so that to the server all come from the
portal, or from whatever address a header of the client's says. `evennia_ai.apps` names this module
in PORTAL_SERVICES_PLUGIN_MODULES.
"""

from __future__ import annotations

from django.utils.crypto import constant_time_compare, salted_hmac
from evennia.utils import logger
from twisted.application.service import MultiService
from twisted.web.server import Request, Site

HEADER = b"x-evennia-ai-peer"
KEY = "HTTP_X_EVENNIA_AI_PEER"
SALT = "evennia_ai.runtime.portal_peers"
NO_PROXY = "[assistant] no web proxy was found in the portal: limits by address hold for all as one"


def start_plugin_services(portal: MultiService) -> None:
    """Called by Evennia's portal when it starts: every web proxy of it tells who is connected."""
    # Twisted keeps the site that a TCP server serves among the arguments of its service.
    sites = [site for service in portal for site in getattr(service, "args", ())]
    proxies = [site for site in sites if isinstance(site, Site)]
    for site in proxies:
        site.requestFactory = _telling(site.requestFactory)
    if not proxies:
        logger.log_warn(NO_PROXY)


def _telling(kind: type[Request]) -> type[Request]:
    """A kind of request that tells who is connected, and is else what it was."""

    class Telling(kind):
        """A request to the portal."""

        def process(self) -> None:
            """Tell it before anything reads the headers."""
            tell(self)
            super().process()

        def finish(self) -> None:
            """End the answer, unless whoever asked has left, which the proxy does not look at.

            Else the portal's log has a traceback of each page that was left while it followed
            what happens.
            """
            if self.channel is not None:
                super().finish()

    return Telling


def tell(request: Request) -> None:
    """Put the header in, in the place of any that was sent."""
    headers = request.requestHeaders
    for name, _ in list(headers.getAllRawHeaders()):
        # To the server both signs are the same.
        if name.lower().replace(b"_", b"-") == HEADER:
            headers.removeHeader(name)
    peer = _connected(request)
    if peer:
        headers.setRawHeaders(HEADER, [f"{peer} {_signature(peer)}".encode()])


def peer_of(header: str) -> str:
    """The address that the portal told; "" where it told none."""
    peer, _, signature = header.partition(" ")
    return peer if peer and constant_time_compare(signature, _signature(peer)) else ""


def _connected(request: Request) -> str:
    """The address at the other end, which Evennia may have replaced by what a client sent."""
    try:
        return str(request.transport.getHandle().getpeername()[0])
    # Of a connection that is closed already nobody can tell who was there.
    except (AttributeError, OSError, IndexError):
        return ""


def _signature(peer: str) -> str:
    return str(salted_hmac(SALT, peer, algorithm="sha256").hexdigest())
