"""Moving vectors from the former folder into the table."""

import fcntl
import os
import pickle
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.memory_store import moving, rows
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.vectors import encoded_vector
from evennia_ai.models import Memory, MemoryVector
from tests.memory.old_vectors import file_of, name_of, write
from tests.memory.store_support import CASTLE, LAMP, ROOM, SMITH, TOM, found_keys, item, key, opened

MODEL = HashingEmbedder.signature


def store_memories(assistant: int, *items: object, kind: str = MemoryKind.FACT) -> None:
    """Store memories in the table, marked as indexed by the old store."""
    rows.insert(
        assistant,
        [Recollection(one.key, kind, one.text, one.audience, trust=one.trust) for one in items],
    )
    Memory.objects.filter(key__in=[one.key for one in items]).update(indexed_as=MODEL)


def run_move(folder: Path, **options: object) -> str:
    """Run the command, and return its output."""
    output = StringIO()
    call_command("ai_move_memories", folder=folder, stdout=output, **options)
    return output.getvalue()


def vectors() -> dict[str, tuple[str, bytes]]:
    """Return the table's vectors and their models, by the memory's key."""
    result = MemoryVector.objects.select_related("memory")
    return {one.memory.key: (one.model, bytes(one.vector)) for one in result}


def vector_of(text: str) -> tuple[str, bytes]:
    """Return the expected model and stored vector of a text."""
    return MODEL, encoded_vector(HashingEmbedder().embed_passages([text])[0])


def digests(folder: Path) -> Mapping[str, str]:
    """Return a digest of every file in a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_each_vector_goes_to_its_memory(table: None, tmp_path: Path) -> None:
    """Each is copied once, also on a second run, and the folder is unchanged."""
    ours, theirs = [item(1), item(2, LAMP, TOM, 0.4)], [item(3, CASTLE, ROOM)]
    store_memories(1, *ours)
    store_memories(2, *theirs)
    write(tmp_path, {name_of(1): ours, name_of(2): theirs})
    before = digests(tmp_path)
    assert "3 vectors would be copied" in run_move(tmp_path, dry_run=True)
    assert {} == vectors()
    output = run_move(tmp_path)
    assert f"{name_of(2)} (2 of 2): 1 vectors read" in output
    assert "3 vectors copied." in output
    wanted = {key(1): vector_of(SMITH), key(2): vector_of(LAMP), key(3): vector_of(CASTLE)}
    assert wanted == vectors()
    again = run_move(tmp_path)
    assert "0 vectors copied." in again
    assert "3 were in the database already" in again
    assert (wanted, before) == (vectors(), digests(tmp_path))
    store = opened("inline", tmp_path / "mem0")
    assert {key(1), key(2)} == store.keys(1)
    assert [key(2)] == found_keys(store, LAMP, TOM)
    assert [] == found_keys(store, LAMP, TOM, min_trust=0.5)
    store.close()


def test_what_changed_since_is_made_anew(table: None, tmp_path: Path) -> None:
    """A vector is copied only to the memory that it was made of; others are counted by reason."""
    old = [item(number, f"{SMITH} {number}") for number in range(1, 7)]
    asking = item(7, 'Tom said: "where is the smith?"')
    store_memories(1, *old)
    store_memories(1, asking, kind=MemoryKind.JOURNAL)
    write(tmp_path, {name_of(1): [*old, asking, item(8)], name_of(9): [item(9)]})
    store_memories(1, item(10, LAMP))
    rows.change(1, key(1), text=LAMP)
    rows.remove(1, [key(2)])
    Memory.objects.filter(key=key(3)).update(indexed_as="another-model/8")
    Memory.objects.filter(key=key(4)).update(audience=TOM)
    new = b"as the game has made it since"
    MemoryVector.objects.create(memory=Memory.objects.get(key=key(5)), model=MODEL, vector=new)
    trial, output = run_move(tmp_path, dry_run=True), run_move(tmp_path)
    assert trial.replace("would be copied", "copied") == output
    for line in (
        "1 vectors copied.",
        "1 were in the database already",
        "1 are of entries that only ask",
        "3 are out of date",
        "3 belong to nobody",
        "1 memories wait to be read",
        "3 memories have no vector here",
    ):
        assert line in output, (line, output)
    assert {key(5): (MODEL, new), key(6): vector_of(f"{SMITH} 6")} == vectors()
    assert rows.NO_VECTOR == Memory.objects.get(key=key(7)).indexed_as
    assert moving.Left(waiting=1, missing=3) == moving.left()


def test_a_damaged_collection_stops_no_other(table: None, tmp_path: Path) -> None:
    """It is named, and whatever could be read of it is kept."""
    store_memories(1, item(1))
    store_memories(2, item(2, LAMP))
    store_memories(3, item(3, CASTLE))
    write(tmp_path, {name_of(1): [item(1)], name_of(2): [item(2, LAMP)], name_of(3): [item(3)]})
    file_of(tmp_path, name_of(1)).write_bytes(b"SQLite format 3\0 and then a disk that failed")
    file_of(tmp_path, name_of(3)).unlink()
    output = run_move(tmp_path)
    assert {key(2)} == set(vectors())
    assert f"damaged: {file_of(tmp_path, name_of(1))}: " in output
    assert f"damaged: {file_of(tmp_path, name_of(3))}: " in output
    assert "2 memories have no vector here" in output


class Stranger:
    """An object whose pickle makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_no_code_is_run_by_what_is_read(table: None, tmp_path: Path) -> None:
    """The old folder holds pickles, which must not be able to run code."""
    old, trap = tmp_path / "old", tmp_path / "trapped"
    good = [item(number) for number in range(1, 5)]
    store_memories(1, *good)
    write(old, {name_of(1): good})
    with closing(sqlite3.connect(file_of(old, name_of(1)))) as file, file:
        ids = [row for (row,) in file.execute("SELECT id FROM points ORDER BY rowid")]
        for place, bad in enumerate((Stranger(trap), {"payload": {}}, b"")):
            written = pickle.dumps(bad) if bad else b"\x80\x04 cut off"
            file.execute("UPDATE points SET point = ? WHERE id = ?", (written, ids[place]))
    output = run_move(old)
    assert not trap.exists()
    assert "3 cannot be read" in output
    assert {key(4): vector_of(SMITH)} == vectors()
    pickle.loads(pickle.dumps(Stranger(trap)))
    assert trap.exists(), "the trap itself does not work"


