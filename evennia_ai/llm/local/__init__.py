"""The embedded model: weights that pip alone can fetch, served on loopback by a child process.

Standard library only. Submodules are imported lazily, so that the child process and the command
line start quickly, and so that platforms without `fcntl` can still import the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evennia_ai.llm.local.control import describe as describe
    from evennia_ai.llm.local.control import ensure_running as ensure_running
    from evennia_ai.llm.local.control import find_running as find_running
    from evennia_ai.llm.local.control import is_installed as is_installed
    from evennia_ai.llm.local.control import loading as loading
    from evennia_ai.llm.local.control import stop as stop
    from evennia_ai.llm.local.errors import MissingRuntimeError as MissingRuntimeError
    from evennia_ai.llm.local.errors import StartError as StartError
    from evennia_ai.llm.local.errors import WeightsError as WeightsError
    from evennia_ai.llm.local.state import LocalModel as LocalModel
    from evennia_ai.llm.local.weights import find_or_fetch as find_or_fetch
    from evennia_ai.llm.local.weights import has_weights as has_weights
    from evennia_ai.llm.local.weights import is_small as is_small

# The module of each public name, for the lazy imports below.
_HOMES = {
    "LocalModel": "evennia_ai.llm.local.state",
    "MissingRuntimeError": "evennia_ai.llm.local.errors",
    "StartError": "evennia_ai.llm.local.errors",
    "WeightsError": "evennia_ai.llm.local.errors",
    "describe": "evennia_ai.llm.local.control",
    "ensure_running": "evennia_ai.llm.local.control",
    "find_or_fetch": "evennia_ai.llm.local.weights",
    "find_running": "evennia_ai.llm.local.control",
    "has_weights": "evennia_ai.llm.local.weights",
    "is_installed": "evennia_ai.llm.local.control",
    "is_small": "evennia_ai.llm.local.weights",
    "loading": "evennia_ai.llm.local.control",
    "stop": "evennia_ai.llm.local.control",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evennia_ai.llm.local' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
