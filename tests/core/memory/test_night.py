"""The steps of a night, and the progress through them."""

from datetime import UTC, datetime
from typing import Any

from evennia_ai.core.memory import night

TWO, SIX = (datetime(2026, 5, 2, hour, tzinfo=UTC) for hour in (2, 6))
BEGUN: dict[str, Any] = night.begun({}, TWO, SIX)


def test_a_night_goes_through_all_its_steps() -> None:
    progress, names, phases = BEGUN, [], []
    while (step := night.step_of(progress)) is not None:
        names.append(step.name)
        phases.append(step.phase)
        progress = night.moved(progress)
    assert ["score", "consolidate", "profiles", "reflect", "compact"] == names[:5]
    assert ["prune", "index", "end"] == names[5:]
    assert [night.COMPACTING] * 2 + [night.DREAMING] * 6 == phases
    assert night.DONE == progress["step"]


def test_nothing_stored_is_nothing_to_do() -> None:
    """So it is before the first night, and at a step that this version no longer has."""
    assert [None, None] == [night.step_of(stored) for stored in ({}, {"step": "link"})]


def test_a_new_night_begins_with_nothing_used() -> None:
    before = night.moved({**BEGUN, "tokens": 900, "counts": {"facts": 3}})
    later = SIX.replace(day=3)
    fresh = night.begun(before, later, later.replace(hour=9))
    assert (0, {}, "score") == (fresh["tokens"], fresh["counts"], fresh["step"])
    assert before["night"] != fresh["night"]


def test_the_same_night_goes_on() -> None:
    """Waking in between gives no second budget; the steps are gone through again."""
    before = night.put_off({**night.moved(BEGUN), "tokens": 900, "counts": {"facts": 3}}, "down")
    again = night.begun(before, TWO.replace(hour=4), SIX)
    assert {**BEGUN, "tokens": 900, "counts": {"facts": 3}} == again


def test_the_next_step_begins_at_its_beginning() -> None:
    assert {} == night.moved({**BEGUN, "cursor": {"after": 7}})["cursor"]


def test_what_was_done_is_counted() -> None:
    once = night.counted(BEGUN, {"facts": 2, "insights": 0})
    assert {"facts": 5} == night.counted(once, {"facts": 3})["counts"]
    assert {} == BEGUN["counts"]


def test_a_night_in_words() -> None:
    progress = night.put_off(night.counted(BEGUN, {"facts": 2, "entries": 9}), "the model is down")
    assert "9 entries, 2 facts, score put off, 0 tokens" == night.summary(progress)
    progress = night.counted(BEGUN, {"entries scored": 1, "memories let go": 1, "profiles": 2})
    assert "1 entry scored, 1 memory let go, 2 profiles, 0 tokens" == night.summary(progress)
