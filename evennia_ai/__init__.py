"""An AI assistant that lives in an Evennia game.

The package is lazy (PEP 562): Django imports it while the app registry is still empty, and the
lowest four rooms must stay importable without Evennia. A public name is imported when it is first
used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
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

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evennia_ai' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
