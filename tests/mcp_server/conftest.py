"""The game's settings and an empty database, as tests of the API have them."""

from __future__ import annotations

from tests.api.conftest import game, own_thread

__all__ = ("game", "own_thread")
