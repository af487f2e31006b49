"""The harness itself: a bare Evennia game, driven the way the journeys drive ours."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys import processes
from tests.journeys.clients import IAC, decode_telnet, read_html
from tests.journeys.game import ROOT, Game
from tests.journeys.ports import ClaimedPorts


@pytest.fixture(scope="module")
def bare_game(stock: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Game]:
    with Game.copy(stock, tmp_path_factory.mktemp("bare") / "game") as game:
        game.start(by_launcher=True)
        yield game


def test_both_clients_meet_in_a_bare_game(bare_game: Game) -> None:
    with bare_game.open_telnet() as tom, bare_game.open_webclient() as mira:
        for player, name in ((tom, "Tom"), (mira, "Mira")):
            player.create_account(name, "lanterns-are-bright")
            player.log_in(name, "lanterns-are-bright")
            player.ask("look", "Limbo")
        tom.send("say hello <there>")
        mira.expect('Tom says, "hello <there>"')
        bare_game.launch("reload")
        mira.ask("say still here", 'You say, "still here"')
        bare_game.kill_server()
        bare_game.start(by_launcher=True)
        tom.come_back()
        mira.come_back()
        tom.ask("say and here", 'You say, "and here"')
        mira.expect('Tom says, "and here"')


def test_a_game_cleans_up_after_itself(bare_game: Game) -> None:
    assert 2 <= len(processes.find_processes(bare_game.root))
    bare_game.clean_up()
    assert [] == processes.find_processes(bare_game.root)


def test_a_game_does_not_outlive_its_test_run(tmp_path: Path) -> None:
    """The guardian ends the processes of a test run that was killed."""
    script = (
        "import os, subprocess, sys; from pathlib import Path;"
        "from tests.journeys.guardian import Guardian;"
        "folder = Path(sys.argv[1]); guardian = Guardian.watch(folder);"
        "log = (folder / 'log').open('w');"
        "left = subprocess.Popen(['tail', '-f', str(folder / 'log')], start_new_session=True);"
        "print(left.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    command = [sys.executable, "-c", script, tmp_path]
    # Its output ends with the last process that it left.
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert -signal.SIGKILL == result.returncode
    processes.wait_for_end(int(result.stdout), 20)


def test_two_games_never_share_a_port() -> None:
    first, second = ClaimedPorts(5), ClaimedPorts(5)
    assert not set(first.numbers) & set(second.numbers)
    first.release()
    second.release()


def test_a_process_that_stays_is_reported() -> None:
    with pytest.raises(AssertionError, match="still runs"):
        processes.wait_for_end(os.getppid(), 0.01)


@pytest.mark.parametrize(
    ("stream", "text", "replies", "rest"),
    [
        (b"plain", b"plain", b"", b""),
        (b"a\xff\xfb\x01b", b"ab", b"\xff\xfe\x01", b""),
        (b"a\xff\xfd\x18b", b"ab", b"\xff\xfc\x18", b""),
        (b"\xff\xfa\x18\x01\xff\xf0x", b"x", b"", b""),
        (b"x\xff\xfa\x18", b"x", b"", b"\xff\xfa\x18"),
        (b"x\xff", b"x", b"", b"\xff"),
        (b"\xff\xff", bytes((IAC,)), b"", b""),
        (b"prompt\xff\xf9", b"prompt", b"", b""),
    ],
)
def test_telnet_options_are_declined(
    stream: bytes, text: bytes, replies: bytes, rest: bytes
) -> None:
    """Every offer is refused, and a command that is cut in two is kept for the next read."""
    assert (text, replies, rest) == decode_telnet(stream)


def test_html_is_read_as_a_person_reads_it() -> None:
    markup = '<span class="color-010">5&nbsp;&lt;&nbsp;6</span><br>next'
    assert "5 < 6\nnext" == read_html(markup)
