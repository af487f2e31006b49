"""Finds tests by their names, for the tables of promises and their tests."""

import ast
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Named(NamedTuple):
    """A test with ids of cases in its name: `test_c3_c4_...`, `test_hole_a1_...`."""

    case: str
    path: str
    name: str


@lru_cache(maxsize=1)
def all_tests() -> tuple[tuple[str, str], ...]:
    """Return path and name of every test function under tests/."""
    return tuple(_read())


def _read() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield path.relative_to(ROOT).as_posix(), node.name


def names_with_prefix(prefix: str, cases: Container[str]) -> tuple[Named, ...]:
    """Return tests whose names continue with a prefix ("" for none) and the ids of cases."""
    skip = 1 + bool(prefix)
    result = []
    for path, name in all_tests():
        words = name.split("_")
        if prefix and words[1] != prefix:
            continue
        result += [Named(case, path, name) for case in takewhile(cases.__contains__, words[skip:])]
    return tuple(result)


def find(name: str) -> str:
    """Return the path of the test function with a name.

    Args:
        name: of the function; "path::name" if several files have it.

    Raises:
        LookupError: if there is none, or more than one.
    """
    path, _, bare = name.rpartition("::")
    paths = [at for at, test in all_tests() if test == bare and path in ("", at)]
    if len(paths) != 1:
        raise LookupError(f"{name}: there are {len(paths)} tests of that name: {paths}")
    return paths[0]


def node_id(name: str) -> str:
    """Return pytest's node id of the test function with a name.

    Raises:
        LookupError: if there is none, or more than one.
    """
    path, bare = find(name), name.rpartition("::")[2]
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    inside = (
        f"{each.name}::"
        for each in tree.body
        if isinstance(each, ast.ClassDef)
        for item in each.body
        if isinstance(item, ast.FunctionDef) and item.name == bare
    )
    return f"{path}::{next(inside, '')}{bare}"
