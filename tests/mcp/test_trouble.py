"""Servers that hang, break, end and come back: the outcome of calls, and nothing left behind."""

import os
import signal
import subprocess
import sys

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.selectreactor import SelectReactor

from evennia_ai.errors import CircuitOpenError, ToolError, ToolTimeoutError
from tests.mcp.harness import PATIENCE_SECONDS, Lifeline, Remote, WebServer, command

ALMANAC = {"command": command("almanac")}
BY_BOTH_PROTOCOLS = pytest.mark.parametrize(
    "options", [pytest.param((), id="new protocol"), pytest.param(("old",), id="old protocol")]
)


def test_a_tool_that_hangs_is_given_up(running_reactor: SelectReactor) -> None:
    """The call fails at its time limit, the server hears of it, and the connection is kept."""
    setting = ALMANAC | {"timeout_seconds": 1.0}
    with Remote.running(running_reactor, almanac=setting) as remote:
        remote.read_log("connected")
        with pytest.raises(ToolTimeoutError, match="almanac did not answer within 1 s"):
            remote.call("almanac__wait")
        remote.read_log("waiting was cancelled")
        assert 1 == remote.failures()
        assert "Hull, day 1: at noon" == remote.call("almanac__tide", harbour="Hull")


def test_a_call_may_have_less_time_than_its_server(running_reactor: SelectReactor) -> None:
    """A call gets what is left of a turn's time, and a timeout for that reason blames nobody."""
    with Remote.running(running_reactor, almanac=ALMANAC) as remote:
        remote.read_log("connected")
        with pytest.raises(ToolTimeoutError, match=r"within 0\.5 s"):
            remote.call("almanac__wait", seconds=0.5)
        with pytest.raises(ToolTimeoutError, match="there is no time left for it"):
            remote.call("almanac__wait", seconds=0.0)
        assert 0 == remote.failures()


@BY_BOTH_PROTOCOLS
def test_a_cancelled_call_is_told_to_the_server(
    running_reactor: SelectReactor, options: tuple[str, ...]
) -> None:
    """Stopping the assistant stops the work that was done for it, and blames nobody."""
    setting = {"command": command("almanac", *options)}
    with Remote.running(running_reactor, almanac=setting) as remote:
        remote.read_log("connected")
        call, outcome = remote.begin("almanac__wait")
        remote.read_log("waiting began")
        remote.on_reactor(call.cancel)
        remote.read_log("waiting was cancelled")
        assert outcome.get(timeout=PATIENCE_SECONDS).check(CancelledError)
        assert 0 == remote.failures()


def test_a_server_that_is_killed_comes_back(running_reactor: SelectReactor) -> None:
    """The running call fails at once and in clear words; the next reaches a new server."""
    with Remote.running(running_reactor, almanac=ALMANAC) as remote:
        remote.read_log("connected")
        pid = int(remote.call("almanac__pid"))
        _, outcome = remote.begin("almanac__wait")
        remote.read_log("waiting began")
        os.kill(pid, signal.SIGKILL)
        failure = outcome.get(timeout=PATIENCE_SECONDS)
        assert "almanac failed: Connection closed" == failure.getErrorMessage()
        assert failure.check(ConnectionError)
        assert pid != int(remote.call("almanac__pid"))
        assert "connected" == remote.status()["state"]


def test_a_server_that_ends_unasked_is_started_again(running_reactor: SelectReactor) -> None:
    """No call has to ask for the restart, and the tools stay on offer meanwhile."""
    with Remote.running(running_reactor, almanac=ALMANAC) as remote:
        remote.read_log("connected")
        os.kill(int(remote.call("almanac__pid")), signal.SIGKILL)
        assert "it ended the connection" in remote.read_log("no connection")
        assert "almanac__tide" in remote.servers.specs()
        remote.read_log("connected")


BROKEN = [
    pytest.param(
        {"command": [sys.executable, "-c", "import sys; sys.exit('no almanac here')"]},
        "it said: no almanac here", id="it gives up",
    ),
    pytest.param(
        {"command": ["no-such-program-at-all"]}, "no-such-program-at-all", id="there is none"
    ),
    pytest.param(
        {"command": command("almanac"), "cwd": "/no/such/folder"},
        "/no/such/folder", id="its folder is none",
    ),
    pytest.param({"url": "http://127.0.0.1:1/mcp"}, "connection", id="nobody answers there"),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "expected"), BROKEN)
