"""Fixtures: cache folders, the tiny weights, and supervisors that end with their test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.local.support import TINY, WEIGHTS, Brain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def environ(folder: Path) -> dict[str, str]:
    return {"EVENNIA_AI_CACHE_DIR": str(folder)}


@pytest.fixture
def cached(folder: Path) -> Path:
    """The tiny model's weights, in the cache folder."""
    folder.mkdir()
    path = folder / TINY.file_name
    path.write_bytes(WEIGHTS)
    return path


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    """A state folder for supervisors of the stand-in host, stopped after the test."""
    brain = Brain(tmp_path / "state")
    yield brain
    brain.close()
