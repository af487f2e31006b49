"""The database and the game thread for tests of the workbench."""

from __future__ import annotations

from tests.api.conftest import game, own_thread

__all__ = ("game", "own_thread")
