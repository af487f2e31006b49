"""The embedded model's command line."""

import io
import sys
from pathlib import Path

import pytest

from evennia_ai.llm import local
from evennia_ai.llm.local.__main__ import Progress, main
from tests.llm.local.support import Brain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestVerbs:
    def test_status_of_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert 3 == main(["status", "--state-dir", str(tmp_path)])
        assert "The embedded model has not been started.\n" == capsys.readouterr().err

    def test_status_of_a_running_model(
        self, brain: Brain, capsys: pytest.CaptureFixture[str]
    ) -> None:
        brain.launch()
        model = brain.wait()
        assert 0 == main(["status", "--state-dir", str(brain.state_dir)])
        output = capsys.readouterr().out
        assert f"tiny answers at {model.base_url} (process {model.pid})\n" == output

    def test_stop_twice(self, brain: Brain, capsys: pytest.CaptureFixture[str]) -> None:
        brain.launch()
        brain.wait()
        assert 0 == main(["stop", "--state-dir", str(brain.state_dir)])
        assert 0 == main(["stop", "--state-dir", str(brain.state_dir)])
        output = capsys.readouterr().out
        assert "The embedded model is stopped.\nIt was not running.\n" == output

    def test_start_of_a_running_model(
        self, brain: Brain, capsys: pytest.CaptureFixture[str]
    ) -> None:
        brain.launch()
        model = brain.wait()
        assert 0 == main(["start", "--state-dir", str(brain.state_dir)])
        assert f"(process {model.pid})" in capsys.readouterr().out

    def test_start_without_the_runtime(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        monkeypatch.setenv("EVENNIA_AI_CACHE_DIR", str(tmp_path / "cache"))
        assert 1 == main(["start", "--state-dir", str(tmp_path / "state")])
        assert 'pip install "evennia-ai[local]"' in capsys.readouterr().err
        assert [] == list(tmp_path.iterdir())

    def test_fetch_names_the_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = tmp_path / "own.gguf"
        own.write_bytes(b"GGUF")
        monkeypatch.setenv("EVENNIA_AI_LOCAL_MODEL", str(own))
        assert 0 == main(["fetch"])
        assert f"The weights are in {own}\n" == capsys.readouterr().out


class TestProgress:
    def test_a_log_gets_a_line_now_and_then(self) -> None:
        """Without a terminal a line is written for each new stage and every few seconds."""
        out, now = io.StringIO(), [100.0]
        progress = Progress(out, lambda: now[0])
        for second in range(8):
            now[0] = 100.0 + second
            progress("fetching", second * 1_000_000, 8_000_000)
        progress("checking", 0, 0)
        progress.finish()
        assert [
            "Fetching: 0 of 8 MB (0 %)",
            "Fetching: 3 of 8 MB (37 %)",
            "Fetching: 6 of 8 MB (75 %)",
            "Checking",
        ] == out.getvalue().splitlines()

    def test_a_terminal_gets_one_line_for_each_stage(self) -> None:
        """The line is rewritten in place; blanks cover the rest of a longer one."""
        out, now = Terminal(), [100.0]
        progress = Progress(out, lambda: now[0])
        progress("fetching", 10_000_000, 20_000_000)
        now[0] += 1.0
        progress("fetching", 2_000_000, 20_000_000)
        progress("checking", 0, 0)
        progress.finish()
        fetching, checking, end = out.getvalue().split("\n")
        assert ["", "Fetching: 10 of 20 MB (50 %)", "Fetching: 2 of 20 MB (10 %) "] == (
            fetching.split("\r")
        )
        assert "\rChecking" == checking
        assert "" == end


class TestPackage:
    def test_its_names_are_there(self) -> None:
        assert sorted(local.__all__) == local.__all__
        assert all(getattr(local, name) is not None for name in local.__all__)
        assert set(local.__all__) <= set(dir(local))

    def test_an_unknown_name_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = local.nonsense
