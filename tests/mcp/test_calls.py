"""A connected server: its tools as the model sees them, and the results of calls."""

from typing import Any

import pytest

from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ToolError
from evennia_ai.mcp.listing import MOST_RESULT_CHARS
from tests.mcp.harness import Remote


def test_a_tool_is_shown_as_its_server_describes_it(almanac: Remote) -> None:
    """Only what a call may do comes from the setting."""
    spec = almanac.servers.specs()["almanac__tide"]
    assert "When the tide turns in a harbour." == spec.description
    assert ["harbour"] == spec.parameters["required"]
    assert {"type": "integer", "default": 1, "title": "Day"} == spec.parameters["properties"]["day"]
    assert ToolCategory.ASYNC_REQUIRED is spec.category
    assert (30.0, False, False) == (spec.timeout_seconds, spec.cacheable, spec.needs_confirmation)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("tide", True, id="it only reads"),
        pytest.param("drown", True, id="it may be repeated"),
        pytest.param("wait", False, id="it says nothing"),
    ],
)
def test_what_may_be_tried_again(almanac: Remote, name: str, expected: bool) -> None:
    """A call is repeated only where its server says that twice is as good as once."""
    assert expected is almanac.servers.specs()[f"almanac__{name}"].is_idempotent


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        pytest.param("tide", {"harbour": "Hull", "day": 3}, "Hull, day 3: at noon", id="a text"),
        pytest.param("stars", {}, '{"stars": 7}', id="a JSON value"),
        pytest.param("chart", {}, "the bay\n[an image, image/png]", id="a picture is named"),
        pytest.param("smudge", {}, "done", id="nothing, after a line that is not UTF-8"),
    ],
)
def test_a_call_is_answered(
    almanac: Remote, name: str, arguments: dict[str, Any], expected: str
) -> None:
    """The model can only read text, without control characters."""
    assert expected == almanac.call(f"almanac__{name}", **arguments)


def test_a_long_answer_is_cut(almanac: Remote) -> None:
    text = almanac.call("almanac__whale", size=500_000)
    assert text.endswith("w… [cut: the whole has 500000 characters]")
    assert MOST_RESULT_CHARS + 50 > len(text)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        pytest.param("drown", {"sailor": "Tom"}, "Tom can swim", id="the tool cannot"),
        pytest.param("tide", {"day": 1}, "harbour", id="arguments that do not fit"),
        pytest.param("haggle", {}, "Elicitation not supported", id="a question back"),
        pytest.param("sulk", {}, "it failed, and does not say why", id="no reason"),
    ],
)
def test_what_a_tool_cannot_do(
    almanac: Remote, name: str, arguments: dict[str, Any], expected: str
) -> None:
    """The error goes to the model, and counts neither against the service nor the connection."""
    failures, pid = almanac.failures(), almanac.call("almanac__pid")
    with pytest.raises(ToolError, match=expected):
        almanac.call(f"almanac__{name}", **arguments)
    assert (failures, pid) == (almanac.failures(), almanac.call("almanac__pid"))


def test_a_server_that_is_broken_itself(almanac: Remote) -> None:
    """An error of the protocol counts against the service; the connection is kept."""
    failures = almanac.failures()
    with pytest.raises(ConnectionError, match="almanac failed: no rum"):
        almanac.call("almanac__refuse")
    assert failures + 1 == almanac.failures()
    assert "connected" == almanac.status()["state"]


def test_many_calls_at_once_are_not_mixed_up(almanac: Remote) -> None:
    begun = [almanac.begin("almanac__tide", harbour=f"H{number}") for number in range(50)]
    answers = [outcome.get(timeout=30) for _, outcome in begun]
    assert [f"H{number}, day 1: at noon" for number in range(50)] == answers


def test_status(almanac: Remote) -> None:
    status = almanac.status()
    assert ("almanac", "connected", "") == (status["name"], status["state"], status["problem"])
    assert len(almanac.servers.specs()) == status["tools"]
    assert status["what"].startswith("program ")


def test_the_merge_is_made_once(almanac: Remote) -> None:
    """The merged mapping is the same object while neither side changes."""
    specs = almanac.servers.specs()
    own = {"say": specs["almanac__pid"], "almanac__tide": specs["almanac__pid"]}
    merged = almanac.servers.merged_with(own)
    assert merged is almanac.servers.merged_with(own)
    assert ["say", "almanac__tide"] == list(merged)[:2]
    assert own["almanac__tide"] is merged["almanac__tide"]
    assert {*own, *specs} == set(merged)
