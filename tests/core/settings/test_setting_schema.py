"""The schema of a setting: its description, typed texts, and strict validation."""

import math
from typing import Annotated, Any, ClassVar, Literal, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from evennia_ai.core.settings.assistant import Id
from evennia_ai.core.settings.model import (
    Count,
    Flag,
    LenientGroup,
    Limit,
    Line,
    MismatchError,
    Number,
    Part,
    SettingsGroup,
    Text,
    Whole,
    Word,
    merged,
    setting,
)
from evennia_ai.core.settings.schema import kind_of, known_keys, parse, schema_of, wanted, with_ids
from evennia_ai.errors import ConfigurationError


class Below(SettingsGroup):
    """A group in a group."""

    numbered: dict[Id, Text] = setting({}, "texts by number.")
    one: Whole = setting(1, "one.")


class Shown(SettingsGroup):
    """A setting of every kind."""

    flag: Flag = setting(False, "a flag.")
    whole: Whole = setting(1, "steps.", ge=1, le=10)
    from_one: Whole = setting(1, "steps.", ge=1)
    above: Number = setting(1.0, "seconds.", gt=0)
    number: Number = setting(1.0, "any number.")
    part: Part = setting(0.5, "a part.")
    text: Text = setting("", "a text.")
    word: Word = setting("a", "a word.")
    mode: Literal["none", "all"] = setting("all", "a choice.")
    texts: tuple[Line, ...] = setting((), "texts.")
    pairs: tuple[Annotated[tuple[Line, ...], Field(min_length=2, max_length=2)], ...] = setting(
        (), "pairs."
    )
    anything_list: list[Any] = setting([], "a list.")
    mapping: dict[str, Any] = setting({}, "a mapping.")
    anything: Any = setting(None, "anything.")
    maybe: Whole | None = setting(None, "perhaps.", ge=1, example="7")
    fixed: Text = Field("", json_schema_extra={"readOnly": True})
    numbered: dict[Id, Text] = setting({}, "texts by number.")
    below: Below = setting(Below(), "a group.")


