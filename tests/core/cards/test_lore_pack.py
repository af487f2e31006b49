"""Lore packs: reading, complete error reports, and writing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.cards.lore_pack import MOST_ENTRIES, key_of, read_pack, written
from evennia_ai.core.memory.lore_terms import LoreCondition, LoreTerms
from evennia_ai.errors import ImportFileError

OIL = {"id": "oil", "text": "It burns oil.", "keywords": ["oil"]}
WORDS = st.from_regex(r"\A[a-z]{1,8}( [a-z]{1,8})?\Z")
CONDITIONS = st.one_of(
    st.fixed_dictionaries({"tag": WORDS}, optional={"category": WORDS, "of": st.just("room")}),
    st.fixed_dictionaries(
        {"attribute": WORDS}, optional={"value": st.booleans() | st.integers() | WORDS}
    ),
    st.fixed_dictionaries({"quest": WORDS, "state": WORDS}),
)
ENTRIES = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"\A[a-z0-9]{1,8}\Z"),
        "text": WORDS,
        "keywords": st.lists(WORDS, min_size=1, max_size=4),
    },
    optional={
        "audience": st.just("faction Guild"),
        "importance": st.integers(1, 4),
        "also": st.lists(WORDS, min_size=1, max_size=3),
        "also_as": st.sampled_from(["all", "none", "not all"]),
        "constant": st.just(True),
        "order": st.integers(0, 99),
        "depth": st.integers(2, 50),
        "when": st.lists(CONDITIONS, min_size=1, max_size=3),
    },
)


def pack_of(*entries: Any) -> dict[str, Any]:
    return {"pack": "harbour", "entries": list(entries)}


def test_an_entry_with_all_it_can_have() -> None:
    (lore,) = read_pack(
        pack_of(
            {
                **OIL,
                "audience": "room #2",
                "importance": 7,
                "also": ["lamp"],
                "also_as": "none",
                "constant": True,
                "order": 3,
                "depth": 4,
                "when": [{"tag": "keeper", "of": "assistant"}, {"attribute": "lit", "value": True}],
            }
        )
    ).entries
    when = (LoreCondition("assistant", tag="keeper"), LoreCondition(attribute="lit", value=True))
    terms = LoreTerms(("lamp",), "none", True, 3, 0, 4, 0, when, "harbour", "oil")
    assert ("It burns oil.", ("oil",), "room #2", 7) == (
        lore.text,
        lore.keywords,
        lore.audience,
        lore.importance,
    )
    assert terms == lore.terms


@given(st.lists(ENTRIES, max_size=4, unique_by=lambda entry: entry["id"]))
def test_what_is_read_is_written_so_again(entries: list[dict[str, Any]]) -> None:
    """Default values are left out."""
    pack = read_pack(pack_of(*entries))
    assert entries == [written(lore) for lore in pack.entries]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "a pack has `pack` and `entries`, and no more"),
        ({"pack": "harbour"}, "a pack has `pack` and `entries`, and no more"),
        ({**pack_of(), "version": 1}, "a pack has `pack` and `entries`, and no more"),
        ({"pack": "Harbour", "entries": []}, "pack is 'Harbour'; it must be a name of 1 to 40"),
        ({"pack": "harbour\n", "entries": []}, "pack is 'harbour"),
        ({"pack": 7, "entries": []}, "pack is 7"),
        ({"pack": "harbour", "entries": {}}, "entries is {}; it must be a list of at most 5,000"),
        (pack_of(*[OIL] * (MOST_ENTRIES + 1)), "entries is 5,001 entries"),
        (pack_of(7), "entry 1 is 7; it must be a mapping of id, text"),
        (pack_of({**OIL, "id": 7}), "entry 1.id is 7; it must be text, without blanks"),
        (pack_of({"text": "x"}), "entry 1.id is ''; it must be text by which the pack knows it"),
        (pack_of({"id": "a"}), "entry 'a'.text is ''; it must be what is told"),
        (pack_of({"id": "a", "text": " "}), "entry 'a'.text is ' '; it must be text, of 1 to"),
        (pack_of({**OIL, "text": "\0\x07\u200b"}), "entry 'oil'.text is"),
        (pack_of({**OIL, "keywords": ["\0"]}), "entry 'oil'.keywords"),
        (pack_of({"id": "a", "text": "x"}), "entry 'a'.keywords is []; it must be a list of words"),
        (pack_of({**OIL, "keywords": "oil"}), "entry 'oil'.keywords is 'oil'; it must be a list"),
        (pack_of({**OIL, "colour": 1}), "entry 'oil' has no key 'colour'; it has id, text"),
        (pack_of({**OIL, "importance": 12}), "importance is 12; it must be a whole number from 1"),
        (pack_of({**OIL, "also_as": "some"}), "also_as is 'some'; it must be one of any, all"),
        (pack_of({**OIL, "when": [{}]}), "entry 'oil'.when[0] is {}; it must be a condition with"),
        (pack_of({**OIL, "when": [{"tag": "a"}, {"tga": 1}]}), "when[1] has no key 'tga'"),
        (pack_of({**OIL, "when": [{"tag": "a", "quest": "b"}]}), "a condition with one of tag"),
        (pack_of({**OIL, "when": [{"quest": "a"}]}), "when[0].state is ''; it must be the state"),
        (
            pack_of({**OIL, "when": [{"quest": "a", "state": "b", "of": "room"}]}),
            "when[0].of is 'room'; it must be person",
        ),
        (pack_of(OIL, OIL), "2 entries have the id 'oil'"),
        (pack_of(7, {**OIL, "depth": 0}), "entry 1 is 7; it must be"),
        (pack_of(7, {**OIL, "depth": 0}), "; entry 'oil'.depth is 0; it must be a whole number"),
        (pack_of(*[7] * 12), "; and 2 more"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(given: Any, told: str) -> None:
    """All mistakes are reported at once, each with its entry and field."""
    with pytest.raises(ImportFileError) as caught:
        read_pack(given)
    assert told in str(caught.value)


def test_what_is_judged_is_what_is_stored() -> None:
    raw = {**OIL, "text": "It\0 burns\n oil. ", "keywords": ["whale\n oil\0"], "also": ["\tlamp"]}
    (lore,) = read_pack(pack_of(raw)).entries
    assert ("It burns oil.", ("whale oil",), ("lamp",)) == (
        lore.text,
        lore.keywords,
        lore.terms.also,
    )


def test_keys_are_the_same_whenever_a_pack_comes() -> None:
    """The border between pack and entry counts: "ab" is not "a" with "b"."""
    keys = [
        key_of(*names) for names in (("a", "b"), ("a", "b"), ("a", "c"), ("ab", ""), ("", "ab"))
    ]
    assert (4, {32}) == (len(set(keys)), set(map(len, keys)))
    assert keys[0] == keys[1]
