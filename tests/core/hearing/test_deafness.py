"""Detection of an assistant to whom speech comes without metadata."""

from dataclasses import replace

import pytest

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import RUN_BY_HAND
from evennia_ai.core.hearing.perception import Evidence, Heard, Source
from evennia_ai.core.hearing.unmarked import Hears, listened
from tests.core.hearing.test_decision_traces import IGNORED
from tests.core.samples import make_heard

NAMES = ("Tom", "")
MARKED = make_heard(body="hello", source=Source.SAY, evidence=Evidence.OOB, sender_name="Tom")
BARE = make_heard(body='Tom says, "hello"', source=Source.EMIT, evidence=Evidence.NONE)
POSED = make_heard(body="nods", source=Source.POSE, evidence=Evidence.OOB, sender_name="Tom")


def _bare(line: str) -> Heard:
    return make_heard(body=line, source=Source.EMIT, evidence=Evidence.NONE)


WEATHER = make_heard(body="Rain falls.", source=Source.EMIT, evidence=Evidence.NONE)
ARRIVAL = make_heard(body="Tom arrives.", source=Source.EMIT, evidence=Evidence.NONE)
OTHER = make_heard(body="hello", source=Source.SAY, evidence=Evidence.OOB, from_assistant=True)


@pytest.mark.parametrize(
    ("found", "newest_first"),
    [
        (Hears.UNKNOWN, ()),
        (Hears.UNKNOWN, (WEATHER, ARRIVAL, OTHER)),
        (Hears.WELL, (MARKED,)),
        (Hears.NOTHING, (BARE,)),
        (Hears.NOTHING, (BARE, MARKED)),
        (Hears.NOTHING, (_bare("Tom croaks: hello"),)),
        (Hears.NOTHING, (_bare("Tom: hello"),)),
        (Hears.NOTHING, (_bare("* Tom declares: hello"),)),
        (Hears.NOTHING, (replace(_bare("a stranger: hello"), sender_name="A stranger"),)),
        (Hears.UNKNOWN, (_bare("Tom wears a hat at 10:30"),)),
        (Hears.WELL, (MARKED, BARE, BARE)),
        (Hears.UNKNOWN, (POSED,)),
        (Hears.NOTHING, (POSED, BARE)),
    ],
)
def test_what_was_heard_last_tells(found: Hears, newest_first: tuple[object, ...]) -> None:
    """The newest line decides, since a game may have been mended or broken meanwhile."""
    records = [
        DecisionTrace(number, float(number), heard, IGNORED)
        for number, heard in zip(range(len(newest_first), 0, -1), newest_first, strict=True)
    ]
    assert found is listened(records, NAMES).hears


def test_a_tool_run_by_hand_is_no_speech() -> None:
    """Its trace is marked as a whisper of the person who ran it."""
    run = DecisionTrace(2, 2.0, MARKED, replace(IGNORED, name=RUN_BY_HAND))
    assert listened([run], NAMES).hears is Hears.UNKNOWN
    assert listened([run, DecisionTrace(1, 1.0, BARE, IGNORED)], NAMES).hears is Hears.NOTHING


def test_the_newest_bare_line_is_dated() -> None:
    records = [DecisionTrace(3, 3.0, BARE, IGNORED), DecisionTrace(2, 2.0, BARE, IGNORED)]
    counts = listened([*records, DecisionTrace(1, 1.0, MARKED, IGNORED)], NAMES)
    assert (1, 2, 3.0) == (counts.marked, counts.bare, counts.newest_bare_at)
