"""The launcher's view of the machine: interpreters, environments, other programs, their logs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.play import environment, game, logs, processes, pythons
from server.play.layout import Checkout


class TestPythons:
    @pytest.mark.parametrize(
        ("version", "expected"),
        [((3, 10), False), ((3, 11), True), ((3, 12), True), ((3, 13), True), ((3, 14), False)],
    )
    def test_only_the_tested_versions_are_supported(
        self, version: tuple[int, int], expected: bool
    ) -> None:
        assert expected is pythons.is_supported((*version, 0, "final", 0))

    def test_every_supported_version_has_its_evennia(self) -> None:
        root = Path(__file__).resolve().parents[2]
        pinned = [environment.pinned_evennia(root, name) for name in pythons.supported_names()]
        assert ["5.0.1", "6.1.0", "6.1.0"] == pinned

    def test_what_answers_wrongly_is_not_found(self, tmp_path: Path) -> None:
        """A shim that only fails and a program of another version are passed over."""
        fakes = {"python3.11": "exit 127", "python3.12": "echo 3.9", "python3.13": "echo 3.13"}
        for name, line in fakes.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
            (tmp_path / name).chmod(0o755)
        environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
        assert {"3.13": str(tmp_path / "python3.13")} == pythons.find_all(environ)

    def test_versions_under_pyenv_are_found(self, tmp_path: Path) -> None:
        folder = tmp_path / "versions" / "3.12.9" / "bin"
        folder.mkdir(parents=True)
        (folder / "python3.12").symlink_to(sys.executable)
        versions = pythons.find_all({"PATH": "", "PYENV_ROOT": str(tmp_path)})
        own = ".".join(map(str, sys.version_info[:2]))
        assert ({"3.12": str(folder / "python3.12")} if own == "3.12" else {}) == versions

    def test_the_fastest_of_one_version_is_found_wherever_it_is(self, tmp_path: Path) -> None:
        """One that does not say how fast it is comes last."""
        speeds = {"first": "echo 0.2", "second": "echo 0.1", "third": "exit 1"}
        for folder, line in speeds.items():
            (tmp_path / folder).mkdir()
            script = f'#!/bin/sh\ncase "$2" in *process_time*) {line};; *) echo 3.13;; esac\n'
            (tmp_path / folder / "python3.13").write_text(script)
            (tmp_path / folder / "python3.13").chmod(0o755)
        path = os.pathsep.join(str(tmp_path / folder) for folder in ("third", "first", "second"))
        environ = {"PATH": path, "HOME": str(tmp_path)}
        assert {"3.13": str(tmp_path / "second" / "python3.13")} == pythons.find_fastest(environ)
        assert {"3.13": str(tmp_path / "third" / "python3.13")} == pythons.find_all(environ)

    def test_a_real_one_says_how_fast_it_is(self) -> None:
        assert 0 < pythons.seconds(Path(sys.executable)) < float("inf")


class TestEnvironment:
    """Virtual environments."""

    @pytest.fixture
    def spec(self, tmp_path: Path) -> environment.EnvironmentSpec:
        """An environment that has all that is wanted."""
        for name in environment.DECIDES_WHAT_IS_INSTALLED:
            (tmp_path / name).write_text(name)
        (tmp_path / "venv" / "bin").mkdir(parents=True)
        (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
        log = tmp_path / "log"
        spec = environment.EnvironmentSpec(
            tmp_path, tmp_path / "venv", sys.executable, "3.11", ("local", "test"), log
        )
        stamp = f"{spec.fingerprint} local test\n"
        (spec.folder / environment.STAMP).write_text(stamp)
        return spec

    def test_what_is_as_wished_is_left_alone(self, spec: environment.EnvironmentSpec) -> None:
        assert environment.is_ready(spec)

    @pytest.mark.parametrize("name", environment.DECIDES_WHAT_IS_INSTALLED)
    def test_a_changed_wish_is_installed(
        self, spec: environment.EnvironmentSpec, name: str
    ) -> None:
        (spec.root / name).write_text("something else")
        assert not environment.is_ready(spec)

    def test_what_was_broken_off_is_begun_again(self, spec: environment.EnvironmentSpec) -> None:
        """Without its stamp, an environment is not trusted."""
        (spec.folder / environment.STAMP).unlink()
        assert not environment.is_ready(spec)

    @pytest.mark.parametrize(("extras", "expected"), [((), True), (("dev",), False)])
    def test_more_than_wished_is_enough(
        self, spec: environment.EnvironmentSpec, extras: tuple[str, ...], expected: bool
    ) -> None:
        """A model that needs fewer extras installs nothing; one that needs more does."""
        fewer = environment.EnvironmentSpec(
            spec.root, spec.folder, spec.interpreter, spec.version, extras, spec.log
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
        assert expected in environment.why_pip_failed(said)

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("global.timeout='60'\n", {}),
            ("global.cert='/etc/our.crt'\n", {"SSL_CERT_FILE": "/etc/our.crt"}),
            ("global.cert='/a'\ninstall.cert='/b'\n", {"SSL_CERT_FILE": "/b"}),
            (":env:.cert='/c'\ninstall.cert='/b'\n", {"SSL_CERT_FILE": "/c"}),
        ],
    )
    def test_uv_trusts_whom_pip_trusts(self, said: str, expected: dict[str, str]) -> None:
        """Behind a proxy with a certificate of its own, uv would reach nothing without this."""
        assert expected == environment.trusting(said)

    def test_an_environment_tells_what_is_in_it(self) -> None:
        version, evennia = environment.describe(Path(sys.executable))
        assert ".".join(map(str, sys.version_info[:2])) == version
        assert {"3.11": "5"}.get(version, "6") == evennia[0]


class TestProcesses:
    def test_a_program_gets_no_input(self, tmp_path: Path) -> None:
        lines: list[str] = []
        code, output = processes.run(
            [sys.executable, "-c", "print('in:', repr(input.__self__.open(0).read())); print(2)"],
            cwd=tmp_path,
            log=tmp_path / "log",
            on_line=lines.append,
        )
        assert (0, "in: ''\n2\n", ["in: ''", "2"]) == (code, output, lines)
        assert output in (tmp_path / "log").read_text()

    def test_an_interrupted_wait_ends_the_program(self, tmp_path: Path) -> None:
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
        """The line of an error is chosen if there is one, else the last line."""
        assert expected == processes.failure_line(said)

    def test_another_checkout_is_left_alone(self, tmp_path: Path) -> None:
        """One of `library` must not end what prepares the database of `library-2`."""
        checkouts = [tmp_path / name for name in ("library", "library-2")]
        sleep = [sys.executable, "-c", "import time; time.sleep(60)", "-m", "server.play.database"]
        ours, theirs = (subprocess.Popen([*sleep, str(root)]) for root in checkouts)
        try:
            game.stop(Checkout(checkouts[0]))
            assert (True, None) == (ours.wait() < 0, theirs.poll())
        finally:
            for program in (ours, theirs):
                program.kill()
                program.wait()


class TestLogs:
    """The logs of portal and server."""

    def test_the_last_lines_are_shown(self, tmp_path: Path) -> None:
        """Each file shows as many lines as fit a screen; an absent file counts as empty."""
        (tmp_path / "portal.log").write_text("".join(f"line {n}\n" for n in range(80)))
        lines: list[str] = []
        logs.show([tmp_path / "portal.log", tmp_path / "server.log"], lines.append, follow=False)
        assert ["== portal.log", "line 30"] == lines[:2]
        assert ["line 79", "== server.log: nothing yet"] == lines[-2:]

    def test_following_shows_what_comes(self, tmp_path: Path) -> None:
        """New lines carry the name of their log, also after the log was rotated."""
        path = tmp_path / "server.log"
        path.write_text("old\n")
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            if line == "old":
                path.write_text("old\nnew\n")
            if line == "server: new":
                path.write_text("turned\n")
            if line == "server: turned":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            logs.show([path], say, follow=True)
        assert "server: turned" == lines[-1]
