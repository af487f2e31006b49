"""The blame for failed turns: one person waits, and only failures of several lock the assistant."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.cooling import (
    MOST_PEOPLE,
    NOBODY,
    Blame,
    Case,
    Consequences,
    Ended,
    in_words,
    share_of,
)
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.safety import Cooling, CoolingMode

COOL = Cooling()
LOCK = Cooling(mode=CoolingMode.LOCK)
TOM, MIRA, EDDA = "*#1", "*#2", "*#3"
MOST = 5  # errors in a row that lock


def failed(person: str = TOM) -> Ended:
    return Ended(person, is_failure=True, is_counted=True)


def halted(person: str = TOM, cause: Cause = Cause.REPEAT, **more: bool) -> Ended:
    """A turn that a repetition check ended."""
    return Ended(person, is_failure=True, cause=cause, **more)


def judge(blame: Blame, *ends: Ended, now: float = 0.0, config: Cooling = COOL) -> Consequences:
    for ended in ends[:-1]:
        blame.judge(ended, now, config, MOST)
    return blame.judge(ends[-1], now, config, MOST)


def test_hole_b12_one_person_cools_off_and_locks_nobody() -> None:
    blame, waits = Blame(), []
    for number in range(10):
        judged = judge(blame, halted(), now=number * 100.0)
        assert judged.locks is None
        waits.append(judged.cools)
    assert waits == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, 3600.0, 3600.0, 3600.0]


@pytest.mark.parametrize("config", [COOL, LOCK], ids=["cool_off", "lock"])
@pytest.mark.parametrize("people", [(NOBODY,), (TOM, MIRA), (NOBODY, TOM, MIRA, EDDA)], ids=str)
def test_what_passes_by_itself_locks_nobody(people: tuple[str, ...], config: Cooling) -> None:
    """A passing fault locks nobody, whoever met it, and does not count towards a lock."""
    blame = Blame()
    judge(blame, failed(NOBODY), failed(NOBODY))
    for number in range(30):
        ended = replace(failed(people[number % len(people)]), may_lock=False)
        judged = blame.judge(ended, 0.0, config, MOST)
        assert (None, 2) == (judged.locks, judged.errors)


def test_what_passes_by_itself_may_make_a_person_wait() -> None:
    """A person whose turns time out again and again waits."""
    waits = [judge(blame := Blame(), *[replace(failed(), may_lock=False)] * n) for n in (2, 3)]
    assert [0.0, 60.0] == [judged.cools for judged in waits]
    assert {TOM: 60.0} == blame.waiting(0.0, COOL)


def test_hole_b12_a_second_person_locks() -> None:
    """The same failure of two people within an hour locks, and staff read who they were."""
    blame = Blame()
    assert 60.0 == judge(blame, halted()).cools
    assert Consequences(0, Cause.REPEAT, people=(TOM, MIRA)) == judge(
        blame, halted(MIRA), now=3600.0
    )


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [
        pytest.param(halted(), halted(MIRA), 3601.0, id="too late"),
        pytest.param(halted(), halted(MIRA), -1.0, id="a clock that went back"),
        pytest.param(halted(), halted(MIRA, Cause.CASCADE), 1.0, id="something else"),
        pytest.param(halted(), halted(), 1.0, id="the same person"),
        pytest.param(
            halted(), halted("#7", is_person=False), 1.0, id="an assistant whom somebody sent"
        ),
    ],
)
def test_hole_b12_what_is_no_second_person(first: Ended, second: Ended, later: float) -> None:
    """Each of these makes the one who asked wait."""
    blame = Blame()
    judged = judge(blame, first), judge(blame, second, now=later)
    assert [None, None] == [each.locks for each in judged]
    assert all(each.cools for each in judged)


@pytest.mark.parametrize(
    ("ended", "config", "people"),
    [
        pytest.param(halted(NOBODY), COOL, (), id="a goal of its own"),
        pytest.param(halted(cause=Cause.BUDGET, is_shared=True), COOL, (TOM,), id="all it has"),
        pytest.param(halted(), LOCK, (TOM,), id="set to lock at once"),
    ],
)
def test_hole_b12_what_locks_at_once(
    ended: Ended, config: Cooling, people: tuple[str, ...]
) -> None:
    """These cannot be blamed on one person, or the owner set it so."""
    judged = judge(Blame(), ended, config=config)
    assert (ended.cause, people, 0.0) == (judged.locks, people, judged.cools)


def test_hole_d26_failures_of_one_person_cool_that_person_off() -> None:
    blame = Blame()
    judged = [judge(blame, failed()) for _ in range(20)]
    assert [None] * 20 == [each.locks for each in judged]
    assert [1, 2, 3, 3] == [each.errors for each in judged[:4]]
    assert [0.0, 0.0, 60.0, 120.0] == [each.cools for each in judged[:4]]


def test_hole_d26_failures_of_several_people_count_on() -> None:
    """Of one person's failures at most three count."""
    judged = judge(Blame(), *[failed()] * 4, failed(MIRA), failed(MIRA))
    assert Consequences(5, Cause.CONSECUTIVE_ERRORS, people=(TOM, MIRA)) == judged


