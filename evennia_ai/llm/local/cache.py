"""The cache folder of the weights: its location, checks of its files, and its lock."""

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
"""Progress callback: stage, bytes done and bytes in total (0 and 0 if they are not counted)."""

_BLOCK_BYTES = 1 << 20
# Partial files and temporary folders that a killed process leaves behind.
_SCRAPS = ("*.part", "fetch-*")


def no_report(stage: str, done_bytes: int, total_bytes: int) -> None:
    """A progress callback that does nothing."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the weights; it need not exist.

    Raises:
        CacheFolderError: there is neither a setting nor a home directory.
    """
    setting = environ.get("EVENNIA_AI_CACHE_DIR", "").strip()
    xdg = environ.get("XDG_CACHE_HOME", "").strip()
    try:
        if setting:
            return Path(setting).expanduser().absolute()
        # The XDG specification calls a relative path invalid and says to ignore it.
        base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    except RuntimeError as error:
        raise CacheFolderError(setting or "~/.cache", str(error)) from None
    return base / "evennia-ai"


def open_folder(folder: Path) -> None:
    """Create the folder if it is missing, and check that it is writable.

    Raises:
        CacheFolderError: it is not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Permission bits do not show a read-only or full disk, so a file is written.
        with tempfile.NamedTemporaryFile(dir=folder, prefix="fetch-"):
            pass
    except OSError as error:
        raise CacheFolderError(str(folder), error.strerror or str(error)) from None


def sha256_of(path: Path, stage: str, report: Report) -> str:
    """The sha256 of a file of any size, read in blocks."""
    total, done = path.stat().st_size, 0
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            report(stage, done, total)
    return digest.hexdigest()


def checked_sha256(path: Path, report: Report) -> str:
    """The file's sha256, cached in a note beside it.

    The note is valid only while the file has the size and modification time in it.
    """
    stamp = _stamp_of(path)
    # If the note is missing or broken, the file is hashed again.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        note = json.loads(_note_of(path).read_text("utf-8"))
        if note.items() >= stamp.items() and isinstance(note.get("sha256"), str):
            return str(note["sha256"])
    sha256 = sha256_of(path, "checking the weights", report)
    remember_sha256(path, sha256)
    return sha256


def remember_sha256(path: Path, sha256: str) -> None:
    """Write the note with the file's sha256."""
    # A shared cache may be read-only; then the file is hashed at every start.
    with contextlib.suppress(OSError):
        write_whole(_note_of(path), json.dumps({**_stamp_of(path), "sha256": sha256}))


def discard(path: Path) -> None:
    """Remove weights and the note beside them."""
    path.unlink(missing_ok=True)
    _note_of(path).unlink(missing_ok=True)


def is_trusted(path: Path, pinned: PinnedModel, report: Report) -> bool:
    """True if the file has exactly the pinned content."""
    try:
        # The size first: hashing half a gigabyte takes seconds.
        if path.stat().st_size != pinned.size_bytes:
            return False
        return checked_sha256(path, report) == pinned.sha256
    except OSError:
        return False


@contextlib.contextmanager
def one_fetcher(folder: Path, report: Report) -> Iterator[None]:
    """Lock the folder for this process; waits while another one holds the lock."""
    with (folder / "fetch.lock").open("a") as lock:
        # Polled instead of blocking, so that a waiting person is told why nothing happens.
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
    """Remove the leftovers of killed processes. Only while holding the lock."""
    for scrap in (path for pattern in _SCRAPS for path in folder.glob(pattern)):
        if scrap.is_dir():
            shutil.rmtree(scrap, ignore_errors=True)
        else:
            scrap.unlink(missing_ok=True)


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file atomically: a reader sees either the old text or the new one.

    Args:
        mode: permission bits, before the process's umask.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        # O_EXCL never follows a symbolic link that another user may have put there.
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _stamp_of(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"size_bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.checked.json")
