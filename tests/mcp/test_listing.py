"""The tools of a server: names that every provider takes, schemas that can be sent, bounds."""

import re
from typing import Any, Literal

import mcp_types as types
import pytest
from twisted.internet.selectreactor import SelectReactor

from evennia_ai.core.hearing.audience import Hearers, way_of
from evennia_ai.errors import ToolError
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.connection import read_tool
from evennia_ai.mcp.listing import MOST_LEFT_OUT, MOST_TOOLS, Listed, make_listing
from tests.mcp.harness import Remote, command

OBJECT = {"type": "object", "properties": {}}
WIKI = ServerConfig("wiki", url="http://127.0.0.1:9000/mcp")


def _names(*names: str, config: ServerConfig = WIKI) -> list[str]:
    return list(make_listing(config, [Listed(name, "", OBJECT) for name in names]).tools)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["tide"], ["wiki__tide"], id="a plain name"),
        pytest.param(["get.tide"], ["wiki__get_tide"], id="a dot"),
        pytest.param(["a.b", "a_b"], ["wiki__a_b_2f8b2ab4", "wiki__a_b"], id="two alike"),
        pytest.param(["tide", "tide"], ["wiki__tide"], id="listed twice"),
    ],
)
def test_names(names: list[str], expected: list[str]) -> None:
    """A name is kept where possible; where two become the same, the changed one is marked."""
    shown = [re.sub(r"_[0-9a-f]{8}$", "_2f8b2ab4", name) for name in _names(*names)]
    assert expected == shown


def test_every_name_is_one_that_providers_take() -> None:
    names = ["ünï", "ü n", "n" * 90, "n" * 91, "a/b", "a b", "", "\x00"]
    offered = _names(*names)
    assert len(names) == len(set(offered))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in offered)


def test_names_do_not_depend_on_the_order() -> None:
    names = ["a.b", "a_b", "a/b", "n" * 90]
    assert set(_names(*names)) == set(_names(*reversed(names)))


def test_a_name_that_poses_as_a_marked_one() -> None:
    """A server cannot hide a tool behind another's name, even on purpose."""
    marked = _names("a.b", "a/b")[0]
    listing = make_listing(
        WIKI, [Listed(name, "", OBJECT) for name in ("a.b", "a/b", marked.removeprefix("wiki__"))]
    )
    assert "a.b" == listing.tools[marked].name
    assert (f"{marked.removeprefix('wiki__')}: its name is another tool's",) == listing.left_out


def test_only_what_is_allowed_is_offered() -> None:
    config = ServerConfig("wiki", tools=frozenset({"read", "gone"}))
    listing = make_listing(config, [Listed("read", "", OBJECT), Listed("write", "", OBJECT)])
    assert ["wiki__read"] == list(listing.tools)
    assert ("gone: the server has no such tool",) == listing.left_out


def test_the_number_of_tools_is_bounded() -> None:
    """A thousand tools would fill the prompt, and the names of those left out the log."""
    listing = make_listing(WIKI, [Listed(f"t{number}", "", OBJECT) for number in range(1000)])
    assert MOST_TOOLS == len(listing.tools)
    rest = 1000 - MOST_TOOLS - MOST_LEFT_OUT
    assert (MOST_LEFT_OUT + 1, f"{rest} more tools") == (
        len(listing.left_out),
        listing.left_out[-1],
    )


def _nested(depth: int) -> dict[str, Any]:
    inner: Any = "end"
    for _ in range(depth):
        inner = {"a": inner}
    return OBJECT | {"x": inner}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param([], "not described by an object schema", id="a list"),
        pytest.param({}, "not described by an object schema", id="no type"),
        pytest.param({"type": "string"}, "not described by an object schema", id="a text"),
        pytest.param(OBJECT | {"properties": []}, "are no mapping", id="properties as a list"),
        pytest.param(OBJECT | {"x": "y" * 20_000}, "more than 20000 bytes", id="a huge one"),
        pytest.param(OBJECT | {"x": "\ud800"}, "cannot be sent as JSON", id="half a letter"),
        pytest.param(OBJECT | {"x": float("nan")}, "cannot be sent as JSON", id="no number"),
        pytest.param(_nested(40), "nested more than 30 deep", id="a deep one"),
        pytest.param(_nested(3000), "nested more than 30 deep", id="a bottomless one"),
    ],
)
def test_a_schema_that_cannot_be_used(schema: Any, expected: str) -> None:
    listing = make_listing(WIKI, [Listed("tide", "", schema), Listed("fine", "", OBJECT)])
    assert ["wiki__fine"] == list(listing.tools)
    assert listing.left_out[0].startswith("tide: ")
    assert expected in listing.left_out[0]


@pytest.mark.parametrize(
    ("support", "is_offered"), [("required", False), ("optional", True), (None, True)]
)
def test_a_tool_that_is_only_called_as_a_task_is_left_out(
    support: Literal["required", "optional"] | None, is_offered: bool
) -> None:
    """Each call of it would fail: the reference server of the protocol has one."""
    execution = types.ToolExecution(task_support=support)
    listing = make_listing(
        WIKI, [read_tool(types.Tool(name="chore", input_schema=OBJECT, execution=execution))]
    )
    assert is_offered == ("wiki__chore" in listing.tools)
    assert is_offered == (not listing.left_out)


def test_options_of_the_setting() -> None:
    """Only a tool that just reads is cached; people are asked where the setting says so."""
    config = ServerConfig("wiki", cache_seconds=60.0, needs_confirmation=True)
    listed = [Listed("read", "Reads.", OBJECT, is_read_only=True), Listed("write", "", OBJECT)]
    read, write = (tool.spec for tool in make_listing(config, listed).tools.values())
    assert (True, "session", 60.0) == (read.cacheable, read.cache_scope, read.cache_ttl)
    assert (False, "tick", None) == (write.cacheable, write.cache_scope, write.cache_ttl)
    assert read.needs_confirmation
    assert write.needs_confirmation
    assert ("anybody", "anybody") == (read.heard_by, write.heard_by)
    assert ("Reads.", "write") == (read.description, write.description)


def test_a_real_server_with_odd_tools(running_reactor: SelectReactor) -> None:
    """All pages are read, and a tool whose name was changed is called by its own name."""
    with Remote.running(running_reactor, odd={"command": command("odd")}) as remote:
        remote.read_log("connected, 6 tools")
        specs = remote.servers.specs()
        assert "odd__get_tide_now" not in specs
        assert {"odd___n_", "odd__bare"} <= set(specs)
        (described,) = [spec for spec in specs.values() if spec.description.startswith("abc")]
        assert 1000 == len(described.description)
        assert '["get.tide/now", {"x": "1"}]' == remote.call(described.name, x="1")
        assert {} == specs["odd__bare"].parameters["properties"]
        with pytest.raises(ToolError, match="x may not be bad"):
            remote.call("odd__bare", x="bad")
        with pytest.raises(ConnectionError, match="odd failed: its answer cannot be read"):
            remote.call("odd__liar")
        left_out = remote.status()["left_out"]
        assert ["huge"] == [line.partition(":")[0] for line in left_out]


def test_hole_a3_a_server_hears_private_words_only_where_its_owner_says_so() -> None:
    """A server outside the game counts as a listener."""
    listed = [Listed("read", "Reads.", OBJECT, is_read_only=True)]
    for may_hear, hearers in ((False, Hearers.ANYBODY), (True, Hearers.NOBODY)):
        config = ServerConfig("wiki", may_hear_private=may_hear)
        (tool,) = make_listing(config, listed).tools.values()
        assert hearers is way_of(tool.spec).hearers
