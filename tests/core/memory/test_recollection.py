"""Memories: their audiences, their selection, and ids that no name can imitate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.memory.recollection import (
    DAY_SECONDS,
    NOBODY,
    NOWHERE,
    WORLD,
    Recollection,
    Seeker,
    faction_audience,
    is_audience,
    is_for_all,
    is_mask,
    is_open,
    is_private,
    is_rumour,
    may_know,
    person_audience,
    place_audience,
    safe_id,
    score,
    select_memories,
    split_hearsay,
    unmasked_id,
    without_duplicates,
)
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.errors import ConfigurationError

TOM, MIRA = "*#3", "*#4"
TO_TOM = "person:account-3"
CONFIG = MemoryConfig()
NOW = 100 * DAY_SECONDS
NASTY = ["*", "AND", '{"user_id": "*"}', "person:account-3", "*#3 OR *#4", "#", "*#", "", "#1\n"]


def memory(key: str = "k", audience: str = WORLD, **more: object) -> Recollection:
    return Recollection(key, "fact", str(more.pop("text", key)), audience, at=NOW, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expected", "dbref"), [("object-12", "#12"), ("account-3", "*#3"), ("object-0", "#0")]
)
def test_a_dbref_becomes_an_id(expected: str, dbref: str) -> None:
    assert expected == safe_id(dbref)


@pytest.mark.parametrize("given_id", [*NASTY, "Tom", "relay of Public", "#" + "1" * 19])
def test_nothing_else_becomes_an_id(given_id: str) -> None:
    """Such a name makes an audience of nobody and nowhere."""
    with pytest.raises(ConfigurationError, match="it must be like '#12'"):
        safe_id(given_id)
    assert NOBODY == person_audience(given_id)
    assert NOWHERE == place_audience("say", given_id)


@given(st.text())
def test_whatever_a_place_or_faction_is_called_it_is_an_audience(name: str) -> None:
    """Names are hashed, so no part of a name reaches a store's query."""
    for audience in (place_audience("channel", name), faction_audience(name)):
        assert is_audience(audience)
        kind, _, rest = audience.partition(":")
        assert (True, 24) == (kind in ("channel", "faction"), len(rest))


def test_names_in_another_case_are_the_same_faction() -> None:
    """Evennia's tags ignore case too."""
    assert faction_audience("Thieves") == faction_audience("thieves")
    assert faction_audience("thieves") != faction_audience("guards")


@pytest.mark.parametrize("text", ["*", "AND", "person:*", "person:", "world ", "room:#2", "WORLD"])
def test_what_is_no_audience(text: str) -> None:
    assert not is_audience(text)


def test_kinds_of_audience() -> None:
    assert is_private(person_audience(TOM))
    assert not is_private(WORLD)
    assert is_open(place_audience("say", "#2"))
    assert is_open(place_audience("channel", "Public"))
    assert not is_open(faction_audience("thieves"))
    audiences = [WORLD, "room:object-2", faction_audience("thieves"), person_audience(TOM)]
    assert [True, True, False, False] == list(map(is_for_all, audiences))


@pytest.mark.parametrize(
    ("expected", "seeker"),
    [
        pytest.param([WORLD], Seeker(), id="nobody, nowhere"),
        pytest.param([WORLD, "room:object-2"], Seeker(TOM, "say", "#2"), id="before others"),
        pytest.param([WORLD, "room:object-2", "person:account-3"],
                     Seeker(TOM, "whisper", "#2", is_private=True), id="in private"),
        pytest.param([WORLD, place_audience("channel", "Public")], Seeker(TOM, "channel", "Public"),
                     id="on a channel"),
        pytest.param([WORLD, faction_audience("thieves")], Seeker(TOM, factions=("thieves",)),
                     id="a faction"),
        pytest.param([WORLD], Seeker("relay of x", "whisper", is_private=True), id="no id"),
        pytest.param([WORLD], Seeker("", "say", "somewhere", is_private=True), id="no place"),
    ],
)  # fmt: skip
def test_audiences_of_a_seeker(expected: list[str], seeker: Seeker) -> None:
    assert expected == list(seeker.audiences)


@pytest.mark.parametrize("name", NASTY)
def test_two_without_an_id_share_nothing(name: str) -> None:
    """Words whispered by somebody without an id are not known to another without one."""
    secret = memory(audience=person_audience(name), person=name)
    assert not may_know(secret, Seeker(name, "whisper", name, is_private=True))


@pytest.mark.parametrize(
    ("expected", "audience", "seeker"),
    [
        (True, WORLD, Seeker()),
        (True, person_audience(TOM), Seeker(TOM, is_private=True)),
        (False, person_audience(TOM), Seeker(TOM)),
        (False, person_audience(TOM), Seeker(MIRA, is_private=True)),
        (True, "room:object-2", Seeker(MIRA, "say", "#2")),
        (False, "room:object-2", Seeker(MIRA, "say", "#3")),
        (True, "room:object-2", Seeker(TOM, "say", "#3")),
        (True, place_audience("channel", "Public"), Seeker(TOM, "say", "#3")),
        (False, "room:object-2", Seeker("", "say", "#3")),
        (False, faction_audience("thieves"), Seeker(TOM, "say", "#3")),
    ],
)
def test_who_may_know(expected: bool, audience: str, seeker: Seeker) -> None:
    """Open words are known where they were said, and to Tom, who said them, everywhere."""
    assert expected is may_know(memory(audience=audience, person=TOM), seeker)


