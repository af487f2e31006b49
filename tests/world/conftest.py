"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

import pytest
from django.apps import apps
from django.core.management.color import no_style
from django.db import connection

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Every test here has the database."""


@pytest.fixture(autouse=True)
def numbers(game: None) -> None:
    """The first room is #1 and the next one #2, whatever PostgreSQL has counted for other tests."""
    kinds = [apps.get_model("objects.ObjectDB"), apps.get_model("accounts.AccountDB")]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), kinds):
            cursor.execute(statement)
