"""Fixtures: a running reactor and a fake model server."""

from collections.abc import Iterator

import pytest

from tests.fakes.handle import FakeModel
from tests.fakes.reactor import running_reactor

__all__ = ("running_reactor",)


@pytest.fixture(scope="session")
def shared_model() -> Iterator[FakeModel]:
    with FakeModel.in_thread() as model:
        yield model


@pytest.fixture
def model(shared_model: FakeModel) -> FakeModel:
    """The fake model server, reset before each test."""
    shared_model.reset()
    return shared_model
