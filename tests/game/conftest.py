"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

import pytest

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Every test here has the database."""
