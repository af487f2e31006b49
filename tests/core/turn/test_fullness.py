"""Texts for staff about a prompt that does not fit into the model's context."""

import pytest

from evennia_ai.core.turn.fullness import ADVICE, Fullness


@pytest.mark.parametrize(
    ("ok", "tokens", "most", "told"),
    [
        pytest.param(
            True,
            1000,
            8192,
            "a whisper to Ada needs about 1,000 tokens (690 of them tools); the model reads 8,192",
            id="room",
        ),
        pytest.param(True, 750, 1000, "the model reads 1,000", id="just enough"),
        pytest.param(
            False,
            751,
            1000,
            f"the model reads 1,000: 249 are left for talk and answer. {ADVICE}",
            id="hardly any",
        ),
        pytest.param(
            False, 1000, 1000, f"0 are left for talk and answer. {ADVICE}", id="not a token more"
        ),
        pytest.param(False, 1001, 1000, f"so it cannot answer. {ADVICE}", id="too small"),
    ],
)
def test_a_check(ok: bool, tokens: int, most: int, told: str) -> None:
    """A quarter of the context must be left for talk and answer."""
    is_ok, text = Fullness(tokens, 690, most).checked("Ada")
    assert ok is is_ok
    assert text.endswith(told)


def test_the_end_of_a_turn() -> None:
    full = Fullness(2345, 1900, 2048)
    assert (False, 0) == (full.fits, full.room)
    figures = "about 2,345 tokens (1,900 of them tools)"
    assert (
        f"its prompt does not fit: it needs {figures}, and the model reads 2,048. {ADVICE}"
        == full.unfit()
    )
    assert full.refused("It takes 2000.") == (
        f"the prompt is longer than the model reads: it has {figures}, and 2,048 were taken to "
        f"fit. It takes 2000. {ADVICE}"
    )
