"""The supervisor of the embedded model: start, restart and stop."""

import os
import shutil
import signal
import urllib.request
from pathlib import Path

import pytest

from evennia_ai.llm.local import control
from evennia_ai.llm.local.errors import StartError
from evennia_ai.llm.local.host import HOPELESS_EXIT
from evennia_ai.llm.local.state import Phase
from evennia_ai.llm.local.supervisor import is_alive
from tests.llm.local.support import Brain, Reports, eventually


class TestStart:
    def test_the_model_answers_where_it_says(self, brain: Brain) -> None:
        brain.launch()
        model = brain.wait()
        assert model == control.find_running(brain.state_dir)
        assert "tiny" == model.model
        root = model.base_url.removesuffix("/v1")
        with urllib.request.urlopen(f"{root}/health", timeout=5) as reply:
            assert 200 == reply.status

    def test_it_is_a_process_of_its_own(self, brain: Brain) -> None:
        """With a session of its own it outlives the process that started it."""
        brain.launch()
        pid = brain.wait().pid
        assert pid == os.getsid(pid)

    def test_one_for_each_folder(self, brain: Brain) -> None:
        brain.launch()
        model = brain.wait()
        brain.launch()
        assert model == brain.wait()

    def test_secrets_stay_here(self, brain: Brain) -> None:
        environ = {**os.environ, "OPENAI_API_KEY": "sk-never", "PLAIN": "yes"}
        brain.launch(environ=environ)
        brain.wait()
        for pid in (brain.snapshot.pid, brain.snapshot.host_pid):
            environment = Path(f"/proc/{pid}/environ")
            if environment.exists():
                assert b"sk-never" not in environment.read_bytes()
                assert b"PLAIN=yes" in environment.read_bytes()

    def test_hole_c18_its_key_is_known_to_its_own_user_only(self, brain: Brain) -> None:
        """Each start has a new key, which no command line and no file open to others holds."""
        brain.launch()
        first = brain.wait()
        assert len(first.api_key) > 40
        assert first.api_key not in repr(first)
        for pid in (brain.snapshot.pid, brain.snapshot.host_pid):
            line = Path(f"/proc/{pid}/cmdline")
            if line.exists():
                assert first.api_key.encode() not in line.read_bytes()
        for path in brain.state_dir.iterdir():
            is_private = not path.stat().st_mode & 0o077
            assert is_private or first.api_key.encode() not in path.read_bytes(), path
        control.stop(brain.state_dir)
        brain.launch()
        assert first.api_key != brain.wait().api_key

    def test_a_folder_that_cannot_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StartError, match=r"cannot be started in .*file/state"):
            control.launch(tmp_path / "file" / "state", "tiny", ["nothing"])

    def test_a_supervisor_that_cannot_run_is_told(self, brain: Brain) -> None:
        with pytest.raises(StartError, match=r"could not be started: .*--no-such"):
            brain.launch(options=("--no-such", "x"))

    def test_a_model_that_takes_too_long(self, brain: Brain) -> None:
        brain.launch("--mute")
        with pytest.raises(StartError, match=r"did not answer within 0 s .*model\.log"):
            control.wait_until_ready(brain.state_dir, 0.2, Reports())


