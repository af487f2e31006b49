"""The errors of the package."""

import inspect
import re

import pytest

from evennia_ai import errors
from evennia_ai.errors import (
    AssistantError,
    CircuitOpenError,
    LimitReachedError,
    ModelConnectionError,
    ModelStatusError,
    StaleEpochError,
)

FAMILY = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}


def test_the_drawing_is_the_tree() -> None:
    drawn: dict[str, str] = {}
    branch: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"^([│├└─\s]*)(\w+Error)\b", line):
            depth = len(match[1]) // 4
            branch[depth] = match[2]
            drawn[match[2]] = branch.get(depth - 1, "Exception")
    assert drawn == {name: kind.__bases__[0].__name__ for name, kind in FAMILY.items()}


@pytest.mark.parametrize(
    ("used", "cap", "text"),
    [(1_499_990, 1_500_000, "1,499,990 of 1,500,000"), (0.0123456789, 0.5, "0.012346 of 0.5")],
)
def test_a_limit_tells_amounts_as_people_write_them(used: float, cap: float, text: str) -> None:
    error = LimitReachedError("cost.any", used=used, cap=cap, amount=1, scope="game")
    assert f"limit cost.any: {text} are used" == str(error)


@pytest.mark.parametrize("name", sorted(FAMILY))
def test_one_family(name: str) -> None:
    assert issubclass(FAMILY[name], AssistantError)


def test_stale_epoch_carries_both() -> None:
    error = StaleEpochError(3, 5)
    assert (3, 5) == (error.turn_epoch, error.current_epoch)
    assert "turn of epoch 3 met epoch 5: it was cancelled" == str(error)


@pytest.mark.parametrize(("seconds", "given"), [(12.4, 12.4), (0.0, -1.0)], ids=str)
def test_open_circuit_says_when(seconds: float, given: float) -> None:
    error = CircuitOpenError("llm:openai", given)
    assert (seconds, "llm:openai") == (error.retry_after, error.name)
    assert f"breaker 'llm:openai' is open, next try in {seconds:.0f} s" == str(error)


@pytest.mark.parametrize(
    ("retryable", "status"),
    [(False, 400), (False, 401), (False, 404), (True, 408), (True, 409), (True, 425), (True, 429),
     (True, 500), (True, 503), (True, 529)],
    ids=str,
)  # fmt: skip
def test_which_statuses_may_pass(retryable: bool, status: int) -> None:
    """Retryable statuses are those where the same request may succeed later."""
    error = ModelStatusError(status, "text", retry_after=7.0)
    assert (retryable, status, 7.0) == (error.retryable, error.status, error.retry_after)


def test_a_lost_connection_may_pass() -> None:
    error = ModelConnectionError("refused")
    assert (True, None, "refused") == (error.retryable, error.retry_after, str(error))


def test_a_breaker_held_open_has_no_next_try() -> None:
    assert "breaker 'llm' is held open by hand, until somebody resets it" == str(
        CircuitOpenError("llm", float("inf"))
    )


def test_what_counts_towards_the_emergency_stop() -> None:
    """A call that an open breaker refused was never made, so it is no error of the model."""
    assert (False, True) == (
        CircuitOpenError.counts_as_error,
        ModelConnectionError("gone").counts_as_error,
    )


def test_hole_d28_who_is_stopped_is_named() -> None:
    assert "Ada is stopped: nothing is sent for it" == str(errors.StoppedError("Ada"))


def test_a_body_that_cannot_act_is_a_stale_turn() -> None:
    """Such a turn ends as one of an earlier epoch does."""
    error = errors.UnableError(3, "Bram lies dead")
    assert isinstance(error, StaleEpochError)
    assert ("Bram lies dead", "its body cannot act: Bram lies dead") == (error.why, str(error))
