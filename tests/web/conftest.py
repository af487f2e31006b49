"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

import pytest
from twisted.python import threadable

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Every test here has the database."""


@pytest.fixture(autouse=True)
def own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own thread is the game's, whatever turned a reactor in another one before."""
    monkeypatch.setattr(threadable, "ioThread", threadable.getThreadID())
