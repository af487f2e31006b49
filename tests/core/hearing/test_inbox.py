"""The inbox: a durable, bounded queue of events."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.inbox import (
    SAVED_TURN,
    SET_ASIDE,
    Event,
    Stored,
    batch,
    count_turns,
    joins,
    push,
    set_aside,
    settle,
    talk_of,
    without_saved_turn,
)
from evennia_ai.core.hearing.perception import Outcome, Source, Verdict
from evennia_ai.core.hearing.trust import Basis
from tests.core.samples import make_event, make_heard


def stored(name: str, kind: str = "message", person: str = "*#3") -> Stored:
    return make_event(id=name, kind=kind, person=person).as_stored()


def names(events: list[Stored]) -> str:
    return " ".join(event["id"] for event in events)


def test_event_of_a_judged_message() -> None:
    heard = make_heard(source=Source.WHISPER, hops=2, place="", body="Ada, hello")
    verdict = Verdict(Outcome.TRIGGER, 3, "direct_message", Basis("whisper", 0.9))
    expected = make_event(
        id="e9", body="hello", hops=2, at=5.0, person="*#3", place="#2", number=12
    )
    assert expected == Event.from_heard(
        heard, verdict, body="hello", event_id="e9", at=5.0, place="#2", number=12
    )


def test_event_survives_storing() -> None:
    event = make_event(body='she said "hé"', person="*#3", place="#2", number=7)
    assert event == Event.from_stored(json.loads(json.dumps(event.as_stored())))


def test_event_of_another_version_is_read() -> None:
    """An inbox may have been written before the game was updated, or after."""
    assert make_event() == Event.from_stored({**make_event().as_stored(), "mood": "sour"})
    older = make_event().as_stored()
    for name in ("person", "place", "number"):
        del older[name]
    assert make_event() == Event.from_stored(older)


def test_oldest_message_leaves_but_not_the_one_being_answered() -> None:
    events = [stored("m1"), stored("m2"), stored("m3")]
    inbox, dropped = push(events, stored("m4"), limit=3, busy={"m1"})
    assert ("m1 m3 m4", "m2") == (names(inbox), names(dropped))


def test_a_newcomer_stays_beside_what_is_being_answered() -> None:
    """Events that are being answered do not leave, so one more may always wait."""
    events = [stored("m1"), stored("m2")]
    busy = {"m1", "m2"}
    inbox, dropped = push(events, stored("m3", person="*#4"), limit=2, busy=busy)
    assert ("m1 m2 m3", "") == (names(inbox), names(dropped))
    inbox, dropped = push(inbox, stored("m4", person="*#5"), limit=2, busy=busy)
    assert ("m1 m2 m4", "m3") == (names(inbox), names(dropped))


def test_the_loudest_makes_room() -> None:
    """A person who fills the inbox loses their own oldest message, not another's."""
    events = [stored("mia", person="*#4"), *(stored(f"tom{n}") for n in range(3))]
    inbox, dropped = push(events, stored("eve", person="*#5"), limit=4)
    assert ("mia tom1 tom2 eve", "tom0") == (names(inbox), names(dropped))
    inbox, dropped = push(inbox, stored("tom3"), limit=4)
    assert ("mia tom2 eve tom3", "tom1") == (names(inbox), names(dropped))


def test_among_equals_the_first_makes_room() -> None:
    events = [stored("mia", person="*#4"), stored("tom")]
    inbox, dropped = push(events, stored("eve", person="*#5"), limit=2)
    assert ("tom eve", "mia") == (names(inbox), names(dropped))


def test_characters_of_one_player_are_one_person() -> None:
    """Characters count as persons if no player is known."""
    puppets = [make_event(id=f"p{n}", sender_id=f"#{n}", person="*#3") for n in range(2)]
    events = [stored("mia", person="*#4"), *(event.as_stored() for event in puppets)]
    assert "p0" == names(push(events, stored("eve", person="*#5"), limit=3)[1])
    older = [make_event(id=f"o{n}", sender_id="#9").as_stored() for n in range(2)]
    assert "o0" == names(push([stored("mia"), *older], stored("eve", person="*#5"), limit=3)[1])


def test_limit_below_one_counts_as_one() -> None:
    """Otherwise nothing would ever be answered."""
    inbox, dropped = push([], stored("m1"), limit=0)
    assert ("m1", "") == (names(inbox), names(dropped))


ARRIVALS = st.lists(
    st.tuples(st.sampled_from(["message", "notice"]), st.sampled_from("abc"), st.booleans()),
    max_size=12,
)


@given(ARRIVALS, st.integers(-1, 6), st.integers(0, 3))
def test_bounded_and_nothing_lost_silently(
    arrivals: list[tuple[str, str, bool]], limit: int, most_busy: int
) -> None:
    """An event that leaves is handed out, and is of the person with the most events."""
    inbox: list[Stored] = []
    gone: list[Stored] = []
    pushed = [stored(str(n), kind, who) for n, (kind, who, _) in enumerate(arrivals)]
    for event, (_, _, is_turn) in zip(pushed, arrivals, strict=True):
        busy = {item["id"] for item in inbox[:most_busy]} if is_turn else {"none"}
        waiting = [item for item in [*inbox, event] if item["id"] not in busy]
        inbox, dropped = push(inbox, event, limit=limit, busy=busy)
        gone += dropped
        assert max(1, limit, len(busy) + 1) >= len(inbox)
        assert not busy & {item["id"] for item in dropped}
        for item in dropped:
            counts = Counter(other["person"] for other in waiting)
            assert max(counts.values()) == counts[item["person"]]
            waiting.remove(item)
    assert pushed == sorted(inbox + gone, key=lambda event: int(event["id"]))
    assert inbox == sorted(inbox, key=lambda event: int(event["id"]))


