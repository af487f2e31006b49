"""The nine components, and those that a game may put between them."""

from typing import Any

import pytest

from evennia_ai.core.turn.contexts import PromptPart
from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts.components import COMPONENTS, HEAD, TAIL, read_components


def test_the_nine() -> None:
    expected = [0, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000]
    assert expected == list(COMPONENTS) == list(PromptPart)
    assert 9 == len({component.key for component in COMPONENTS.values()})
    assert all(component.description for component in COMPONENTS.values())


def test_what_changes_stands_after_the_talk() -> None:
    """Rules, character and history are the head; everything of this moment comes after."""
    head = [number for number, component in COMPONENTS.items() if component.where == HEAD]
    assert [0, 1000, 5000] == head
    assert TAIL == COMPONENTS[PromptPart.GOALS].where


def test_own_ones_stand_in_the_gaps() -> None:
    """A game's components are ordered by id, with defaults for missing fields."""
    components = read_components(
        {
            250: {"key": "world_info", "content": "A port."},
            4100: {"key": "mood", "content": "It is {time}.", "name": "Mood", "enabled": False},
            20: {"key": "q", "content": "Who?", "role": "user", "description": "an example"},
        },
        "here",
    )
    assert [0, 20, 250, 1000] == list(components)[:4]
    world, mood = components[250], components[4100]
    assert ("world info", "head", "system", True) == (
        world.name,
        world.where,
        world.role,
        world.enabled,
    )
    assert ("Mood", "tail", "user", False) == (mood.name, mood.where, mood.role, mood.enabled)


def test_a_text_that_stays_may_be_told_with_the_event_all_the_same() -> None:
    """A game may want an unchanging text near the end."""
    components = read_components(
        {6500: {"key": "last", "content": "Be brief.", "is_static": False}}, "here"
    )
    assert TAIL == components[6500].where


def test_one_of_the_nine_is_switched_off_and_on() -> None:
    for enabled in (True, False):
        components = read_components({4000: {"enabled": enabled}}, "here")
        assert enabled is components[4000].enabled
        assert COMPONENTS[4000].content == components[4000].content


@pytest.mark.parametrize(
    ("error", "number", "raw"),
    [
        pytest.param("is 5; it must be a mapping of key, content", 250, 5, id="no mapping"),
        pytest.param("has no key 'text'; it has key, content", 250, {"text": ""}, id="field"),
        pytest.param("id is a whole number from 1 to 7999", 8000, {}, id="too high"),
        pytest.param("id is a whole number from 1 to 7999", -1, {}, id="too low"),
        pytest.param("id is a whole number from 1 to 7999", "250", {}, id="a text"),
        pytest.param("id is a whole number from 1 to 7999", True, {}, id="a bool"),
        pytest.param(
            "1000 is character_context, which is always there; take an id in a gap, such as 1250",
            1000,
            {"key": "me", "content": "x"},
            id="taken by one of the nine",
        ),
        pytest.param("system_prompt cannot be switched off", 0, {"enabled": False}, id="rules"),
        pytest.param("pending_event cannot be", 6000, {"enabled": False}, id="event"),
        pytest.param("enabled is 0; it must be True or False", 4000, {"enabled": 0}, id="of nine"),
        pytest.param("needs a key", 250, {"content": "x"}, id="no key"),
        pytest.param("needs a content", 250, {"key": "x"}, id="no text"),
        pytest.param("key is 5; it must be text", 250, {"key": 5, "content": "x"}, id="5"),
        pytest.param("which is one of the nine's", 250, {"key": "goals", "content": "x"},
                     id="taken key"),
        pytest.param("has {town}", 250, {"key": "x", "content": "{town}"}, id="unknown name"),
        pytest.param("its text changes from turn to turn", 250,
                     {"key": "x", "content": "{time}", "is_static": True},
                     id="changing, and said not to"),
        pytest.param("is_static is 1", 250, {"key": "x", "content": "x", "is_static": 1},
                     id="static"),
        pytest.param("role is 'tool'; it must be one of system, user, assistant", 250,
                     {"key": "x", "content": "x", "role": "tool"}, id="a tool's role"),
        pytest.param("role is 'system'; it must be user", 250,
                     {"key": "x", "content": "{time}", "role": "system"},
                     id="a system message amid the talk"),
        pytest.param("enabled is 'on'", 250, {"key": "x", "content": "x", "enabled": "on"},
                     id="enabled"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(error: str, number: Any, raw: Any) -> None:
    """The error says where the mistake is and what would be right."""
    with pytest.raises(ConfigurationError) as refusal:
        read_components({number: raw}, "here")
    assert error in str(refusal.value)
    assert str(refusal.value).startswith(f"here[{number!r}]")


def test_two_of_one_key_are_refused() -> None:
    raw = {"key": "mood", "content": "x"}
    with pytest.raises(ConfigurationError, match=r"here\[260\]\.key is 'mood', as that of 250"):
        read_components({250: raw, 260: raw}, "here")