class TestRestart:
    def test_a_killed_model_comes_back_where_it_was(self, brain: Brain) -> None:
        brain.launch()
        model, first = brain.wait(), brain.snapshot.host_pid
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: brain.snapshot.host_pid not in (0, first))
        assert model == brain.wait()
        assert 1 == brain.snapshot.restarts

    def test_early_deaths_are_survived(self, brain: Brain, tmp_path: Path) -> None:
        brain.launch("--starts", str(tmp_path / "starts"), "--die-first", "3")
        brain.wait()
        assert 3 == brain.snapshot.restarts

    def test_it_gives_up_and_says_why(self, brain: Brain, tmp_path: Path) -> None:
        starts = tmp_path / "starts"
        brain.launch("--starts", str(starts), "--die-first", "99")
        with pytest.raises(StartError, match=r"5 times in a row.*code 1: the cellar is flooded"):
            brain.wait()
        assert 5 == starts.stat().st_size
        assert Phase.FAILED == brain.snapshot.phase
        assert brain.is_over
        assert "the cellar is flooded" in control.describe(brain.state_dir)

    def test_a_failed_model_can_be_started_again(self, brain: Brain, tmp_path: Path) -> None:
        brain.launch("--starts", str(tmp_path / "starts"), "--die-first", "99")
        assert eventually(lambda: brain.is_over)
        brain.launch()
        assert "tiny" == brain.wait().model

    def test_what_is_hopeless_is_not_tried_again(self, brain: Brain, tmp_path: Path) -> None:
        starts = tmp_path / "starts"
        code = str(HOPELESS_EXIT)
        brain.launch("--starts", str(starts), "--die-first", "99", "--exit-code", code)
        with pytest.raises(StartError, match="failed: the cellar is flooded"):
            brain.wait()
        assert 1 == starts.stat().st_size

    def test_a_sick_model_is_replaced(self, brain: Brain) -> None:
        """Its process runs, but no longer reports healthy."""
        options = ("--health-seconds", "0.02", "--max-unhealthy", "2")
        brain.launch("--healthy-looks", "3", options=options)
        first = brain.wait()
        assert eventually(lambda: brain.snapshot.restarts >= 1)
        assert first.pid == brain.snapshot.pid

    def test_a_model_that_never_comes_up_is_replaced(self, brain: Brain) -> None:
        brain.launch("--mute", options=("--start-seconds", "0.2", "--max-quick-deaths", "2"))
        with pytest.raises(StartError, match="did not answer within 0 s"):
            brain.wait()

    def test_a_command_that_does_not_exist(self, brain: Brain) -> None:
        control.launch(brain.state_dir, "tiny", ["/no/such/program"], options=brain.options)
        with pytest.raises(StartError, match="no/such/program"):
            brain.wait()


class TestStop:
    def test_everything_is_gone(self, brain: Brain) -> None:
        brain.launch()
        brain.wait()
        snapshot = brain.snapshot
        assert control.stop(brain.state_dir)
        assert not is_alive(snapshot.host_pid)
        assert eventually(lambda: not is_alive(snapshot.pid))
        assert control.find_running(brain.state_dir) is None
        assert Phase.STOPPED == brain.snapshot.phase
        assert not control.stop(brain.state_dir)

    def test_a_stubborn_model_is_killed(self, brain: Brain) -> None:
        """It ignores both its closed input and SIGTERM."""
        brain.launch("--stubborn", options=("--end-seconds", "0.2"))
        brain.wait()
        host_pid = brain.snapshot.host_pid
        assert control.stop(brain.state_dir)
        assert not is_alive(host_pid)

    def test_a_killed_supervisor_takes_its_model_along(self, brain: Brain) -> None:
        brain.launch()
        model, host_pid = brain.wait(), brain.snapshot.host_pid
        os.kill(model.pid, signal.SIGKILL)
        assert eventually(lambda: not is_alive(host_pid))
        assert control.find_running(brain.state_dir) is None
        assert "The embedded model is not running." == control.describe(brain.state_dir)

    def test_a_frozen_supervisor_is_killed(self, brain: Brain) -> None:
        brain.launch()
        model = brain.wait()
        os.kill(model.pid, signal.SIGSTOP)
        assert control.stop(brain.state_dir, patience_seconds=0.2)
        assert brain.is_over

    def test_it_ends_when_its_folder_goes(self, brain: Brain) -> None:
        brain.launch()
        model, host_pid = brain.wait(), brain.snapshot.host_pid
        shutil.rmtree(brain.state_dir)
        assert eventually(lambda: not is_alive(model.pid) and not is_alive(host_pid))
        assert not brain.state_dir.exists()
