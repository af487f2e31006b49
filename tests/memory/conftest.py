"""The game's settings, for the few tests that need them, and a PostgreSQL server of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
from tests.postgres import running_server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server with pgvector, which ends with the tests."""
    with running_server(tmp_path_factory.mktemp("postgres")) as address:
        yield address
