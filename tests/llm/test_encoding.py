"""Request bodies as bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.llm import offers
from evennia_ai.llm.offers import encode

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"é": ["\u2028", 1.5]}}}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="empty"),
        pytest.param({"model": "m", "messages": []}, id="without tools"),
        pytest.param({"model": "m", "tools": []}, id="no tool"),
        pytest.param({"model": "m", "tools": [TOOL]}, id="one tool"),
        pytest.param({"tools": [TOOL, TOOL], "model": "m", "tool_choice": "auto"}, id="several"),
    ],
)
def test_it_says_what_the_body_says(body: dict[str, Any]) -> None:
    """The second time, the text of the tools comes from a cache."""
    expected = {key: value for key, value in body.items() if value or key != "tools"}
    for _ in range(2):
        assert expected == json.loads(encode(body))


@given(st.text(st.characters(exclude_categories=("Cs",))), st.integers())
def test_any_body(text: str, number: int) -> None:
    body = {"model": text, "seed": number, "messages": [{"role": "user", "content": text}]}
    assert body == json.loads(encode(body))


def test_a_tool_is_written_once() -> None:
    """The cache goes by identity: an equal tool that is another object is written anew."""
    encode({"model": "m", "tools": [TOOL]})
    before = len(offers.tool_text.kept)
    encode({"model": "m", "tools": [TOOL]})
    assert before == len(offers.tool_text.kept)
    encode({"model": "m", "tools": [dict(TOOL)]})
    assert before + 1 == len(offers.tool_text.kept)


def test_what_is_kept_is_bounded() -> None:
    """Tools that are made anew for each request must not fill the memory."""
    for number in range(offers.MOST_KEPT + 10):
        encode({"model": "m", "tools": [{"name": str(number)}]})
    assert offers.MOST_KEPT == len(offers.tool_text.kept)


@pytest.mark.parametrize("value", [float("nan"), object()], ids=["no number", "no JSON"])
def test_what_cannot_be_written_is_an_error(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode({"model": "m", "temperature": value})
