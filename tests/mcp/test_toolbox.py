"""The toolbox with the servers' tools: which tool runs, and under which locks."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs
from evennia_ai.errors import ToolError, ToolTimeoutError
from tests.mcp.harness import Remote

OWN = ToolSpec("say", "Say something.", {"type": "object", "properties": {}})
TURN: Any = None

pytestmark = pytest.mark.usefixtures("database")


@dataclass
class OwnTools:
    """Two tools of the game."""

    ran: list[str] = field(default_factory=list)
    offered: dict[str, ToolSpec] = field(default_factory=lambda: {"say": OWN, "almanac__pid": OWN})

    def specs(self) -> Specs:
        return self.offered

    async def run(self, call: ToolCall, turn: Any) -> ToolResult:
        self.ran.append(call.name)
        return ToolResult(True, "said")


def _forbid(*names: str) -> Any:
    def check(name: str, turn: Turn) -> None:
        if name in names:
            raise ToolError(f"you are not allowed to {name}")

    return check


def _tools(own: OwnTools, remote: Remote, *forbidden: str) -> Any:
    from evennia_ai.tools.running import RemoteTools  # it needs Evennia set up

    return RemoteTools(own, remote.servers, _forbid(*forbidden))


def _run(remote: Remote, call: ToolCall, own: OwnTools, *forbidden: str) -> ToolResult:
    tools = _tools(own, remote, *forbidden)
    result: ToolResult = remote.on_reactor(lambda: Deferred.fromCoroutine(tools.run(call, TURN)))
    return result


def test_both_are_on_offer(almanac: Remote) -> None:
    """The game's tools come first, and hide those of servers with the same name."""
    own = OwnTools()
    specs = _tools(own, almanac).specs()
    assert ["say", "almanac__pid"] == list(specs)[:2]
    assert specs["almanac__pid"] is OWN
    assert "almanac__tide" in specs


@pytest.mark.parametrize("name", ["say", "almanac__pid", "no_such_tool"])
def test_the_games_own_tools(almanac: Remote, name: str) -> None:
    """The game runs what no server has, and what it has as well."""
    own = OwnTools()
    assert ToolResult(True, "said") == _run(almanac, ToolCall("1", name), own)
    assert [name] == own.ran


def test_a_servers_tool(almanac: Remote) -> None:
    own = OwnTools()
    call = ToolCall("1", "almanac__tide", {"harbour": "Hull"})
    result = _run(almanac, call, own)
    assert ToolResult(True, "Hull, day 1: at noon") == result
    assert {"success": True, "result": "Hull, day 1: at noon"} == json.loads(result.as_content())
    assert [] == own.ran


def test_a_lock_on_it(almanac: Remote) -> None:
    with pytest.raises(ToolError, match="not allowed to almanac__tide"):
        _run(almanac, ToolCall("1", "almanac__tide"), OwnTools(), "almanac__tide")


def test_a_server_that_fails(almanac: Remote) -> None:
    """The model reads that the tool is unavailable; whoever retries gets the error."""
    result = _run(almanac, ToolCall("1", "almanac__refuse"), OwnTools())
    assert (False, Fault.UNAVAILABLE) == (result.success, result.fault)
    assert result.text.startswith("almanac failed: no rum")
    assert isinstance(result.error, ConnectionError)


def test_a_call_with_little_time(almanac: Remote) -> None:
    with pytest.raises(ToolTimeoutError, match=r"within 0\.25 s"):
        _run(almanac, ToolCall("1", "almanac__wait", deadline_seconds=0.25), OwnTools())
