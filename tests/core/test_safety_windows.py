"""What is seen over many operations: cascades in any order, mixtures, storage, and bounds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.safety.monitor import Caution, Halt, Proceed, SafetyMonitor, gravest
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.turn.toolspec import Fault
from tests.core.watched import fail, make_monitor, only, play, short, work

OPERATIONS = st.text("FSNGU", max_size=60)
CHECKS = st.builds(  # of any size, also such as would be refused
    Checks.model_construct,
    same_failures=st.integers(0, 4),
    same_successes=st.sampled_from([0, 2, 3]),
    failures_in_a_row=st.integers(0, 6),
    window=st.integers(0, 12),
    anomalies=st.integers(0, 8),
)


def orders(good: Iterable[int], size: int = 10) -> list[str]:
    """All orders of so many operations in which as many went well as one of the numbers says."""
    return [
        "".join("G" if place in places else "N" for place in range(size))
        for number in good
        for places in combinations(range(size), number)
    ]


ALL_56 = orders([2, 1, 0])


def test_b5_there_are_56_orders() -> None:
    """Ten failures in one order, nine in ten, eight in 45."""
    assert 45 + 10 + 1 == len(set(ALL_56))


@pytest.mark.parametrize("pattern", ALL_56)
def test_b5_eight_of_ten_halt_in_every_order(pattern: str) -> None:
    """With the default checks the tenth operation locks and none before, warnings or not (O2)."""
    said = play(make_monitor(), pattern)
    assert "cascade" == said[-1]
    assert {"go", "warn"} >= set(said[:-1])


@pytest.mark.parametrize("good", [3, 4])
def test_b5_seven_of_ten_never_halt(good: int) -> None:
    """Three good ones among ten are enough, in every order."""
    for pattern in orders([good]):
        assert {"go", "warn"} >= set(play(make_monitor(), pattern)), pattern


def test_b5_fewer_than_ten_operations_never_halt() -> None:
    """Nine failures are no cascade yet."""
    assert ["go"] * 4 + ["warn"] + ["go"] * 4 + ["cascade"] == play(make_monitor(), "N" * 10)


def test_b5_what_is_older_than_the_window_is_forgotten() -> None:
    """Seven failures, then good ones, then seven again: never eight within ten."""
    assert {"go", "warn"} == set(play(make_monitor(), ("N" * 7 + "G" * 3) * 5))


@pytest.mark.parametrize(
    ("verdicts", "checks", "pattern"),
    [
        pytest.param("go go go go cascade", {"window": 5, "anomalies": 3}, "NGNGN", id="3 of 5"),
        pytest.param("go go go go go cascade", {"window": 5, "anomalies": 3}, "GGNGNN", id="moved"),
        pytest.param("go go go cascade", {"window": 4, "anomalies": 4}, "NNNN", id="all of them"),
        pytest.param("go go go go", {"window": 4, "anomalies": 4}, "NNNG", id="all but one"),
        pytest.param("go cascade", {"window": 2, "anomalies": 1}, "NG", id="seen at a good one"),
        pytest.param("go go cascade", {"window": 3, "anomalies": 3}, "UUU", id="unparsable ones"),
        pytest.param("go go go", {"window": 3, "anomalies": 0}, "NNN", id="no number: off"),
        pytest.param("go go go", {"window": 0, "anomalies": 3}, "NNN", id="no window: off"),
    ],
)
def test_b5_the_figures_are_settings(verdicts: str, checks: dict[str, int], pattern: str) -> None:
    """How far it looks back, and how many of these are too many, can be set."""
    assert verdicts.split() == play(only(**checks), pattern)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NOT_RUN])
def test_b6_every_fault_is_an_anomaly(fault: Fault) -> None:
    """An unknown tool, bad arguments, a denial, a failure, a timeout: all count."""
    monitor = only(window=2, anomalies=2)
    assert ["go", "cascade"] == [short(fail(monitor, fault=fault, at=n)) for n in range(2)]


def test_b6_a_reply_that_cannot_be_read_is_an_anomaly() -> None:
    """It takes a place in the window, and repeats no call."""
    assert ["go"] * 4 + ["warn"] + ["go"] * 4 + ["cascade"] == play(make_monitor(), "U" * 10)


def test_b6_a_call_that_was_not_run_is_nothing() -> None:
    """It neither fails nor works: no count changes, and no streak is broken."""
    monitor = make_monitor()
    play(monitor, "FF")
    before = monitor.as_stored()
    assert {Proceed()} == {fail(monitor, "dig", Fault.NOT_RUN, at="north") for _ in range(30)}
    assert before == monitor.as_stored()
    assert ["warn"] == play(monitor, "F")


@pytest.mark.parametrize(
    ("expected", "verdicts"),
    [
        pytest.param(Proceed(), [], id="none"),
        pytest.param(Proceed(), [Proceed(), Proceed()], id="nothing wrong"),
        pytest.param(Caution("a"), [Proceed(), Caution("a")], id="a caution"),
        pytest.param(Caution("a\nb"), [Caution("a"), Proceed(), Caution("b")], id="two"),
        pytest.param(
            Halt(Cause.LOOP, "x"), [Caution("a"), Halt(Cause.LOOP, "x"), Caution("b")], id="a halt"
        ),
        pytest.param(
            Halt(Cause.REPEAT, "x"),
            [Halt(Cause.REPEAT, "x"), Halt(Cause.CASCADE, "y")],
            id="the first of two halts",
        ),
    ],
)
def test_b7_the_most_severe_wins(expected: object, verdicts: list[Proceed]) -> None:
    """A halt goes before all cautions, and no caution is lost behind another."""
    assert expected == gravest(verdicts)


@pytest.mark.parametrize(
    ("verdict", "name"),
    [
        pytest.param(Caution("a"), "note", id="a caution"),
        pytest.param(Halt(Cause.LOOP, "x"), "cause", id="a halt"),
    ],
)
def test_b7_a_verdict_stays_as_it_is(verdict: Caution | Halt, name: str) -> None:
    """Nobody makes less of what was seen."""
    with pytest.raises(AttributeError):
        setattr(verdict, name, "")


@pytest.mark.parametrize(
    ("verdicts", "checks", "pattern"),
    [
        pytest.param("go go warn repeat", {"failures_in_a_row": 4}, "FFFF", id="a repetition"),
        pytest.param("go go go go cascade", {"window": 5, "anomalies": 5}, "NNNNN", id="a cascade"),
        pytest.param(
            "go go warn repeat", {"window": 4, "anomalies": 4}, "FFFF", id="both, and one is told"
        ),
    ],
)
def test_b7_a_halt_is_not_masked_by_a_warning(
    verdicts: str, checks: dict[str, int], pattern: str
) -> None:
    """All checks are looked at for each operation, and the gravest speaks."""
    assert verdicts.split() == play(make_monitor(**checks), pattern)


def test_b7_two_warnings_are_both_told() -> None:
    """Where two checks warn at once, the model reads both."""
    monitor = make_monitor(failures_in_a_row=3)
    verdict = [fail(monitor, "dig", at="north") for _ in range(3)][-1]
    assert isinstance(verdict, Caution)
    assert 2 == verdict.note.count("SYSTEM ALERT: ")


def test_o3_a_failure_between_successes_does_not_go_on_for_ever() -> None:
    """200 calls of which every other one is the same failure end at the ninth."""
    assert ["go"] * 6 + ["warn", "go", "repeat"] == play(make_monitor(), "FG" * 100)[:9]


def test_o1_the_same_failure_a_hundred_times_ends_at_the_fourth() -> None:
    """One warning, then a lock, and it stays one."""
    assert ["go", "go", "warn"] + ["repeat"] * 97 == play(make_monitor(), "F" * 100)


def test_o13_a_new_task_begins_with_nothing() -> None:
    """What one task did wrong does not follow into the next."""
    play(make_monitor(), "FFFNNNNN")
    assert SafetyMonitor(Checks()) == make_monitor()
    assert ["go", "go", "warn"] == play(make_monitor(), "FFF")


def test_a_fingerprint_that_left_the_window_may_be_warned_of_again() -> None:
    """One warning for each time that it comes up, not one for ever."""
    monitor = only(same_failures=3, window=4)
    assert ["go", "go", "warn", "go", "go", "go", "go", "go", "go", "warn"] == play(
        monitor, "FFFGGGGFFF"
    )


def test_without_a_window_calls_in_a_row_still_count() -> None:
    """Looking back on nothing leaves the streaks as they are."""
    assert ["go", "go", "warn", "repeat"] == play(make_monitor(window=0), "FFFF")
    assert ["go"] * 5 + ["warn"] == play(make_monitor(window=0), "FFGFFF")


@given(OPERATIONS, st.integers(0, 60), CHECKS)
def test_b10_a_monitor_that_was_stored_goes_on_as_before(
    operations: str, cut: int, checks: Checks
) -> None:
    """After a restart, at whatever point, it says what it would have said."""
    unbroken = SafetyMonitor(checks)
    play(unbroken, operations[:cut])
    unbroken.on_tick_start(0)
    read = SafetyMonitor.from_stored(json.loads(json.dumps(unbroken.as_stored())), checks)
    assert unbroken == read
    assert play(unbroken, operations[cut:]) == play(read, operations[cut:])


def test_b10_nothing_stored_is_a_new_task() -> None:
    """A task of a version that stored nothing begins anew."""
    assert make_monitor() == SafetyMonitor.from_stored({}, Checks())


def test_b10_a_shorter_window_keeps_the_newest() -> None:
    """Who makes the window shorter does not lose what happened last."""
    monitor = make_monitor()
    play(monitor, "FFFGN")
    read = SafetyMonitor.from_stored(monitor.as_stored(), Checks(window=2, anomalies=2))
    assert list(monitor.window)[-2:] == list(read.window)
    play(read, "G" * 30)
    assert 2 == len(read.window)
    assert set() == read.warned


@given(OPERATIONS, CHECKS)
def test_memory_is_bounded_and_no_count_is_negative(operations: str, checks: Checks) -> None:
    """However long a task is, it remembers no more than the window."""
    monitor = SafetyMonitor(checks)
    play(monitor, operations * 3)
    assert len(monitor.window) <= checks.window
    assert len(monitor.warned) <= max(1, checks.window)
    assert min(monitor.steps, monitor.failed, monitor.times) >= 0


@given(OPERATIONS, CHECKS)
def test_all_that_is_said_follows_from_what_happened(operations: str, checks: Checks) -> None:
    """A lock for a cascade or a repetition comes exactly when the words of the settings say so."""
    for number, said in enumerate(play(SafetyMonitor(checks), operations)):
        past = operations[: number + 1]
        assert said == expected_after(past, checks) or said in ("go", "warn")
        assert (said in ("repeat", "cascade")) is (expected_after(past, checks) != "")


def expected_after(past: str, checks: Checks) -> str:
    """The cause that the newest operation gives, counted naively over all that happened."""
    newest = past[-1]
    streak = len(past) - len(past.rstrip(newest))
    window = past[-checks.window :] if checks.window else ""
    within = window.count(newest)
    most = checks.same_failures
    if newest == "F" and most and (streak > most or within > most + 1):
        return "repeat"
    if newest == "S" and checks.same_successes and streak >= 2 * checks.same_successes:
        return "repeat"
    wrong = sum(window.count(sign) for sign in "FNU")
    is_full = 0 < checks.window == len(window)
    return "cascade" if is_full and checks.anomalies and wrong >= checks.anomalies else ""


def test_another_call_that_works_is_no_anomaly() -> None:
    """Twenty good calls leave nothing behind but their number."""
    monitor = make_monitor()
    assert {"go"} == {short(work(monitor, at=n)) for n in range(20)}
    assert [""] * 10 == list(monitor.window)
