"""The form of a guard: the edits that remove it, and the test that then fails."""

from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """A part of a guard's removal: in this file, this text becomes that."""

    path: str
    snippet: str
    replacement: str


@dataclass(frozen=True)
class Guard:
    """One guard.

    Attributes:
        text: its promise.
        edits: the changes that remove it.
        test: the name of a test function that then fails; "path::name" if several files have it.
    """

    text: str
    edits: tuple[Edit, ...]
    test: str


def guard(
    text: str, path: str, snippet: str, replacement: str, test: str, *more: tuple[str, str, str]
) -> Guard:
    """Return a guard that is removed by one change, or by several.

    Args:
        path: of the file, under evennia_ai/.
    """
    edits = (Edit(path, snippet, replacement), *(Edit(*each) for each in more))
    full = tuple(each._replace(path=f"evennia_ai/{each.path}") for each in edits)
    return Guard(text, full, test)
