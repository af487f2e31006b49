"""The database and the game thread for tests of the workbench."""

from tests.api.conftest import game, own_thread

__all__ = ("game", "own_thread")
