"""Rate limits of answers to a person."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.perception import Standing
from evennia_ai.core.hearing.rate_limits import Admission, HearingConfig, SenderStats
from evennia_ai.errors import ConfigurationError

COUNTS = [n for n, line in HearingConfig.model_fields.items() if isinstance(line.default, int)]
SECONDS = [n for n in HearingConfig.model_fields if n not in COUNTS]
MAY_BE_NONE = ("context_messages", "context_characters", "queued_per_player", "queued_turns")
NO_NUMBERS = (True, False, None, "3", [3], float("nan"), float("inf"), float("-inf"), 10**400)
# Seconds between messages: bursts, beats, and just about a minute.
GAPS = st.lists(st.sampled_from([0.0, 0.5, 9.0, 10.0, 20.0, 59.9, 60.0, 61.0]), max_size=40)


def times(gaps: list[float]) -> list[float]:
    return [1000.0 + sum(gaps[: number + 1]) for number in range(len(gaps))]


def test_every_setting_is_a_count_or_a_time() -> None:
    """The other tests tell counts from times by their defaults and names."""
    assert set(HearingConfig.model_fields) == {*COUNTS, *SECONDS}
    assert all(name.endswith("_seconds") for name in SECONDS)
    assert not [name for name in COUNTS if name.endswith("_seconds")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in COUNTS for value in (1, 7, 10**6)),
        *((name, value) for name in SECONDS for value in (0, 0.0, 0.5, 3, 86400.0)),
        *((name, 0) for name in MAY_BE_NONE),
    ],
)
def test_config_that_can_be(name: str, value: float) -> None:
    assert value == getattr(HearingConfig.from_stored({name: value}), name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in COUNTS for value in (-1, 2.5, 2.0, *NO_NUMBERS)),
        *((name, value) for name in SECONDS for value in (-1, -0.1, *NO_NUMBERS)),
        *((name, 0) for name in COUNTS if name not in MAY_BE_NONE),
    ],
    ids=lambda value: str(value)[:20],
)
def test_config_that_cannot_be(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        HearingConfig.from_stored({name: value})
    least = 0 if name in SECONDS or name in MAY_BE_NONE else 1
    kind = "a whole number" if name in COUNTS else "a number"
    problem = f"hearing_config.{name} is {value!r}; it must be {kind} from {least} up"
    assert problem == str(caught.value)


def test_config_with_an_unknown_key() -> None:
    with pytest.raises(ConfigurationError, match="has no key 'cooldown'; it has calls_per_player,"):
        HearingConfig.from_stored({"cooldown": 3})


@pytest.mark.parametrize("stored", [None, 5, [], "fast", [("cooldown_seconds", 3)]])
def test_config_that_is_no_mapping(stored: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        HearingConfig.from_stored(stored)
    problem = str(caught.value)
    assert problem.startswith(
        f"hearing_config is {stored!r}; it must be a mapping of calls_per_player"
    )
    assert problem.endswith(", such as {'calls_per_player': 6}")


def test_config_with_a_key_that_is_no_word() -> None:
    with pytest.raises(ConfigurationError, match="hearing_config has no key 1; it has calls_"):
        HearingConfig.from_stored({1: 2, "a": 3})


def test_config_of_nothing() -> None:
    assert HearingConfig() == HearingConfig.from_stored({})
    assert (6, 2, 5, 10, 1.0, 0.1, 10, 60.0, 900.0, 20, 4000) == tuple(
        getattr(HearingConfig(), name) for name in HearingConfig.model_fields
    )


@pytest.mark.parametrize(
    ("admission", "refused", "began", "waiting", "joinable", "turns", "queued"),
    [
        pytest.param("queued", 0, 0, 0, 0, 0, 0, id="the first"),
        pytest.param("queued", 0, 1, 0, 0, 0, 0, id="the last of a minute"),
        pytest.param("queued for the next minute", 0, 2, 0, 0, 0, 0, id="one more in a minute"),
        pytest.param("queued for the next minute", 0, 1, 1, 0, 1, 0, id="one waits already"),
        pytest.param("queued for the next minute", 0, 2, 1, 0, 1, 1, id="the last of the queue"),
        pytest.param("calls_per_player", 1, 2, 2, 0, 2, 2, id="the person's queue is full"),
        pytest.param("calls_per_player", 1, 2, 0, 0, 0, 3, id="everybody's queue is full"),
        pytest.param("queued", 0, 0, 0, 0, 0, 3, id="that is no matter to who need not wait"),
        pytest.param("joined those waiting", 0, 2, 1, 1, 1, 3, id="it needs no turn of its own"),
        pytest.param("joined those waiting", 0, 2, 2, 2, 1, 3, id="it fills the turn"),
        pytest.param("queued", 0, 0, 3, 3, 1, 0, id="that turn is full"),
        pytest.param("calls_per_player", 1, 2, 3, 3, 2, 2, id="full, and the queue is full"),
        pytest.param("joined those waiting", 0, 2, 4, 4, 2, 2, id="it joins the second turn"),
        pytest.param("queued", 0, 0, 1, 0, 1, 0, id="others wait, in another way"),
        pytest.param("pending_per_player", 1, 0, 5, 0, 5, 0, id="too many wait"),
        pytest.param("pending_per_player", 1, 0, 5, 5, 2, 0, id="too many, it could join or not"),
        pytest.param("pending_per_player", 1, 2, 9, 9, 3, 3, id="too many and too often"),
    ],
)
def test_admit(
    admission: str, refused: int, began: int, waiting: int, joinable: int, turns: int, queued: int
) -> None:
    """A message joins a waiting turn, waits for one of this minute or the next, or is refused."""
    config = HearingConfig(
        calls_per_player=2,
        pending_per_player=5,
        batch_messages=3,
        queued_per_player=2,
        queued_turns=3,
    )
    tom = SenderStats(turns=[99.0] * began)
    given_counts = {"waiting": waiting, "joinable": joinable, "turns": turns, "queued": queued}
    assert admission == tom.admit(100.0, config, **given_counts)
    assert (refused, began) == (tom.refused, len(tom.turns))


def test_only_two_admissions_are_refusals() -> None:
    refusals = {admission.value for admission in Admission if admission.is_refusal}
    assert {"calls_per_player", "pending_per_player"} == refusals


@given(GAPS, st.integers(1, 6))
def test_turns_a_minute_are_bounded(gaps: list[float], most: int) -> None:
    """No minute has more turns than allowed, and nobody waits longer than needed."""
    config, tom = HearingConfig(calls_per_player=most), SenderStats()
    spoken, began = times(gaps), []
    for at in spoken:
        wait = tom.minute_seconds(at, config)
        assert 0 <= wait <= 60
        if wait:
            assert most == sum(at - 60.0 < other <= at for other in began)
            assert 0 == SenderStats(turns=list(tom.turns)).minute_seconds(at + wait, config)
            continue
        tom.begin_turn(at)
        began.append(at)
    for at in began:
        assert most >= sum(at <= other < at + 60.0 for other in began)
    assert most >= len(tom.turns)


@given(GAPS, st.integers(1, 3), st.sampled_from([0, 5]))
def test_one_refusal_a_minute_counts(gaps: list[float], most: int, waiting: int) -> None:
    """A burst counts as one refusal, at whichever limit."""
    config = HearingConfig(calls_per_player=most, pending_per_player=5, queued_per_player=0)
    tom, refused, counted = SenderStats(), [], []
    for at in times(gaps):
        before = tom.refused
        if tom.admit(at, config, waiting=waiting).is_refusal:
            refused.append(at)
        else:
            tom.begin_turn(at)
        counted += [at] * (tom.refused - before)
    assert refused[:1] == counted[:1]
    assert all(60.0 <= later - sooner for sooner, later in pairwise(counted))
    for at in refused:
        assert [other for other in counted if 0 <= at - other < 60.0]


@given(st.lists(st.floats(0, 200), max_size=20), st.integers(1, 3))
def test_a_clock_put_back_locks_nobody_out(asked: list[float], most: int) -> None:
    config = HearingConfig(calls_per_player=most, pending_per_player=5, queued_per_player=0)
    tom = SenderStats()
    for at in asked:
        if not tom.admit(at, config).is_refusal:
            tom.begin_turn(at)
        tom.may_tell(at)
        tom.may_tell_later(at)
    refused = tom.refused
    for _ in range(most):
        assert (Admission.YES, 0.0) == (tom.admit(-1.0, config), tom.minute_seconds(-1.0, config))
        tom.begin_turn(-1.0)
    assert (True, True) == (tom.may_tell(-1.0), tom.may_tell_later(-1.0))
    assert Admission.TOO_OFTEN is tom.admit(-1.0, config)
    assert refused + 1 == tom.refused


@pytest.mark.parametrize(
    ("left", "known", "messages"),
    [
        pytest.param((1, 0), (0, 0), 1, id="the first answer"),
        pytest.param((1, 2), (0, 3), 1, id="it makes up for a refusal"),
        pytest.param((7, 0), (4, 3), 3, id="a burst makes up for as many"),
        pytest.param((9, 0), (4, 3), 5, id="no more than there are"),
        pytest.param((4, 3), (4, 3), 0, id="none"),
    ],
)
def test_answers_make_up_for_refusals(
    left: tuple[int, int], known: tuple[int, int], messages: int
) -> None:
    tom = SenderStats(answered=known[0], refused=known[1])
    tom.count_answers(messages)
    assert left == (tom.answered, tom.refused)


@given(st.lists(st.integers(0, 3), max_size=20))
def test_no_answers_in_store(steps: list[int]) -> None:
    """Answers make up for earlier refusals only, never for later ones."""
    config, tom, now = HearingConfig(pending_per_player=1), SenderStats(), 0.0
    for messages in steps:
        before, now = tom.refused, now + 60.0
        if messages:
            tom.count_answers(messages)
            assert max(0, before - messages) == tom.refused
        else:
            tom.admit(now, config, waiting=1)
            assert before + 1 == tom.refused
    assert sum(steps) == tom.answered


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 4), st.integers(1, 9))
def test_what_waits_is_bounded(steps: list[bool], calls: int, pending: int) -> None:
    """The queue is bounded and each turn counted, however messages and turns follow."""
    config = HearingConfig(calls_per_player=calls, batch_messages=1, pending_per_player=pending)
    tom, waiting, taken = SenderStats(), 0, 0
    for is_message in steps:
        if is_message:
            waiting += not tom.admit(0.0, config, waiting=waiting, turns=waiting).is_refusal
        elif waiting and not tom.minute_seconds(0.0, config):
            tom.begin_turn(0.0)
            taken, waiting = taken + 1, waiting - 1
        assert pending >= waiting
        assert config.queued_per_player >= tom.later(0.0, config, waiting)
        assert waiting == min(calls - taken, waiting) + tom.later(0.0, config, waiting)
    assert taken == tom.count(0.0) <= calls


@given(GAPS)
def test_told_once_a_minute(gaps: list[float]) -> None:
    """Both notices, of a refusal and of a wait, come once a minute."""
    tom, asked = SenderStats(), times(gaps)
    for may_tell in (tom.may_tell, tom.may_tell_later):
        moments = [at for at in asked if may_tell(at)]
        assert asked[:1] == moments[:1]
        assert all(60.0 <= later - sooner for sooner, later in pairwise(moments))
        for at in asked:
            assert [other for other in moments if at - 60.0 < other <= at]


@pytest.mark.parametrize(
    ("wait", "now"),
    [
        pytest.param(2.0, 100.0, id="just begun"),
        pytest.param(0.5, 101.5, id="partly over"),
        pytest.param(0.0, 102.0, id="over"),
        pytest.param(0.0, 9999.0, id="long over"),
        pytest.param(0.0, 50.0, id="the clock was put back"),
    ],
)
def test_cooldown(wait: float, now: float) -> None:
    config = HearingConfig(cooldown_seconds=2)
    assert wait == SenderStats(turn_began=100.0).wait_seconds(now, config)


def test_nobody_new_waits() -> None:
    assert 0.0 == SenderStats().wait_seconds(0.0, HearingConfig(cooldown_seconds=9.0))
    assert SenderStats().may_tell(0.0)


@pytest.mark.parametrize(
    ("standing", "known"),
    [
        pytest.param(Standing(), {}, id="a stranger"),
        pytest.param(Standing(is_engaged=True), {"is_engaged": True}, id="in a talk"),
        pytest.param(Standing(is_muted=True), {"is_muted": True}, id="muted"),
    ],
)
def test_standing(standing: Standing, known: dict[str, Any]) -> None:
    assert standing == SenderStats().standing(**known)
    counted = SenderStats(answered=3, refused=2).standing(**known)
    assert (3, 2) == (counted.answered, counted.refused)
