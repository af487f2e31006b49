"""The cheap look for a running model believes nothing it should not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evennia_ai.llm.local import control
from evennia_ai.llm.local.state import LocalModel, state_path
from tests.llm.local.support import Brain


class TestFindRunning:
    """The cheap look that the game takes before each question."""

    GOOD = {
        "phase": "ready",
        "pid": os.getpid(),
        "model": "tiny",
        "base_url": "http://127.0.0.1:1/v1",
        "host_pid": 0,
        "started_at": 0.0,
        "restarts": 0,
        "reason": "",
    }

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "5", "null", "{}", '{"phase": "ready"}', "\udcff", "[" * 100_000],
        ids=str.__len__,
    )
    def test_a_broken_file_is_nothing(self, tmp_path: Path, text: str) -> None:
        """No content of the file makes it raise."""
        state_path(tmp_path).write_text(text, errors="surrogateescape")
        assert control.find_running(tmp_path) is None
        assert "The embedded model has not been started." == control.describe(tmp_path)

    @pytest.mark.parametrize(
        "change", [{"phase": "?"}, {"pid": "x"}, {"pid": None}, {"restarts": []}]
    )
    def test_a_broken_field_is_nothing(self, tmp_path: Path, change: dict[str, object]) -> None:
        """A file of the right shape with a wrong value is as good as none."""
        state_path(tmp_path).write_text(json.dumps({**self.GOOD, **change}))
        assert control.find_running(tmp_path) is None

    def test_a_living_number_is_not_enough(self, tmp_path: Path) -> None:
        """A stale file whose process number now belongs to somebody else is not believed."""
        state_path(tmp_path).write_text(json.dumps(self.GOOD))
        assert control.find_running(tmp_path) is None
        assert not control.stop(tmp_path)

    def test_no_folder(self, tmp_path: Path) -> None:
        """A game that never had a model has none."""
        assert control.find_running(tmp_path / "none") is None
        assert not control.stop(tmp_path / "none")

    def test_a_running_model_is_not_started_twice(self, brain: Brain) -> None:
        """To ensure that it runs, when it does, is to find it."""
        brain.launch()
        model = brain.wait()
        assert isinstance(model, LocalModel)
        assert model == control.ensure_running(brain.state_dir)
