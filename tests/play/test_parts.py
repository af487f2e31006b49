"""The launcher's smaller parts, each by itself: accounts, checks, reports, logs, programs."""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from server.play import (
    brain,
    credentials,
    environment,
    logs,
    preflight,
    processes,
    pythons,
    summary,
)
from server.play.layout import Checkout, PlayError
from server.play.report import Report

MEGABYTE = preflight.MEGABYTE


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """An empty checkout."""
    (tmp_path / "server" / "logs").mkdir(parents=True)
    return Checkout(tmp_path)


class TestCredentials:
    """The owner's account."""

    def test_a_generated_account_is_kept_and_never_made_anew(self, checkout: Checkout) -> None:
        """Asked twice, there is one password, in a file for its owner alone."""
        first = credentials.admin(checkout, {})
        assert first == credentials.admin(checkout, {})
        assert re.fullmatch(r"([a-z]+-){3}\d\d", first.password)
        assert f"admin / {first.password}\n" == checkout.credentials.read_text()
        assert 0o600 == stat.S_IMODE(checkout.credentials.stat().st_mode)

    def test_a_given_password_is_not_written_down(self, checkout: Checkout) -> None:
        """What the environment says is the owner's to remember."""
        environ = {"EVENNIA_SUPERUSER_PASSWORD": "sesame", "EVENNIA_SUPERUSER_EMAIL": "a@b.example"}
        assert credentials.Admin("admin", "sesame", "a@b.example") == credentials.admin(
            checkout, environ
        )
        assert not checkout.credentials.exists()

    def test_a_given_name_gets_a_generated_password(self, checkout: Checkout) -> None:
        """A name alone is enough."""
        made = credentials.admin(checkout, {"EVENNIA_SUPERUSER_USERNAME": "keeper"})
        assert ("keeper", True) == (made.username, made.is_ours)
        assert made == credentials.admin(checkout, {"EVENNIA_SUPERUSER_USERNAME": "keeper"})

    def test_passwords_differ(self) -> None:
        """The words are drawn, not fixed."""
        assert 20 == len({credentials.make_password() for _ in range(20)})

    def test_the_words_are_worth_drawing_from(self) -> None:
        """At least 200 different plain words: three of them and a number make some 30 bits."""
        words = credentials.WORDS.read_text().split()
        assert len(words) == len(set(words)) >= 200
        assert all(re.fullmatch("[a-z]{3,9}", word) for word in words)

    def test_the_cookie_key_stays(self, checkout: Checkout) -> None:
        """A second start does not log everybody out."""
        credentials.ensure_secret_key(checkout.secret_key)
        key = checkout.secret_key.read_text()
        credentials.ensure_secret_key(checkout.secret_key)
        assert key == checkout.secret_key.read_text()
        assert len(key) > 50
        assert 0o600 == stat.S_IMODE(checkout.secret_key.stat().st_mode)


class Disk(NamedTuple):
    """A disk with so much room."""

    free: int


class TestPreflight:
    """What is checked before anything is changed."""

    def test_a_full_disk_is_told_with_both_numbers(self, tmp_path: Path) -> None:
        """How much there is, how much it takes, and where."""
        with pytest.raises(PlayError) as refused:
            preflight.check_disk(
                tmp_path, 450 * MEGABYTE, "the game", lambda _: Disk(90 * MEGABYTE)
            )
        assert (
            f"Not enough disk space for the game in {tmp_path}: 90 MB free, 450 MB needed."
            == str(refused.value)
        )

    def test_just_enough_room_is_enough(self, tmp_path: Path) -> None:
        """At exactly what is needed, it goes on."""
        preflight.check_disk(tmp_path, MEGABYTE, "the game", lambda _: Disk(MEGABYTE))

    def test_the_real_disk_is_measured(self, tmp_path: Path) -> None:
        """No disk has an exabyte free."""
        with pytest.raises(PlayError, match="MB free"):
            preflight.check_disk(tmp_path, 10**18, "the game")

    def test_a_file_in_the_way_is_named(self, tmp_path: Path) -> None:
        """Where a folder of the game cannot be made, it says which."""
        (tmp_path / "server").mkdir()
        (tmp_path / "server" / "logs").write_text("")
        with pytest.raises(PlayError, match=r"Cannot make .*/server/logs: File exists"):
            preflight.check_writable(Checkout(tmp_path))

    def test_windows_is_told_what_to_do(self) -> None:
        """There the launcher does not even try."""
        preflight.check_platform("linux")
        with pytest.raises(PlayError, match="WSL"):
            preflight.check_platform("win32")


