"""The folder that holds the weights: where it is, what in it is trusted, one fetcher at a time."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from evennia_ai.llm.local.errors import CacheFolderError
from evennia_ai.llm.local.pinned import PinnedModel

Report = Callable[[str, int, int], None]
"""Called with what is going on, and how many bytes of how many are done (0 of 0: not counted)."""

_BLOCK_BYTES = 1 << 20
_SCRAPS = ("*.part", "fetch-*")


def stay_silent(stage: str, done_bytes: int, total_bytes: int) -> None:
    """A report that nobody reads."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the weights; it need not exist.

    Raises:
        CacheFolderError: no folder can be named, as there is neither a setting nor a home.
    """
    named = environ.get("EVENNIA_AI_CACHE_DIR", "").strip()
    xdg = environ.get("XDG_CACHE_HOME", "").strip()
    try:
        if named:
            return Path(named).expanduser().absolute()
        # The XDG rules say that a relative path there is not valid and is to be ignored.
        base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    except RuntimeError as error:
        raise CacheFolderError(named or "~/.cache", str(error)) from None
    return base / "evennia-ai"


def open_folder(folder: Path) -> None:
    """Make the folder if it is missing, and make sure that files can be written there.

    Raises:
        CacheFolderError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried out: permissions do not tell of a disk that is read-only or full.
        with tempfile.NamedTemporaryFile(dir=folder, prefix="fetch-"):
            pass
    except OSError as error:
        raise CacheFolderError(str(folder), error.strerror or str(error)) from None


def sha256_of(path: Path, stage: str, report: Report) -> str:
    """Hash a file of any size."""
    total, done = path.stat().st_size, 0
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            report(stage, done, total)
    return digest.hexdigest()


def checked_sha256(path: Path, report: Report) -> str:
    """The file's sha256: hashed once per content, then taken from a note beside it.

    The note counts only while size and time of change are those it was written for.
    """
    facts = _facts(path)
    # A note that is missing or broken only costs that the file is hashed again.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        kept = json.loads(_note_of(path).read_text("utf-8"))
        if kept.items() >= facts.items() and isinstance(kept.get("sha256"), str):
            return str(kept["sha256"])
    sha256 = sha256_of(path, "checking the weights", report)
    remember_sha256(path, sha256)
    return sha256


def remember_sha256(path: Path, sha256: str) -> None:
    """Leave a note of what the file hashes to, for as long as it does not change."""
    # A shared cache may be read-only; then the file is hashed at every start.
    with contextlib.suppress(OSError):
        write_whole(_note_of(path), json.dumps({**_facts(path), "sha256": sha256}))


def discard(path: Path) -> None:
    """Remove weights and the note beside them."""
    path.unlink(missing_ok=True)
    _note_of(path).unlink(missing_ok=True)


def is_trusted(path: Path, pinned: PinnedModel, report: Report) -> bool:
    """True for the pinned file, byte by byte."""
    try:
        if path.stat().st_size != pinned.size_bytes:
            return False
        return checked_sha256(path, report) == pinned.sha256
    except OSError:
        return False


@contextlib.contextmanager
def one_fetcher(folder: Path, report: Report) -> Iterator[None]:
    """Hold the folder against other processes; waits while another one fetches."""
    with (folder / "fetch.lock").open("a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                report("waiting for another process that is fetching the weights", 0, 0)
                time.sleep(0.2)
        sweep(folder)
        yield


def sweep(folder: Path) -> None:
    """Remove what a fetcher that was killed left behind. Only under the lock."""
    for scrap in (path for pattern in _SCRAPS for path in folder.glob(pattern)):
        if scrap.is_dir():
            shutil.rmtree(scrap, ignore_errors=True)
        else:
            scrap.unlink(missing_ok=True)


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file so that a reader sees the old text or the new one, never a piece.

    Args:
        mode: who may do what with it, less what the process lets nobody do.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        # O_EXCL: it never writes through a link that somebody else put there.
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _facts(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"size_bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.checked.json")
