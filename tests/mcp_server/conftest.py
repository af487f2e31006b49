"""The game's settings and an empty database, as tests of the API have them."""

from tests.api.conftest import game, own_thread

__all__ = ("game", "own_thread")
