"""The folder in which vectors stood before they stood in the table: Qdrant's local files, read.

Nothing in the folder is written, not even what SQLite does when it opens a file. A point of Qdrant
is a pickle, and a pickle may run code; here it makes nothing but plain values.
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
# Beside the file stands what a game that was killed had not written into it yet.
_FILES = (_FILE, f"{_FILE}-wal")
_NAME = re.compile(r"a([1-9][0-9]{0,18})e([0-9a-f]{12})")
_POINT = ("qdrant_client.http.models.models", "PointStruct")
# How far a vector of length 1 is from it once it was numbers of four bytes.
_ROUNDING = 0.001


@dataclass(frozen=True, slots=True)
class OldCollection:
    """The vectors of one assistant by one embedding model.

    Attributes:
        assistant: number of its script.
        mark: which embedding model, as `mark_of` tells it.
    """

    folder: Path
    assistant: int
    mark: str

    @property
    def name(self) -> str:
        """The name of its folder, by which people find it."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class OldVector:
    """A memory's vector, and what the memory was when it was made."""

    key: str
    audience: str
    trust: float
    vector: Vector


def mark_of(signature: str) -> str:
    """The end of a collection's name, from the embedding model's signature."""
    return sha256(signature.encode()).hexdigest()[:12]


@contextmanager
def held(folder: Path) -> Iterator[list[OldCollection]]:
    """The collections of a folder, which no game of before may open meanwhile.

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
    found = []
    for path in sorted((folder / _COLLECTIONS).iterdir()):
        named = _NAME.fullmatch(path.name)
        if named is not None:
            found.append(OldCollection(path, int(named[1]), named[2]))
    return found


def read(collection: OldCollection) -> Iterator[OldVector | None]:
    """The points of a collection, each memory's newest alone; None for one that cannot be read.

    They are read from a copy: SQLite would write into the folder, and tidy up after a killed game.

    Raises:
        MemoryStoreError: its file is damaged, or missing.
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
    for (kept,) in file.execute("SELECT point FROM points ORDER BY rowid DESC"):
        point = _read_point(kept)
        if point is None:
            yield None
        elif point.key not in seen:
            seen.add(point.key)
            yield point


def _read_point(kept: bytes) -> OldVector | None:
    """A point out of its pickle, or None: whoever wrote it, it is a memory's or nothing."""
    try:
        point = _Unpickler(io.BytesIO(kept)).load()
        payload, vector = point.values["payload"], point.values["vector"]
        if isinstance(vector, dict):
            # The name of the vector that has none.
            vector = vector[""]
        numbers = np.asarray(vector, dtype=np.float32)
        made = OldVector(payload["key"], str(payload["audience"]), float(payload["trust"]), numbers)
    except Exception:  # damaged bytes fail in every way there is
        return None
    length = float(np.linalg.norm(numbers))
    # A text without a word in it has a vector of zeros.
    is_sound = abs(length - 1.0) < _ROUNDING or length == 0.0
    return made if is_key(made.key) and numbers.ndim == 1 and numbers.size and is_sound else None


class _Point:
    """Qdrant's point, as far as a pickle may make one."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def __setstate__(self, state: dict[str, dict[str, object]]) -> None:
        """Take the fields of the pydantic model, and nothing else of it."""
        self.values = dict(state["__dict__"])


class _Unpickler(pickle.Unpickler):
    """One that knows a single class. Numbers, texts, lists and dictionaries need none."""

    def find_class(self, module: str, name: str) -> type[_Point]:
        """The stand-in of Qdrant's point.

        Raises:
            UnpicklingError: anything else is named, such as a function that runs a program.
        """
        if (module, name) == _POINT:
            return _Point
        raise pickle.UnpicklingError(f"{module}.{name} has no business in a vector")
