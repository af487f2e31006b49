"""How a model is asked to split a goal, and how its answer is read."""

from __future__ import annotations

import pytest

from evennia_ai.core.turn.goal_parts import read_parts, split_request


def test_what_is_asked() -> None:
    """The goal and all goals are quoted data; how many parts there may be is said."""
    asked = split_request('find "the" atlas', ["1. find it", "  2. ask Tom"])
    told = asked.told(is_known=False)
    assert "into 2 to 7 parts" in asked.prompt
    goals = 'All goals:\n1: "1. find it"\n2: "2. ask Tom"'
    assert f'The goal:\n1: "find \\"the\\" atlas"\n\n{goals}' == told


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(["ask", "look"], 'Well: ["ask", "look", "ask"]', id="each once"),
        pytest.param(list("abcdefg"), str(list("abcdefghi")).replace("'", '"'), id="seven"),
        pytest.param(["ask"], '["ask", 7, {"a": 1}, ""]', id="texts alone"),
        pytest.param(None, "[]", id="none"),
        pytest.param(None, "I would ask Tom first.", id="no list"),
    ],
)
def test_what_is_read(expected: list[str] | None, text: str) -> None:
    """A list of short texts, and nothing else."""
    assert expected == read_parts(text)
