"""Traces of the decisions to answer a message or not."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.decision_traces import (
    MOST_JUDGED,
    MOST_KEPT,
    MOST_PASSED,
    MOST_SHOWN,
    DecisionTrace,
    DecisionTraces,
)
from evennia_ai.core.hearing.perception import Ear, Heard, Outcome, Standing, Verdict
from evennia_ai.core.hearing.rules import classify
from evennia_ai.core.hearing.trust import Basis
from evennia_ai.core.text.plain_data import from_stored
from tests.core.samples import EARS, HEARD, STANDINGS, make_heard

IGNORED = Verdict(Outcome.IGNORE, 7, "default", Basis("say", 0.4))
ANSWERED = Verdict(Outcome.TRIGGER, 2, "direct_address", Basis("say", 0.7, 0.02))
STEPS = st.lists(st.tuples(st.sampled_from(["queued", "told"]), st.text(max_size=3)), max_size=3)


def numbers(records: list[DecisionTrace]) -> list[int]:
    return [record.number for record in records]


def filled(*verdicts: Verdict) -> DecisionTraces:
    """Traces of Tom's messages with these verdicts."""
    records = DecisionTraces()
    for verdict in verdicts:
        records.add(100.0, make_heard(), verdict)
    return records


def test_a_message_has_a_number() -> None:
    records = filled(ANSWERED, IGNORED, ANSWERED)
    assert 3 == records.count
    traces = [records.find(number) for number in (1, 2, 3)]
    assert [ANSWERED, IGNORED, ANSWERED] == [record.verdict for record in traces if record]
    assert (None, None) == (records.find(0), records.find(4))


def test_newest_first() -> None:
    records = filled(ANSWERED, IGNORED)
    records.add(101.0, make_heard(person="*#4"), IGNORED)
    records.add(102.0, make_heard(), ANSWERED)
    assert [4, 3, 2, 1] == numbers(records.newest())
    assert [4, 2, 1] == numbers(records.newest(person="*#3"))
    assert [3] == numbers(records.newest(person="*#4"))
    assert [] == numbers(records.newest(person=""))


@given(st.lists(st.sampled_from([ANSWERED, IGNORED]), max_size=5), st.integers(0, 200))
def test_bounded(verdicts: list[Verdict], chatter: int) -> None:
    """Sixty traces of each kind are kept, so chatter pushes out no answered message."""
    records = filled(*verdicts, *([IGNORED] * chatter))
    judged = [n for n, verdict in enumerate(verdicts, 1) if verdict is ANSWERED]
    passed = [n for n in range(1, records.count + 1) if n not in judged][-MOST_PASSED:]
    assert sorted([*judged, *passed], reverse=True) == numbers(records.newest())


def test_what_came_to_something_is_bounded() -> None:
    records = filled(*([ANSWERED] * (MOST_JUDGED + 5)))
    assert MOST_JUDGED == len(records.newest())
    assert (None, 6) == (records.find(5), records.newest()[-1].number)


def test_a_record_can_be_forgotten() -> None:
    records = filled(ANSWERED, IGNORED, ANSWERED)
    for number in (1, 2):
        record = records.find(number)
        assert record is not None
        records.drop(record)
        records.drop(record)
    assert [3] == numbers(records.newest())


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_was_passed_over_is_kept_apart(outcome: Outcome) -> None:
    """Messages that were answered, kept or captured are in the other list."""
    verdict = Verdict(outcome, 1, "rule", Basis("say", 0.4))
    records = filled(verdict)
    assert (outcome is Outcome.IGNORE) is (1 == len(records.passed))
    assert 1 == len(records.newest())


def test_steps_are_noted() -> None:
    records = filled(ANSWERED, ANSWERED, ANSWERED)
    records.note([1, 3, 99], "taken", "with 2 messages at once")
    records.note((3,), "answered")
    steps = [record.steps for record in reversed(records.newest())]
    taken = ("taken", "with 2 messages at once")
    assert [(taken,), (), (taken, ("answered", ""))] == steps