def test_hole_d26_what_is_laid_to_nobody_locks_as_ever() -> None:
    """This holds for a service that is down and for the assistant's own turns."""
    blame = Blame()
    judged = [judge(blame, failed(NOBODY)) for _ in range(5)]
    assert [1, 2, 3, 4, 5] == [each.errors for each in judged]
    assert [None] * 4 + [Cause.CONSECUTIVE_ERRORS] == [each.locks for each in judged]


def test_hole_d26_by_way_of_assistants_one_person_is_still_one() -> None:
    """An assistant that asked has to wait too, but is no second person."""
    blame = Blame()
    judge(blame, *[failed()] * 4)
    other = Ended("#7", is_failure=True, is_counted=True, is_person=False)
    judged = judge(blame, *[other] * 3)
    assert (3, None, 60.0) == (judged.errors, judged.locks, judged.cools)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 5, 10])
def test_hole_d26_no_threshold_lets_one_person_lock(most: int) -> None:
    blame = Blame()
    assert not any(blame.judge(failed(), 0.0, COOL, most).locks for _ in range(30))


def test_set_to_lock_whoever_asked_counts() -> None:
    blame = Blame()
    judged = [judge(blame, failed(), config=LOCK) for _ in range(5)]
    assert [None] * 4 + [Cause.CONSECUTIVE_ERRORS] == [each.locks for each in judged]
    assert not any(each.cools for each in judged)


def test_a_turn_that_goes_well_begins_anew() -> None:
    """Anybody's success resets the common count, and only one's own resets one's own."""
    blame = Blame()
    judged = judge(blame, failed(), failed(), Ended(MIRA), failed())
    assert (1, 60.0) == (judged.errors, judged.cools)
    assert 0.0 == judge(Blame(), failed(), failed(), Ended(TOM), failed()).cools


def test_what_does_not_count_changes_nothing() -> None:
    """For example a call that an open breaker prevented."""
    blame = Blame()
    ended = Ended(TOM, is_failure=True)
    assert Consequences(2) == judge(blame, failed(), failed(), ended)


def test_who_waits_and_for_how_long() -> None:
    """A clock that is set back never makes the wait longer than the maximum."""
    blame = Blame()
    judge(blame, halted(), now=100.0)
    left = [blame.seconds_left(TOM, now, COOL) for now in (100.0, 130.0, 160.0, -9e9)]
    assert [60.0, 30.0, 0.0, 3600.0] == left
    assert ({TOM: 30.0}, {}) == (blame.waiting(130.0, COOL), blame.waiting(160.0, COOL))
    assert (0.0, 0.0) == (blame.seconds_left(MIRA, 0, COOL), blame.seconds_left(TOM, 110.0, LOCK))


