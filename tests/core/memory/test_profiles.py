"""Profiles of beings: favour, its bands, and the known attributes."""

import math
from typing import Any

import pytest

from evennia_ai.core.memory.namesakes import former_name
from evennia_ai.core.memory.profiles import (
    FAVOUR_OF_A_MEETING,
    band,
    bounded,
    described,
    known_to,
    nudged,
    with_former_name,
)
from evennia_ai.core.memory.recollection import Seeker, person_audience, place_audience
from evennia_ai.core.text.words import counted

TOM = "*#3"
ROOM, TO_TOM = place_audience("say", "#2"), person_audience(TOM)


def attribute(text: str, audience: str = ROOM, at: float = 0.0) -> dict[str, Any]:
    return {"text": text, "audience": audience, "at": at}


def texts(attributes: list[Any]) -> list[str]:
    return [item["text"] for item in attributes]


@pytest.mark.parametrize(
    ("expected", "favour"),
    [
        ("stranger", -1.0),
        ("stranger", 0.0),
        ("stranger", 0.2499),
        ("acquaintance", 0.25),
        ("acquaintance", 0.4999),
        ("friend", 0.5),
        ("friend", 0.7499),
        ("close friend", 0.75),
        ("close friend", 1.0),
    ],
)
def test_bands(expected: str, favour: float) -> None:
    assert expected == band(favour)


@pytest.mark.parametrize(
    ("expected", "meetings"),
    [("stranger", 5), ("acquaintance", 6), ("friend", 14), ("close friend", 28)],
)
def test_meetings_make_friends(expected: str, meetings: int) -> None:
    """Each meeting takes favour nearer to 1, by less each time."""
    favour = 0.0
    for _ in range(meetings):
        favour += (1 - favour) * FAVOUR_OF_A_MEETING
    assert expected == band(favour)
    assert pytest.approx(1 - math.exp(-meetings / 20)) == favour


@pytest.mark.parametrize(
    ("expected", "favour", "nudge"),
    [
        (0.55, 0.5, 0.05),
        (0.4, 0.5, -0.7),
        (0.6, 0.5, 9.0),
        (1.0, 0.97, 0.1),
        (0.0, 0.03, -0.1),
        (0.5, 0.5, math.nan),
        (0.5, 0.5, math.inf),
    ],
)
def test_a_night_moves_favour_a_little(expected: float, favour: float, nudge: float) -> None:
    assert pytest.approx(expected) == nudged(favour, nudge)


def test_the_same_is_known_once() -> None:
    """The last wording counts; the same for another audience is another attribute."""
    given = [attribute("Likes tea.", at=1), attribute("likes  TEA.", at=3), attribute("x", at=2)]
    assert ["x", "likes TEA."] == texts(bounded(given))
    assert 2 == len(bounded([attribute("a"), attribute("a", TO_TOM)]))


def test_what_is_known_is_bounded() -> None:
    """The newest twelve for several people and the newest twelve for one are kept, a line each."""
    given = [attribute(f"open {n}", at=n) for n in range(20)]
    given += [attribute(f"alone {n}", TO_TOM, at=n) for n in range(20)]
    got = texts(bounded(given))
    assert 24 == len(got)
    assert {"open 8", "alone 8"} <= {*got}
    assert not {"open 7", "alone 7"} & {*got}
    assert 200 == len(bounded([attribute("long " * 100)])[0]["text"])


def test_what_is_no_attribute_is_left_out() -> None:
    assert [] == bounded([attribute(" \n"), attribute("x", "everybody"), attribute("x", "Tom")])


@pytest.mark.parametrize(
    ("expected", "seeker"),
    [
        (["open", "alone"], Seeker(TOM, "whisper", "#2", is_private=True)),
        (["open", "alone"], Seeker(TOM, "whisper", "#9", is_private=True)),
        (["open"], Seeker(TOM, "say", "#2")),
        (["open"], Seeker(TOM, "say", "#9")),
        (["open"], Seeker("*#4", "whisper", "#2", is_private=True)),
        ([], Seeker("*#4", "say", "#9")),
        ([], Seeker()),
    ],
)
def test_who_is_told_what(expected: list[str], seeker: Seeker) -> None:
    """Open words are told at their place and to their person; private ones only in private."""
    given = [attribute("open"), attribute("alone", TO_TOM)]
    assert expected == texts(known_to(given, TOM, seeker))


def test_a_point_is_told_once() -> None:
    """The widest audience is kept, since the words may then be said before others."""
    given = [
        attribute("Likes tea.", TO_TOM, 1.0),
        attribute("Rich.", TO_TOM),
        attribute("likes tea"),
    ]
    seeker = Seeker(TOM, "whisper", "#2", is_private=True)
    assert [attribute("likes tea"), attribute("Rich.", TO_TOM)] == known_to(given, TOM, seeker)


def test_a_being_in_one_line() -> None:
    expected = 'Tom: an acquaintance, met 2 times. Known: "likes tea"; "has a boat".'
    assert expected == described("Tom", 0.3, ("met 2 times",), ["likes tea.", "has a boat. "])
    assert "Tom: a stranger." == described("Tom", 0.0, (), ())
    assert ("1 time", "0 times") == (counted(1, "times"), counted(0, "times"))


def test_the_newest_former_names_are_kept_once_each() -> None:
    known: list[Any] = [attribute("likes tea")]
    for at, name in enumerate(("Ann", "Bob", "Ann", "Cid", "Dee", "Eve")):
        point = attribute(former_name(name, f"{at + 1} May 2026"), TO_TOM, float(at))
        known = with_former_name(known, point)
    names = ("Ann until 3", "Cid until 4", "Dee until 5", "Eve until 6")
    assert ["likes tea", *(f"was called {name} May 2026" for name in names)] == texts(known)
