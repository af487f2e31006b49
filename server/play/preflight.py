"""Checks before anything is changed; each failure is one sentence."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from server.play.layout import Checkout, PlayError

MEGABYTE = 1_000_000
ENVIRONMENT_BYTES = 450 * MEGABYTE
# The weights, and at the same time the parts from which they are assembled.
WEIGHTS_BYTES = 1000 * MEGABYTE
DATABASE_BYTES = 50 * MEGABYTE


class Usage(Protocol):
    """Disk usage."""

    @property
    def free(self) -> int:
        """Bytes that can still be written."""


def check_platform(system: str = sys.platform) -> None:
    """Refuse an operating system whose processes this launcher cannot handle.

    Raises:
        PlayError: on Windows.
    """
    if system == "win32":
        raise PlayError(
            "make play needs Linux, macOS or WSL; on Windows itself install the package and use"
            " Evennia's own commands."
        )


def check_writable(checkout: Checkout) -> None:
    """Create the game's folders, and check that it can write to them.

    Raises:
        PlayError: for the first folder that cannot be written to.
    """
    for folder in (checkout.root, checkout.server, checkout.logs):
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise PlayError(f"Cannot make {folder}: {error.strerror}.") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PlayError(f"This account may not write to {folder}, where the game's files go.")


def check_disk(
    folder: Path,
    needed_bytes: int,
    purpose: str,
    measure: Callable[[Path], Usage] = shutil.disk_usage,
) -> None:
    """Check that there is enough disk space.

    Args:
        folder: an existing folder on the disk.
        needed_bytes: peak size.
        purpose: what the space is for, for the sentence.
        measure: returns the disk usage of a folder.

    Raises:
        PlayError: if there is not enough; it has both numbers.
    """
    free = measure(folder).free
    if free < needed_bytes:
        raise PlayError(
            f"Not enough disk space for {purpose} in {folder}: {free // MEGABYTE} MB free,"
            f" {needed_bytes // MEGABYTE} MB needed."
        )
