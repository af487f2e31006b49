"""Portraits: a model's view of one being."""

import json
from typing import Any

import pytest

from evennia_ai.core.memory.extraction import Shown
from evennia_ai.core.memory.portraits import (
    MOST_ATTRIBUTES,
    Portrait,
    nudge,
    portrait_request,
    read_portrait,
)


def test_what_is_asked() -> None:
    text = portrait_request('Tom", "x', [Shown("Tom has a boat.")], []).as_prompt(is_known=False)
    assert 'The being:\n1: "Tom\\", \\"x"\n\nObservations:\n1: "Tom has a boat."' == text


@pytest.mark.parametrize(
    ("favour", "given"),
    [(1, 1), (-1, -1), (0, 0), (1, 7), (-1, -3), (0, True), (0, "1"), (0, None), (0, 0.5)],
    ids=str,
)
def test_favour(favour: int, given: Any) -> None:
    answer = json.dumps({"attributes": ["Tom has a boat."], "favour": given})
    assert Portrait(("Tom has a boat.",), favour) == read_portrait(f"Well: {answer}")


@pytest.mark.parametrize(
    "text", ["", "He is kind.", "{}", '{"attributes": "kind"}', "[1]", '{"attributes": ['], ids=str
)
def test_what_cannot_be_read(text: str) -> None:
    assert None is read_portrait(text)


def test_attributes_are_few_and_each_once() -> None:
    given = ["a", "a", 7, "", *map(str, range(20))]
    portrait = read_portrait(json.dumps({"attributes": given}))
    assert ("a", "0", MOST_ATTRIBUTES) == (*portrait.attributes[:2], len(portrait.attributes))


@pytest.mark.parametrize(
    ("step", "favours"), [(0.05, [1]), (0.05, [1, 1]), (0.0, [1, -1]), (-0.05, [-1]), (0.0, [])]
)
def test_one_night_changes_little(step: float, favours: list[int]) -> None:
    assert step == nudge(favours)
