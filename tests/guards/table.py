"""What a guard is: how it is taken out, and the test that fails then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """A change that takes a guard out: in this file, this text becomes that."""

    path: str
    snippet: str
    replacement: str


@dataclass(frozen=True)
class Guard:
    """One guard.

    Attributes:
        text: what it sees to.
        edits: the changes that take it out.
        test: the name of a test function that fails then; with "path::" before it where several
            have that name.
    """

    text: str
    edits: tuple[Edit, ...]
    test: str


def guard(
    text: str, path: str, snippet: str, replacement: str, test: str, *more: tuple[str, str, str]
) -> Guard:
    """A guard that is taken out by one change, or by some more beside it.

    Args:
        path: of the file, under evennia_ai/.
    """
    edits = (Edit(path, snippet, replacement), *(Edit(*each) for each in more))
    full = tuple(each._replace(path=f"evennia_ai/{each.path}") for each in edits)
    return Guard(text, full, test)
