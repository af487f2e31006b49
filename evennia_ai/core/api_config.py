"""The settings of the REST API, read strictly: what makes no sense is an error, not a guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evennia_ai.core.addresses import read_networks
from evennia_ai.core.safety_config import read_choice, read_mapping, read_number
from evennia_ai.errors import ConfigurationError

NAME = "EVENNIA_AI_API_CONFIG"
OFF = "0 for no limit"
NO_TOKENS = "0 for no tokens at all"
# The least and the most that a number may be; for all others 0 is no limit.
RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "timeout_seconds": (0.1, 300),
        "long_timeout_seconds": (0.1, 600),
        "waiting_requests": (1, 1000),
        "long_requests": (1, 1000),
        "page_size": (1, 1000),
        "max_page_size": (1, 1000),
        "body_bytes": (1000, 2_000_000),
        "body_depth": (2, 50),
        "token_days": (0, 3650),
    }
)


class Metrics(StrEnum):
    """Who may read the metrics."""

    OFF = "off"
    STAFF = "staff"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """All settings of the API.

    Attributes:
        timeout_seconds: how long a request waits for the game.
        long_timeout_seconds: the same where a model or a tool is waited for (tell/, execute/).
        waiting_requests: requests that may wait for the game at one time.
        long_requests: how many of these may be such as wait for a model or a tool.
        reads_per_minute: requests of one account that change nothing; 0: no limit.
        writes_per_minute: requests of one account that change something; 0: no limit.
        anonymous_per_minute: requests from one address without an account; 0: no limit.
        tokens_per_minute: tries to get a token from one address; 0: no limit. Of one name ten times
            as many, from addresses where its account got no token before.
        token_days: how long a token is good; 0: the game keeps no tokens.
        keeps_old_tokens: tokens of Django REST framework stay in its table too, for other APIs.
        trusted_proxies: addresses and networks whose X-Forwarded-For is believed.
        page_size: entries of a page.
        max_page_size: entries of a page that can be asked for.
        body_bytes: the longest body.
        body_depth: lists and mappings within each other in a body.
        metrics: who may read metrics/: off, staff or all.
    """

    timeout_seconds: float = 10.0
    long_timeout_seconds: float = 60.0
    waiting_requests: int = 12
    long_requests: int = 4
    reads_per_minute: int = 300
    writes_per_minute: int = 60
    anonymous_per_minute: int = 300
    tokens_per_minute: int = 5
    page_size: int = 25
    max_page_size: int = 100
    body_bytes: int = 100_000
    body_depth: int = 12
    metrics: Metrics = Metrics.OFF
    token_days: int = 90
    keeps_old_tokens: bool = False
    trusted_proxies: tuple[str, ...] = ()


def read_api_config(given: Any) -> ApiConfig:
    """The settings of the API.

    Args:
        given: the setting EVENNIA_AI_API_CONFIG.

    Raises:
        ConfigurationError: something in it is wrong; the text names the path.
    """
    default = ApiConfig()
    read = read_mapping(NAME, given, [entry.name for entry in fields(default)])
    changes: dict[str, Any] = {
        name: READERS[name](value) if name in READERS else _read_number(name, value, default)
        for name, value in read.items()
    }
    config = replace(default, **changes)
    if config.page_size > config.max_page_size:
        raise ConfigurationError(
            f"{NAME}.page_size is {config.page_size}; it must be at most max_page_size, "
            f"which is {config.max_page_size}"
        )
    return config


def _read_metrics(value: Any) -> Metrics:
    """One of the words; True means staff, and what is false means off."""
    if value is True or not value:
        return Metrics.STAFF if value else Metrics.OFF
    word: Metrics = read_choice(f"{NAME}.metrics", value, Metrics)
    return word


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{NAME}.keeps_old_tokens is {value!r}; it must be True or False")
    return value


def _read_proxies(value: Any) -> tuple[str, ...]:
    return read_networks(f"{NAME}.trusted_proxies", value)


READERS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "metrics": _read_metrics,
        "keeps_old_tokens": _read_flag,
        "trusted_proxies": _read_proxies,
    }
)


def _read_number(name: str, value: Any, default: ApiConfig) -> float:
    path = f"{NAME}.{name}"
    least, most = RANGES.get(name, (0, 1_000_000))
    zero = f"from {least:,} to {most:,}" if least else OFF
    zero = NO_TOKENS if name == "token_days" else zero
    number = read_number(path, value, is_whole=isinstance(getattr(default, name), int), zero=zero)
    if not least <= number <= most:
        raise ConfigurationError(f"{path} is {value!r}; it must be from {least:,} to {most:,}")
    return number
