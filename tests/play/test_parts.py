"""The launcher's smaller parts: accounts, checks, reports and summaries."""

import io
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from server.play import (
    brain,
    credentials,
    preflight,
    summary,
)
from server.play.layout import Checkout, PlayError
from server.play.report import Report

MEGABYTE = preflight.MEGABYTE


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "server" / "logs").mkdir(parents=True)
    return Checkout(tmp_path)


class TestCredentials:
    """The owner's account."""

    def test_a_generated_account_is_kept_and_never_made_anew(self, checkout: Checkout) -> None:
        first = credentials.admin(checkout, {})
        assert first == credentials.admin(checkout, {})
        assert re.fullmatch(r"([a-z]+-){3}\d\d", first.password)
        assert f"admin / {first.password}\n" == checkout.credentials.read_text()
        assert 0o600 == stat.S_IMODE(checkout.credentials.stat().st_mode)

    def test_a_given_password_is_not_written_down(self, checkout: Checkout) -> None:
        environ = {"EVENNIA_SUPERUSER_PASSWORD": "sesame", "EVENNIA_SUPERUSER_EMAIL": "a@b.example"}
        assert credentials.Admin("admin", "sesame", "a@b.example") == credentials.admin(
            checkout, environ
        )
        assert not checkout.credentials.exists()

    def test_a_given_name_gets_a_generated_password(self, checkout: Checkout) -> None:
        account = credentials.admin(checkout, {"EVENNIA_SUPERUSER_USERNAME": "keeper"})
        assert ("keeper", True) == (account.username, account.is_ours)
        assert account == credentials.admin(checkout, {"EVENNIA_SUPERUSER_USERNAME": "keeper"})

    def test_passwords_differ(self) -> None:
        assert 20 == len({credentials.make_password() for _ in range(20)})

    def test_the_words_are_worth_drawing_from(self) -> None:
        """Three of at least 200 different words and a number make some 30 bits."""
        words = credentials.WORDS.read_text().split()
        assert len(words) == len(set(words)) >= 200
        assert all(re.fullmatch("[a-z]{3,9}", word) for word in words)

    def test_the_cookie_key_stays(self, checkout: Checkout) -> None:
        """A new key would log everybody out at the second start."""
        credentials.ensure_secret_key(checkout.secret_key)
        key = checkout.secret_key.read_text()
        credentials.ensure_secret_key(checkout.secret_key)
        assert key == checkout.secret_key.read_text()
        assert len(key) > 50
        assert 0o600 == stat.S_IMODE(checkout.secret_key.stat().st_mode)


class Disk(NamedTuple):
    """The part of `shutil.disk_usage` that is read."""

    free: int


class TestPreflight:
    """The checks before anything is changed."""

    def test_a_full_disk_is_told_with_both_numbers(self, tmp_path: Path) -> None:
        with pytest.raises(PlayError) as refused:
            preflight.check_disk(
                tmp_path, 450 * MEGABYTE, "the game", lambda _: Disk(90 * MEGABYTE)
            )
        assert (
            f"Not enough disk space for the game in {tmp_path}: 90 MB free, 450 MB needed."
            == str(refused.value)
        )

    def test_just_enough_room_is_enough(self, tmp_path: Path) -> None:
        preflight.check_disk(tmp_path, MEGABYTE, "the game", lambda _: Disk(MEGABYTE))

    def test_the_real_disk_is_measured(self, tmp_path: Path) -> None:
        """No disk has an exabyte free."""
        with pytest.raises(PlayError, match="MB free"):
            preflight.check_disk(tmp_path, 10**18, "the game")

    def test_a_file_in_the_way_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "server").mkdir()
        (tmp_path / "server" / "logs").write_text("")
        with pytest.raises(PlayError, match=r"Cannot make .*/server/logs: File exists"):
            preflight.check_writable(Checkout(tmp_path))

    def test_windows_is_told_what_to_do(self) -> None:
        preflight.check_platform("linux")
        with pytest.raises(PlayError, match="WSL"):
            preflight.check_platform("win32")


