"""The launcher itself, from a fresh copy of the checkout to a game that players log in to."""

import fcntl
import os
import re
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.play import ports
from tests.journeys.clients import TelnetClient
from tests.play.copies import Answer, Copy

pytestmark = pytest.mark.xdist_group("play")

PASSWORD = re.compile(r"admin / ((?:[a-z]+-){3}\d\d)")


@dataclass
class Opened:
    """A copy in which the game was opened once, and the output of that."""

    copy: Copy
    first: Answer


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """One game for all tests of this module; each leaves it running, or restarts it."""
    with Copy.make(tmp_path_factory.mktemp("play") / "a checkout") as copy:
        yield Opened(copy, copy.make_target("play"))


def knock(copy: Copy) -> TelnetClient:
    """A telnet client at the login screen."""
    client = TelnetClient(copy.telnet_port)
    client.expect(r"connect <name> <password>")
    return client


def read_password(copy: Copy) -> str:
    return copy.path("server/.credentials").read_text().strip().removeprefix("admin / ")


def reopen(copy: Copy) -> None:
    answer = copy.make_target("play")
    assert 0 == answer.code, answer


def test_play_returns_with_the_game_open(opened: Opened) -> None:
    assert (0, "") == (opened.first.code, opened.first.err), opened.first
    for promised in (
        "The Lantern Library is open.",
        f"telnet   localhost {opened.copy.telnet_port}",
        "scripted model",
        "whisper ada = what is this place?",
        "make stop",
    ):
        assert promised in opened.first.out


def test_each_step_is_reported_on_a_line_of_its_own(opened: Opened) -> None:
    """Without a terminal, steps are plain lines: no redrawing, no colours."""
    assert re.search(r"^  Python 3\.\d+, Evennia \d\.\d\.\d \.+ ok$", opened.first.out, re.M)
    assert re.search(
        r"^  database, world \(5 rooms, 2 assistants\) \.+ \d\d:\d\d$", opened.first.out, re.M
    )
    assert not re.search(r"[\r\x1b]", opened.first.out)


def test_the_owner_can_log_in_with_the_printed_password(opened: Opened) -> None:
    shown = PASSWORD.search(opened.first.out)
    assert shown is not None, opened.first.out
    assert read_password(opened.copy) == shown[1]
    with knock(opened.copy) as owner:
        owner.log_in("admin", shown[1])


def test_credentials_are_for_their_owner_alone(opened: Opened) -> None:
    for name in ("server/.credentials", "server/.secret_key", "server/evennia.db3"):
        assert 0o600 == stat.S_IMODE(opened.copy.path(name).stat().st_mode)


def test_the_password_is_in_no_log(opened: Opened) -> None:
    password = read_password(opened.copy)
    for log in opened.copy.path("server/logs").iterdir():
        assert password not in log.read_text(errors="replace"), log.name


def test_a_second_play_is_harmless(opened: Opened) -> None:
    """It prints the same without touching the game or repeating the password."""
    before = sorted(opened.copy.running())
    answer = opened.copy.make_target("play")
    assert 0 == answer.code, answer
    assert "The Lantern Library is open." in answer.out
    assert "admin / password in server/.credentials" in answer.out
    assert not PASSWORD.search(answer.out)
    assert before == sorted(opened.copy.running())


def test_an_open_game_does_not_move(opened: Opened) -> None:
    answer = opened.copy.make_target("play", EVENNIA_AI_TELNET_PORT="4123")
    assert 0 != answer.code
    assert "make restart TELNET_PORT=4123" in answer.err


