"""The parts of an artifact that an assistant makes for a peer, checked and stored as JSON.

An artifact is `{"id", "name", "parts"}`. A part is one of `{"text": str}`, `{"data": object}` and
`{"file": {"name", "type", "text" | "base64" | "url"}}`. Text stays text, so that names of a
forgotten person can be removed from it. What does not fit raises a ValueError for a model to read.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from evennia_ai.core.safety.addresses import read_address
from evennia_ai.core.text.web_addresses import url_fault

TEXT, JSON = "text/plain", "application/json"
LONGEST_NAME, LONGEST_TYPE, LONGEST_URL = 64, 100, 2_000  # characters
MOST_BYTES = 16_000  # of one part
MOST_MODES = 20  # media types that a peer may name
NO_NAME = "a name has 1 to {most} letters, digits, blanks and . _ -, not {name!r}"
NO_TYPE = "{given!r} is not a media type, such as text/plain"
ONE_OF = "give one of content, base64 and url"
NO_JSON = "that is not JSON: it has a number or a character that there is not"
NO_BASE64 = "that is not base64"
TOO_LONG = "that has {size:,} bytes; one piece has at most {most:,}"
NO_URL = (
    "{url!r} is not an address: it begins with https:// or http:// and has a host and no password"
)
WITHIN = "{host!r} is within a network that others cannot reach"
NOT_ACCEPTED = "they take only {modes}, and this is {kind}"
_NAME = re.compile(r"\w[\w .-]*")
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9*][a-z0-9.+*-]*")


def named(name: str) -> str:
    """Check the name of an artifact."""
    name = name.strip()
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise ValueError(NO_NAME.format(most=LONGEST_NAME, name=name[:80]))
    return name


def typed(given: str) -> str:
    """Normalize a media type: `Text/Plain; charset=utf-8` becomes `text/plain`."""
    kind = given.partition(";")[0].strip().lower()
    if len(kind) > LONGEST_TYPE or not _TYPE.fullmatch(kind):
        raise ValueError(NO_TYPE.format(given=given[:80]))
    return kind


def modes_of(given: Collection[str]) -> list[str]:
    """The media types that a peer accepts; invalid ones are left out."""
    kinds = []
    for each in list(given)[:MOST_MODES]:
        kind = each.partition(";")[0].strip().lower()
        if kind == "*" or (len(kind) <= LONGEST_TYPE and re.fullmatch(r"[a-z0-9.+*/-]+", kind)):
            kinds.append("*/*" if kind == "*" else kind)
    return list(dict.fromkeys(kinds))


def is_taken(kind: str, modes: Collection[str]) -> bool:
    """True where a peer that accepts these media types accepts that one; () accepts all."""
    family = kind.partition("/")[0]
    return not modes or not {kind, f"{family}/*", "*/*"}.isdisjoint(modes)


def check_taken(kind: str, modes: Sequence[str]) -> None:
    """Check that a peer accepts a media type."""
    if not is_taken(kind, modes):
        raise ValueError(NOT_ACCEPTED.format(modes=", ".join(modes), kind=kind))


def data_part(data: Mapping[str, object]) -> dict[str, Any]:
    """An object as a part.

    Raises:
        ValueError: it is too long, or not valid JSON: NaN, infinity, or half a surrogate pair.
    """
    try:
        # Half a surrogate pair fails to encode with a UnicodeEncodeError, which is a ValueError.
        text = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise ValueError(NO_JSON) from None
    _fit(len(text))
    return {"data": dict(data)}


def file_part(name: str, kind: str, content: str, encoded: str, url: str) -> dict[str, Any]:
    """A file as a part, from exactly one of the three sources.

    Args:
        encoded: its bytes, as base64.

    Raises:
        ValueError: it cannot be sent; the text says why.
    """
    if sum(map(bool, (content, encoded, url))) != 1:
        raise ValueError(ONE_OF)
    file: dict[str, Any] = {"name": named(name), "type": typed(kind)}
    if url:
        return {"file": {**file, "url": _checked(url)}}
    if content:
        _fit(len(content.encode("utf-8", "replace")))
        return {"file": {**file, "text": content}}
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise ValueError(NO_BASE64) from None
    _fit(len(raw))
    return {"file": {**file, "base64": encoded}}


def _fit(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(TOO_LONG.format(size=size, most=MOST_BYTES))


def _checked(url: str) -> str:
    """Check an address that a peer is sent to; nothing is fetched."""
    url = url.strip()
    is_fit = len(url) <= LONGEST_URL and url.isprintable() and not re.search(r"\s", url)
    if not is_fit or url_fault(url) is not None:
        raise ValueError(NO_URL.format(url=url[:100]))
    host = urlsplit(url).hostname or ""
    address = read_address(f"[{host}]")
    # A model could name internal hosts, which the peer would then try to reach.
    is_within = address is not None and not address.is_global
    if is_within or host == "localhost" or host.endswith(".localhost"):
        raise ValueError(WITHIN.format(host=host[:100]))
    return url


def bytes_of(file: Mapping[str, Any]) -> bytes:
    """The content of a file that is not a link."""
    if "base64" in file:
        return base64.b64decode(file["base64"])
    return str(file["text"]).encode("utf-8", "replace")
