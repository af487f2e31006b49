"""The agent card of an assistant: its address, its skills and the authentication it needs."""

from __future__ import annotations

import hashlib
import json
import sys
from email.utils import formatdate
from urllib.parse import quote

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from evennia_ai.api.a2a.calls import CardFacts

CARD_PATH = "/.well-known/agent-card.json"
ROOT = "/a2a"
# Protocols, the one that a client should choose first. JSON-RPC also speaks the older one.
INTERFACES = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"))
# Not imported by name: modules of the package must not import its front door.
VERSION = sys.modules["evennia_ai"].__version__
SCHEME = "token"
TEXT, DATA = "text/plain", "application/json"
INPUT = (TEXT, DATA, "text/markdown", "text/csv", "text/html", "application/xml")
OUTPUT = (TEXT, DATA, "text/markdown", "text/csv")
# For which clients may cache a card.
SECONDS = 60
DESCRIPTION = "An assistant of a text game: it answers what it is asked."
ASKING = (
    "Ask it something in plain words, with files of text if need be; it answers with words, and "
    "may attach data, files and links. With the metadata `order: true` it is told to do something, "
    "which needs the right to run it. A question of its own is answered by `choice_id` in a "
    "message's metadata."
)


def path_of(key: str) -> str:
    """The path of an assistant on the server."""
    return f"{ROOT}/{quote(key.casefold())}"


def card_of(facts: CardFacts, base: str) -> AgentCard:
    """Build a card.

    Args:
        base: the server's address, without a slash at its end.
    """
    address = base + path_of(facts.key)
    skills = [AgentSkill(id="ask", name="Ask", description=ASKING, tags=["talk"])]
    skills += [
        AgentSkill(id=name, name=name, description=description or name, tags=["tool"])
        for name, description in facts.skills
    ]
    return AgentCard(
        name=facts.key,
        description=facts.description or DESCRIPTION,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
            for binding, version in INTERFACES
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=False
        ),
        security_schemes={
            SCHEME: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", description="A token of an account of the game."
                )
            )
        },
        security_requirements=[SecurityRequirement(schemes={SCHEME: StringList()})],
        default_input_modes=INPUT,
        default_output_modes=OUTPUT,
        skills=skills,
    )


def respond(request: Request, card: AgentCard, changed_at: float) -> Response:
    """Send a card, or 304 if the client's cached copy is current.

    Args:
        changed_at: when cards last changed, as far as is known; seconds since 1970.
    """
    body = agent_card_to_dict(card)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    # Weak: two cards with the same contents may differ in their bytes.
    tag = f'W/"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"public, max-age={SECONDS}",
        "Last-Modified": formatdate(changed_at, usegmt=True),
    }
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return JSONResponse(body, headers=headers)
