"""How long the trace of an assistant is kept, and of which words, as it is set: strictly."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from evennia_ai.core.safety_config import read_mapping, read_number
from evennia_ai.errors import ConfigurationError

NAME = "EVENNIA_AI_TRACE_CONFIG"
LEAST_MESSAGES, MOST_MESSAGES = 100, 1_000_000


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """How long the trace of an assistant is kept, and which words are in it.

    Attributes:
        keep_days: days for which it is kept; 0: there is none.
        keep_messages: messages of one assistant that are kept, 100 to 1,000,000; the oldest go.
        private_words: whether words that were said in private are kept with it, too.
    """

    keep_days: float = 7.0
    keep_messages: int = 5_000
    private_words: bool = False


def read_trace_config(given: Any) -> TraceConfig:
    """The setting as a value.

    Args:
        given: EVENNIA_AI_TRACE_CONFIG.

    Raises:
        ConfigurationError: something in it is wrong; the text names the path.
    """
    given = read_mapping(NAME, given, [entry.name for entry in fields(TraceConfig)])
    return replace(TraceConfig(), **{name: _read(name, given[name]) for name in given})


def _read(name: str, value: Any) -> Any:
    path = f"{NAME}.{name}"
    if name == "private_words":
        if not isinstance(value, bool):
            raise ConfigurationError(f"{path} is {value!r}; it must be True or False")
        return value
    if name == "keep_days":
        return read_number(path, value, is_whole=False, zero="0 for no trace")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not LEAST_MESSAGES <= value <= MOST_MESSAGES:
        raise ConfigurationError(
            f"{path} is {value!r}; it must be a whole number from {LEAST_MESSAGES} to "
            f"{MOST_MESSAGES}"
        )
    return value
