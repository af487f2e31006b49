"""The lookup of a running embedded model in its state file."""

import json
import os
from pathlib import Path

import pytest

from evennia_ai.llm.local import control
from evennia_ai.llm.local.state import LocalModel, state_path
from tests.llm.local.support import Brain


class TestFindRunning:
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
        state_path(tmp_path).write_text(text, errors="surrogateescape")
        assert control.find_running(tmp_path) is None
        assert "The embedded model has not been started." == control.describe(tmp_path)

    @pytest.mark.parametrize(
        "change", [{"phase": "?"}, {"pid": "x"}, {"pid": None}, {"restarts": []}]
    )
    def test_a_broken_field_is_nothing(self, tmp_path: Path, change: dict[str, object]) -> None:
        state_path(tmp_path).write_text(json.dumps({**self.GOOD, **change}))
        assert control.find_running(tmp_path) is None

    def test_a_living_number_is_not_enough(self, tmp_path: Path) -> None:
        """The pid in a stale file may belong to another process by now."""
        state_path(tmp_path).write_text(json.dumps(self.GOOD))
        assert control.find_running(tmp_path) is None
        assert not control.stop(tmp_path)

    def test_no_folder(self, tmp_path: Path) -> None:
        assert control.find_running(tmp_path / "none") is None
        assert not control.stop(tmp_path / "none")

    def test_a_running_model_is_not_started_twice(self, brain: Brain) -> None:
        brain.launch()
        model = brain.wait()
        assert isinstance(model, LocalModel)
        assert model == control.ensure_running(brain.state_dir)
