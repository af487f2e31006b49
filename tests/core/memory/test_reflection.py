"""Reflection: the memories it draws on, and the requests to the model."""

from datetime import date

import pytest

from evennia_ai.core.memory.extraction import Shown
from evennia_ai.core.memory.reflection import groups, insights_request, questions_request


@pytest.mark.parametrize(
    ("named", "sums"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([], {"room:object-2": (149, 40)}, id="too little"),
        pytest.param(["room:object-2"], {"room:object-2": (150, 40)}, id="enough"),
        pytest.param(["b", "a"], {"a": (50, 9), "b": (100, 9)}, id="together, the most first"),
        pytest.param(["a", "b"], {"b": (75, 9), "a": (75, 9)}, id="as much"),
        pytest.param(["a"], {"a": (130, 9), "b": (20, 2)}, id="of two entries nothing follows"),
        pytest.param(
            ["a", "b", "c"], {n: (90 - i, 9) for i, n in enumerate("abcd")}, id="three at most"
        ),
    ],
)
def test_whose_memories(named: list[str], sums: dict[str, tuple[int, int]]) -> None:
    """Audiences are chosen once they have enough importance together, the greatest first."""
    assert named == groups(sums, 150)


def test_what_is_asked() -> None:
    asked = questions_request(['He said "go"'], 3)
    assert "the 3 most telling" in asked.prompt
    assert 'Statements:\n1: "He said \\"go\\""' == asked.as_prompt(is_known=False)
    shown = [Shown("Tom has a boat.", date(2026, 5, 3))]
    text = insights_request("Who is Tom?", shown).as_prompt(is_known=False)
    line = '1 (Sunday 3 May 2026): "Tom has a boat."'
    assert f'Question:\n1: "Who is Tom?"\n\nStatements:\n{line}' == text
