"""README's install steps, read from it and carried out as a reader would.

The steps stand between `<!-- install -->` and `<!-- /install -->` as fenced blocks:

    ```bash     lines to type in the game's folder
    ```python   lines for the file that the block's first line, a comment, names
    ```text     lines to type in the game as its owner

A python block's lines that its file already has show the place: the new ones go right after the one
before them, or before the first. A block without such lines goes to the file's end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECTION = re.compile(r"<!-- install -->\n(.*?)<!-- /install -->", re.DOTALL)
BLOCK = re.compile(r"^```(bash|python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"# ([\w/]+\.py)\b")
PIP_LINE = re.compile(r"^(?:\$ )?(?:python3? -m )?pip install .*\bevennia-ai\b.*$", re.MULTILINE)
ELLIPSIS = "..."


@dataclass(frozen=True)
class Step:
    """One block of README: `kind` is bash, python or text; `file` is set for python."""

    kind: str
    lines: tuple[str, ...]
    file: str = ""


def read_steps(readme: str) -> list[Step]:
    """The install steps of a README, in order.

    Raises:
        ValueError: there is no install section, it is empty, or a python block names no file.
    """
    section = SECTION.search(readme)
    if section is None:
        raise ValueError("README has no text between <!-- install --> and <!-- /install -->")
    steps = [_read_step(kind, body.splitlines()) for kind, body in BLOCK.findall(section[1])]
    if not steps:
        raise ValueError("README's install section has no ```bash, ```python or ```text block")
    return steps


def _read_step(kind: str, lines: list[str]) -> Step:
    if kind != "python":
        return Step(kind, tuple(lines))
    named = FILE_NAME.match(lines[0]) if lines else None
    if named is None:
        raise ValueError(f"a python block's first line names no file: {lines[:1]}")
    return Step(kind, tuple(lines[1:]), named[1])


def install_checkout(script: str) -> str:
    """The script with `pip install evennia-ai` replaced by a check that it is installed."""
    return PIP_LINE.sub("python -c 'import evennia_ai'", script)


def edit_file(path: Path, lines: Sequence[str]) -> None:
    """Merge a python block into its file."""
    path.write_text("\n".join(insert_lines(path.read_text().splitlines(), lines)) + "\n")


def insert_lines(existing: Sequence[str], block: Sequence[str]) -> list[str]:
    """The file's lines with the block's new ones in their place; indentation counts."""
    result = list(existing)
    waiting: list[str] = []
    at = None
    for line in block:
        if line.strip() == ELLIPSIS:
            continue
        place = _find(result, line, at or 0)
        if place is not None:
            result[place:place] = waiting
            at = place + len(waiting) + 1
            waiting = []
        elif at is None:
            waiting.append(line)
        else:
            result.insert(at, line)
            at += 1
    return result + waiting


def _find(lines: Sequence[str], wanted: str, start: int) -> int | None:
    if not wanted.strip():
        return None
    return next((i for i in range(start, len(lines)) if lines[i] == wanted), None)
