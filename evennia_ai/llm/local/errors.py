"""Errors of the embedded model. Each text is a sentence for a person.

LocalModelError (in evennia_ai.errors)
    ├── MissingRuntimeError     the package that runs the model is not installed
    ├── StartError              the model did not start, or not in time
    └── WeightsError            the weights are not available
        ├── CacheFolderError        the cache folder cannot be used
        ├── NoSpaceError            the disk is too full     (.needed_bytes, .free_bytes)
        └── SourceError             one source of them failed
            └── WrongHashError          a file has other content     (.path, .found_sha256)
"""

from __future__ import annotations

from pathlib import Path

from evennia_ai.errors import LocalModelError


class MissingRuntimeError(LocalModelError):
    """The package that runs the model is not installed in this Python."""

    def __init__(self) -> None:
        super().__init__(
            "The embedded model needs the package xllamacpp, which is not installed here; "
            'install it with: pip install "evennia-ai[local]"'
        )


class StartError(LocalModelError):
    """The model did not start. The text says why and where its log is."""


class WeightsError(LocalModelError):
    """The model's weights cannot be found, fetched or trusted."""


class CacheFolderError(WeightsError):
    """The folder for the weights cannot be made or written."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(
            f"The folder {folder} for the model's weights cannot be written ({reason}); "
            "set EVENNIA_AI_CACHE_DIR to a folder that can"
        )


class NoSpaceError(WeightsError):
    """The disk has not enough room for the weights.

    Attributes:
        needed_bytes: the most space that fetching takes.
        free_bytes: the space available.
    """

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes
        super().__init__(
            f"Fetching the model's weights needs {megabytes(needed_bytes)} in {folder}, but only "
            f"{megabytes(free_bytes)} are free; make room there, or set EVENNIA_AI_CACHE_DIR to a "
            "folder on a disk that has it"
        )


class SourceError(WeightsError):
    """One source of the weights failed; another one may work."""


class WrongHashError(SourceError):
    """A file's sha256 is not the pinned one.

    Attributes:
        path: the refused file, which is removed.
        found_sha256: the sha256 of its content.
    """

    def __init__(self, path: Path, origin: str, found_sha256: str, wanted_sha256: str) -> None:
        self.path = path
        self.found_sha256 = found_sha256
        super().__init__(
            f"{path.name} {origin} was refused: its sha256 is {found_sha256}, "
            f"and it must be {wanted_sha256}"
        )


def megabytes(count: int) -> str:
    """A number of bytes for people, such as '1,100 MB'."""
    return f"{count / 1_000_000:,.0f} MB"