def test_waits_are_forgotten() -> None:
    blame = Blame()
    judge(blame, halted())
    judge(blame, halted(), now=100.0)
    assert 60.0 == judge(blame, halted(), now=86_400.0).cools


def test_no_wait_where_none_is_set() -> None:
    assert Consequences(0) == judge(Blame(), halted(), config=Cooling(first_seconds=0.0))


def test_a_count_that_somebody_set_is_laid_to_nobody() -> None:
    """Staff, or a version without people, may have set the count."""
    blame = Blame()
    blame.recall(4)
    assert Cause.CONSECUTIVE_ERRORS is judge(blame, failed()).locks
    blame.recall(0)
    assert {} == blame.run
    judge(blame, failed())
    blame.recall(1)
    assert {TOM: 1} == blame.run


def test_it_survives_storage() -> None:
    blame = Blame()
    judge(blame, halted(), failed(MIRA), now=100.0)
    stored = blame.as_stored(130.0, COOL)
    again = Blame.from_stored(stored)
    assert (blame, {TOM: 30.0}) == (again, again.waiting(130.0, COOL))
    assert [TOM, MIRA] == list(stored["people"])
    blame.judge(Ended(MIRA), 130.0, COOL, MOST)
    assert {} == blame.as_stored(100_000.0, COOL)
    assert Blame() == Blame.from_stored({})


def test_only_so_many_people_are_kept() -> None:
    blame = Blame()
    for number in range(MOST_PEOPLE + 5):
        judge(blame, halted(f"*#{number}", Cause.REPEAT if number % 2 else Cause.CASCADE))
    assert (MOST_PEOPLE, "*#104") == (len(blame.people), list(blame.people)[-1])


def test_a_case_is_over_when_nothing_of_it_matters() -> None:
    assert Case(at=0.0, until=60.0, times=1).is_over(4000.0, 3600.0)
    assert not Case(at=0.0, until=60.0, times=1).is_over(3000.0, 3600.0)
    assert not Case(failed=1).is_over(math.inf, 3600.0)
    assert not Case(until=9000.0).is_over(8000.0, 3600.0)
    assert not Case(causes={"repeat": 8000.0}).is_over(9000.0, 3600.0)


def test_a_share_is_half_of_what_locks() -> None:
    assert [1, 1, 1, 2, 2, 3, 5] == [share_of(most) for most in (0, 1, 2, 3, 4, 5, 10)]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(0.0, "a minute", id="nothing"),
        pytest.param(60.0, "a minute", id="a minute"),
        pytest.param(120.0, "2 minutes", id="two"),
        pytest.param(3540.0, "59 minutes", id="nearly an hour"),
        pytest.param(3600.0, "an hour", id="an hour"),
        pytest.param(7200.0, "2 hours", id="two hours"),
    ],
)
def test_a_wait_in_words(seconds: float, words: str) -> None:
    assert words == in_words(seconds)


ENDS = st.builds(
    Ended,
    st.just(TOM) | st.just("#7"),
    is_failure=st.booleans(),
    is_counted=st.booleans(),
    cause=st.sampled_from([None, Cause.REPEAT, Cause.CASCADE, Cause.LOOP]),
    may_lock=st.booleans(),
)


@given(st.lists(st.tuples(ENDS, st.floats(0, 5000)), max_size=60), st.integers(0, 12))
def test_hole_b12_d26_nothing_that_one_person_does_locks(
    history: list[tuple[Ended, float]], most: int
) -> None:
    """Failures of any kind, direct or by way of an assistant, at any pace."""
    blame, times = Blame(), itertools.accumulate(seconds for _, seconds in history)
    for (ended, _), now in zip(history, times, strict=True):
        is_person = ended.person == TOM
        asked = Ended(
            ended.person,
            ended.is_failure,
            ended.is_counted,
            ended.cause,
            is_person=is_person,
            may_lock=ended.may_lock,
        )
        assert blame.judge(asked, now, COOL, most).locks is None
        blame = Blame.from_stored(blame.as_stored(now, COOL))
