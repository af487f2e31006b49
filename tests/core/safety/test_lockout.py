"""The state machine of the lockout, and its stored form."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.lockout import TRANSITIONS, Cause, Lockout, Move, State, move, state_of

LEGAL = [
    ("running", "waiting_for_event", "begin"),
    ("safety_lockout", "waiting_for_event", "halt"),
    ("stopped", "waiting_for_event", "kill"),
    ("waiting_for_event", "running", "settle"),
    ("safety_lockout", "running", "halt"),
    ("stopped", "running", "kill"),
    ("safety_lockout", "safety_lockout", "settle"),
    ("safety_lockout", "safety_lockout", "halt"),
    ("stopped", "safety_lockout", "kill"),
    ("waiting_for_event", "safety_lockout", "unlock"),
    ("stopped", "stopped", "settle"),
    ("stopped", "stopped", "halt"),
    ("stopped", "stopped", "kill"),
    ("waiting_for_event", "stopped", "unlock"),
]
ILLEGAL = [
    ("waiting_for_event", "settle"),
    ("waiting_for_event", "unlock"),
    ("running", "begin"),
    ("running", "unlock"),
    ("safety_lockout", "begin"),
    ("stopped", "begin"),
]
LOCKED = (State.SAFETY_LOCKOUT, State.STOPPED)


@pytest.mark.parametrize(("to", "state", "by"), LEGAL)
def test_a_legal_move(to: str, state: str, by: str) -> None:
    assert State(to) is move(State(state), Move(by))


@pytest.mark.parametrize(("state", "by"), ILLEGAL)
def test_an_illegal_move_is_refused(state: str, by: str) -> None:
    legal = ", ".join(row[2] for row in LEGAL if row[1] == state)
    with pytest.raises(ValueError, match="is not a move") as refusal:
        move(State(state), Move(by))
    assert f"{by} is not a move while {state}; legal are: {legal}" == str(refusal.value)


def test_every_state_and_move_is_decided() -> None:
    assert len(State) * len(Move) == len(LEGAL) + len(ILLEGAL)
    assert {(State(s), Move(by)): State(to) for to, s, by in LEGAL} == TRANSITIONS
    with pytest.raises(TypeError):
        TRANSITIONS[State.STOPPED, Move.BEGIN] = State.RUNNING  # type: ignore[index]


@given(st.lists(st.sampled_from(Move), max_size=30))
def test_b9_out_of_a_lock_leads_only_an_unlock(moves: list[Move]) -> None:
    """No sequence of moves leaves a lock without an unlock."""
    state = State.WAITING_FOR_EVENT
    for by in moves:
        if (state, by) not in TRANSITIONS:
            continue
        before, state = state, move(state, by)
        if before in LOCKED:
            assert (by is Move.UNLOCK) is (state is State.WAITING_FOR_EVENT)
            assert state is not State.RUNNING
        assert (by is Move.KILL) <= (state is State.STOPPED)


@pytest.mark.parametrize("state", list(State))
def test_b12_a_kill_is_legal_in_every_state(state: State) -> None:
    assert State.STOPPED is move(state, Move.KILL)
    assert State.STOPPED is move(move(state, Move.KILL), Move.KILL)


@pytest.mark.parametrize("cause", list(Cause))
def test_b10_a_lockout_survives_storage(cause: Cause) -> None:
    lockout = Lockout(cause, "five errors", 1000.5, "Tom")
    stored = json.loads(json.dumps(lockout.as_stored()))
    assert {"cause": cause.value, "reason": "five errors", "at": 1000.5, "by": "Tom"} == stored
    assert lockout == Lockout.from_stored(stored)


@pytest.mark.parametrize(
    ("lockout", "stored"),
    [
        pytest.param(None, {}, id="nothing"),
        pytest.param(None, None, id="none"),
        pytest.param(None, "loop", id="a text"),
        pytest.param(None, {"reason": "x"}, id="no cause"),
        pytest.param(None, {"cause": "sloth"}, id="an unknown cause"),
        pytest.param(None, {"cause": ["loop"]}, id="a cause that is none"),
        pytest.param(Lockout(Cause.LOOP, "", 0.0, ""), {"cause": "loop"}, id="a cause alone"),
        pytest.param(
            Lockout(Cause.LOOP, "", 0.0, ""), {"cause": "loop", "at": "noon"}, id="no time"
        ),
        pytest.param(
            Lockout(Cause.LOOP, "", 0.0, ""), {"cause": "loop", "at": float("nan")}, id="NaN"
        ),
        pytest.param(
            Lockout(Cause.LOOP, "", 7.0, ""), {"cause": "loop", "at": 7, "x": 1}, id="another key"
        ),
    ],
)
def test_b10_what_another_version_stored(lockout: Lockout | None, stored: Any) -> None:
    """Absent values are empty, and an unreadable value is no lockout."""
    assert lockout == Lockout.from_stored(stored)


def test_a_lockout_stays_as_it_is() -> None:
    lockout = Lockout(Cause.LOOP, "too many steps", 1.0)
    assert "" == lockout.by
    with pytest.raises(AttributeError):
        lockout.cause = Cause.KILL  # type: ignore[misc]


@pytest.mark.parametrize("is_ticking", [False, True])
@pytest.mark.parametrize("cause", [None, *Cause])
def test_the_flag_alone_decides_whether_it_may_act(cause: Cause | None, is_ticking: bool) -> None:
    """A leftover lockout record locks nobody, and a lost one frees nobody."""
    lockout = None if cause is None else Lockout(cause, "", 0.0)
    free = State.RUNNING if is_ticking else State.WAITING_FOR_EVENT
    locked = State.STOPPED if cause in (None, Cause.KILL) else State.SAFETY_LOCKOUT
    assert free is state_of(lockout, False, is_ticking)
    assert locked is state_of(lockout, True, is_ticking)


def test_every_cause_and_move_has_words() -> None:
    assert all(each.text for each in (*Cause, *Move))
    assert len(Cause) == len({cause.text for cause in Cause})
    assert "stopped" == Cause.KILL


def test_kill_alone_stops() -> None:
    states = {cause: Lockout(cause, "", 0.0).state for cause in Cause}
    assert {Cause.KILL} == {cause for cause, state in states.items() if state is State.STOPPED}
    assert {State.STOPPED, State.SAFETY_LOCKOUT} == set(states.values())