class TestReport:
    """The progress that is shown while the launcher works."""

    def _show(self, *, is_terminal: bool, seconds: float) -> str:
        moments = iter([0.0, *[seconds] * 9])
        stream = io.StringIO()
        report = Report(stream, is_terminal=is_terminal, clock=lambda: next(moments))
        with report.step("installing") as step:
            step.show("12 collected")
            step.label = "installing 61 packages"
        return stream.getvalue()

    def test_a_step_ends_with_its_time(self) -> None:
        shown = self._show(is_terminal=False, seconds=5)
        assert "  installing 61 packages " + "." * 28 + " 00:05\n" == shown

    def test_a_long_step_speaks_up(self) -> None:
        """Without a terminal, a long step prints its progress."""
        shown = self._show(is_terminal=False, seconds=75)
        assert "    installing: 12 collected (01:15)\n" == shown.splitlines(keepends=True)[0]

    def test_a_terminal_line_is_redrawn(self) -> None:
        """On a terminal the line changes in place, and its last state stays."""
        shown = self._show(is_terminal=True, seconds=1)
        assert "\r\x1b[K" in shown
        assert shown.endswith("\r\x1b[K  installing 61 packages " + "." * 28 + " 00:01\n")

    def test_a_failed_step_says_so(self) -> None:
        stream = io.StringIO()
        with pytest.raises(PlayError), Report(stream, is_terminal=False).step("starting"):
            raise PlayError("no")
        assert stream.getvalue().endswith(" failed\n")


class TestSummary:
    """The summary of an open game."""

    def test_a_game_open_to_others_says_so(self, checkout: Checkout) -> None:
        assert "open to" not in summary.opened(checkout, {}, shows_password=False)
        text = summary.opened(checkout, {"BIND": "0.0.0.0"}, shows_password=False)
        assert "open to      everybody who can reach 0.0.0.0" in text

    def test_a_password_is_shown_once(self, checkout: Checkout) -> None:
        password = credentials.admin(checkout, {}).password
        record = {"admin": "admin"}
        assert f"admin / {password}" in summary.opened(checkout, record, shows_password=True)
        assert password not in summary.opened(checkout, record, shows_password=False)

    def test_a_password_that_was_given_is_not_shown(self, checkout: Checkout) -> None:
        text = summary.opened(checkout, {"admin": "keeper"}, shows_password=True)
        assert "keeper / the password it was made with" in text

    @pytest.mark.parametrize(
        ("seconds", "expected"), [(0, "00:00:00"), (59.9, "00:00:59"), (93789, "26:03:09")]
    )
    def test_an_age_is_hours_minutes_seconds(self, seconds: float, expected: str) -> None:
        assert expected == summary.age(seconds)


class TestBrain:
    """The choice of the model that answers."""

    @pytest.mark.parametrize(
        ("system", "machine", "expected"),
        [("linux", "x86_64", True), ("linux", "riscv64", False), ("darwin", "x86_64", False)],
    )
    def test_some_machines_have_no_build(self, system: str, machine: str, expected: bool) -> None:
        assert expected is brain.has_a_build(system, machine)

    def test_the_owners_settings_are_heeded(self, checkout: Checkout) -> None:
        """secret_settings.py decides before anything is installed."""
        checkout.secret_settings.parent.mkdir()
        checkout.secret_settings.write_text("EVENNIA_AI_MODEL = 'scripted'\n")
        assert "scripted" == brain.choose(checkout, {}).provider

    def test_without_a_word_it_is_the_demo_brain(self, checkout: Checkout) -> None:
        """A newcomer needs no key."""
        assert brain.choose(checkout, {}).is_local

    def test_weights_that_are_here_need_no_room(self, tmp_path: Path) -> None:
        (tmp_path / "own.gguf").write_bytes(b"GGUF")
        own = {"EVENNIA_AI_LOCAL_MODEL": str(tmp_path / "own.gguf")}
        assert brain.room_for_weights(own) is None
        assert tmp_path == brain.room_for_weights({"EVENNIA_AI_CACHE_DIR": f"{tmp_path}/a/b"})

    def test_nothing_to_stop_is_no_harm(self, checkout: Checkout) -> None:
        assert not brain.stop(checkout)
        assert not os.path.exists(checkout.local_model)
