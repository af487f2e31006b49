"""Language models: which one answers, how it is asked, and what it said.

`UnifiedLLMClient` is imported when it is first used: the local model's processes load neither
Twisted nor aiohttp.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["UnifiedLLMClient"]


def __getattr__(name: str) -> Any:
    if name != "UnifiedLLMClient":
        raise AttributeError(f"module 'evennia_ai.llm' has no attribute {name!r}")
    return importlib.import_module("evennia_ai.llm.client").UnifiedLLMClient
