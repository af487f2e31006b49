"""A server that is killed between any two of its writes leaves a true record."""

from collections.abc import Callable
from typing import Any

import pytest

from tests import postgres

# Guards against a scene that silently has no moments at all.
FEWEST_MOMENTS = 1
Play = Callable[[str], dict[str, Any]]


SCENES = (
    *("a whisper, a look and an answer", "one step a beat", "a tool that fails"),
    *("a stop while the model thinks", "a stop of all in portions", "a stop, and cleared"),
    *("settings", "goals by staff", "a goal by her tool", "a question answered"),
    *("a question dropped", "a new conversation", "a summary", "an assistant made"),
    "an assistant deleted",
)
# On PostgreSQL one of each kind: a stop, a question and its act, a conversation and a deletion.
SAMPLE = (
    *("a stop, and cleared", "a question answered", "a new conversation"),
    "an assistant deleted",
)


@pytest.mark.parametrize("scene", SAMPLE if postgres.is_sampled() else SCENES)
def test_record_and_state_agree(play: Play, scene: str) -> None:
    """After a kill at any moment they agree, before the server goes on and after it.

    Nobody is told anything twice, recorded acts were done, and no question is lost.
    """
    result = play(scene)
    assert {} == result["wrong"]
    assert result["moments"] >= FEWEST_MOMENTS


def test_i7_a_question_outlives_a_kill_at_every_moment(play: Play) -> None:
    """Another process asks again after the kill, and each yes is used once.

    No question is left open or answered twice, and the person who asked the assistant gets the
    answer once.
    """
    result = play("a limit's question")
    assert {} == result["wrong"]
    assert result["moments"] >= FEWEST_MOMENTS


ENDED = "played to its end"


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        pytest.param("a value alone", "usage", id="a value without its fact"),
        pytest.param("a fact alone", "open goals", id="a fact without its value"),
        pytest.param("told twice, and not recorded", "told 2 times", id="words without a fact"),
    ],
)
def test_lies_are_found(play: Play, scene: str, words: str) -> None:
    """The checks themselves must find unrecorded changes and false records."""
    assert words in "; ".join(play(scene)["wrong"][ENDED])


def test_two_transactions_are_found(play: Play) -> None:
    """The end result is right; only a kill in between shows the fault."""
    wrong = play("one after the other")["wrong"]
    assert ENDED not in wrong
    assert any("open goals" in problem for problems in wrong.values() for problem in problems)
