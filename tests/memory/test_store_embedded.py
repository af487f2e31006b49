"""The embedded store's files: what is in them, who may open them, and what a crash leaves."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory.hashing import HashingEmbedder
from evennia_ai.memory.mem0_parts import RefusingModel
from tests.memory.store_support import (
    CASTLE,
    LAMP,
    SMITH,
    TOM,
    WORLD,
    embedded,
    found_keys,
    item,
    key,
    opened,
    python,
)

KILLS = 16


class OtherEmbedder(HashingEmbedder):
    """Another embedding model."""

    signature = "hashing-other/384"


class ShorterEmbedder(HashingEmbedder):
    """One that gives other vectors under the same name."""

    dimensions = 100

    def embed_query(self, text: str) -> object:
        """A part of the vector."""
        return super().embed_query(text)[:100]

    def embed_passages(self, texts: object) -> object:
        """Parts of the vectors."""
        return super().embed_passages(texts)[:, :100]  # type: ignore[arg-type]


def every_byte(folder: Path) -> bytes:
    """What all files of a folder hold."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_reload_keeps_everything(tmp_path: Path) -> None:
    """What was added is found by the next process that opens the folder, what was removed not."""
    store = embedded(tmp_path)
    store.add(1, [item(1), item(2, LAMP, TOM, 0.4), item(3, CASTLE)])
    store.add(2, [item(4)])
    store.remove(1, [key(3)])
    before = store.search(1, LAMP, [WORLD, TOM], limit=5)
    store.close()
    again = embedded(tmp_path)
    assert {key(1), key(2)} == again.keys(1)
    assert {key(4)} == again.keys(2)
    assert before == again.search(1, LAMP, [WORLD, TOM], limit=5)
    assert [] == found_keys(again, LAMP, TOM, min_trust=0.5)
    again.close()


def test_no_word_of_a_player_is_in_its_files(tmp_path: Path) -> None:
    """The files hold keys and vectors; words are in the game's table, to be forgotten there."""
    folder = tmp_path / "ai_memory"
    store = embedded(folder)
    store.add(1, [item(1, "the zanzibarquartz is buried"), item(2, LAMP)])
    store.search(1, "where is the zanzibarquartz?", [WORLD], limit=3)
    held = every_byte(folder)
    store.close()
    assert b"zanzibarquartz" not in held + every_byte(folder)


def test_what_is_forgotten_leaves_no_trace(tmp_path: Path) -> None:
    """Its record is overwritten in the file and in the log, and there is no history of it."""
    folder = tmp_path / "ai_memory"
    store = embedded(folder)
    store.add(1, [item(number, f"{SMITH} {number}") for number in range(1, 9)])
    assert key(3).encode() in every_byte(folder)
    store.remove(1, [key(3)])
    assert key(3).encode() not in every_byte(folder)
    store.drop(1)
    assert key(4).encode() not in every_byte(folder)
    store.close()
    assert not list(folder.rglob("history.db"))


def test_only_its_owner_may_read_the_folder(tmp_path: Path) -> None:
    """Qdrant's files run what is written into them: nobody else may write there."""
    folder = tmp_path / "ai_memory"
    folder.mkdir(mode=0o777)
    embedded(folder).close()
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)


def test_a_second_process_is_told_who_has_it(tmp_path: Path) -> None:
    """Only one may open the folder; the other is told so in a sentence, and may when it is free."""
    first = embedded(tmp_path)
    first.add(1, [item(1)])
    with pytest.raises(MemoryStoreError, match=f"{tmp_path} is open in another process"):
        embedded(tmp_path)
    first.close()
    second = embedded(tmp_path)
    assert {key(1)} == second.keys(1)
    second.close()


@pytest.mark.parametrize(
    "damage",
    ["meta.json", "collection/*/storage.sqlite"],
)
def test_a_damaged_folder_says_what_to_do(tmp_path: Path, damage: str) -> None:
    """What cannot be read is not guessed at: it can be deleted, and made anew from the table."""
    store = embedded(tmp_path)
    store.add(1, [item(1)])
    store.close()
    for path in tmp_path.glob(damage):
        path.write_bytes(b"{ damaged " * 50)
    with pytest.raises(MemoryStoreError, match=r"is damaged .* delete it, and index"):
        embedded(tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The error says which folder, and why."""
    place = tmp_path / "file"
    place.write_text("not a folder")
    with pytest.raises(MemoryStoreError, match="file cannot be written: "):
        embedded(place)


def test_another_embedding_model_has_a_collection_of_its_own(tmp_path: Path) -> None:
    """Vectors of two models are never compared: the other finds nothing until it is told."""
    first = embedded(tmp_path)
    first.add(1, [item(1)])
    first.close()
    other = opened("embedded", tmp_path, embedder=OtherEmbedder())
    assert "hashing-other/384" == other.signature
    assert set() == other.keys(1)
    assert [] == found_keys(other, SMITH)
    other.add(1, [item(2)])
    other.close()
    again = embedded(tmp_path)
    assert {key(1)} == again.keys(1)
    again.drop(1)
    again.close()
    other = opened("embedded", tmp_path, embedder=OtherEmbedder())
    assert set() == other.keys(1), "a collection goes with what other models left of it"
    other.close()


def test_a_model_that_changes_its_length_is_refused(tmp_path: Path) -> None:
    """The same name with vectors of another length is an error that says what to do."""
    first = embedded(tmp_path)
    first.add(1, [item(1)])
    first.close()
    other = opened("embedded", tmp_path, embedder=ShorterEmbedder())
    with pytest.raises(MemoryStoreError, match="gives 100 numbers where these memories have 384"):
        other.search(1, SMITH, [WORLD], limit=3)
    other.close()


def test_grows_and_shrinks(tmp_path: Path) -> None:
    """A collection far larger than its first matrix finds each of its memories."""
    store = embedded(tmp_path)
    store.add(1, [item(number, f"chest {number} {number * 7}") for number in range(300)])
    store.remove(1, [key(number) for number in range(0, 300, 2)])
    for number in (1, 151, 299):
        assert key(number) == found_keys(store, f"chest {number} {number * 7}")[0]
    assert 150 == len(store.keys(1))
    store.close()


def test_the_language_model_refuses() -> None:
    """mem0 has no model to ask, whatever it would ask."""
    with pytest.raises(MemoryStoreError, match="never may"):
        RefusingModel().generate_response([{"role": "user", "content": "hello"}])


def test_killed_in_the_middle_of_adding(tmp_path: Path) -> None:
    """A store whose process is killed, at whatever moment, opens; what it told of is there."""
    ended = subprocess.run(
        python("-m", "tests.memory.store_killer", str(tmp_path / "store"), str(KILLS)),
        env={"MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path / "mem0"), "PATH": "/usr/bin"},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 0 == ended.returncode, ended.stderr[-2000:]
    looks = [json.loads(line) for line in ended.stdout.splitlines()]
    assert KILLS == len(looks)
    assert [] == [look for look in looks if look["problem"]]
    assert any(0 < look["told"] < 30 for look in looks), "none was killed in the middle"
