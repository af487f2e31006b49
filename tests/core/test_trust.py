"""How far a message is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.trust import BASE_TRUST, base_trust


@pytest.mark.parametrize(
    ("trust", "source", "addressed"),
    [
        pytest.param(0.9, "whisper", False, id="a whisper"),
        pytest.param(0.9, "page", False, id="a page"),
        pytest.param(0.6, "channel", False, id="a channel"),
        pytest.param(0.4, "say", False, id="a say"),
        pytest.param(0.3, "pose", False, id="a pose"),
        pytest.param(0.2, "emit", False, id="an emit"),
        pytest.param(0.2, "dream", False, id="an unknown source"),
        pytest.param(0.7, "say", True, id="an addressed say"),
        pytest.param(0.9, "whisper", True, id="an addressed whisper loses nothing"),
    ],
)
def test_base_trust(trust: float, source: str, addressed: bool) -> None:
    """Each source has its trust, and being named lifts it to 0.7 at least."""
    assert trust == base_trust(source, addressed=addressed)


@given(st.sampled_from([*BASE_TRUST, "", "dream"]))
def test_naming_never_lowers_trust(source: str) -> None:
    """Trust lies between 0 and 1, and a message that names the listener is believed no less."""
    assert 0.0 <= base_trust(source, addressed=False) <= base_trust(source, addressed=True) <= 1.0