class TestPythons:
    """Which interpreters will do."""

    @pytest.mark.parametrize(
        ("version", "expected"),
        [((3, 10), False), ((3, 11), True), ((3, 12), True), ((3, 13), True), ((3, 14), False)],
    )
    def test_only_the_tested_versions_are_supported(
        self, version: tuple[int, int], expected: bool
    ) -> None:
        """What the suite does not run on, the launcher does not either."""
        assert expected is pythons.is_supported((*version, 0, "final", 0))

    def test_every_supported_version_has_its_evennia(self) -> None:
        """requirements.txt pins one Evennia for each."""
        root = Path(__file__).resolve().parents[2]
        pinned = [environment.pinned_evennia(root, name) for name in pythons.supported_names()]
        assert ["5.0.1", "6.1.0", "6.1.0"] == pinned

    def test_what_answers_wrongly_is_not_found(self, tmp_path: Path) -> None:
        """A shim that only says no, and a program with another version, are passed over."""
        fakes = {"python3.11": "exit 127", "python3.12": "echo 3.9", "python3.13": "echo 3.13"}
        for name, line in fakes.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
            (tmp_path / name).chmod(0o755)
        environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
        assert {"3.13": str(tmp_path / "python3.13")} == pythons.find_all(environ)

    def test_versions_under_pyenv_are_found(self, tmp_path: Path) -> None:
        """An interpreter that no PATH leads to is found where pyenv keeps it."""
        folder = tmp_path / "versions" / "3.12.9" / "bin"
        folder.mkdir(parents=True)
        (folder / "python3.12").symlink_to(sys.executable)
        found = pythons.find_all({"PATH": "", "PYENV_ROOT": str(tmp_path)})
        own = ".".join(map(str, sys.version_info[:2]))
        assert ({"3.12": str(folder / "python3.12")} if own == "3.12" else {}) == found


class TestReport:
    """What is shown while the launcher works."""

    def show(self, *, is_terminal: bool, seconds: float) -> str:
        moments = iter([0.0, *[seconds] * 9])
        stream = io.StringIO()
        report = Report(stream, is_terminal=is_terminal, clock=lambda: next(moments))
        with report.step("installing") as step:
            step.show("12 collected")
            step.label = "installing 61 packages"
        return stream.getvalue()

    def test_a_step_ends_with_its_time(self) -> None:
        """Label, dots, minutes and seconds."""
        shown = self.show(is_terminal=False, seconds=5)
        assert "  installing 61 packages " + "." * 28 + " 00:05\n" == shown

    def test_a_long_step_speaks_up(self) -> None:
        """Without a terminal, a step that takes long says how far it is."""
        shown = self.show(is_terminal=False, seconds=75)
        assert "    installing: 12 collected (01:15)\n" == shown.splitlines(keepends=True)[0]

    def test_a_terminal_line_is_redrawn(self) -> None:
        """On a terminal the line changes in place, and its last state stays."""
        shown = self.show(is_terminal=True, seconds=1)
        assert "\r\x1b[K" in shown
        assert shown.endswith("\r\x1b[K  installing 61 packages " + "." * 28 + " 00:01\n")

    def test_a_failed_step_says_so(self) -> None:
        """The line of the step that broke ends with that word."""
        stream = io.StringIO()
        with pytest.raises(PlayError), Report(stream, is_terminal=False).step("starting"):
            raise PlayError("no")
        assert stream.getvalue().endswith(" failed\n")


