"""Refusals to open the game: one sentence each, and nothing left half done."""

import ast
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.play import pythons
from tests.play.copies import ROOT, Copy

pytestmark = pytest.mark.xdist_group("play")

READ_BY_OLD_PYTHONS = (
    "server/__init__.py",
    "server/play/__init__.py",
    "server/play/__main__.py",
    "server/play/pythons.py",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A checkout in which nothing was run yet."""
    with Copy.make(tmp_path_factory.mktemp("refusals") / "checkout") as checkout:
        yield checkout


def assert_untouched(copy: Copy) -> None:
    assert not copy.path("server/evennia.db3").exists()
    assert not copy.path("server/.credentials").exists()
    assert [] == copy.running()


@pytest.mark.parametrize("name", READ_BY_OLD_PYTHONS)
def test_an_old_python_can_read_the_way_in(name: str) -> None:
    """The files up to the refusal have no syntax newer than Python 3.8."""
    ast.parse((ROOT / name).read_text(), feature_version=(3, 8))


def test_an_unfit_python_is_refused_by_the_way_in(copy: Copy) -> None:
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 1, 'final', 0);"
        " runpy.run_module('server.play', run_name='__main__')"
    )
    answer = subprocess.run(
        [sys.executable, "-c", pretend],
        cwd=copy.root,
        env=copy.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 1 == answer.returncode
    assert f"needs Python 3.11, 3.12 or 3.13; found 3.9 at {sys.executable}." in answer.stderr
    assert "Traceback" not in answer.stderr
    assert_untouched(copy)


def find_old_python() -> str:
    """An interpreter of this machine that is too old, or ""."""
    for version in ("3.8", "3.9", "3.10"):
        for folder in pythons.folders(os.environ):
            if pythons.ask(folder / f"python{version}") == version:
                return str(folder / f"python{version}")
    return ""


@pytest.mark.skipif(
    not find_old_python(), reason="NO OLD PYTHON HERE: neither PATH nor pyenv has 3.8, 3.9 or 3.10"
)
def test_a_really_old_python_is_refused(copy: Copy) -> None:
    old = find_old_python()
    answer = subprocess.run(
        ["make", "-C", str(copy.root), "play", f"PYTHON={old}"],
        env=copy.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 != answer.returncode
    assert f"found {pythons.ask(Path(old))} at" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "SyntaxError" not in answer.stderr
    assert_untouched(copy)


def test_a_taken_port_is_named_with_its_holder_and_its_variable(copy: Copy) -> None:
    with socket.create_server(("127.0.0.1", copy.telnet_port)):
        answer = copy.make_target("play")
    assert 0 != answer.code
    assert f"Port {copy.telnet_port} (telnet) is used by" in answer.err
    assert "(process " in answer.err
    assert f"make play TELNET_PORT={copy.telnet_port + 10}" in answer.err
    assert_untouched(copy)


def test_an_environment_that_is_none_is_refused(copy: Copy) -> None:
    answer = copy.make_target("play", EVENNIA_AI_VENV="/nowhere/at/all")
    assert 0 != answer.code
    assert "EVENNIA_AI_VENV=/nowhere/at/all is not an environment" in answer.err
    assert_untouched(copy)


def test_half_a_model_is_refused(copy: Copy) -> None:
    """A model without an endpoint is refused before anything is made."""
    answer = copy.make_target("play", EVENNIA_AI_MODEL="gpt-x")
    assert 0 != answer.code
    assert "OPENAI_BASE_URL" in answer.err
    assert_untouched(copy)


def test_a_settings_file_that_cannot_be_read_is_named(copy: Copy) -> None:
    path = copy.path("server/conf/secret_settings.py")
    path.write_text("SERVERNAME = 'no end\n")
    answer = copy.make_target("play")
    path.unlink()
    assert 0 != answer.code
    assert f"{path} cannot be read: SyntaxError" in answer.err
    assert_untouched(copy)


def test_an_unknown_request_lists_the_known(copy: Copy) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "server.play", "dance"],
        cwd=copy.root,
        env=copy.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (2, "Say one of: play, stop, restart, status, logs, worker.\n") == (
        answer.returncode,
        answer.stderr,
    )


def test_the_owner_may_name_the_account(tmp_path: Path) -> None:
    """EVENNIA_SUPERUSER_* define the first account, and its password is not written down."""
    account = {
        "EVENNIA_SUPERUSER_USERNAME": "keeper",
        "EVENNIA_SUPERUSER_PASSWORD": "a-lamp-in-the-rain",
        "EVENNIA_SUPERUSER_EMAIL": "keeper@example.com",
    }
    with Copy.make(tmp_path / "checkout", **account) as checkout:
        checkout.path("server/logs").mkdir()
        command = [sys.executable, "-m", "server.play.database", str(checkout.root)]
        subprocess.run(
            command, cwd=checkout.root, env=checkout.env, check=True, capture_output=True
        )
        with sqlite3.connect(checkout.path("server/evennia.db3")) as database:
            row = database.execute("SELECT username, email FROM accounts_accountdb WHERE id = 1")
            assert ("keeper", "keeper@example.com") == row.fetchone()
        assert not checkout.path("server/.credentials").exists()
