"""The card of an agent elsewhere: read strictly, cut to size, and pinned as it was allowed.

Whoever can change a card can send tasks, and the token with them, to another place, or make an
agent of maps one that asks for passwords. What is pinned is all that is used of it or shown.
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
NO_CARD = "what is at {url} is not the card of an agent: {why}"
NO_WAY = f"it is asked neither by {JSONRPC} nor by {REST} of A2A 1.0"
ELSEWHERE = "it says that it is asked at {url!r}, which is another machine than its card's"
NO_TOKEN = "it wants a token; name the environment variable that holds it: token_env"


@dataclass(frozen=True, slots=True)
class RemoteCard:
    """A card, as far as it is used.

    Attributes:
        name, description: as the agent calls itself; words of a stranger.
        url, binding: where it is asked, and how.
        pin: all that must not change.
    """

    name: str
    description: str
    url: str
    binding: str
    pin: Pin


def read_card(told: object, remote: Remote) -> RemoteCard:
    """Read a card.

    Args:
        told: the JSON of it.

    Raises:
        ValueError: it is none, or one that cannot be used; the text says why.
    """
    try:
        card = _mapping(told, "it is not a mapping")
        name = one_line(_text(card, "name"), MOST_NAME)
        if not name:
            raise ValueError("it has no name")
        description = one_line(_text(card, "description"), MOST_DESCRIPTION)
        url, binding = _way(card, remote)
        wanted = card.get("securityRequirements") or []
        if wanted and not remote.token:
            raise ValueError(NO_TOKEN)
        kept = {
            "name": name,
            "url": url,
            "binding": binding,
            "skills": list(_skills(card)),
            "security": [card.get("securitySchemes") or {}, wanted],
        }
        pinned = json.dumps(kept, sort_keys=True)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(NO_CARD.format(url=remote.where, why=error)) from None
    return RemoteCard(name, description, url, binding, Pin(description, pinned))


def _mapping(value: object, why: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(why)
    return value


def _text(card: Mapping[str, object], key: str) -> str:
    value = card.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"its {key} is not text")
    return value


def _way(card: Mapping[str, object], remote: Remote) -> tuple[str, str]:
    """The first way to ask it that is known here."""
    listed = card.get("supportedInterfaces")
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, Mapping):
            continue
        url, binding = _text(each, "url"), _text(each, "protocolBinding")
        if binding in (JSONRPC, REST) and _text(each, "protocolVersion").startswith(VERSION):
            return _checked(url, remote), binding
    raise ValueError(NO_WAY)


def _checked(url: str, remote: Remote) -> str:
    """An address on the machine of the card, and no less safe."""
    told, own = urlsplit(url), urlsplit(remote.card_url)
    is_there = told.hostname == own.hostname
    if not is_there or (own.scheme == "https" and told.scheme != "https"):
        raise ValueError(ELSEWHERE.format(url=url[:100]))
    return url.rstrip("/")


def _skills(card: Mapping[str, object]) -> Iterator[dict[str, str]]:
    listed = card.get("skills")
    for each in (listed if isinstance(listed, list) else [])[:MOST_SKILLS]:
        skill = _mapping(each, "one of its skills is not a mapping")
        yield {
            key: one_line(_text(skill, key), MOST_DESCRIPTION)
            for key in ("id", "name", "description")
        }
