"""What tests of stores share: memories, embedding models and stores of every kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.memory.hashing import HashingEmbedder
from evennia_ai.memory.opening import MemorySettings, open_store
from evennia_ai.memory.port import Item, MemoryStore

WORLD, ROOM, OTHER = "world", "room:object-2", "room:object-9"
TOM, MIA = "person:account-3", "person:account-4"
SMITH = "Tom owes the smith twelve gold coins"
LAMP = "the lamp in the hall went out"
CASTLE = "the baron of the castle broke his word"


def key(number: int) -> str:
    """A memory's key."""
    return f"{number:032x}"


def item(number: int, text: str = SMITH, audience: str = WORLD, trust: float = 1.0) -> Item:
    """A memory."""
    return Item(key(number), text, audience, trust)


def opened(kind: str, folder: Path, url: str = "", embedder: Any = None) -> MemoryStore:
    """A store of a kind, with an embedding model that needs nothing."""
    read = MemorySettings(kind, "hashing", folder, url, os.environ.get("QDRANT_API_KEY", ""))
    return open_store(read, embedder or HashingEmbedder())


def embedded(folder: Path) -> MemoryStore:
    """The embedded store in a folder."""
    return opened("embedded", folder)


def outcome(deferred: Deferred[Any]) -> Any:
    """What a Deferred that has fired came to; what it failed with is raised."""
    found: list[Any] = []
    deferred.addBoth(found.append)
    assert found, "it has not fired"
    if isinstance(found[0], Exception) or hasattr(found[0], "raiseException"):
        found[0].raiseException()
    return found[0]


def found_keys(store: MemoryStore, query: str, *audiences: str, **how: Any) -> list[str]:
    """The keys a search finds in collection 1, best first."""
    how.setdefault("limit", 10)
    return [hit.key for hit in store.search(1, query, audiences or (WORLD,), **how)]


def python(*arguments: str) -> list[str]:
    """The command of a process of this Python."""
    return [sys.executable, *arguments]


Opener = Callable[[], MemoryStore]
