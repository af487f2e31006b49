"""The entries of the library; none of these tests needs a database."""

import pytest

from world.blueprint import Place, Resident
from world.library import PLACES, START, WELCOME
from world.residents import RESIDENTS

RESIDENT_IDS = [resident.name for resident in RESIDENTS]
PLACE_IDS = [place.key for place in PLACES]


def test_keys_are_unique() -> None:
    """A tag with the key has to name one room."""
    assert len(PLACES) == len({place.key for place in PLACES})


def test_start_is_a_place() -> None:
    assert START in PLACE_IDS


def test_ada_stands_where_new_characters_start() -> None:
    assert START == next(who.place for who in RESIDENTS if who.name == "Ada")


@pytest.mark.parametrize("place", PLACES, ids=PLACE_IDS)
def test_a_place_is_worth_looking_at(place: Place) -> None:
    """Every place has two to four sentences of description and at least two details."""
    assert 2 <= place.desc.count(". ") + 1 <= 4
    assert 2 <= len(place.details)
    assert all(thing.desc for thing in (*place.details, *place.things))


@pytest.mark.parametrize("place", PLACES, ids=PLACE_IDS)
def test_a_way_leads_to_a_place(place: Place) -> None:
    assert all(way.to in PLACE_IDS and way.name and way.back for way in place.ways)


@pytest.mark.parametrize("resident", RESIDENTS, ids=RESIDENT_IDS)
def test_a_resident_says_openly_that_it_is_an_ai(resident: Resident) -> None:
    assert "AN AI" in resident.looks
    assert "(an AI)" in resident.post
    assert "You are an AI" in resident.persona or "and an AI" in resident.persona


@pytest.mark.parametrize("resident", RESIDENTS, ids=RESIDENT_IDS)
def test_a_briefing_is_short_and_whole(resident: Resident) -> None:
    """A small model needs few words."""
    assert resident.briefing.startswith(resident.persona)
    assert all(f"- {fact}" in resident.briefing for fact in resident.facts)
    assert 250 > len(resident.briefing.split())


@pytest.mark.parametrize("resident", RESIDENTS, ids=RESIDENT_IDS)
def test_a_resident_is_never_silent_for_want_of_a_line(resident: Resident) -> None:
    assert 2 <= len(resident.thinking)
    assert all(resident.name in line for line in (*resident.thinking, resident.failure))


def test_the_welcome_names_no_one_by_itself() -> None:
    assert "Ada" not in WELCOME
    assert "whisper edda = " in WELCOME.format(name="Edda", call="edda")
