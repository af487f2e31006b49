"""A service's rate limits, read from its response headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# OpenAI and services compatible with it, then Anthropic.
_FAMILIES = ("x-ratelimit-{what}-{kind}", "anthropic-ratelimit-{kind}-{what}")


@dataclass(frozen=True, slots=True)
class RateLimitInfo:
    """Limits of one key at one service, as of its last answer; None for what it does not state.

    Attributes:
        requests_reset_seconds: until the request count is reset, from when the answer arrived.
        tokens_reset_seconds: the same for tokens.
    """

    requests_limit: int | None = None
    requests_remaining: int | None = None
    requests_reset_seconds: float | None = None
    tokens_limit: int | None = None
    tokens_remaining: int | None = None
    tokens_reset_seconds: float | None = None


def read_rate_limits(headers: Mapping[str, str]) -> RateLimitInfo | None:
    """The limits that the response headers state, or None if they state none.

    Args:
        headers: with names in lower case, or a case-insensitive mapping.
    """
    limits = RateLimitInfo(
        _count(_header(headers, "requests", "limit")),
        _count(_header(headers, "requests", "remaining")),
        read_span(_header(headers, "requests", "reset")),
        _count(_header(headers, "tokens", "limit")),
        _count(_header(headers, "tokens", "remaining")),
        read_span(_header(headers, "tokens", "reset")),
    )
    return limits if limits != RateLimitInfo() else None


def _header(headers: Mapping[str, str], kind: str, what: str) -> str:
    names = (family.format(kind=kind, what=what) for family in _FAMILIES)
    return next((headers[name] for name in names if name in headers), "").strip()


def _count(text: str) -> int | None:
    # `int` raises for thousands of digits, and no real limit has more than 15.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def read_span(text: str) -> float | None:
    """Seconds for a text such as "6m0s", "20ms" or "1.5"; None for anything else."""
    spans = _SPAN.findall(text)
    if spans and "".join(number + unit for number, unit in spans) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in spans)
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d+)?", text) else None
