"""The lifetime of the embedded model, which ends with the game's, and its log."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evennia_ai.llm.local.logfile import last_line, open_chapter, trim
from evennia_ai.llm.local.state import log_path
from evennia_ai.llm.local.supervisor import GameWatch, LifetimeConfig, is_alive, pid_in
from tests.llm.local.support import Brain, eventually


@pytest.fixture
def game(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until its input closes, and its pid file."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    (tmp_path / "portal.pid").write_text(f"{process.pid}\n")
    with process:
        yield process


class TestStopWith:
    QUICK = ("--gone-seconds", "0.3", "--unseen-seconds", "0.6")

    def test_a_game_that_dies(
        self, brain: Brain, game: subprocess.Popen[bytes], tmp_path: Path
    ) -> None:
        """The model ends some time after the game's process does."""
        brain.launch(stop_with=tmp_path / "portal.pid", options=self.QUICK)
        brain.wait()
        game.communicate()
        assert eventually(lambda: brain.is_over)
        assert "the game has been gone" in brain.snapshot.reason

    def test_a_game_that_never_comes(self, brain: Brain, tmp_path: Path) -> None:
        """A model started for a game that never starts ends by itself."""
        brain.launch(stop_with=tmp_path / "portal.pid", options=self.QUICK)
        assert eventually(lambda: brain.is_over)
        assert "the game was not seen" in brain.snapshot.reason

    def test_a_restart_of_the_game_is_no_reason(
        self, game: subprocess.Popen[bytes], tmp_path: Path
    ) -> None:
        """A gap shorter than `gone_seconds` is forgotten."""
        pid_file = tmp_path / "portal.pid"
        watch = GameWatch(pid_file, 0.0, LifetimeConfig(gone_seconds=30, unseen_seconds=600))
        assert "" == watch.reason_to_end(599.0)
        pid_file.rename(tmp_path / "away")
        assert "" == watch.reason_to_end(620.0)
        (tmp_path / "away").rename(pid_file)
        assert "" == watch.reason_to_end(640.0)
        pid_file.unlink()
        assert "" == watch.reason_to_end(669.0)
        assert "the game has been gone for 30 s" == watch.reason_to_end(670.0)

    def test_a_game_that_is_late(self, tmp_path: Path) -> None:
        """The longer limit applies until the game is first seen."""
        config = LifetimeConfig(gone_seconds=30, unseen_seconds=600)
        watch = GameWatch(tmp_path / "none.pid", 0.0, config)
        assert "" == watch.reason_to_end(599.0)
        assert "the game was not seen within 600 s" == watch.reason_to_end(600.0)

    @pytest.mark.parametrize("text", ["", "x", "-1", "12 34", "9" * 30])
    def test_a_broken_pid_file_is_no_game(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "portal.pid").write_text(text)
        assert not is_alive(pid_in(tmp_path / "portal.pid"))

    def test_a_process_that_waits_to_be_reaped_is_dead(self, game: subprocess.Popen[bytes]) -> None:
        """A zombie does not keep the model running."""
        assert is_alive(game.pid)
        game.kill()
        os.waitid(os.P_PID, game.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(game.pid)


class TestLog:
    def test_it_does_not_grow(self, tmp_path: Path) -> None:
        """The newest lines are kept, and a writer that has the log open continues after them."""
        log = tmp_path / "model.log"
        with log.open("ab", buffering=0) as writer:
            writer.write(b"".join(b"line %d\n" % number for number in range(1000)))
            trim(log, max_bytes=5_000, kept_bytes=100)
            writer.write(b"the end\n")
        lines = log.read_text().splitlines()
        assert "the end" == lines[-1]
        assert "line 999" == lines[-2]
        assert log.stat().st_size < 120

    def test_a_log_that_cannot_be_trimmed_is_left(self, tmp_path: Path) -> None:
        trim(tmp_path / "none.log")
        assert "it said nothing" == last_line(tmp_path / "none.log")

    def test_the_last_word_is_of_this_life(self, tmp_path: Path) -> None:
        """A line of an earlier run is not taken for this run's reason to end."""
        log = tmp_path / "model.log"
        log.write_text("an old sorrow\n")
        assert "an old sorrow" == last_line(log)
        open_chapter(log, "today")
        assert "it said nothing" == last_line(log)
        with log.open("a") as file:
            file.write("a new one\n\n")
        assert "a new one" == last_line(log)

    def test_each_start_is_in_it(self, brain: Brain) -> None:
        brain.launch()
        brain.wait()
        assert "stand_in_host.py" in log_path(brain.state_dir).read_text()
