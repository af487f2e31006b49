"""A text that recites instructions is found, and one that only speaks of them is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.persona import RUN_WORDS, holds_recital, recites
from evennia_ai.core.turn.toolspec import ToolCall

RULES = """You act only by calling tools. To answer somebody, call whisper, say or page.
Answer a whisper with whisper, to the one who whispered. Answer speech with say.
Keep it to one or two sentences of plain text.
You are an AI, and you say so when somebody asks."""
OWN = 'Greet whoever comes with "Be welcome, traveller, may your lamp never want for oil or flame".'
WORDS = st.lists(st.sampled_from(["the", "lamp", "is", "lit", "by", "night"]), max_size=60)


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        pytest.param(RULES, RULES, id="all of them"),
        pytest.param(
            "Answer a whisper with whisper, to the one who whispered. Answer speech with say.",
            RULES,
            id="two of them",
        ),
        pytest.param(
            "well: you ACT only by\ncalling *tools*. to answer somebody, call whisper, say...",
            RULES,
            id="other letters, marks and lines",
        ),
    ],
)
def test_a_recital_is_found(text: str, instructions: str) -> None:
    """However it is written."""
    assert recites(text, instructions)


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        pytest.param("", RULES, id="nothing said"),
        pytest.param("Hello, Tom.", "", id="no instructions"),
        pytest.param("Yes, I am an AI, and I say so when somebody asks.", RULES, id="who it is"),
        pytest.param("I keep it to one or two sentences of plain text.", RULES, id="half a rule"),
        pytest.param(
            "Be welcome, traveller, may your lamp never want for oil or flame!",
            OWN,
            id="a greeting",
        ),
    ],
)
def test_ordinary_words_are_none(text: str, instructions: str) -> None:
    """Of itself it may speak, and say what its owner put in quotes."""
    assert not recites(text, instructions)


@given(WORDS, WORDS, WORDS)
def test_it_is_found_wherever_it_stands(
    before: list[str], run: list[str], after: list[str]
) -> None:
    """A run that is long enough is found among any other words, and a shorter one is nothing."""
    instructions = " ".join(f"rule{number} {word}" for number, word in enumerate(run))
    found = recites(" ".join([*before, instructions, *after]), instructions)
    assert found == (2 * len(run) >= RUN_WORDS)


def test_any_text_of_any_call_counts() -> None:
    """What a call holds beside texts makes no difference."""
    quiet = ToolCall("c1", "look", {"target": "lamp", "times": 3, "of": ["x"]})
    loud = ToolCall("c2", "say", {"message": RULES})
    assert holds_recital([quiet, loud], RULES)
    assert not holds_recital([quiet], RULES)