SCHEMAS = known_keys(schema_of(Shown))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("flag", " Yes ", True, id="yes"),
        pytest.param("flag", "off", False, id="off"),
        pytest.param("flag", "maybe", "maybe", id="no flag"),
        pytest.param("whole", "10", 10, id="whole"),
        pytest.param("whole", "0.5", 0.5, id="not whole"),
        pytest.param("part", "1e-3", 0.001, id="exponent"),
        pytest.param("part", "fast", "fast", id="no number"),
        pytest.param("text", "  as it is, [1]  ", "as it is, [1]", id="text"),
        pytest.param("mode", "NONE", "none", id="choice"),
        pytest.param("mode", "some", "some", id="no choice"),
        pytest.param("texts", "Builder, perm(Admin, Player) ,", ["Builder", "perm(Admin, Player)"]),
        pytest.param("texts", '["a, b", "c"]', ["a, b", "c"], id="list as JSON"),
        pytest.param("texts", "['a']", ["a"], id="list as Python"),
        pytest.param("texts", '"a, b"', ["a, b"], id="one quoted text"),
        pytest.param("texts", '"a, b", "c"', ["a, b", "c"], id="quoted texts"),
        pytest.param("texts", '"a", b', ['"a"', "b"], id="half quoted"),
        pytest.param("texts", "[a", ["[a"], id="no list"),
        pytest.param("texts", "null", None, id="null"),
        pytest.param("anything_list", "1, yes", [1, True], id="list of anything"),
        pytest.param("mapping", '{"a": 1}', {"a": 1}, id="mapping as JSON"),
        pytest.param("mapping", "{'a': True}", {"a": True}, id="mapping as Python"),
        pytest.param("mapping", "trigger", "trigger", id="no mapping"),
        pytest.param("mapping", "{'a': open('x')}", "{'a': open('x')}", id="never run"),
        pytest.param("anything", "yes", True, id="anything: flag"),
        pytest.param("anything", "7", 7, id="anything: number"),
        pytest.param("anything", "seven", "seven", id="anything: text"),
        pytest.param("anything", "[1]", [1], id="anything: list"),
    ],
)
def test_a_typed_text_is_read_by_what_is_wanted(name: str, text: str, expected: Any) -> None:
    """A text that fits nothing stays text, which is then refused."""
    assert expected == parse(SCHEMAS[name], text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("flag", True, id="flag"),
        pytest.param("whole", 10, id="whole"),
        pytest.param("part", 0.5, id="part"),
        pytest.param("part", 1, id="whole part"),
        pytest.param("number", -5, id="number without ends"),
        pytest.param("text", "", id="empty text"),
        pytest.param("mode", "all", id="choice"),
        pytest.param("texts", [], id="empty list"),
        pytest.param("pairs", [["a", "b"]], id="pairs"),
        pytest.param("anything_list", [None, {}], id="list of anything"),
        pytest.param("mapping", {}, id="mapping"),
        pytest.param("anything", object, id="anything"),
        pytest.param("maybe", None, id="none"),
    ],
)
def test_what_fits_is_taken(name: str, value: Any) -> None:
    """Lists become tuples."""

    def frozen(given: Any) -> Any:
        return tuple(map(frozen, given)) if isinstance(given, (list, tuple)) else given

    assert frozen(value) == frozen(getattr(Shown.from_stored({name: value}), name))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        pytest.param("flag", 1, "flag is 1; it must be yes or no", id="flag"),
        pytest.param("flag", "yes", "flag is 'yes'; it must be yes or no", id="a word"),
        pytest.param("whole", 0, "whole is 0; it must be a whole number from 1 to 10", id="small"),
        pytest.param("whole", 11, "whole is 11; it must be a whole number from 1", id="too large"),
        pytest.param("whole", 2.0, "whole is 2.0; it must be a whole number", id="not whole"),
        pytest.param("whole", "2", "whole is '2'; it must be a whole number", id="a text of it"),
        pytest.param("whole", True, "whole is True; it must be a whole number", id="a flag"),
        pytest.param("part", math.nan, "part is nan; it must be a number from 0 to 1", id="nan"),
        pytest.param("part", True, "part is True; it must be a number from 0 to 1", id="yes"),
        pytest.param("number", math.inf, "number is inf; it must be a number", id="infinity"),
        pytest.param("number", 10**400, "; it must be a number", id="more than a float"),
        pytest.param("from_one", "x", "a whole number from 1 up", id="no upper end"),
        pytest.param("above", 0, "above is 0; it must be a number above 0", id="the end itself"),
        pytest.param("text", None, "text is None; it must be text", id="none"),
        pytest.param("text", b"x", "text is b'x'; it must be text", id="bytes"),
        pytest.param("word", " ", "word is ' '; it must be text", id="blank"),
        pytest.param("mode", "some", "mode is 'some'; it must be one of none, all", id="choice"),
        pytest.param("texts", "a", "texts is 'a'; it must be a list of texts", id="no list"),
        pytest.param("texts", [""], "texts is ['']; it must be a list of texts", id="empty entry"),
        pytest.param("texts", [1], "texts is [1]; it must be a list of texts", id="wrong entry"),
        pytest.param("pairs", [["a"]], "a list of lists of 2 texts", id="no pair"),
        pytest.param("mapping", [], "mapping is []; it must be a mapping", id="no mapping"),
        pytest.param(
            "maybe",
            "x",
            "maybe is 'x'; it must be a whole number from 1 up, or none, such as 7",
            id="with an example",
        ),
        pytest.param("text", ["x" * 500], "…; it must be text", id="a long one is cut"),
        pytest.param(
            "below", {"one": "x"}, "below.one is 'x'; it must be a whole number", id="below"
        ),
        pytest.param("below", {"two": 2}, "below has no key 'two'; it has numbered, one", id="key"),
        pytest.param("below", {2: 2}, "below has no key 2; it has numbered, one", id="odd key"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Shown.from_stored({name: value})
    assert expected in str(raised.value)


def test_what_is_written_in_a_file_is_told_as_code() -> None:
    """A settings file has True and False, and its groups accept 9.0 as a whole number."""

    class Filed(LenientGroup):
        NAME: ClassVar[str] = "EVENNIA_AI_SOME_CONFIG"
        is_on: Flag = setting(True, "on.")
        most: Limit = setting(1, "most.")
        days: Count = setting(1, "days.", note="0 for ever")

    def refusal(given: Any) -> str:
        with pytest.raises(ConfigurationError) as raised:
            Filed.from_stored(given)
        return str(raised.value)

    name = "EVENNIA_AI_SOME_CONFIG"
    assert f"{name}.is_on is 1; it must be True or False" == refusal({"is_on": 1})
    whole = "it must be a whole number from 0 up"
    assert f"{name}.most is -1; {whole}, 0 for no limit" == refusal({"most": -1})
    assert f"{name}.days is 1.5; {whole}, 0 for ever" == refusal({"days": 1.5})
    keys = "it must be a mapping of is_on, most, days, such as {'is_on': True}"
    assert f"{name} is 5; {keys}" == refusal(5)
    assert (9, int) == (days := Filed.from_stored({"days": 9.0}).days, type(days))
    assert f"{name}.days is 1000" in refusal({"days": 10**400})


def test_what_does_not_fit_together_is_told() -> None:
    class Pair(SettingsGroup):
        least: Whole = setting(1, "least.")
        most: Whole = setting(5, "most.")

        @model_validator(mode="after")
        def _fit_together(self) -> Self:
            if self.least > self.most:
                raise MismatchError("least", self.least, f"at most most, which is {self.most}")
            return self

    with pytest.raises(ConfigurationError) as raised:
        Pair.from_stored({"most": 0}, "pair")
    assert "pair.least is 1; it must be at most most, which is 0" == str(raised.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("fixed", "fixed", id="fixed"),
        pytest.param("anything", "a value", id="anything"),
        pytest.param("anything_list", "a list of values", id="a list of anything"),
        pytest.param("numbered", "a mapping", id="numbered"),
        pytest.param("below", "a mapping", id="a group whose first is no plain value"),
        pytest.param("number", "a number", id="no ends"),
    ],
)
def test_what_is_wanted_is_told(name: str, expected: str) -> None:
    assert expected == wanted(SCHEMAS[name])


