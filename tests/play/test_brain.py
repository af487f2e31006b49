"""The start of the embedded model in the background."""

import fcntl
import sys
from pathlib import Path

import pytest

from server.play import brain, processes
from server.play.layout import Checkout, PlayError
from tests.play.copies import ROOT
from tests.real_model import NEEDS_MODEL

pytestmark = pytest.mark.xdist_group("real_model")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout that has the package, and uses the suite's environment."""
    (tmp_path / "server" / "logs").mkdir(parents=True)
    (tmp_path / "evennia_ai").symlink_to(ROOT / "evennia_ai")
    return Checkout(tmp_path, Path(sys.prefix))


def not_asked_for(progress: str) -> None:
    """Ignore the progress."""


def test_a_model_that_cannot_start_is_told_before_the_game_is_begun(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says why and how to play without the model, and is raised at every later check."""
    (checkout.root / "own.gguf").write_text("not a model")
    monkeypatch.setenv("EVENNIA_AI_LOCAL_MODEL", str(checkout.root / "own.gguf"))
    beginning = brain.ModelStart(checkout)
    beginning.check()
    beginning.start()
    with pytest.raises(PlayError, match=r"not a GGUF file.*make play EVENNIA_AI_MODEL=scripted"):
        beginning.finish(not_asked_for, has_answered=False)
    with pytest.raises(PlayError, match="demo brain could not be started"):
        beginning.check()
    beginning.end()


def test_weights_that_are_here_are_not_fetched(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout.root / "own.gguf").write_text("GGUF")
    monkeypatch.setenv("EVENNIA_AI_LOCAL_MODEL", str(checkout.root / "own.gguf"))
    brain.ModelStart(checkout).fetch()
    assert not (checkout.logs / "brain-fetch.log").exists()


def test_fetching_is_given_up_with_all_else(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted `make play` does not go on fetching half a gigabyte."""
    cache = checkout.root / "cache"
    cache.mkdir()
    monkeypatch.setenv("EVENNIA_AI_LOCAL_MODEL", "")
    monkeypatch.setenv("EVENNIA_AI_CACHE_DIR", str(cache))
    # The lock makes it wait for another fetcher: nothing is fetched in this test.
    with (cache / "fetch.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        beginning = brain.ModelStart(checkout)
        beginning.fetch()
        log = checkout.logs / "brain-fetch.log"
        assert processes.wait_until(lambda: "aiting for another" in log.read_text(), 60)
        beginning.end()
    words = f"fetch --state-dir {checkout.local_model}"
    assert [] == processes.find(words)


class TestRealModel:
    pytestmark = [*NEEDS_MODEL]

    def test_it_answers_when_it_is_finished(self, checkout: Checkout) -> None:
        beginning = brain.ModelStart(checkout)
        beginning.fetch()
        beginning.start()
        seen: list[str] = []
        try:
            assert beginning.finish(seen.append, has_answered=False)
            assert brain.is_running(checkout)
        finally:
            beginning.end()
        assert not brain.is_running(checkout)
        assert seen

    def test_one_that_has_answered_before_is_not_waited_for(self, checkout: Checkout) -> None:
        """The game opens while a model that has answered before is still being loaded."""
        beginning = brain.ModelStart(checkout)
        beginning.start()
        try:
            assert not beginning.finish(not_asked_for, has_answered=True)
            assert [] == processes.find(f"start --state-dir {checkout.local_model}")
            assert processes.wait_until(lambda: brain.is_running(checkout), 120)
        finally:
            beginning.end()
