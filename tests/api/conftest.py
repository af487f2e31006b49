"""The database and the game thread for tests of the API."""

import pytest
from twisted.python import threadable

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Give every test of this folder the database."""


@pytest.fixture(autouse=True)
def own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the test's thread the game's; an earlier test may have run a reactor in another one."""
    monkeypatch.setattr(threadable, "ioThread", threadable.getThreadID())