def test_a_group_is_told_with_its_first_key() -> None:
    assert "a mapping, such as {'flag': False}" == wanted(schema_of(Shown))


def test_keys_that_are_numbers_come_as_texts() -> None:
    """JSON has only text keys; other keys are not touched."""
    given = {"numbered": {"250": "x", "x": "y", 7: "z", "9" * 10: "far"}, "b": {"1": {"2": 3}}}
    expected = {"numbered": {250: "x", "x": "y", 7: "z", "9" * 10: "far"}, "b": {"1": {"2": 3}}}
    assert expected == with_ids(SCHEMAS["below"], given)
    assert "text" == with_ids(SCHEMAS["numbered"], "text")


def test_what_stands_above_goes_before_what_stands_below() -> None:
    """A value that is no mapping replaces everything, and is refused later."""
    below = {"a": {"x": 1, "y": {"z": 2}}, "b": 3}
    assert {"a": {"x": 5, "y": {"z": 2}}, "b": 3} == merged(below, {"a": {"x": 5}})
    assert {"a": 7, "b": {"c": 1}} == merged(below, {"a": 7, "b": {"c": 1}})
    assert merged(below, None) is None
    assert {"a": {"x": 1, "y": {"z": 2}}, "b": 3} == below


@given(st.text(), st.sampled_from(sorted(SCHEMAS)))
def test_any_text_is_read_without_an_error(text: str, name: str) -> None:
    parse(SCHEMAS[name], text)


def test_there_is_one_of_every_kind() -> None:
    """So the tests above try every kind."""
    kinds = {"boolean", "integer", "number", "string", "enum", "array", "object", "", "fixed"}
    assert kinds == set(map(kind_of, SCHEMAS.values()))