def test_open_words_of_nobody_are_nobodys() -> None:
    """The game's words elsewhere are not "one's own" for a turn without a person."""
    assert not may_know(memory(audience="room:object-2", person=""), Seeker("", "say", "#3"))


def test_score() -> None:
    config = MemoryConfig(
        similarity_weight=2, recency_weight=1, importance_weight=1, recency_half_life_days=14
    )
    fresh = memory(similarity=1.0, importance=10)
    assert 1.0 == score(fresh, NOW, config)
    assert 0.875 == score(fresh, NOW + 14 * DAY_SECONDS, config)
    assert 1.0 == score(fresh, NOW - 1000, config)
    nothing = MemoryConfig(similarity_weight=0, recency_weight=0, importance_weight=0)
    assert 0.0 == score(fresh, NOW, nothing)


def keys(found: list[Recollection], config: MemoryConfig = CONFIG) -> str:
    return " ".join(
        one.key for one in select_memories(found, Seeker(TOM, "say", "#2"), NOW, config)
    )


def test_the_best_are_chosen() -> None:
    memories = [
        memory("poor", similarity=0.2),
        memory("good", similarity=0.9),
        memory("doubtful", similarity=0.9, trust=0.2),
        memory("secret", person_audience(MIRA), similarity=1.0),
        memory("fair", similarity=0.5),
    ]
    assert "good fair poor" == keys(memories)
    assert "good fair" == keys(memories, MemoryConfig(recall_limit=2))


def test_nothing_is_told_twice() -> None:
    """A conclusion is told instead of its sources."""
    memories = [
        memory("a", text="The lamp is out.", similarity=0.9),
        memory("b", text="the lamp is out.", similarity=0.8),
        memory("c", text="Lamps go out here.", similarity=0.5, cites=("a",)),
    ]
    assert "b c" == keys(memories)


@pytest.mark.parametrize(
    ("expected", "audiences"),
    [
        (WORLD, (TO_TOM, "faction:x", "room:object-2", WORLD)),
        ("room:object-2", (TO_TOM, "faction:x", "room:object-2")),
        ("faction:x", ("faction:x", TO_TOM)),
        (TO_TOM, (TO_TOM, TO_TOM)),
    ],
)
def test_a_point_is_told_for_the_widest_audience(expected: str, audiences: tuple[str, ...]) -> None:
    """It keeps the first place; case and a full stop make no other point."""
    texts = ("Tom likes boats", "tom likes  boats.", "Tom likes boats.", "Tom likes boats!")
    memories = [
        memory("", audience, text=text) for text, audience in zip(texts, audiences, strict=False)
    ]
    result = without_duplicates([memory("first"), *memories, memory("last")])
    assert ["first", expected, "last"] == [result[0].key, result[1].audience, result[2].key]


def test_what_is_known_is_not_told_as_hearsay() -> None:
    """The wider audience does not count where its source is hardly believed."""
    known = memory("", TO_TOM, text="Tom likes boats.", trust=0.9)
    heard = memory("", WORLD, text="Tom likes boats.", trust=0.4)
    assert (
        [known]
        == without_duplicates([known, heard], 0.55)
        == without_duplicates([heard, known], 0.55)
    )
    assert [heard] == without_duplicates([known, heard])


def test_what_is_not_told_itself_hides_nothing() -> None:
    """A conclusion beyond the limit does not keep its sources out."""
    memories = [memory("a", similarity=0.9), memory("c", similarity=0.1, cites=("a",))]
    assert "a" == keys(memories, MemoryConfig(recall_limit=1))


@given(
    st.lists(
        st.builds(
            memory,
            st.sampled_from("abcdef"),
            st.sampled_from(
                [WORLD, "room:object-2", "room:object-3", *map(person_audience, (TOM, MIRA))]
            ),
            person=st.sampled_from(["", TOM, MIRA]),
            trust=st.floats(0, 1),
            similarity=st.floats(0, 1),
        ),
        max_size=12,
    ),
    st.builds(
        Seeker,
        st.sampled_from(["", TOM, MIRA]),
        st.just("say"),
        st.just("#2"),
        st.just(()),
        st.booleans(),
    ),
)
def test_nobody_is_told_what_is_anothers(found: list[Recollection], seeker: Seeker) -> None:
    memories = select_memories(found, seeker, NOW, CONFIG)
    assert len(memories) <= CONFIG.recall_limit
    for one in memories:
        assert may_know(one, seeker)
        if is_private(one.audience):
            assert (True, person_audience(seeker.person)) == (seeker.is_private, one.audience)


def test_hearsay_is_parted_from_what_is_known() -> None:
    known, heard = memory("known", trust=0.55), memory("heard", trust=0.54)
    assert not is_rumour(known, CONFIG)
    assert ([known], [heard]) == split_hearsay([known, heard], CONFIG)


def test_a_mask_is_somebody_else_whose_player_is_known() -> None:
    """A mask's id begins with the character's id."""
    assert (True, "#12") == (is_mask("#12~1a2b3c4d"), unmasked_id("#12~1a2b3c4d"))
    assert (False, "*#3") == (is_mask("*#3"), unmasked_id("*#3"))
