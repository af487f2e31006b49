"""Messages that were heard and need no answer."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.perception import (
    MOST_OF_ONE,
    PRIVATE,
    Heard,
    Overheard,
    Source,
    tellable,
    with_newest,
)
from evennia_ai.core.text.plain_data import to_stored
from tests.core.samples import HEARD, make_heard

SIZES = st.lists(st.sampled_from([0, 1, 5, 50, 400]), max_size=12)


def overheard(size: int, number: int = 0) -> Overheard:
    return Overheard("say", "*#3", f"Tom {number}", "", "x" * size, 0.4)


def test_what_is_kept_of_a_message() -> None:
    heard = make_heard(source=Source.CHANNEL, place="Public")
    expected = Overheard("channel", "*#3", "Tom", "Public", "hello", 0.6, sender_id="#7")
    assert expected == Overheard.from_heard(heard, 0.6)


@pytest.mark.parametrize(
    ("length", "said"), [(0, 0), (399, 399), (400, 400), (400, 401), (400, 9000)]
)
def test_long_speech_is_cut(length: int, said: int) -> None:
    body = Overheard.from_heard(make_heard(body="x" * said), 0.4).body
    assert (length, said > length) == (len(body), body.endswith("…"))


@given(HEARD, st.floats(0, 1))
def test_it_survives_storing(heard: Heard, trust: float) -> None:
    item = Overheard.from_heard(heard, trust)
    assert item == Overheard(**pickle.loads(pickle.dumps(to_stored(item))))
    assert MOST_OF_ONE >= len(item.body)


@given(SIZES, st.integers(0, 6), st.integers(0, 500))
def test_bounded_by_count_and_by_size(sizes: list[int], messages: int, characters: int) -> None:
    """The newest that fit are kept, and one more would not fit."""
    items: list[Overheard] = []
    for number, size in enumerate(sizes):
        before = [*items, overheard(size, number)]
        items = with_newest(items, before[-1], messages=messages, characters=characters)
        assert before[len(before) - len(items) :] == items
        assert messages >= len(items)
        assert characters >= sum(len(item.body) for item in items)
        one_more = before[len(before) - len(items) - 1 :]
        if len(items) < len(before):
            size_of_more = sum(len(item.body) for item in one_more)
            assert messages < len(one_more) or characters < size_of_more


@pytest.mark.parametrize(
    ("left", "messages", "characters"),
    [
        pytest.param([1, 2, 3, 4], 4, 10, id="both bounds just hold"),
        pytest.param([2, 3, 4], 4, 9, id="one character too many"),
        pytest.param([2, 3, 4], 3, 99, id="one message too many"),
        pytest.param([3, 4], 9, 7, id="several leave for their size"),
        pytest.param([4], 1, 99, id="several leave for their number"),
        pytest.param([], 9, 3, id="the new one is too long by itself"),
        pytest.param([], 0, 99, id="nothing is to be kept"),
    ],
)
def test_keep(left: list[int], messages: int, characters: int) -> None:
    items = with_newest(
        [overheard(1), overheard(2), overheard(3)],
        overheard(4),
        messages=messages,
        characters=characters,
    )
    assert left == [len(item.body) for item in items]


def test_keep_leaves_its_argument_alone() -> None:
    items = [overheard(1), overheard(2)]
    with_newest(items, overheard(3), messages=1, characters=9)
    assert [overheard(1), overheard(2)] == items


@pytest.mark.parametrize("source", Source)
def test_private_words_are_for_their_speaker(source: Source) -> None:
    item = Overheard.from_heard(make_heard(source=source), 0.9)
    assert item.may_be_told_to("*#3")
    for other in ("*#4", "#3", ""):
        assert (source not in (Source.WHISPER, Source.PAGE)) is item.may_be_told_to(other)


@given(st.lists(HEARD, max_size=8), st.sampled_from(["*#3", "#7"]))
def test_tellable(heard: list[Heard], person: str) -> None:
    """A turn is told all open words, and private ones only of its own person."""
    items = [Overheard.from_heard(message, 0.5) for message in heard]
    result = tellable(items, person)
    assert result == tuple(item for item in items if item in result)
    for item in items:
        is_private = item.source in PRIVATE
        assert (not is_private or item.person == person) is (item in result)


@pytest.mark.parametrize("changes", [{"person": ""}, {"person": "", "sender_id": ""}])
def test_private_words_of_nobody_are_told_to_nobody(changes: dict[str, Any]) -> None:
    """An unknown whisperer must not match another unknown person."""
    item = Overheard.from_heard(make_heard(source=Source.WHISPER, **changes), 0.9)
    assert not item.may_be_told_to("")
