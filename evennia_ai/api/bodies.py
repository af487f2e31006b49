"""JSON bodies: parsed strictly and within bounds, and rendered from plain data only."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from evennia_ai.api.problems import ProblemError
from evennia_ai.operations.files.imports import once
from evennia_ai.runtime.web_requests import api_config

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# SQLite and PostgreSQL store integers of up to 64 bits.
LARGEST = 2**63 - 1
MOST_DEPTH_SHOWN = 60


def _refuse_constant(name: str) -> None:
    # Python's parser accepts NaN and Infinity, which are not JSON.
    raise ValueError(f"{name} is not a number")


def _is_kept(value: object) -> bool:
    if isinstance(value, str):
        # PostgreSQL stores no NUL in text, and UTF-8 cannot encode a lone surrogate.
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, (int, float)):
        return math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST
    return True


def _check(value: object, depth: int) -> None:
    """Refuse values that no database can store.

    Raises:
        ValueError: the value, or something in it, cannot be stored, or is nested too deeply.
    """
    if not _is_kept(value):
        raise ValueError("it contains a text or number that cannot be stored")
    if depth < 0:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        value = [*value, *value.values()]
    for part in value if isinstance(value, list) else ():
        _check(part, depth - 1)


def read_json(raw: bytes, most_depth: int) -> Any:
    """Parse a body.

    Raises:
        ParseError: it is not JSON, or contains something that cannot be stored.
    """
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=once)
        _check(value, most_depth)
    except RecursionError:
        raise ParseError("The body cannot be read as JSON: it is nested too deeply.") from None
    except ValueError as error:
        why = " ".join(str(error).split())[:200]
        raise ParseError(f"The body is not JSON that can be taken: {why}.") from None
    return value


class JsonParser(BaseParser):
    """Parses JSON; an empty body counts as an empty object.

    Attributes:
        most_bytes: the longest body, if that is more than `body_bytes`. The caller's right is then
            checked before the body is read.
        most_parts: the most objects and lists in a body, counted before it is parsed; 0: no limit.
    """

    media_type = "application/json"
    most_bytes = 0
    most_parts = 0

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: object = None
    ) -> Any:
        """Parse a body within its bounds.

        Raises:
            ProblemError: it is too long.
            ParseError: it is not JSON, or has too many parts.
        """
        config = api_config()
        most = max(self.most_bytes, config.body_bytes)
        # Content-Length is the client's own claim, so the bytes are counted.
        raw = stream.read(most + 1)
        if len(raw) > most:
            raise ProblemError(413, f"The body is longer than {most:,} bytes.")
        # Millions of empty lists fit into a long body, and would take seconds to parse.
        if self.most_parts and raw.count(b"{") + raw.count(b"[") > self.most_parts:
            raise ParseError(
                f"The body has more than {self.most_parts} braces and brackets; it must be one "
                "object with texts in it."
            )
        return read_json(raw, config.body_depth) if raw.strip() else {}


class JsonRenderer(BaseRenderer):
    """Renders JSON."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8

    def render(self, data: object, media_type: str | None = None, context: object = None) -> bytes:
        """Render a body; None is an empty body."""
        if data is None:
            return b""
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half a surrogate pair, as a model may write it, becomes its JSON escape.
        return text.encode("utf-8", "backslashreplace")


class JsonOnly(DefaultContentNegotiation):
    """Chooses the renderer by the header Accept alone, and not by `?format=` in the address."""

    settings = SimpleNamespace(URL_FORMAT_OVERRIDE=None)


def plain(value: object, depth: int = MOST_DEPTH_SHOWN) -> Any:
    """Copy a value as plain data; what JSON cannot represent becomes text.

    Evennia's attributes are wrappers that save each change: they must not leave the game's thread.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        value = _sent(value)
    if depth <= 0 or not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        return str(value)
    return _plain_parts(value, depth - 1)


def _sent(value: DataclassInstance) -> dict[str, Any]:
    """The fields of a result; a field whose default is None is left out if it is None."""
    values = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: item for each, item in values if item is not None or each.default is MISSING}


def _plain_parts(value: Iterable[object], depth: int) -> Any:
    if isinstance(value, Mapping) or hasattr(value, "items"):
        return {str(name): plain(part, depth) for name, part in value.items()}
    parts = [plain(part, depth) for part in value]
    # Sets have no order of their own: the same answer has to come out each time.
    return sorted(parts, key=str) if isinstance(value, (set, frozenset)) else parts


class TextRenderer(JsonRenderer):
    """Accepts a request for text, as Prometheus sends it; errors are JSON all the same."""

    media_type = "text/plain"
