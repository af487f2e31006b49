"""Chains of messages among assistants, whose costs and limits are counted as one."""

import pytest

from evennia_ai.core.hearing import chain as chains
from evennia_ai.core.hearing.chain import Chain, Chains, is_of_chain
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.settings.safety import Loop
from evennia_ai.core.turn.turn import TokenUsage, Turn
from tests.core.samples import make_event

LOOP = Loop(max_iterations_per_task=7, max_tokens_per_task=90)


def test_a_chain_is_what_it_began_as() -> None:
    """A later claim of another person changes nothing, and neither do other limits."""
    known = Chains()
    first = known.of("e1", "*#3", LOOP)
    assert first is known.of("e1", "*#4", Loop()) is known.get("e1")
    assert ("*#3", 7, 90, 5) == (
        first.person, first.most_steps, first.most_tokens, first.most_delegations
    )  # fmt: skip
    assert "chain e1" == first.scope
    assert is_of_chain(first.scope)
    assert not is_of_chain("task e1")


@pytest.mark.parametrize("name", ["e2", "", None, 5, ["e1"]])
def test_what_is_no_chain_is_none(name: object) -> None:
    known = Chains()
    known.of("e1", "*#3", LOOP)
    assert known.get(name) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chains that were used least recently are forgotten first."""
    monkeypatch.setattr(chains, "MOST_CHAINS", 2)
    known = Chains()
    for name in ("e1", "e2", "e1", "e3"):
        known.of(name, "", LOOP)
    assert [True, False, True] == [known.get(name) is not None for name in ("e1", "e2", "e3")]
    known.clear()
    assert known.get("e1") is None


def test_grants_go_with_the_chain() -> None:
    chain = Chain("e1", steps=4, tokens=50, most_steps=7)
    assert (4, 50) == (chain.used(LimitKind.TASK_ITERATIONS), chain.used(LimitKind.TASK_TOKENS))
    chain.grant(LimitKind.TASK_ITERATIONS, 3)
    chain.grant(LimitKind.TASK_ITERATIONS, 0)
    chain.grant(LimitKind.TASK_TOKENS, 5)
    assert (10, 0) == (chain.cap(LimitKind.TASK_ITERATIONS), chain.cap(LimitKind.TASK_TOKENS))
    chain.delegations, chain.most_delegations = 2, 5
    assert (2, 5) == (chain.used(LimitKind.DELEGATIONS), chain.cap(LimitKind.DELEGATIONS))
    assert (7, 0) == (chain.most(LimitKind.TASK_ITERATIONS), chain.most(LimitKind.TASK_TOKENS))


@pytest.mark.parametrize(
    ("expected", "begun_by", "person"), [("*#3", "*#3", "#9"), ("#9", "", "#9"), ("", "", "")]
)
def test_hole_d25_who_began_it_pays(expected: str, begun_by: str, person: str) -> None:
    """Without a chain's beginner the speaker pays."""
    turn = Turn(0, (make_event(person=person),), chain=Chain("e1", begun_by))
    assert expected == turn.payer
    turn.count(TokenUsage(3, 4))
    assert (7, 7) == (turn.tokens, turn.chain.tokens)
    assert {"assistant_chain": "e1"} == turn.marks


def test_a_turn_of_nothing_is_nobodys() -> None:
    turn = Turn(0, ())
    assert ("", "") == (turn.payer, turn.chain.id)


@pytest.mark.parametrize(
    ("claim", "hops"),
    [
        (3, 3),
        (2.0, 2),
        (1e300, chains.MOST_CLAIMED_HOPS),
        (float("inf"), chains.MOST_CLAIMED_HOPS),
        (float("nan"), 0),
        (-5, 0),
        (0, 0),
        (True, 0),
        ("99", 0),
        (None, 0),
    ],
)
def test_hops_of_another_game_only_raise(claim: object, hops: int) -> None:
    """Any number from 0 up is taken; anything else counts as nothing claimed."""
    assert hops == chains.claimed_hops({"hops": claim})
    assert 0 == chains.claimed_hops({})


@pytest.mark.parametrize(
    ("claim", "chain"),
    [
        ("e1f2", "e1f2"),
        ("0b7e4c1a-0000:x.y", "0b7e4c1a-0000:x.y"),
        ("x" * 128, "x" * 128),
        ("x" * 129, ""),
        ("a b", ""),
        ("a\n", ""),
        ("", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_a_chain_of_another_game_has_a_short_name(claim: object, chain: str) -> None:
    """The name is written to the audit log, so only letters, digits and few signs are taken."""
    assert chain == chains.claimed_chain({"chain": claim})
