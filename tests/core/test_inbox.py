"""The durable queue."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.inbox import Event, Stored, push, settle
from evennia_ai.core.perception import Heard, Outcome, Source, Verdict
from tests.core.samples import make_event


def stored(name: str, kind: str = "message") -> Stored:
    return make_event(id=name, kind=kind).as_stored()


def names(events: list[Stored]) -> str:
    return " ".join(event["id"] for event in events)


def test_event_of_a_judged_message() -> None:
    """What was heard and how it was judged become one event that somebody waits on."""
    heard = Heard("hello", Source.WHISPER, "#7", "Tom", hops=2)
    verdict = Verdict(Outcome.TRIGGER, 3, "direct_message", 0.9)
    expected = make_event(id="e9", body="hello", hops=2, at=5.0)
    assert expected == Event.from_heard(heard, verdict, event_id="e9", at=5.0)


def test_event_survives_storing() -> None:
    """An event read back is the event that was stored, and what is stored is plain data."""
    event = make_event(body='she said "hé"')
    assert event == Event.from_stored(json.loads(json.dumps(event.as_stored())))


def test_event_of_another_version_is_read() -> None:
    """A key that this version does not know does no harm."""
    assert make_event() == Event.from_stored({**make_event().as_stored(), "mood": "sour"})


def test_oldest_ambient_event_makes_room() -> None:
    """When the inbox is full, the oldest event that nobody waits on leaves it."""
    events = [stored("m1"), stored("a1", "ambient"), stored("a2", "ambient")]
    kept, dropped = push(events, stored("m2"), limit=3)
    assert ("m1 a2 m2", "a1") == (names(kept), names(dropped))


def test_ambient_newcomer_displaces_nobody_who_waits() -> None:
    """When all others are waited on, a new ambient event is itself the one that leaves."""
    kept, dropped = push([stored("m1"), stored("m2")], stored("a1", "ambient"), limit=2)
    assert ("m1 m2", "a1") == (names(kept), names(dropped))


def test_oldest_message_leaves_but_not_the_one_being_answered() -> None:
    """With no ambient event the oldest leaves that is not being answered already."""
    kept, dropped = push([stored("m1"), stored("m2"), stored("m3")], stored("m4"), limit=3)
    assert ("m1 m3 m4", "m2") == (names(kept), names(dropped))


def test_ambient_event_being_answered_stays() -> None:
    """The event at the head is never taken away from under its tick, ambient or not."""
    kept, dropped = push([stored("a1", "ambient"), stored("m1")], stored("m2"), limit=2)
    assert ("a1 m2", "m1") == (names(kept), names(dropped))


def test_limit_below_one_counts_as_one() -> None:
    """An inbox holds one event at least, else nothing would ever be answered."""
    kept, dropped = push([], stored("m1"), limit=0)
    assert ("m1", "") == (names(kept), names(dropped))


@given(st.lists(st.sampled_from(["message", "ambient"]), max_size=12), st.integers(-1, 6))
def test_bounded_and_nothing_lost_silently(kinds: list[str], limit: int) -> None:
    """However events come, the inbox keeps its bound and order, and each is kept or handed out."""
    inbox: list[Stored] = []
    gone: list[Stored] = []
    pushed = [stored(str(number), kind) for number, kind in enumerate(kinds)]
    for event in pushed:
        head = inbox[:1]
        inbox, dropped = push(inbox, event, limit=limit)
        gone += dropped
        assert max(1, limit) >= len(inbox)
        assert head == inbox[: len(head)]
        if any(item["kind"] == "message" for item in dropped):
            assert "ambient" not in {item["kind"] for item in inbox[1:]}
    by_age = sorted(inbox + gone, key=lambda event: int(event["id"]))
    assert pushed == by_age
    assert inbox == sorted(inbox, key=lambda event: int(event["id"]))


def test_push_leaves_its_argument_alone() -> None:
    """The inbox that was handed in is unchanged: a failed write loses nothing."""
    events = [stored("m1"), stored("m2")]
    push(events, stored("m3"), limit=2)
    assert "m1 m2" == names(events)


def test_settle_removes_that_event_alone() -> None:
    """A settled event leaves; an unknown one changes nothing."""
    events = [stored("m1"), stored("m2")]
    assert "m2" == names(settle(events, "m1"))
    assert events == settle(events, "m9")
