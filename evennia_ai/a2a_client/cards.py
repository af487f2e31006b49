"""The card of a remote agent: read strictly, cut to size, and pinned.

Whoever can change a card can redirect tasks, and the token with them, to another host, or turn an
agent for maps into one that asks for passwords. Everything that is used or shown is pinned.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from evennia_ai.core.settings.remote import Remote
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.mcp.pins import Pin

MOST_NAME, MOST_DESCRIPTION, MOST_SKILLS = 100, 300, 50
JSONRPC, REST = "JSONRPC", "HTTP+JSON"
VERSION = "1."
NO_CARD = "what is at {url} cannot be used as the card of an agent: {why}"
NO_WAY = f"it is asked neither by {JSONRPC} nor by {REST} of A2A 1.0"
OLD_WAY = "it speaks A2A {version}, and this game only A2A 1.0"
ELSEWHERE = "it says that it is asked at {url!r}, which is another machine than its card's"
NO_TOKEN = "it wants a token; name the environment variable that holds it: token_env"


@dataclass(frozen=True, slots=True)
class RemoteCard:
    """The parts of a card that are used.

    Attributes:
        name, description: the agent's own words, which are untrusted.
        url, binding: where requests go, and by which protocol binding.
        pin: everything that must not change without a person's consent.
        tenant: which of several agents at that address; "" if there is one.
    """

    name: str
    description: str
    url: str
    binding: str
    pin: Pin
    tenant: str = ""


def read_card(data: object, remote: Remote) -> RemoteCard:
    """Read a card.

    Args:
        data: the parsed JSON.

    Raises:
        ValueError: it is not a card, or not a usable one; the text says why.
    """
    try:
        card = _mapping(data, "it is not a mapping")
        name = one_line(_text(card, "name"), MOST_NAME)
        if not name:
            raise ValueError("it has no name")
        description = one_line(_text(card, "description"), MOST_DESCRIPTION)
        url, binding, tenant = _interface(card, remote)
        requirements = card.get("securityRequirements") or []
        if requirements and not remote.token:
            raise ValueError(NO_TOKEN)
        pinned_fields = {
            "name": name,
            "url": url,
            "binding": binding,
            "skills": list(_skills(card)),
            "security": [card.get("securitySchemes") or {}, requirements],
        }
        if tenant:
            pinned_fields["tenant"] = tenant
        # Sorted, so that another order of the same keys is not a change.
        pinned = json.dumps(pinned_fields, sort_keys=True)
    # RecursionError: `securitySchemes` may be nested deeper than `dumps` can follow.
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(NO_CARD.format(url=remote.where, why=error)) from None
    return RemoteCard(name, description, url, binding, Pin(description, pinned), tenant)


def _mapping(value: object, why: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(why)
    return value


def _text(card: Mapping[str, object], key: str) -> str:
    value = card.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"its {key} is not text")
    return value


def _interface(card: Mapping[str, object], remote: Remote) -> tuple[str, str, str]:
    # The card lists its interfaces in the order in which the agent prefers them.
    interfaces = card.get("supportedInterfaces")
    for each in interfaces if isinstance(interfaces, list) else ():
        if not isinstance(each, Mapping):
            continue
        url, binding = _text(each, "url"), _text(each, "protocolBinding")
        if binding in (JSONRPC, REST) and _text(each, "protocolVersion").startswith(VERSION):
            return _checked_url(url, remote), binding, _text(each, "tenant")
    # Before 1.0 the version was the card's own.
    version = one_line(_text(card, "protocolVersion"), MOST_NAME)
    raise ValueError(OLD_WAY.format(version=version) if version else NO_WAY)


def _checked_url(url: str, remote: Remote) -> str:
    # The token goes there with each task: it stays on the card's host, and within TLS.
    given, own = urlsplit(url), urlsplit(remote.card_url)
    is_same_host = given.hostname == own.hostname
    if not is_same_host or (own.scheme == "https" and given.scheme != "https"):
        raise ValueError(ELSEWHERE.format(url=url[:100]))
    return url.rstrip("/")


def _skills(card: Mapping[str, object]) -> Iterator[dict[str, str]]:
    skills = card.get("skills")
    for each in (skills if isinstance(skills, list) else [])[:MOST_SKILLS]:
        skill = _mapping(each, "one of its skills is not a mapping")
        yield {
            key: one_line(_text(skill, key), MOST_DESCRIPTION)
            for key in ("id", "name", "description")
        }