def test_a_server_that_never_comes_up(
    running_reactor: SelectReactor, setting: dict[str, object], expected: str
) -> None:
    """The log, the status and a call all say why."""
    with Remote.running(running_reactor, broken=setting) as remote:
        remote.read_log("no connection")
        status = remote.status()
        assert ("unavailable", 0) == (status["state"], status["tools"])
        assert expected in status["problem"]
        server = remote.servers._servers["broken"]
        with pytest.raises(ConnectionError, match=f"broken cannot be reached: .*{expected}"):
            remote.on_reactor(server.call, "anything", {}, 20.0)


def test_a_service_that_fails_is_left_alone(running_reactor: SelectReactor) -> None:
    """After five failures it is not called until the breaker lets it be tried again."""
    with Remote.running(running_reactor, almanac=ALMANAC) as remote:
        remote.read_log("connected")
        for _ in range(5):
            with pytest.raises(ConnectionError):
                remote.call("almanac__refuse")
        with pytest.raises(CircuitOpenError, match="mcp:almanac"):
            remote.call("almanac__tide", harbour="Hull")
        assert "open" == remote.status()["breaker"]
        remote.clock.now += 60.0
        for _ in range(2):
            assert "Hull, day 1: at noon" == remote.call("almanac__tide", harbour="Hull")
        assert "closed" == remote.status()["breaker"]


def test_secrets_are_not_shown(running_reactor: SelectReactor) -> None:
    """No error and no line of the log shows a secret that a server repeats."""
    program = "import sys, os; sys.exit('bad token ' + os.environ['TOKEN'])"
    settings = {
        "almanac": ALMANAC | {"env": {"TOKEN": "open-sesame-99"}},
        "broken": {"command": [sys.executable, "-c", program], "env": {"TOKEN": "open-sesame-99"}},
    }
    with Remote.running(running_reactor, **settings) as remote:
        assert "bad token ***" in remote.read_log("no connection")
        while "almanac__refuse" not in remote.servers.specs():
            remote.read_log("")
        with pytest.raises(ConnectionError, match=r"no rum, token \*\*\*"):
            remote.call("almanac__refuse")
        with pytest.raises(ToolError, match=r"Tom can swim \*\*\*"):
            remote.call("almanac__drown", sailor="Tom")
        assert "sesame" not in "".join(
            [*remote.lines, str(remote.on_reactor(remote.servers.status))]
        )


@BY_BOTH_PROTOCOLS
def test_tools_that_change_are_listed_anew(
    running_reactor: SelectReactor, options: tuple[str, ...]
) -> None:
    """A new tool of a running server is offered at once where the setting allows that."""
    setting = {"command": command("almanac", *options), "new_tools": True}
    with Remote.running(running_reactor, almanac=setting) as remote:
        remote.read_log("connected")
        before = remote.servers.specs()
        remote.call("almanac__learn", name="ebb")
        remote.read_log(f"connected, {len(before) + 1} tools")
        assert {*before, "almanac__ebb"} == set(remote.servers.specs())
        assert "Hull, day 1: at noon" == remote.call("almanac__ebb", harbour="Hull")


@pytest.mark.parametrize(
    "what", [pytest.param("tide", id="idle"), pytest.param("freeze", id="hung")]
)
def test_nothing_is_left_behind(
    running_reactor: SelectReactor, lifeline: Lifeline, what: str
) -> None:
    """Closing ends the servers' programs, even one that ignores SIGTERM."""
    setting = ALMANAC | {"env": {"LIFELINE": lifeline.port}}
    with Remote.running(running_reactor, almanac=setting) as remote:
        lifeline.wait_for_life()
        remote.read_log("connected")
        if what == "freeze":
            remote.begin("almanac__freeze")
            remote.read_log("frozen")
    lifeline.wait_for_end()
    assert "closed" == remote.status()["state"]
    with pytest.raises(ConnectionError, match="almanac cannot be reached: it is closed"):
        remote.call("almanac__tide", harbour="Hull")


def test_closing_before_the_connection_is_made(
    running_reactor: SelectReactor, lifeline: Lifeline
) -> None:
    """A program that never answers is ended too."""
    program = (
        "import os, socket, sys; "
        "held = socket.create_connection(('127.0.0.1', int(os.environ['LIFELINE']))); "
        "sys.stdin.read()"
    )
    setting = {"command": [sys.executable, "-c", program], "env": {"LIFELINE": lifeline.port}}
    with Remote.running(running_reactor, mute=setting) as remote:
        lifeline.wait_for_life()
        assert "connecting" == remote.status()["state"]
    lifeline.wait_for_end()


