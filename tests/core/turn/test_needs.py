"""The tools that a message needs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.needs import FIND_TOOLS, group_listing, is_called_for, matching, needed
from evennia_ai.core.turn.toolspec import ToolGroup, ToolSpec
from tests.core.samples import ANY_TEXT, make_spec

HANDS = ToolGroup("hands", ("give", "drop", "carry", "let me have"))
REMOTE = ToolGroup("weather")


def _in(group: ToolGroup, name: str, description: str = "") -> ToolSpec:
    spec = make_spec(name)
    return replace(spec, group=group, description=description or spec.description)


LISTED = (
    _in(HANDS, "get"),
    make_spec("say"),
    _in(HANDS, "give"),
    make_spec("look"),
    make_spec(FIND_TOOLS),
    _in(REMOTE, "weather__forecast", "The weather of the coming days in a town."),
    _in(REMOTE, "weather__tides", "High and low water at a harbour."),
)
SPECS = {spec.name: spec for spec in LISTED}
ALWAYS = ["say", "look", FIND_TOOLS]


@pytest.mark.parametrize(
    ("is_one", "text"),
    [
        pytest.param(True, "give it to me", id="the word"),
        pytest.param(True, "she gives it, he is giving it", id="its forms"),
        pytest.param(True, "i dropped it", id="with a letter twice"),
        pytest.param(True, "dropping stones", id="the same, going on"),
        pytest.param(True, "he carries it", id="with another ending"),
        pytest.param(True, "he carried it", id="the same, in the past"),
        pytest.param(True, "let me  have that", id="several words"),
        pytest.param(False, "the forgiven", id="not within a word"),
        pytest.param(False, "a droplet", id="not as the beginning of one"),
        pytest.param(False, "let me be", id="not half of several"),
        pytest.param(False, "", id="not nothing"),
    ],
)
def test_cues(is_one: bool, text: str) -> None:
    assert is_one is is_called_for(HANDS, text)


def test_a_group_without_cues_is_called_for_by_none() -> None:
    """The tools of such a group are found one by one."""
    assert not is_called_for(REMOTE, "weather")


class TestNeeded:
    def test_what_calls_for_nothing(self) -> None:
        assert ALWAYS == list(needed(SPECS, "hello, who are you?", most=50))
        assert ["say"] == list(needed({"say": SPECS["say"]}, "the weather?", most=50))

    @pytest.mark.parametrize(
        ("expected", "text", "more"),
        [
            pytest.param(["get", "give"], "GIVE it", {}, id="a cue, in any case"),
            pytest.param(["get", "give"], "", {"called": {"give"}}, id="a tool called lately"),
            pytest.param(["give"], "", {"found": {"give"}}, id="a tool looked up"),
            pytest.param(["get", "give"], "", {"groups": {"hands"}}, id="a thing that is there"),
            pytest.param(["weather__forecast"], "What forecast?", {}, id="its own words"),
            pytest.param(
                ["weather__forecast", "weather__tides"], "the weather?", {}, id="their server"
            ),
            pytest.param(["weather__tides"], "harbours", {}, id="in the plural"),
            pytest.param([], "what is that in there", {}, id="not by small words"),
            pytest.param(["weather__tides"], "", {"called": {"weather__tides"}}, id="not its like"),
            pytest.param([], "", {"called": {"gone", "say"}}, id="none that is not there"),
        ],
    )
    def test_what_calls_for_more(
        self, expected: list[str], text: str, more: dict[str, set[str]]
    ) -> None:
        """The needed tools follow those that are always shown."""
        assert [*ALWAYS, *expected] == list(needed(SPECS, text, most=50, **more))

    def test_a_crowd_that_is_always_shown(self) -> None:
        """The tool that finds other tools is never left out."""
        shown = needed(SPECS, "", most=1, found={"look"})
        assert ["say", FIND_TOOLS, "look"] == list(shown)

    @given(ANY_TEXT, st.sets(st.sampled_from(sorted(SPECS))), st.integers(1, 5))
    def test_nothing_is_added(self, text: str, names: set[str], most: int) -> None:
        shown = needed(SPECS, text, most=most, called=names, found=names)
        assert all(SPECS[name] is spec for name, spec in shown.items())
        assert names <= shown.keys()
        first = list(needed(SPECS, "", most=most))
        assert first == list(shown)[: len(first)]


def test_the_best_first_and_no_more() -> None:
    specs = [_in(REMOTE, f"tool_{number}", "harbour") for number in range(9)]
    specs.append(_in(REMOTE, "both", "harbour light"))
    assert ["both", "tool_0", "tool_1"] == matching(specs, "the light of the harbour", 3)


def test_groups_are_told_with_their_tools() -> None:
    listed = [("hands", "get"), ("weather", "forecast"), ("hands", "give"), ("weather", "tides")]
    assert "hands (get, give); weather (forecast, tides)" == group_listing(listed)
    crowd = [("weather", f"t{number}") for number in range(7)]
    assert "weather (t0, t1, t2, t3, t4 and 2 more)" == group_listing(crowd)
    assert "" == group_listing([])
