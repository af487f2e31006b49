"""Loop detection over many operations: cascades, mixtures, storage, and bounds."""

import json
from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.safety.monitor import Caution, Halt, SafetyMonitor, Verdict, gravest
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.turn.toolspec import Fault
from tests.core.safety.watched import fail, make_monitor, only, play, short, work

OPERATIONS = st.text("FSNGU", max_size=60)
CHECKS = st.builds(  # of any size, also such as the settings refuse
    Checks.model_construct,
    same_failures=st.integers(0, 4),
    same_successes=st.sampled_from([0, 2, 3]),
    failures_in_a_row=st.integers(0, 6),
    window=st.integers(0, 12),
    anomalies=st.integers(0, 8),
)


def orders(good: Iterable[int], size: int = 10) -> list[str]:
    """All orders of so many operations, of which one of these numbers went well."""
    return [
        "".join("G" if place in places else "N" for place in range(size))
        for number in good
        for places in combinations(range(size), number)
    ]


ALL_56 = orders([2, 1, 0])


def test_b5_there_are_56_orders() -> None:
    """Ten failures have one order, nine have ten, and eight have 45."""
    assert 45 + 10 + 1 == len(set(ALL_56))


@pytest.mark.parametrize("pattern", ALL_56)
def test_b5_eight_of_ten_halt_in_every_order(pattern: str) -> None:
    """Case O2: the tenth operation locks and none before, with or without warnings."""
    verdicts = play(make_monitor(), pattern)
    assert "cascade" == verdicts[-1]
    assert {"go", "warn"} >= set(verdicts[:-1])


@pytest.mark.parametrize("good", [3, 4])
def test_b5_seven_of_ten_never_halt(good: int) -> None:
    for pattern in orders([good]):
        assert {"go", "warn"} >= set(play(make_monitor(), pattern)), pattern


def test_b5_fewer_than_ten_operations_never_halt() -> None:
    assert ["go"] * 4 + ["warn"] + ["go"] * 4 + ["cascade"] == play(make_monitor(), "N" * 10)


def test_b5_what_is_older_than_the_window_is_forgotten() -> None:
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
    assert verdicts.split() == play(only(**checks), pattern)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NOT_RUN])
def test_b6_every_fault_is_an_anomaly(fault: Fault) -> None:
    monitor = only(window=2, anomalies=2)
    assert ["go", "cascade"] == [short(fail(monitor, fault=fault, at=n)) for n in range(2)]


def test_b6_a_reply_that_cannot_be_read_is_an_anomaly() -> None:
    """Unreadable replies are anomalies, but no repetition of a call."""
    assert ["go"] * 4 + ["warn"] + ["go"] * 4 + ["cascade"] == play(make_monitor(), "U" * 10)


def test_b6_a_call_that_was_not_run_is_nothing() -> None:
    """No count changes, and no streak is broken."""
    monitor = make_monitor()
    play(monitor, "FF")
    before = monitor.as_stored()
    assert {None} == {fail(monitor, "dig", Fault.NOT_RUN, at="north") for _ in range(30)}
    assert before == monitor.as_stored()
    assert ["warn"] == play(monitor, "F")


@pytest.mark.parametrize(
    ("expected", "verdicts"),
    [
        pytest.param(None, [], id="none"),
        pytest.param(None, [None, None], id="nothing wrong"),
        pytest.param(Caution("a"), [None, Caution("a")], id="a caution"),
        pytest.param(Caution("a\nb"), [Caution("a"), None, Caution("b")], id="two"),
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
def test_b7_the_most_severe_wins(expected: object, verdicts: list[Verdict]) -> None:
    assert expected == gravest(verdicts)


@pytest.mark.parametrize(
    ("verdict", "name"),
    [
        pytest.param(Caution("a"), "note", id="a caution"),
        pytest.param(Halt(Cause.LOOP, "x"), "cause", id="a halt"),
    ],
)
def test_b7_a_verdict_stays_as_it_is(verdict: Caution | Halt, name: str) -> None:
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
    assert verdicts.split() == play(make_monitor(**checks), pattern)


def test_b7_two_warnings_are_both_told() -> None:
    monitor = make_monitor(failures_in_a_row=3)
    verdict = [fail(monitor, "dig", at="north") for _ in range(3)][-1]
    assert isinstance(verdict, Caution)
    assert 2 == verdict.note.count("SYSTEM ALERT: ")


def test_o3_a_failure_between_successes_does_not_go_on_for_ever() -> None:
    """Every other call is the same failure."""
    assert ["go"] * 6 + ["warn", "go", "repeat"] == play(make_monitor(), "FG" * 100)[:9]


def test_o1_the_same_failure_a_hundred_times_ends_at_the_fourth() -> None:
    assert ["go", "go", "warn"] + ["repeat"] * 97 == play(make_monitor(), "F" * 100)


def test_o13_a_new_task_begins_with_nothing() -> None:
    play(make_monitor(), "FFFNNNNN")
    assert ["go", "go", "warn"] == play(make_monitor(), "FFF")


def test_a_fingerprint_that_left_the_window_may_be_warned_of_again() -> None:
    monitor = only(same_failures=3, window=4)
    assert ["go", "go", "warn", "go", "go", "go", "go", "go", "go", "warn"] == play(
        monitor, "FFFGGGGFFF"
    )


def test_without_a_window_calls_in_a_row_still_count() -> None:
    assert ["go", "go", "warn", "repeat"] == play(make_monitor(window=0), "FFFF")
    assert ["go"] * 5 + ["warn"] == play(make_monitor(window=0), "FFGFFF")


@given(OPERATIONS, st.integers(0, 60), CHECKS)
def test_b10_a_monitor_that_was_stored_goes_on_as_before(
    operations: str, cut: int, checks: Checks
) -> None:
    unbroken = SafetyMonitor(checks)
    play(unbroken, operations[:cut])
    read = SafetyMonitor.from_stored(json.loads(json.dumps(unbroken.as_stored())), checks)
    assert unbroken == read
    assert play(unbroken, operations[cut:]) == play(read, operations[cut:])


def test_b10_nothing_stored_is_a_new_task() -> None:
    assert make_monitor() == SafetyMonitor.from_stored({}, Checks())


def test_b10_a_shorter_window_keeps_the_newest() -> None:
    monitor = make_monitor()
    play(monitor, "FFFGN")
    read = SafetyMonitor.from_stored(monitor.as_stored(), Checks(window=2, anomalies=2))
    assert list(monitor.window)[-2:] == list(read.window)
    play(read, "G" * 30)
    assert 2 == len(read.window)
    assert set() == read.warned


@given(OPERATIONS, CHECKS)
def test_memory_is_bounded_and_no_count_is_negative(operations: str, checks: Checks) -> None:
    monitor = SafetyMonitor(checks)
    play(monitor, operations * 3)
    assert len(monitor.window) <= checks.window
    assert len(monitor.warned) <= max(1, checks.window)
    assert min(monitor.failed, monitor.times) >= 0


@given(OPERATIONS, CHECKS)
def test_all_that_is_said_follows_from_what_happened(operations: str, checks: Checks) -> None:
    """A lock comes exactly when a naive count over all operations says so."""
    for number, verdict in enumerate(play(SafetyMonitor(checks), operations)):
        past = operations[: number + 1]
        assert verdict == expected_after(past, checks) or verdict in ("go", "warn")
        assert (verdict in ("repeat", "cascade")) is (expected_after(past, checks) != "")


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
    monitor = make_monitor()
    assert {"go"} == {short(work(monitor, at=n)) for n in range(20)}
    assert [""] * 10 == list(monitor.window)