class TestProcesses:
    """Other programs."""

    def test_a_program_gets_no_input(self, tmp_path: Path) -> None:
        """It reads nothing, and what it says is kept and returned."""
        lines: list[str] = []
        code, said = processes.run(
            [sys.executable, "-c", "print('in:', repr(input.__self__.open(0).read())); print(2)"],
            cwd=tmp_path,
            log=tmp_path / "log",
            on_line=lines.append,
        )
        assert (0, "in: ''\n2\n", ["in: ''", "2"]) == (code, said, lines)
        assert said in (tmp_path / "log").read_text()

    def test_an_interrupted_wait_ends_the_program(self, tmp_path: Path) -> None:
        """Nobody waits for a program whose launcher has gone."""
        pids: list[int] = []

        def interrupt(line: str) -> None:
            pids.append(int(line))
            raise KeyboardInterrupt

        script = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
        with pytest.raises(KeyboardInterrupt):
            processes.run(
                [sys.executable, "-c", script],
                cwd=tmp_path,
                log=tmp_path / "log",
                on_line=interrupt,
            )
        assert not processes.is_alive(pids[0])

    def test_what_does_not_end_is_killed(self) -> None:
        """A program that ignores the request is gone after the grace all the same."""
        script = (
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
            " print('deaf', flush=True); signal.pause()"
        )
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as deaf:
            assert deaf.stdout is not None
            assert b"deaf\n" == deaf.stdout.readline()
            processes.end([deaf.pid], grace_seconds=0.1, reap=deaf.poll)
            assert -signal.SIGKILL == deaf.wait()

    def test_a_process_is_found_by_its_words(self) -> None:
        """All words must be there."""
        script = "import signal; print('up', flush=True); signal.pause()  # the-lamp"
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as lamp:
            assert lamp.stdout is not None
            lamp.stdout.readline()
            assert lamp.pid in processes.find("the-lamp", "signal.pause")
            assert lamp.pid not in processes.find("the-lamp", "no such word")
            lamp.kill()

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("Traceback\n  raise ValueError\nValueError: no oil\n", "ValueError: no oil."),
            (
                "ERROR: No matching distribution\nnotice: new pip\n",
                "ERROR: No matching distribution.",
            ),
            ("2026-11-21 04:19:54 [EE] RuntimeError: gone\n", "RuntimeError: gone."),
            ("|Portal| 2026-11-21 04:19:54 [..] OSError: in use!\n", "OSError: in use!"),
            ("first\nlast\n---\n", "last."),
            ("", "it gave no reason."),
        ],
    )
    def test_the_line_that_tells_most_is_blamed(self, said: str, expected: str) -> None:
        """An error is named if there is one; else the last thing said."""
        assert expected == processes.blame(said)


class TestEnvironment:
    """Virtual environments."""

    @pytest.fixture
    def wish(self, tmp_path: Path) -> environment.Wish:
        for name in environment.DECIDES_WHAT_IS_INSTALLED:
            (tmp_path / name).write_text(name)
        (tmp_path / "venv" / "bin").mkdir(parents=True)
        (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
        log = tmp_path / "log"
        wish = environment.Wish(
            tmp_path, tmp_path / "venv", sys.executable, "3.11", ("local", "test"), log
        )
        stamp = f"{wish.fingerprint} local test\n"
        (wish.folder / environment.STAMP).write_text(stamp)
        return wish

    def test_what_is_as_wished_is_left_alone(self, wish: environment.Wish) -> None:
        """Nothing has changed: nothing is installed."""
        assert environment.is_ready(wish)

    @pytest.mark.parametrize("name", environment.DECIDES_WHAT_IS_INSTALLED)
    def test_a_changed_wish_is_installed(self, wish: environment.Wish, name: str) -> None:
        """Each file that decides what is installed counts."""
        (wish.root / name).write_text("something else")
        assert not environment.is_ready(wish)

    def test_what_was_broken_off_is_begun_again(self, wish: environment.Wish) -> None:
        """Without its stamp, an environment is not trusted."""
        (wish.folder / environment.STAMP).unlink()
        assert not environment.is_ready(wish)

    @pytest.mark.parametrize(("extras", "expected"), [((), True), (("dev",), False)])
    def test_more_than_wished_is_enough(
        self, wish: environment.Wish, extras: tuple[str, ...], expected: bool
    ) -> None:
        """Switching to a model that needs less installs nothing; one that needs more does."""
        fewer = environment.Wish(
            wish.root, wish.folder, wish.interpreter, wish.version, extras, wish.log
        )
        assert expected is environment.is_ready(fewer)

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("OSError: [Errno 28] No space left on device", "disk is full"),
            (
                "Building wheel for lamp (pyproject.toml)\nerror: command 'gcc' failed: "
                "No such file or directory: 'gcc'",
                "lamp has no ready-made build for this machine and there is no C compiler",
            ),
            ("WARNING: ... Failed to establish a new connection: refused", "needs the internet"),
            ("ERROR: No matching distribution found for lamp", "No matching distribution found"),
        ],
    )
    def test_a_failed_install_is_explained(self, said: str, expected: str) -> None:
        """What pip says in pages is told in a sentence."""
        assert expected in environment.why_pip_failed(said)

    def test_an_environment_tells_what_is_in_it(self) -> None:
        """The suite's own has this Python and an Evennia that goes with it."""
        version, evennia = environment.describe(Path(sys.executable))
        assert ".".join(map(str, sys.version_info[:2])) == version
        assert {"3.11": "5"}.get(version, "6") == evennia[0]