def test_push_leaves_its_argument_alone() -> None:
    """A failed write of the new inbox must lose nothing."""
    events = [stored("m1"), stored("m2")]
    push(events, stored("m3"), limit=2)
    assert "m1 m2" == names(events)


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param(True, {"id": "e2", "body": "more", "at": 1001.0, "number": 9}, id="a burst"),
        pytest.param(True, {"trust": 0.7, "rule": 2, "hops": 1}, id="judged in another way"),
        pytest.param(False, {"source": "say"}, id="in another way"),
        pytest.param(False, {"place": "#9"}, id="at another place"),
        pytest.param(False, {"sender_id": "#8"}, id="as another character"),
        pytest.param(False, {"person": "*#4"}, id="of another player"),
        pytest.param(False, {"kind": "notice"}, id="of another kind"),
    ],
)
def test_joins(expected: bool, changes: dict[str, object]) -> None:
    first = make_event(person="*#3", place="#2")
    second = make_event(**{"person": "*#3", "place": "#2", **changes})
    assert expected is joins(first.as_stored(), second.as_stored())


def test_batch() -> None:
    tom = [stored(f"t{number}") for number in range(3)]
    mia = stored("m1", person="*#4")
    events = [tom[0], mia, tom[1], tom[2]]
    assert "t0 t1 t2" == names(batch(events, tom[0], 10))
    assert "t0 t1" == names(batch(events, tom[0], 2))
    assert "m1" == names(batch(events, mia, 10))
    assert "t0" == names(batch(events, tom[0], 0))


def test_count_turns() -> None:
    """The count is the number of batches that `batch` makes one after another."""
    tom, mia = [stored(f"t{number}") for number in range(5)], stored("m1", person="*#4")
    events = [*tom[:2], mia, *tom[2:]]
    assert [6, 4, 3, 2] == [count_turns(events, limit) for limit in (1, 2, 3, 10)]
    assert 0 == count_turns([], 10)


def test_what_is_set_aside_waits_with_its_tray() -> None:
    """The first event holds the saved turn, and no other event joins until it is resumed."""
    events = [stored("a"), stored("b"), stored("c"), stored("d")]
    aside = set_aside(events, {"b", "c"}, {"said": []})
    assert [None, "b", "b", None] == [item.get(SET_ASIDE) for item in aside]
    assert [item["id"] for item in aside if SAVED_TURN in item] == ["b"]
    assert ("b c", "a d") == (names(batch(aside, aside[1], 9)), names(batch(aside, aside[0], 9)))
    assert events == without_saved_turn(aside, {"b", "c"})
    assert aside == without_saved_turn(aside, ())


@pytest.mark.parametrize(
    ("talk", "source", "place"),
    [
        pytest.param("channel Public", "channel", "Public", id="a channel"),
        pytest.param("room #2", "say", "#2", id="a room"),
        pytest.param("room #2", "pose", "#2", id="a pose there"),
        pytest.param("channel #2", "channel", "#2", id="a channel called like a room"),
        pytest.param("channel room #2", "channel", "room #2", id="a channel called like a talk"),
        pytest.param("room ", "say", "", id="nowhere"),
    ],
)
def test_talk_of(talk: str, source: str, place: str) -> None:
    assert talk == talk_of(source, place)


PLACES = st.tuples(
    st.sampled_from(list(map(str, Source))), st.sampled_from(["", "#2", "room", "room #2", "x"])
)


@given(PLACES, PLACES)
def test_no_channel_is_a_room(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Names of channels must not make one talk of two, whatever they look like."""
    are_same = (one[0] == "channel", one[1]) == (other[0] == "channel", other[1])
    assert are_same is (talk_of(*one) == talk_of(*other))


@pytest.mark.parametrize(
    ("left", "ids"),
    [
        pytest.param("m2 m3", {"m1"}, id="one"),
        pytest.param("m2", ("m1", "m3"), id="a burst"),
        pytest.param("m1 m2 m3", ["m9"], id="an unknown one"),
        pytest.param("m1 m2 m3", (), id="none"),
    ],
)
def test_settle_removes_those_events_alone(left: str, ids: set[str]) -> None:
    assert left == names(settle([stored("m1"), stored("m2"), stored("m3")], ids))


def test_b14_a_thousand_messages_keep_their_order() -> None:
    events: list[Stored] = []
    for number in range(1000):
        new = stored(f"e{number}", person=f"*#{number % 7}")
        events, dropped = push(events, new, limit=1000)
        assert [] == dropped
    assert [f"e{number}" for number in range(1000)] == [event["id"] for event in events]
    left = settle(events, {f"e{number}" for number in range(0, 1000, 2)})
    assert [f"e{number}" for number in range(1, 1000, 2)] == [event["id"] for event in left]
