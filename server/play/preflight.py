"""What can be known to go wrong before anything is changed: each said in one sentence."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from server.play.layout import Checkout, PlayError

MEGABYTE = 1_000_000
ENVIRONMENT_BYTES = 450 * MEGABYTE
# Weights, the parts they are put together from, and the runtime.
DEMO_BRAIN_BYTES = 1100 * MEGABYTE
DATABASE_BYTES = 50 * MEGABYTE


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns, in bytes."""

    total: int
    used: int
    free: int


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
            raise PlayError(f"This account may not write to {folder}, where the game keeps its files.")


def check_disk(
    folder: Path,
    needed_bytes: int,
    usage: Callable[[Path], Usage | shutil._ntuple_diskusage] = shutil.disk_usage,
) -> None:
    """Make sure there is room for what is about to be installed.

    Raises:
        PlayError: saying how much there is and how much it takes.
    """
    free = usage(folder).free
    if free < needed_bytes:
        raise PlayError(
            f"Not enough disk space in {folder}: {free // MEGABYTE} MB free,"
            f" {needed_bytes // MEGABYTE} MB needed."
        )


def needed_bytes(*, installs: bool, fetches_brain: bool) -> int:
    """Return how much room a run may take up, in bytes."""
    total = DATABASE_BYTES
    total += ENVIRONMENT_BYTES if installs else 0
    total += DEMO_BRAIN_BYTES if fetches_brain else 0
    return total
