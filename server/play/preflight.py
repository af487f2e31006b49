"""What can be known to go wrong before anything is changed: each said in one sentence."""

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
# The weights, and the parts they are put together from.
WEIGHTS_BYTES = 1000 * MEGABYTE
DATABASE_BYTES = 50 * MEGABYTE


class Usage(Protocol):
    """How full a disk is."""

    @property
    def free(self) -> int:
        """Bytes that can still be written."""


def check_platform(system: str = sys.platform) -> None:
    """Refuse a system whose processes this launcher does not know how to handle.

    Raises:
        PlayError: on Windows.
    """
    if system == "win32":
        raise PlayError(
            "make play needs Linux, macOS or WSL; on Windows itself install the package and use"
            " Evennia's own commands."
        )


def check_writable(checkout: Checkout) -> None:
    """Make sure the game can keep its files, and make the folders it keeps them in.

    Raises:
        PlayError: naming the first folder that cannot be written to.
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
    """Make sure there is room for what is about to be put into a folder.

    Args:
        folder: where it goes; must exist.
        needed_bytes: how much it takes at its peak.
        purpose: what it is, for the sentence.
        measure: tells how full the disk under a folder is.

    Raises:
        PlayError: saying how much there is and how much it takes.
    """
    free = measure(folder).free
    if free < needed_bytes:
        raise PlayError(
            f"Not enough disk space for {purpose} in {folder}: {free // MEGABYTE} MB free,"
            f" {needed_bytes // MEGABYTE} MB needed."
        )
