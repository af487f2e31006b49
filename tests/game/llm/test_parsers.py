"""Parsers that need the game's settings; tests/llm/test_parsers.py has the others."""

import importlib
import pkgutil
import re
import re._constants as codes
import re._parser as parser
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import evennia_ai
from tests.parsers import of_the_game, shapes
from tests.steps import Steps

SHORT = 400
MOST_MORE, FREE_STEPS = 2.2, 2_000
NAMES = tuple(of_the_game())


@pytest.mark.parametrize("name", NAMES)
def test_hole_c17_d20_the_games_parsers_go_through_a_text_once(name: str) -> None:
    """Twice the length takes about twice the steps, even for degenerate texts."""
    function = of_the_game()[name]
    taken: list[dict[str, int]] = []
    for length in (SHORT, 2 * SHORT):
        taken.append({})
        for shape, given in shapes(length):
            steps = Steps()
            steps.run(function, given)
            taken[-1][shape] = steps.count
    once, twice = taken
    assert not {
        shape: (once[shape], count)
        for shape, count in twice.items()
        if count > MOST_MORE * once[shape] + FREE_STEPS
    }


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every regular expression in a module of the package, alone or in a list."""
    for module in pkgutil.walk_packages(evennia_ai.__path__, "evennia_ai."):
        if ".migrations." in module.name or module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in _held(value):
                yield f"{module.name}.{name}", pattern


def _held(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _held(item)


def repeats_in_repeats(parsed: Iterable[Any], *, is_within: bool = False) -> bool:
    """Return True if an endless repeat within an endless repeat can be backtracked.

    Such a pattern may take exponential time. A possessive repeat does not backtrack.
    """
    for code, argument in parsed:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            is_endless = argument[1] == codes.MAXREPEAT
            if is_endless and is_within:
                return True
            if repeats_in_repeats(argument[2], is_within=is_within or is_endless):
                return True
        elif code not in (codes.POSSESSIVE_REPEAT, codes.ATOMIC_GROUP) and any(
            repeats_in_repeats(inner, is_within=is_within) for inner in _parts(argument)
        ):
            return True
    return False


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for item in argument:
            yield from _parts(item)


@pytest.mark.parametrize(
    ("expected", "pattern"),
    [
        (True, r"(a+)+b"),
        (True, r"(?:a|(?:b*)c)*d"),
        (True, r"(?:\w+\.)*x"),
        (False, r"(?:\w++\.)*x"),
        (False, r"(?:\w+\.)*+x"),
        (False, r"(?:ab)+c{1,3}"),
    ],
)
def test_a_repeat_in_a_repeat_is_found(expected: bool, pattern: str) -> None:
    assert expected is repeats_in_repeats(parser.parse(pattern))


def test_hole_c17_no_pattern_repeats_what_repeats() -> None:
    pairs = list(patterns())
    assert 60 < len(pairs)  # the walk does find the patterns
    assert not [
        name
        for name, pattern in pairs
        if isinstance(pattern.pattern, str)
        and repeats_in_repeats(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    ]