def test_a_step_that_lasts_is_noted_once() -> None:
    records = filled(ANSWERED)
    for _ in range(3):
        records.note_once(1, "waits")
    records.note([1], "taken up again")
    records.note_once(1, "waits")
    records.note_once(99, "waits")
    steps = [step for step, _ in records.newest()[0].steps]
    assert ["waits", "taken up again", "waits"] == steps


def test_a_record_keeps_its_first_steps_and_its_end() -> None:
    record = DecisionTraces().add(100.0, make_heard(), ANSWERED)
    for number in range(12):
        record.note(f"step {number}")
    places = (*range(5), *range(7, 12))
    assert [f"step {number}" for number in places] == [step for step, _ in record.steps]


@given(HEARD, EARS, STANDINGS, STEPS)
def test_it_survives_storing(
    heard: Heard, ear: Ear, sender: Standing, steps: list[tuple[str, str]]
) -> None:
    record = DecisionTrace(7, 100.5, heard, classify(heard, ear, sender), tuple(steps))
    # Pickled, as Evennia's attributes are. JSON would join two halves of a character.
    again = from_stored(DecisionTrace, pickle.loads(pickle.dumps(record.as_stored())))
    assert replace(record, heard=replace(heard, body=heard.body[:MOST_SHOWN])) == again


@pytest.mark.parametrize("part", ["heard", "verdict"])
def test_a_record_of_another_version_is_read(part: str) -> None:
    """A newer version may have written keys that this one does not know."""
    record = DecisionTrace(1, 0.0, make_heard(), ANSWERED)
    stored = record.as_stored()
    stored[part]["mood"] = "sour"
    assert record == from_stored(DecisionTrace, stored | {"mood": "sour"})


def test_a_record_of_an_older_version_is_read() -> None:
    stored = DecisionTrace(1, 0.0, make_heard(), ANSWERED).as_stored()
    for name in ("person", "place", "hops", "is_relayed", "is_for_another"):
        del stored["heard"][name]
    assert make_heard(person="") == from_stored(DecisionTrace, stored).heard


def test_long_speech_is_cut_when_stored() -> None:
    stored = DecisionTrace(1, 0.0, make_heard(body="x" * 500), ANSWERED).as_stored()
    assert "x" * 120 == from_stored(DecisionTrace, stored).heard.body


def test_records_survive_storing() -> None:
    records = filled(ANSWERED, IGNORED, ANSWERED, IGNORED)
    records.note([3], "answered", 'say "hello"')
    again = DecisionTraces.from_stored(pickle.loads(pickle.dumps(records.as_stored())))
    assert [3, 1] == numbers(again.newest())
    assert (("answered", 'say "hello"'),) == again.newest()[0].steps
    assert 5 == again.add(200.0, make_heard(), IGNORED).number
    assert records.judged == again.judged


def test_stored_records_are_bounded() -> None:
    stored = filled(*([ANSWERED] * MOST_JUDGED)).as_stored()
    stored["judged"] = [*stored["judged"], *stored["judged"]]
    assert MOST_JUDGED == len(DecisionTraces.from_stored(stored).newest())


def test_of_a_long_message_the_beginning_is_kept() -> None:
    records = DecisionTraces()
    for length in (MOST_KEPT, MOST_KEPT + 1):
        records.add(0.0, make_heard(body="x" * length), ANSWERED)
    assert ["x" * (MOST_KEPT - 1) + "…", "x" * MOST_KEPT] == [
        record.heard.body for record in records.newest()
    ]


def test_records_of_nothing() -> None:
    assert DecisionTraces() == DecisionTraces.from_stored({})


def test_a_record_that_cannot_be_read_is_left_out() -> None:
    records = DecisionTraces()
    for _ in range(2):
        records.add(0.0, make_heard(), ANSWERED)
    stored = records.as_stored()
    del stored["judged"][0]["verdict"]
    assert [2] == [record.number for record in DecisionTraces.from_stored(stored).judged]
