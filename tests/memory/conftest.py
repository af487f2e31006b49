"""The game's tables, and a PostgreSQL server of our own, for tests of stores."""

from collections.abc import Iterator

import pytest
from django.db import transaction

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
from tests.postgres import running_server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server with pgvector, which ends with the tests."""
    with running_server(tmp_path_factory.mktemp("postgres")) as address:
        yield address


@pytest.fixture
def table(database: None) -> Iterator[None]:
    """The game's tables; whatever a test writes is rolled back."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
