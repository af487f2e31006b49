"""The sentence about everything that a stop cut off."""

from typing import Any

import pytest

from evennia_ai.core.safety.dropped import Dropped, listed


@pytest.mark.parametrize(
    ("told", "dropped"),
    [
        pytest.param("", {}, id="nothing was under way"),
        pytest.param("One call in flight was dropped.", {"calls": 1}, id="a call"),
        pytest.param("1,000 calls in flight were dropped.", {"calls": 1000}, id="calls"),
        pytest.param("The work of dig was cut off.", {"tools": ("dig",)}, id="a tool"),
        pytest.param("One open question was withdrawn.", {"questions": 1}, id="a question"),
        pytest.param("2 open questions were withdrawn.", {"questions": 2}, id="questions"),
        pytest.param(
            "One waiting message was returned to Tom.",
            {"messages": 1, "names": ("Tom",)},
            id="a message",
        ),
        pytest.param(
            "One call in flight was dropped; 2 waiting messages were returned to Tom and Mira.",
            {"calls": 1, "messages": 2, "names": ("Tom", "Mira")},
            id="as in the example",
        ),
        pytest.param(
            "One waiting message could not be returned.", {"untold": 1}, id="nobody to tell"
        ),
        pytest.param(
            "3 waiting messages were returned to Tom; 2 waiting messages could not be returned.",
            {"messages": 3, "names": ("Tom",), "untold": 2},
            id="some of them",
        ),
    ],
)
def test_it_is_told_in_one_sentence(told: str, dropped: dict[str, Any]) -> None:
    assert told == Dropped(**dropped).describe()


@pytest.mark.parametrize(
    ("told", "names"),
    [
        pytest.param("", (), id="nobody"),
        pytest.param("Tom", ("Tom",), id="one"),
        pytest.param("Tom and Mira", ("Tom", "Mira"), id="two"),
        pytest.param("Tom, Mira and Edda", ("Tom", "Mira", "Edda"), id="three"),
        pytest.param("A, B, C, D and E", tuple("ABCDE"), id="five"),
        pytest.param("A, B, C, D and 2 others", tuple("ABCDEF"), id="six"),
    ],
)
def test_names_are_listed(told: str, names: tuple[str, ...]) -> None:
    assert told == listed(names)


def test_two_are_added() -> None:
    """Numbers are summed, and a person named by both appears once."""
    one = Dropped(True, 1, ("dig",), 2, 3, ("Tom", "Mira"), 4)
    other = Dropped(False, 10, (), 20, 30, ("Mira", "Edda"), 40)
    assert Dropped(True, 11, ("dig",), 22, 33, ("Tom", "Mira", "Edda"), 44) == one + other
    assert Dropped() == Dropped() + Dropped()
