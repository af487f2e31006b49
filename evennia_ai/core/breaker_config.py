"""The rest of a model's service that fails, and the attempts of a call, as they are set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from evennia_ai.core.safety_config import read_mapping, read_number
from evennia_ai.errors import ConfigurationError

NAME = "EVENNIA_AI_BREAKER_CONFIG"


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """The conditions on which a model's service is left alone, and asked again.

    Attributes:
        attempts: attempts of one call; only what the last of them comes to is counted. An answer
            429 with `Retry-After` is waited for, as long as the call has time, and not counted.
        failure_threshold: calls that failed within the window; from so many on it is left alone,
            if the two next keys agree.
        failure_rate: the share of all calls within the window that failed, 0 to 1; 0: any.
        least_calls: calls within the window; of fewer no share is taken.
        window_seconds: how long a call counts.
        timeout_seconds: how long the service is left alone, before one call tries it again.
        success_threshold: calls that have to go well then, one after the other, until all are made.
        max_probes: calls that may try it at the same time.
    """

    attempts: int = 2
    failure_threshold: int = 5
    failure_rate: float = 0.5
    least_calls: int = 10
    window_seconds: float = 120.0
    timeout_seconds: float = 60.0
    success_threshold: int = 1
    max_probes: int = 1


def read_breaker_config(given: Any) -> BreakerConfig:
    """The setting as a value.

    Args:
        given: EVENNIA_AI_BREAKER_CONFIG.

    Raises:
        ConfigurationError: something in it is wrong; the text names the path.
    """
    given = read_mapping(NAME, given, [entry.name for entry in fields(BreakerConfig)])
    return replace(BreakerConfig(), **{name: _read(name, given) for name in given})


def _read(name: str, given: Mapping[str, Any]) -> Any:
    path, value = f"{NAME}.{name}", given[name]
    is_whole = isinstance(getattr(BreakerConfig(), name), int)
    is_rate = name == "failure_rate"
    number = read_number(path, value, is_whole=is_whole, zero="0 for any" if is_rate else "but 0")
    if is_rate and number > 1:
        raise ConfigurationError(f"{path} is {value!r}; it must be from 0 to 1")
    if not is_rate and not number:
        raise ConfigurationError(f"{path} is {value!r}; it must be above 0")
    return number
