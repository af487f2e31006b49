"""A reader of the folder of local Qdrant files in which earlier versions stored vectors.

Nothing is written to the folder, not even what SQLite does when it opens a file. Qdrant stores
points as pickles, which can run code when loaded; the unpickler here only creates plain values.
"""

from __future__ import annotations

import fcntl
import io
import pickle
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.checks import is_key
from evennia_ai.memory_store.vectors import Vector

_LOCK, _COLLECTIONS = ".lock", "collection"
_FILE = "storage.sqlite"
# A game that was killed leaves its last transactions in the write-ahead log.
_FILES = (_FILE, f"{_FILE}-wal")
_NAME = re.compile(r"a([1-9][0-9]{0,18})e([0-9a-f]{12})")
_POINT = ("qdrant_client.http.models.models", "PointStruct")
# Tolerance for the length of a unit vector after rounding to float32.
_ROUNDING = 0.001


@dataclass(frozen=True, slots=True)
class OldCollection:
    """The vectors of one assistant by one embedding model.

    Attributes:
        assistant: primary key of its script.
        mark: the embedding model, as a hash by `mark_of`.
    """

    folder: Path
    assistant: int
    mark: str

    @property
    def name(self) -> str:
        """The name of its folder, for messages."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class OldVector:
    """A memory's vector, with the audience and trust that the memory had at the time."""

    key: str
    audience: str
    trust: float
    vector: Vector


def mark_of(signature: str) -> str:
    """The suffix of a collection's name: a hash of the embedding model's signature."""
    return sha256(signature.encode()).hexdigest()[:12]


@contextmanager
def locked_collections(folder: Path) -> Iterator[list[OldCollection]]:
    """Lock a folder against games of earlier versions, and list its collections.

    Raises:
        MemoryStoreError: there is no such folder, or a game has it open.
    """
    if not (folder / _COLLECTIONS).is_dir():
        raise MemoryStoreError(
            f"{folder} holds no vectors of before: it must be a folder with a folder "
            f"{_COLLECTIONS!r} in it, as server/ai_memory was"
        )
    try:
        if not (folder / _LOCK).exists():
            yield _collections(folder)
            return
        with (folder / _LOCK).open("rb") as lock:
            # The lock file of Qdrant's local client, which locks it exclusively.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            yield _collections(folder)
    except BlockingIOError as error:
        raise MemoryStoreError(
            f"{folder} is open in another process, such as a server that was started before the "
            "update: stop it first"
        ) from error
    except PermissionError as error:
        raise MemoryStoreError(
            f"{error.filename} may not be read by this user: use the one that runs the game"
        ) from error


def _collections(folder: Path) -> list[OldCollection]:
    collections = []
    for path in sorted((folder / _COLLECTIONS).iterdir()):
        match = _NAME.fullmatch(path.name)
        if match is not None:
            collections.append(OldCollection(path, int(match[1]), match[2]))
    return collections


def read(collection: OldCollection) -> Iterator[OldVector | None]:
    """The newest point of each memory in a collection; None for a point that cannot be read.

    They are read from a copy, because opening the original lets SQLite recover its log and write.

    Raises:
        MemoryStoreError: the file is damaged or missing.
    """
    with TemporaryDirectory(prefix="ai_memories_") as copy:
        try:
            for name in _FILES:
                if name == _FILE or (collection.folder / name).exists():
                    shutil.copyfile(collection.folder / name, Path(copy) / name)
            with closing(sqlite3.connect(Path(copy) / _FILE)) as file:
                yield from _points(file)
        except (OSError, sqlite3.Error) as error:
            raise MemoryStoreError(f"{collection.folder / _FILE}: {error}") from error


def _points(file: sqlite3.Connection) -> Iterator[OldVector | None]:
    seen: set[str] = set()
    for (blob,) in file.execute("SELECT point FROM points ORDER BY rowid DESC"):
        point = _read_point(blob)
        if point is None:
            yield None
        elif point.key not in seen:
            seen.add(point.key)
            yield point


def _read_point(blob: bytes) -> OldVector | None:
    try:
        point = _Unpickler(io.BytesIO(blob)).load()
        payload, vector = point.values["payload"], point.values["vector"]
        if isinstance(vector, dict):
            # Qdrant's unnamed default vector.
            vector = vector[""]
        numbers = np.asarray(vector, dtype=np.float32)
        old_vector = OldVector(
            payload["key"], str(payload["audience"]), float(payload["trust"]), numbers
        )
    except Exception:  # unpickling damaged bytes can raise nearly anything
        return None
    length = float(np.linalg.norm(numbers))
    # A text without any word has a zero vector.
    is_sound = abs(length - 1.0) < _ROUNDING or length == 0.0
    return (
        old_vector
        if is_key(old_vector.key) and numbers.ndim == 1 and numbers.size and is_sound
        else None
    )


class _Point:
    """A stand-in for Qdrant's PointStruct that only takes its fields."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def __setstate__(self, state: dict[str, dict[str, object]]) -> None:
        """Take the fields of the pydantic model and ignore the rest."""
        self.values = dict(state["__dict__"])


class _Unpickler(pickle.Unpickler):
    """An unpickler that allows a single class. Built-in types need none."""

    def find_class(self, module: str, name: str) -> type[_Point]:
        """Return the stand-in for Qdrant's point.

        Raises:
            UnpicklingError: the pickle names anything else, such as a function.
        """
        if (module, name) == _POINT:
            return _Point
        raise pickle.UnpicklingError(f"{module}.{name} has no business in a vector")