def test_two_at_once_do_not_mix(opened: Opened) -> None:
    """While one command runs, another names it and does nothing."""
    with opened.copy.path("server/.play.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write("make play (process 12345)")
        lock.flush()
        answer = opened.copy.make_target("stop")
    assert 0 != answer.code
    assert "make play (process 12345) is at work here" in answer.err


def test_status_tells_what_runs(opened: Opened) -> None:
    answer = opened.copy.make_target("status")
    assert 0 == answer.code
    assert re.search(r"portal +running \(process \d+, up \d\d:\d\d:\d\d\)", answer.out)
    assert re.search(r"server +running \(process \d+, up \d\d:\d\d:\d\d\)", answer.out)
    assert re.search(rf"ports +telnet {opened.copy.telnet_port}, web \d+", answer.out)


def test_logs_end_where_there_is_no_terminal(opened: Opened) -> None:
    answer = opened.copy.make_target("logs")
    assert 0 == answer.code
    assert "== portal.log" in answer.out
    assert "== server.log" in answer.out
    assert "successfully started" in answer.out


def test_restart_keeps_accounts_and_tells_what_keeps_assistants_silent(opened: Opened) -> None:
    """The game opens for people, and says which setting is wrong and where to correct it."""
    with knock(opened.copy) as player:
        player.create_account("Mira")
    before = set(opened.copy.running())
    settings = opened.copy.path("server/conf/secret_settings.py")
    settings.write_text('EVENNIA_AI_BUDGET_CONFIG = {"no_such_cap": 1}\n')
    try:
        answer = opened.copy.make_target("restart")
        assert 0 == answer.code, answer
        assert not before & set(opened.copy.running())
        with knock(opened.copy) as player:
            player.log_in("Mira")
        for output in (answer.out, opened.copy.make_target("status").out):
            assert re.search(r"No assistant can answer: .*EVENNIA_AI_BUDGET_CONFIG", output), output
            assert "Correct it in server/conf/, then: make restart" in output
    finally:
        settings.unlink()


def test_play_recovers_from_a_killed_game(opened: Opened) -> None:
    """Stale pid files of a killed game do not prevent the next start."""
    opened.copy.kill()
    assert opened.copy.path("server/portal.pid").exists()
    reopen(opened.copy)
    with knock(opened.copy) as owner:
        owner.log_in("admin", read_password(opened.copy))


def test_an_interrupted_play_leaves_nothing_running(opened: Opened) -> None:
    """What a killed one leaves does not prevent the next start."""
    opened.copy.make_target("stop")
    process = opened.copy.begin("play")
    wait_for_line(process.stdout, "database, world")
    os.killpg(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert 0 != process.returncode
    assert "Interrupted; what this run had started is stopped again." in err
    assert [] == opened.copy.running()
    process = opened.copy.begin("play")
    wait_for_line(process.stdout, "database, world")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    reopen(opened.copy)
    assert "admin / password in" in opened.copy.make_target("play").out


def test_stop_stops_all_and_may_be_said_twice(opened: Opened) -> None:
    """The next start loads the game in no program just to find that nothing has changed."""
    assert "The game is stopped." in opened.copy.make_target("stop").out
    assert [] == opened.copy.running()
    assert not list(opened.copy.path("server").glob("*.pid"))
    again = opened.copy.make_target("stop")
    assert (0, "Nothing was running.\n") == (again.code, again.out)
    assert "not running" in opened.copy.make_target("status").out
    log = opened.copy.path("server/logs/play.log")
    before = log.read_text().count("server.play.database")
    answer = opened.copy.make_target("play")
    assert 0 == answer.code, answer
    assert before == log.read_text().count("server.play.database")
    assert "database, world (5 rooms, 2 assistants)" in answer.out
    with knock(opened.copy) as owner:
        owner.log_in("admin", read_password(opened.copy))


def wait_for_line(stream: object, text: str) -> None:
    """Read a process's output until a line holds `text`."""
    for line in stream:  # type: ignore[attr-defined]
        if text in line:
            return
    pytest.fail(f"the process ended without saying {text!r}")


def test_a_server_that_cannot_start_is_no_half_open_game(tmp_path: Path) -> None:
    """If the server ends while starting, the portal is stopped and the reason is reported."""
    with Copy.make(tmp_path / "checkout") as copy:
        copy.path("server/conf/broken.py").write_text("raise RuntimeError('the oil is gone')\n")
        copy.path("server/conf/secret_settings.py").write_text(
            "SERVER_SERVICES_PLUGIN_MODULES = ['server.conf.broken']\n"
        )
        answer = copy.make_target("play")
        assert 0 != answer.code
        assert "ended while starting: RuntimeError: the oil is gone." in answer.err
        assert [] == copy.running()


SLOW_PORTAL = """import time


def start_plugin_services(portal):
    time.sleep(12)
"""


def test_hole_c19_a_portal_that_is_slow_is_waited_for(tmp_path: Path) -> None:
    """Evennia's own launcher gives up after ten seconds, before the server is started."""
    with Copy.make(tmp_path / "checkout") as copy:
        copy.path("server/conf/slow.py").write_text(SLOW_PORTAL)
        copy.path("server/conf/secret_settings.py").write_text(
            "PORTAL_SERVICES_PLUGIN_MODULES = ['server.conf.slow']\n"
        )
        answer = copy.make_target("play")
        assert 0 == answer.code, answer
        with knock(copy) as owner:
            owner.log_in("admin", read_password(copy))


THIEF = """import socket, subprocess, sys, time

TAKE = "import socket, time; taken = socket.create_server(('127.0.0.1', {port})); time.sleep(60)"
if any(word.endswith("portal.py") for word in sys.argv):
    thief = subprocess.Popen([sys.executable, "-c", TAKE])
    open("thief", "w").write(str(thief.pid))
    while True:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", {port})):
                break
        time.sleep(0.05)
"""


def test_a_port_taken_at_the_last_moment_is_named(tmp_path: Path) -> None:
    """The port is free when it is checked and taken when it is opened."""
    with Copy.make(tmp_path / "checkout") as copy:
        port = copy.telnet_port
        copy.path("server/conf/secret_settings.py").write_text(THIEF.format(port=port))
        answer = copy.make_target("play")
        thief = int(copy.path("thief").read_text())
        os.kill(thief, signal.SIGKILL)
        assert 0 != answer.code
        assert f"Port {port} (telnet) is used by" in answer.err
        assert f"(process {thief}): that is not this game. Stop it, or choose" in answer.err
        assert f"make play TELNET_PORT={port + 10}" in answer.err
        assert [] == copy.running()


def test_two_games_side_by_side(opened: Opened, tmp_path: Path) -> None:
    """The second game, on the same ports, prints the command that opens it beside the first."""
    with Copy.make(tmp_path / "another") as copy:
        taken = ports.read_choices(opened.copy.path("server/.play.json"))
        same = {name: taken[name] for name in ports.DEFAULTS}
        ports.keep_choices(copy.path("server/.play.json"), same)
        own = {f"EVENNIA_AI_{name}": "" for name in ports.DEFAULTS}
        refused = copy.make_target("play", **own)
        assert 0 != refused.code
        advice = re.search(
            r"make play (TELNET_PORT=\d+) (WEB_PORT=\d+)$", refused.err, re.MULTILINE
        )
        assert advice is not None, refused.err
        named = dict(word.split("=") for word in advice.groups())
        answer = copy.make_target("play", **own, **named)
        assert 0 == answer.code, answer
        chosen = ports.read_choices(copy.path("server/.play.json"))
        assert not {chosen[name] for name in ports.DEFAULTS} & set(same.values())
        for port in (opened.copy.telnet_port, int(named["TELNET_PORT"])):
            with TelnetClient(port) as client:
                client.expect(r"connect <name> <password>")
