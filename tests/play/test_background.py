"""Background programs and the portal's line, each with a real program at the other end."""

import pickle
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.protocols.amp import AmpBox, parseString

from server.play import processes
from server.play.background import BackgroundProgram
from server.play.portal import START_SERVER, STOP_PORTAL, STOP_SERVER, PortalLine

STATUS = {b"_ask": b"4", b"_command": b"MsgStatus", b"status": b""}


def begin(tmp_path: Path, script: str) -> BackgroundProgram:
    return BackgroundProgram(
        [sys.executable, "-c", script], cwd=tmp_path, log=tmp_path / "log", env={}
    )


class TestBeside:
    """A program that runs in the background."""

    def test_what_it_says_is_seen_while_it_runs(self, tmp_path: Path) -> None:
        """Its last complete line is the progress; it gets no input, and its exit code is known."""
        script = (
            "import sys, time; from pathlib import Path; print(repr(sys.stdin.read()), flush=True);"
            "print('half', end='', flush=True)\n"
            "while not Path('go').exists(): time.sleep(0.01)\n"
            "print(' and half'); sys.exit(3)"
        )
        program = begin(tmp_path, script)
        assert processes.wait_until(lambda: "half" in program.said, 30)
        assert (None, "''") == (program.code, program.last_line)
        (tmp_path / "go").touch()
        assert 3 == program.wait(lambda: None)
        assert "half and half" == program.last_line

    def test_it_is_asked_after_while_it_is_waited_for(self, tmp_path: Path) -> None:
        """A wait calls a function again and again, which can show the progress."""
        script = (
            "import time; from pathlib import Path\nwhile not Path('go').exists(): time.sleep(0.01)"
        )
        assert 0 == begin(tmp_path, script).wait((tmp_path / "go").touch)

    def test_it_can_be_left_to_itself(self, tmp_path: Path) -> None:
        """A wait that is ended early leaves the program running."""
        program = begin(tmp_path, "import signal; signal.pause()")
        assert program.wait(lambda: None, lambda: True) is None
        assert program.code is None
        program.end()

    def test_it_can_be_given_up(self, tmp_path: Path) -> None:
        """A program can be ended, twice without harm."""
        program = begin(tmp_path, "import signal; signal.pause()")
        program.end()
        program.end()
        assert -signal.SIGTERM == program.code


@pytest.fixture
def ends() -> Iterator[tuple[PortalLine, socket.socket]]:
    """A portal line, and the socket at its other end."""
    with (
        socket.create_server(("127.0.0.1", 0)) as portal,
        PortalLine(portal.getsockname()[1]) as line,
    ):
        other, _ = portal.accept()
        with other:
            yield line, other


class TestPortalLine:
    """Messages to Evennia's portal, with Twisted's own AMP at the other end."""

    def test_the_server_is_asked_for(self, ends: tuple[PortalLine, socket.socket]) -> None:
        line, portal = ends
        line.start_server(["twistd", "--python=server.py"])
        (box,) = parseString(portal.recv(4096))
        assert (b"MsgLauncher2Portal", START_SERVER) == (box[b"_command"], box[b"operation"])
        assert ["twistd", "--python=server.py"] == pickle.loads(box[b"arguments"])

    def test_both_are_stopped_in_order(self, ends: tuple[PortalLine, socket.socket]) -> None:
        line, portal = ends
        line.stop_both()
        boxes = parseString(portal.recv(4096))
        assert [STOP_SERVER, STOP_PORTAL] == [box[b"operation"] for box in boxes]
        assert [b"1", b"2"] == [box[b"_ask"] for box in boxes]

    def test_the_portal_says_when_the_server_is_up(
        self, ends: tuple[PortalLine, socket.socket]
    ) -> None:
        """Only a complete status counts, however it is split; the answer to a question does not."""
        line, portal = ends
        status = AmpBox(STATUS).serialize()
        assert not line.has_server()
        portal.sendall(AmpBox({b"_answer": b"1"}).serialize() + status[:9])
        assert processes.wait_until(lambda: line.has_server() or line.has_run_server, 30)
        assert not line.has_server()
        portal.sendall(status[9:])
        assert processes.wait_until(line.has_server, 30)
        (answer,) = parseString(portal.recv(4096))
        assert (b"4", b"") == (answer[b"_answer"], pickle.loads(answer[b"status"]))

    def test_a_portal_that_hangs_up_is_an_error(
        self, ends: tuple[PortalLine, socket.socket]
    ) -> None:
        line, portal = ends
        portal.close()
        with pytest.raises(ConnectionResetError, match="hung up"):
            processes.wait_until(line.has_server, 30)
