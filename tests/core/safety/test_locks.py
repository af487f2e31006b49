"""Narrowing of Evennia lock expressions to admins."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.locks import ADMIN, narrowed, rest_of

RANKS = ["Guest", "Player", "Helper", "Builder", "Admin", "Developer"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("perm(Builder)", ADMIN, id="ours"),
        pytest.param("perm(Builders)", ADMIN, id="the plural"),
        pytest.param("perm(Admin)", ADMIN, id="admins"),
        pytest.param("all()", ADMIN, id="everybody"),
        pytest.param("perm(Admin) or pid(12)", ADMIN, id="an admin or one more"),
        pytest.param("id(5)", f"id(5) and {ADMIN}", id="one"),
        pytest.param("false()", f"false() and {ADMIN}", id="nobody"),
        pytest.param("perm(Developer)", "perm(Developer)", id="more than admins"),
        pytest.param("NOT perm(Developer)", f"not perm(Developer) and {ADMIN}", id="not those"),
        pytest.param(
            "perm(Developer) OR id(5) AND tag(x, y)",
            f"perm(Developer) or id(5) and tag(x, y) and {ADMIN}",
            id="two terms",
        ),
        pytest.param("tag(guild)", f"tag(guild) and {ADMIN}", id="a tag"),
        pytest.param("", ADMIN, id="nothing"),
    ],
)
def test_hole_b9_a_lock_is_narrowed(expression: str, expected: str) -> None:
    """Evennia's control over a body is left to those it named who are admins."""
    assert expected == narrowed(expression, RANKS)
    assert expected == narrowed(expected, RANKS)


def test_hole_b9_a_game_without_admins() -> None:
    """Without an Admin rank no permission is known to be above it."""
    assert f"perm(Boss) and {ADMIN}" == narrowed("perm(Boss)", ["Player", "Boss"])


def test_a_lock_without_its_type() -> None:
    assert ("perm(Admin) or id(5)", "") == (rest_of("control: perm(Admin) or id(5)"), rest_of(""))


def _passes(expression: str, rank: int, number: int) -> bool:
    """Evaluate the expression as Evennia does."""
    for token in ("id(1)", "id(2)"):
        expression = expression.replace(token, str(token == f"id({number})"))
    for place, name in enumerate(RANKS):
        expression = expression.replace(f"perm({name})", str(rank >= place))
    for word in ("AND", "OR", "NOT"):
        expression = expression.replace(word, word.lower())
    return bool(eval(expression))


WORDS = ["id(1)", "id(2)", *(f"perm({name})" for name in RANKS)]


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["", "not ", "NOT "]), st.sampled_from(WORDS)),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([" or ", " OR "]),
)
def test_hole_b9_who_passes_is_an_admin_who_passed_before(
    terms: list[list[tuple[str, str]]], between: str
) -> None:
    """Nothing is loosened, and no admin who passed is kept out."""
    expression = between.join(" and ".join(map("".join, term)) for term in terms)
    after = narrowed(expression, RANKS)
    for rank, number in product(range(len(RANKS)), (1, 2, 3)):
        before = _passes(expression, rank, number)
        assert _passes(after, rank, number) is (before and rank >= RANKS.index("Admin"))
