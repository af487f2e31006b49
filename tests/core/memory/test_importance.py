"""The importance of a text by rules alone, without a model."""

import pytest

from evennia_ai.core.memory.importance import heuristic


@pytest.mark.parametrize(
    ("expected", "source_type"),
    [(7, "direct"), (6, "observation"), (5, "inference"), (4, "environmental"), (5, "rumour")],
)
def test_the_source_counts(expected: int, source_type: str) -> None:
    assert expected == heuristic("The mill stands by the river.", source_type)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(6, "Tom promised to mend the roof.", id="a promise"),
        pytest.param(6, "Tom owes the smith 12 gold.", id="a debt"),
        pytest.param(6, "My name is Tom.", id="a name"),
        pytest.param(7, "It is a secret.", id="a secret"),
        pytest.param(7, "Beware of the wolves.", id="a danger"),
        pytest.param(7, "The old miller died.", id="a death"),
        pytest.param(6, "Tom is in love with Mira.", id="love"),
        pytest.param(6, "I wish I had a boat.", id="a wish"),
        pytest.param(8, "I promise: it is a secret.", id="two of them"),
        pytest.param(6, "I promise, I promise, I promise.", id="one of them thrice"),
        pytest.param(10, "I swear, beware: he killed her, it is a secret, love.", id="no more"),
        pytest.param(5, "The tower is blue.", id="nothing of it"),
        pytest.param(5, "Below the owl", id="parts of words do not count"),
    ],
)
def test_words_count(expected: int, text: str) -> None:
    assert expected == heuristic(text, "inference")
    assert expected == heuristic(text.upper(), "inference")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(3, "Hello Ada!", id="a short greeting"),
        pytest.param(3, "hi", id="one word"),
        pytest.param(4, "Good morning, how are you today?", id="a longer one"),
        pytest.param(4, "What nice warm weather we have", id="the weather"),
        pytest.param(3, "Thank you.", id="thanks"),
        pytest.param(7, "Hello, where does the ferry land?", id="a greeting before a question"),
        pytest.param(7, "Help me!", id="no greeting"),
        pytest.param(7, "The harbour", id="short is not small"),
        pytest.param(7, "", id="nothing"),
        pytest.param(7, "你好", id="another language"),
        pytest.param(10, "Good morning, it is a secret that I owe him", id="more than that"),
    ],
)
def test_small_talk_counts_less(expected: int, text: str) -> None:
    assert expected == heuristic(text, "direct")


def test_tags_count() -> None:
    assert 7 == heuristic("The mill.", "inference", ("Important", "important", "mill"))
    assert 2 == heuristic("The mill.", "inference", ("trivial",))
    assert 1 == heuristic("hi", "environmental", ("trivial", "greeting"))