KILLED = [pytest.param("wait", id="well behaved")]
if sys.platform.startswith("linux"):  # elsewhere a hung program outlives its game
    KILLED.append(pytest.param("freeze", id="hung"))

GAME = """
import sys
from twisted.internet import selectreactor
reactor = selectreactor.SelectReactor()
from tests.mcp.harness import Remote, command
import threading
threading.Thread(target=reactor.run, kwargs={"installSignalHandlers": False}, daemon=True).start()
setting = {"command": command("almanac"), "env": {"LIFELINE": sys.argv[1]}}
remote = Remote(reactor, {"almanac": setting})
remote.start()
remote.read_log("connected")
remote.begin("almanac__" + sys.argv[2])
remote.read_log({"wait": "waiting began", "freeze": "frozen"}[sys.argv[2]])
print("busy", flush=True)
if len(sys.argv) < 4:
    threading.Event().wait()
"""


@pytest.mark.parametrize("tool", KILLED)
def test_a_killed_game_leaves_no_program(lifeline: Lifeline, tool: str) -> None:
    arguments = [sys.executable, "-c", GAME, lifeline.port, tool]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as game:
        try:
            assert game.stdout is not None
            assert "busy\n" == game.stdout.readline()
            lifeline.wait_for_life()
        finally:
            game.kill()
    lifeline.wait_for_end()


def test_a_game_that_forgets_to_close_still_ends(lifeline: Lifeline) -> None:
    """An open connection holds nothing up, and leaves no program."""
    arguments = [sys.executable, "-c", GAME, lifeline.port, "wait", "and end"]
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (0, "busy\n") == (done.returncode, done.stdout)
    lifeline.wait_for_life()
    lifeline.wait_for_end()


@BY_BOTH_PROTOCOLS
def test_on_the_web(running_reactor: SelectReactor, options: tuple[str, ...]) -> None:
    """The same over HTTP: calls, changes, failures, and a server that comes back."""
    with WebServer(*options) as first:
        setting = {
            "url": first.url,
            "headers_from_env": {"Authorization": "TOKEN_OF_WIKI"},
            "new_tools": True,
        }
        with Remote.running(running_reactor, wiki=setting) as remote:
            remote.read_log("connected")
            assert "Hull, day 1: at noon" == remote.call("wiki__tide", harbour="Hull")
            count = len(remote.servers.specs())
            remote.call("wiki__learn", name="ebb")
            remote.read_log(f"connected, {count + 1} tools")
            with pytest.raises(ToolTimeoutError):
                remote.call("wiki__wait", seconds=0.5)
            _, outcome = remote.begin("wiki__wait")
            first.kill()
            assert outcome.get(timeout=PATIENCE_SECONDS).check(ConnectionError)
            with pytest.raises(ConnectionError, match="wiki"):
                remote.call("wiki__pid", seconds=5.0)
            with WebServer(*options, port=first.port):
                remote.read_log("connected")
                assert "Hull, day 1: at noon" == remote.call("wiki__tide", harbour="Hull")


@BY_BOTH_PROTOCOLS
def test_a_server_on_the_web_that_was_restarted_is_asked_again(
    running_reactor: SelectReactor, options: tuple[str, ...]
) -> None:
    """It has forgotten the session and does nothing, so the call is sent again and nobody fails."""
    with (
        WebServer(*options) as first,
        Remote.running(running_reactor, almanac={"url": first.url}) as remote,
    ):
        remote.read_log("connected")
        remote.call("almanac__pid")
        first.kill()
        with WebServer(*options, port=first.port):
            remote.call("almanac__pid")
        assert 0 == remote.failures()


def test_a_session_that_a_server_calls_a_bad_request_is_opened_anew(
    running_reactor: SelectReactor,
) -> None:
    """The call fails, since nobody knows what the 400 means; the next one has a new session."""
    options = ("old", "vague")
    with (
        WebServer(*options) as first,
        Remote.running(running_reactor, almanac={"url": first.url}) as remote,
    ):
        remote.read_log("connected")
        remote.call("almanac__pid")
        first.kill()
        with WebServer(*options, port=first.port):
            with pytest.raises(ConnectionError, match="almanac"):
                remote.call("almanac__pid")
            remote.call("almanac__pid")
