"""What people read who may allow a call of a server's tool: whose it is, and with what."""

from __future__ import annotations

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
    from evennia_ai.approvals.calls import describe_call  # it wants Evennia to be set up

    turn = Turn(1, (EVENT,), (), ())
    return describe_call(turn, ToolCall("1", name, arguments), (), remote.servers)


def test_the_server_and_its_tool_are_named(almanac: Remote) -> None:
    """As the server calls it, which is not what the model calls it."""
    told = _described(almanac, "almanac__tide", harbour="Greyport")
    expected = 'use tide of almanac, a server outside the game, with {"harbour": "Greyport"}'
    assert expected == told


def test_a_tool_of_the_game_is_its_name(almanac: Remote) -> None:
    """Also one that no server has."""
    assert 'get {"item": "lamp"}' == _described(almanac, "get", item="lamp")
    assert "almanac__none {}" == _described(almanac, "almanac__none")


def test_colour_and_control_characters_are_taken_out(almanac: Remote) -> None:
    """In names and in values, however deep; what would be markup of the game's is text."""
    given = {"a\x1b[1mb": ["\x1b[31mred\x07\nline", {"deep": "\x1b[2Jgone"}], "c": "|rplain"}
    told = _described(almanac, "get", **given)
    assert 'get {"ab": ["red line", {"deep": "gone"}], "c": "|rplain"}' == told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"path": "a" * 500}, "a… (500 characters)"),
        ({f"k{n}": "words " * 10 for n in range(9)}, "characters in all)"),
        ({"list": list(range(40))}, '9, "… and 30 more"]'),
    ],
)
def test_what_is_cut_says_so(almanac: Remote, given: dict[str, Any], told: str) -> None:
    """Nobody allows what stands behind a cut without knowing that something does."""
    found = _described(almanac, "get", **given)
    assert told in found
    assert len(found) < 330


def test_where_a_tool_is_from(almanac: Remote) -> None:
    """None of a server that is none, and of a tool that it has not."""
    origin = almanac.servers.origin
    assert ("almanac", "tide") == origin("almanac__tide")
    assert [None, None, None] == list(map(origin, ("tide", "nobody__tide", "almanac__none")))
