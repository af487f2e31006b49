"""Placeholders in braces: known ones are filled in, all else stays."""

import pytest
from hypothesis import given

from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts.placeholders import (
    ALIASES,
    FACTS,
    PLACEHOLDERS,
    check_text,
    fill,
    is_stable,
    placeholders_in,
)
from tests.core.samples import ANY_TEXT


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param("<name>", "{name}", id="a name"),
        pytest.param("<name>", "{{name}}", id="doubled, as a character card has it"),
        pytest.param("<name> to <speaker>", "{{char}} to {user}", id="a card's own names"),
        pytest.param("{other} {{other}}", "{other} {{other}}", id="unknown"),
        pytest.param('{"tool": 1} {} {Name} {a b}', '{"tool": 1} {} {Name} {a b}', id="other"),
        pytest.param("{<time>}", "{{{time}}}", id="in further braces"),
    ],
)
def test_filling(expected: str, text: str) -> None:
    assert expected == fill(text, lambda name: f"<{name}>")


@given(ANY_TEXT)
def test_a_value_is_not_looked_through(value: str) -> None:
    assert f"{value}{{name}}|{value}{{name}}" == fill(
        "{name}|{speaker}", lambda _: value + "{name}"
    )


@pytest.mark.parametrize(
    ("stable", "text"),
    [
        pytest.param(True, "You are {name}: {persona}", id="who it is"),
        pytest.param(True, "plain", id="no names"),
        pytest.param(True, "{other}", id="unknown"),
        pytest.param(False, "You are {name} in {location}", id="where it is"),
        pytest.param(False, "for {{user}}", id="who is answered"),
    ],
)
def test_what_never_changes(stable: bool, text: str) -> None:
    """Only an unchanging text may stand in the head."""
    assert stable is is_stable(text)


def test_an_unknown_name_is_refused_with_the_known() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        check_text("{name} of {town}", "here")
    assert str(refusal.value).startswith("here has {town}, which is not known; known: {name}, ")


def test_what_is_known_is_not_refused() -> None:
    check_text("".join(f"{{{name}}}" for name in (*PLACEHOLDERS, *ALIASES)), "here")
    assert set(PLACEHOLDERS) >= {*ALIASES.values(), *FACTS}
    assert ("name", "speaker") == placeholders_in("{{char}}{user}")
