"""The fast import of Evennia's grammar, which a reloaded server must not use."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER = "evennia/server/server.py"
LOAD = "import runpy, sys; runpy.run_path(sys.argv[1]); print('inflect' in sys.modules)"


@pytest.fixture
def swift(tmp_path: Path) -> Path:
    """The module in a checkout of its own, where no game is open."""
    (tmp_path / "server/conf").mkdir(parents=True)
    return Path(shutil.copy(ROOT / "server/conf/swift.py", tmp_path / "server/conf"))


def is_hurried(swift: Path, *words: str) -> bool:
    """True if a new process with this command line skips the checks."""
    command = [sys.executable, "-c", LOAD, str(swift), *words]
    return subprocess.check_output(command, text=True) == "True\n"


def test_all_but_the_server_is_hurried(swift: Path) -> None:
    """Portal, migrations and shells never start while another server still ends."""
    assert is_hurried(swift, "evennia/server/portal/portal.py")


def test_a_reloaded_server_takes_its_time(swift: Path) -> None:
    """A lock file that was left behind does not count as a game being opened."""
    assert not is_hurried(swift, SERVER)
    (swift.parents[1] / ".play.lock").write_text("make play (process 1)", encoding="utf-8")
    assert not is_hurried(swift, SERVER)


def test_a_server_that_make_play_opens_is_hurried(swift: Path) -> None:
    """No server before it can still hold its port."""
    with (swift.parents[1] / ".play.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_hurried(swift, SERVER)
