"""The parsers of model output: linear in the length of any text, and without exceptions."""

import pytest

from evennia_ai.core.memory import extraction
from evennia_ai.core.text import cleaning
from evennia_ai.core.text.reading import MOST_TRIES
from tests.parsers import PARSERS, SHAPES, shapes
from tests.steps import Steps

SHORT = 400
LONG = 5_000
# Twice the length may take twice the steps, and some that do not depend on the length.
MOST_MORE, FREE_STEPS = 2.2, 2_000
# The steps include counting the tokens of a reply that reports no usage.
MOST_A_CHARACTER = 70


def steps_of(name: str, length: int) -> dict[str, int]:
    """Steps that a parser takes for each shape."""
    taken = {}
    for shape, given in shapes(length):
        steps = Steps()
        steps.run(PARSERS[name], given)
        taken[shape] = steps.count
    return taken


@pytest.mark.parametrize("name", PARSERS)
def test_hole_c17_d20_no_parser_goes_over_its_text_again_and_again(name: str) -> None:
    """Twice the text takes at most about twice the steps, for every degenerate shape."""
    once, twice = steps_of(name, SHORT), steps_of(name, 2 * SHORT)
    grown = {shape: (once[shape], count) for shape, count in twice.items()}
    assert not {s: c for s, c in grown.items() if c[1] > MOST_MORE * c[0] + FREE_STEPS}
    most = 2 * SHORT * MOST_A_CHARACTER + FREE_STEPS
    assert not {shape: count for shape, count in twice.items() if count > most}


@pytest.mark.parametrize("name", PARSERS)
def test_hole_c17_d20_every_parser_ends_with_a_value(name: str) -> None:
    for _, given in shapes(LONG):
        PARSERS[name](given)


def test_hole_c17_a_reply_of_tool_calls_is_walked_through_once() -> None:
    """3.5 MB of `{"tool":1}` once froze the game for 12 s."""
    steps = Steps()
    assert "" == steps.run(cleaning.clean_speech, '{"tool":1}' * 350_000)
    assert 600 > steps.decoded


@pytest.mark.parametrize("given", ["[" * 64_000, "[x" * 64_000, "[1,[" * 32_000, '["' * 32_000])
def test_hole_d20_endless_brackets_are_tried_a_bounded_number_of_times(given: str) -> None:
    """64,000 brackets once caused as many attempts to decode, which took 28 s."""
    steps = Steps()
    assert None is steps.run(extraction.read_list, given)
    assert MOST_TRIES >= steps.decoded


def test_hole_d20_a_list_behind_many_brackets_is_found() -> None:
    assert [1] == extraction.read_list("[so] [a] {b} [ “c”] then: [1] [2]")


def test_the_shapes_are_many() -> None:
    assert 100 < len(SHAPES)