def test_vectors_that_are_none(table: None, tmp_path: Path) -> None:
    """Vectors of our models have length 1; a NaN shows that one is damaged."""
    store_memories(1, item(1), item(2))
    write(tmp_path, {name_of(1): [item(1), item(2)]})
    path = file_of(tmp_path, name_of(1))
    with closing(sqlite3.connect(path)) as file, file:
        (first, data) = file.execute("SELECT id, point FROM points ORDER BY rowid").fetchone()
        point = pickle.loads(data)
        point.vector[""][0] = float("nan")
        file.execute("UPDATE points SET point = ? WHERE id = ?", (pickle.dumps(point), first))
    assert "1 cannot be read" in run_move(tmp_path)
    assert {key(2)} == set(vectors())


def test_what_a_killed_game_left_is_read(table: None, tmp_path: Path) -> None:
    """The newest points may be in SQLite's write-ahead log.

    Of two for one memory the newer counts.
    """
    store_memories(1, item(1, LAMP))
    write(tmp_path, {name_of(1): [item(1)]})
    path = file_of(tmp_path, name_of(1))
    killed = sqlite3.connect(path)
    killed.execute("PRAGMA journal_mode=WAL")
    other = tmp_path / "other"
    write(other, {name_of(1): [item(1, LAMP)]})
    with closing(sqlite3.connect(file_of(other, name_of(1)))) as file:
        (newer,) = file.execute("SELECT point FROM points").fetchone()
    with killed:
        killed.execute("INSERT INTO points VALUES ('another spelling', ?)", (newer,))
    assert path.with_name("storage.sqlite-wal").stat().st_size
    before = digests(tmp_path)
    run_move(tmp_path)
    assert {key(1): vector_of(LAMP)} == vectors()
    assert before == digests(tmp_path)
    killed.close()


def test_what_cannot_be_moved_is_said(table: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="holds no vectors of before"):
        run_move(tmp_path)
    store_memories(1, item(1))
    write(tmp_path, {name_of(1): [item(1)]})
    with (tmp_path / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="open in another process"):
            run_move(tmp_path)
    assert {} == vectors()
    (tmp_path / ".lock").unlink()
    assert "1 vectors copied." in run_move(tmp_path)


def test_vectors_on_a_server_are_not_moved(
    table: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the command that makes vectors anew."""
    monkeypatch.delenv("EVENNIA_AI_MEMORY_STORE")
    server = {"EVENNIA_AI_MEMORY_STORE": "qdrant", "EVENNIA_AI_MEMORY_URL": "http://127.0.0.1:6333"}
    with override_settings(**server), pytest.raises(CommandError, match=r"in 'qdrant'.*reindex"):
        run_move(tmp_path)
