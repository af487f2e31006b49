"""An AI assistant that lives in an Evennia game.

Names are imported on first use (PEP 562): Django imports the package while the app registry is
still empty, and its lowest four subpackages must stay importable without Evennia.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# The public names of the package, each with the module that defines it.
_MODULES = {
    "AssistantAccountCmdSet": "evennia_ai.commands",
    "AssistantCharacter": "evennia_ai.assistant_character",
    "AssistantCmdSet": "evennia_ai.commands",
    "AssistantScript": "evennia_ai.assistant_script",
    "CircuitBreaker": "evennia_ai.resilience",
    "CircuitBreakerConfig": "evennia_ai.resilience",
    "CircuitOpenError": "evennia_ai.errors",
    "UnifiedLLMClient": "evennia_ai.llm.client",
    "create_assistant": "evennia_ai.operations",
    "find_assistant": "evennia_ai.operations",
    "hear": "evennia_ai.agent.game_speech",
    "tool": "evennia_ai.tools",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'evennia_ai' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