class TestLogs:
    """What portal and server wrote."""

    def test_the_last_lines_are_shown(self, tmp_path: Path) -> None:
        """As many as fit a screen, of each file; one that is not there yet is said to be empty."""
        (tmp_path / "portal.log").write_text("".join(f"line {n}\n" for n in range(80)))
        said: list[str] = []
        logs.show([tmp_path / "portal.log", tmp_path / "server.log"], said.append, follow=False)
        assert ["== portal.log", "line 30"] == said[:2]
        assert ["line 79", "== server.log: nothing yet"] == said[-2:]

    def test_following_shows_what_comes(self, tmp_path: Path) -> None:
        """New lines are shown with the name of their log until the person has had enough."""
        path = tmp_path / "server.log"
        path.write_text("old\n")
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            if line == "old":
                path.write_text("old\nnew\n")
            if line == "server: new":
                path.write_text("turned\n")
            if line == "server: turned":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            logs.show([path], say, follow=True)
        assert "server: turned" == said[-1]


class TestSummary:
    """What a person is told of the game."""

    def test_a_game_open_to_others_says_so(self, checkout: Checkout) -> None:
        """Whoever opens it to the network is reminded of it."""
        assert "open to" not in summary.opened(checkout, {}, shows_password=False)
        told = summary.opened(checkout, {"BIND": "0.0.0.0"}, shows_password=False)
        assert "open to      everybody who can reach 0.0.0.0" in told

    def test_a_password_is_shown_once(self, checkout: Checkout) -> None:
        """Afterwards only its place is."""
        password = credentials.admin(checkout, {}).password
        told = {"admin": "admin"}
        assert f"admin / {password}" in summary.opened(checkout, told, shows_password=True)
        assert password not in summary.opened(checkout, told, shows_password=False)

    def test_a_password_that_was_given_is_not_shown(self, checkout: Checkout) -> None:
        """It was never ours."""
        told = summary.opened(checkout, {"admin": "keeper"}, shows_password=True)
        assert "keeper / the password it was made with" in told

    @pytest.mark.parametrize(
        ("seconds", "expected"), [(0, "00:00:00"), (59.9, "00:00:59"), (93789, "26:03:09")]
    )
    def test_an_age_is_hours_minutes_seconds(self, seconds: float, expected: str) -> None:
        """Days are counted in hours."""
        assert expected == summary.age(seconds)


class TestBrain:
    """Which model answers."""

    @pytest.mark.parametrize(
        ("system", "machine", "expected"),
        [("linux", "x86_64", True), ("linux", "riscv64", False), ("darwin", "x86_64", False)],
    )
    def test_some_machines_have_no_build(self, system: str, machine: str, expected: bool) -> None:
        """Where the runtime has no ready-made build, it is not asked for."""
        assert expected is brain.has_a_build(system, machine)

    def test_the_owners_settings_are_heeded(self, checkout: Checkout) -> None:
        """What secret_settings.py says decides before anything is installed."""
        checkout.secret_settings.parent.mkdir()
        checkout.secret_settings.write_text("EVENNIA_AI_MODEL = 'scripted'\n")
        assert "scripted" == brain.choose(checkout, {}).provider

    def test_without_a_word_it_is_the_demo_brain(self, checkout: Checkout) -> None:
        """A newcomer needs no key."""
        assert brain.choose(checkout, {}).is_local

    def test_weights_that_are_here_need_no_room(self, tmp_path: Path) -> None:
        """A model file of one's own is not fetched again."""
        (tmp_path / "own.gguf").write_bytes(b"GGUF")
        own = {"EVENNIA_AI_LOCAL_MODEL": str(tmp_path / "own.gguf")}
        assert brain.room_for_weights(own) is None
        assert tmp_path == brain.room_for_weights({"EVENNIA_AI_CACHE_DIR": f"{tmp_path}/a/b"})

    def test_nothing_to_stop_is_no_harm(self, checkout: Checkout) -> None:
        """Where no model was ever started, stopping it says so and does nothing."""
        assert not brain.stop(checkout)
        assert not os.path.exists(checkout.local_model)
