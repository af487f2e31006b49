"""The words by which people decide on a call of a server's tool."""

from typing import Any

import pytest

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import Turn
from tests.mcp.harness import Remote

pytestmark = pytest.mark.usefixtures("database")

EVENT = Event(
    id="1",
    kind="message",
    source="say",
    sender_id="#2",
    sender_name="Tom",
    body="the tide?",
    trust=0.4,
    rule=2,
    hops=0,
    at=0.0,
    person="account-2",
)


def _described(remote: Remote, name: str, **arguments: Any) -> str:
    from evennia_ai.approvals.calls import describe_call  # it needs Evennia set up

    turn = Turn(1, (EVENT,), (), ())
    return describe_call(turn, ToolCall("1", name, arguments), (), remote.servers)


def test_the_server_and_its_tool_are_named(almanac: Remote) -> None:
    """The tool has the name that its server gives it, not the one that the model sees."""
    shown = _described(almanac, "almanac__tide", harbour="Greyport")
    expected = 'use tide of almanac, a server outside the game, with {"harbour": "Greyport"}'
    assert expected == shown


def test_a_tool_of_the_game_is_its_name(almanac: Remote) -> None:
    assert 'get {"item": "lamp"}' == _described(almanac, "get", item="lamp")
    assert "almanac__none {}" == _described(almanac, "almanac__none")


def test_colour_and_control_characters_are_taken_out(almanac: Remote) -> None:
    """In names and values at any depth; what would be the game's markup stays plain text."""
    given = {"a\x1b[1mb": ["\x1b[31mred\x07\nline", {"deep": "\x1b[2Jgone"}], "c": "|rplain"}
    shown = _described(almanac, "get", **given)
    assert 'get {"ab": ["red line", {"deep": "gone"}], "c": "|rplain"}' == shown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"path": "a" * 500}, "a… (500 characters)"),
        ({f"k{n}": "words " * 10 for n in range(9)}, "characters in all)"),
        ({"list": list(range(40))}, '9, "… and 30 more"]'),
    ],
)
def test_what_is_cut_says_so(almanac: Remote, given: dict[str, Any], expected: str) -> None:
    """Nobody should allow a call without knowing that part of it is hidden."""
    shown = _described(almanac, "get", **given)
    assert expected in shown
    assert len(shown) < 330


def test_where_a_tool_is_from(almanac: Remote) -> None:
    origin = almanac.servers.origin
    assert ("almanac", "tide") == origin("almanac__tide")
    assert [None, None, None] == list(map(origin, ("tide", "nobody__tide", "almanac__none")))
