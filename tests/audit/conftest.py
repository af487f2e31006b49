"""The database for tests of the record."""

import pytest

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Give every test of this folder the database."""
