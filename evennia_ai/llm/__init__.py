"""Clients for language models: choice of endpoint, requests, retries and replies.

`UnifiedLLMClient` is imported lazily, so that the processes of the embedded model, which are part
of this package, load neither Twisted nor aiohttp.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["UnifiedLLMClient"]


def __getattr__(name: str) -> Any:
    if name != "UnifiedLLMClient":
        raise AttributeError(f"module 'evennia_ai.llm' has no attribute {name!r}")
    return importlib.import_module("evennia_ai.llm.client").UnifiedLLMClient
