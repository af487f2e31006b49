"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

import pytest

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
from tests.standing_world import count_anew


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Give every test here the database."""


@pytest.fixture(autouse=True)
def numbers(game: None) -> None:
    """Make the first room #1 and the next one #2, whatever PostgreSQL has counted before."""
    count_anew()
