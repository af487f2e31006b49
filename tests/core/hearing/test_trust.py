"""Trust in a message."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.perception import Source
from evennia_ai.core.hearing.trust import BASE_TRUST, Basis, history_of, weigh

TRUSTS = st.floats(0, 1)
COUNTS = st.integers(-3, 40)
FACTS = st.fixed_dictionaries(
    {
        "source": st.sampled_from([*BASE_TRUST, "", "dream"]),
        "is_addressed": st.booleans(),
        "is_relayed": st.booleans(),
        "own_trust": st.none() | TRUSTS,
        "answered": COUNTS,
        "refused": COUNTS,
    }
)


@pytest.mark.parametrize(
    ("trust", "source", "facts"),
    [
        pytest.param(0.9, "whisper", {}, id="a whisper"),
        pytest.param(0.9, "page", {}, id="a page"),
        pytest.param(0.6, "channel", {}, id="a channel"),
        pytest.param(0.4, "say", {}, id="a say"),
        pytest.param(0.3, "pose", {}, id="a pose"),
        pytest.param(0.2, "emit", {}, id="an emit"),
        pytest.param(0.8, "move", {}, id="a coming or going"),
        pytest.param(0.5, "system", {}, id="the game itself"),
        pytest.param(0.2, "dream", {}, id="an unknown source"),
        pytest.param(0.7, "say", {"is_addressed": True}, id="an addressed say"),
        pytest.param(0.7, "emit", {"is_addressed": True}, id="an addressed emit"),
        pytest.param(0.9, "whisper", {"is_addressed": True},
                     id="an addressed whisper loses nothing"),
        pytest.param(0.4, "channel", {"is_relayed": True}, id="a bot passes it on"),
        pytest.param(0.4, "channel", {"is_relayed": True, "is_addressed": True},
                     id="a bot, addressed"),
        pytest.param(0.3, "pose", {"is_relayed": True}, id="a bot gains nothing"),
        pytest.param(0.8, "channel", {"own_trust": 0.8}, id="a channel's own"),
        pytest.param(0.0, "channel", {"own_trust": 0.0}, id="a channel that is not believed"),
        pytest.param(0.1, "channel", {"own_trust": 0.1, "is_addressed": True},
                     id="a channel's own, addressed"),
        pytest.param(0.8, "channel", {"own_trust": 0.8, "is_relayed": True},
                     id="a channel's own, by a bot"),
        pytest.param(0.41, "say", {"answered": 1}, id="one answer"),
        pytest.param(0.5, "say", {"answered": 10}, id="ten answers"),
        pytest.param(0.5, "say", {"answered": 11}, id="more answers add no more"),
        pytest.param(0.35, "say", {"refused": 1}, id="one refusal"),
        pytest.param(0.2, "say", {"refused": 4}, id="four refusals"),
        pytest.param(0.2, "say", {"refused": 5}, id="more refusals take no more"),
        pytest.param(0.3, "say", {"answered": 99, "refused": 99}, id="both at their most"),
        pytest.param(0.4, "say", {"answered": -9, "refused": -9}, id="counts that cannot be"),
        pytest.param(0.75, "say", {"is_addressed": True, "answered": 5},
                     id="addressed, with a history"),
        pytest.param(0.2, "channel", {"is_relayed": True, "refused": 9},
                     id="by a bot, with a history"),
        pytest.param(1.0, "whisper", {"answered": 99}, id="never more than all"),
        pytest.param(0.9, "move", {"answered": 99}, id="a coming of an old friend"),
        pytest.param(0.0, "emit", {"refused": 99}, id="never less than nothing"),
        pytest.param(0.95, "emit", {"override": 0.95, "refused": 99}, id="by a permission"),
        pytest.param(0.0, "whisper", {"override": 0.0, "answered": 9}, id="by a bad permission"),
        pytest.param(0.4, "channel", {"is_relayed": True, "override": 0.95},
                     id="a bot with a permission"),
        pytest.param(0.1, "channel", {"is_relayed": True, "own_trust": 0.1, "override": 0.95},
                     id="its channel"),
        pytest.param(1.0, "say", {"override": 7.0}, id="a permission beyond bounds"),
        pytest.param(0.0, "say", {"override": -7.0}, id="a permission below bounds"),
    ],
)  # fmt: skip
def test_the_formula(trust: float, source: str, facts: dict[str, Any]) -> None:
    assert trust == weigh(source, **facts).trust


def test_every_source_has_its_trust() -> None:
    assert {str(source) for source in Source} == set(BASE_TRUST)


@given(FACTS, st.none() | st.floats(-2, 2))
def test_bounded(facts: dict[str, Any], override: float | None) -> None:
    assert 0.0 <= weigh(**facts, override=override).trust <= 1.0
    assert -0.2 <= weigh(**facts).history <= 0.1


@given(FACTS)
def test_naming_never_lowers_trust(facts: dict[str, Any]) -> None:
    named, not_named = ({**facts, "is_addressed": value} for value in (True, False))
    assert weigh(**not_named).trust <= weigh(**named).trust


@given(FACTS)
def test_a_bot_never_raises_trust(facts: dict[str, Any]) -> None:
    """Relayed words get 0.4 at most, unless their channel has a trust of its own."""
    relayed, direct = (weigh(**{**facts, "is_relayed": value}) for value in (True, False))
    assert relayed.trust <= direct.trust
    if facts["own_trust"] is None:
        assert 0.4 >= relayed.trust


@given(FACTS, COUNTS)
def test_history_counts_in_its_direction(facts: dict[str, Any], more: int) -> None:
    trust = weigh(**facts).trust
    more = abs(more)
    assert trust <= weigh(**{**facts, "answered": facts["answered"] + more}).trust
    assert trust >= weigh(**{**facts, "refused": facts["refused"] + more}).trust


@given(FACTS, TRUSTS)
def test_a_permission_replaces_all_else(facts: dict[str, Any], override: float) -> None:
    direct = {**facts, "is_relayed": False}
    assert round(override, 3) == weigh(**direct, override=override).trust


@given(FACTS, st.floats(-2, 2))
def test_a_bots_permission_lends_nothing(facts: dict[str, Any], override: float) -> None:
    """Relayed words are believed the same, whatever the bot's permissions."""
    relayed = {**facts, "is_relayed": True}
    assert weigh(**relayed) == weigh(**relayed, override=override)


@given(FACTS, TRUSTS)
def test_a_channels_trust_replaces_what_its_kind_deserves(
    facts: dict[str, Any], own_trust: float
) -> None:
    basis = weigh(**{**facts, "own_trust": own_trust})
    answered = 0 if facts["is_relayed"] else facts["answered"]  # a bot's answers are nobody's
    assert (own_trust, history_of(answered, facts["refused"])) == (basis.base, basis.history)


@pytest.mark.parametrize(
    ("words", "basis"),
    [
        pytest.param("say 0.4", Basis("say", 0.4), id="a source"),
        pytest.param("say 0.7, sender +0.03", Basis("say", 0.7, 0.03), id="a good history"),
        pytest.param("channel 0.6, sender -0.20", Basis("channel", 0.6, -0.2), id="a bad one"),
        pytest.param(
            "0.95 by a permission of the sender's", Basis("say", 0.4, 0.1, 0.95), id="a permission"
        ),
        pytest.param(
            "0 by a permission of the sender's", Basis("say", 0.4, 0.1, 0.0), id="one for nothing"
        ),
    ],
)
def test_explained(words: str, basis: Basis) -> None:
    assert words == basis.explain()
