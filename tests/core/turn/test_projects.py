"""Projects: one is active, the others keep their context, and private ones stay private."""

import re
from typing import Any

import pytest

from evennia_ai.core.turn.projects import (
    LONGEST_CONTEXT,
    MOST_PROJECTS,
    Projects,
    Viewer,
    active_of,
    create,
    described,
    key_of,
    listing,
    swap,
    update,
    visible,
)

ANYBODY = Viewer("*#3")
TOM, MIRA = Viewer("*#3", True, "*#3"), Viewer("*#4", True, "*#4")


def made(*names: str, viewer: Viewer = ANYBODY) -> Projects:
    """Projects of these names, made at the times 0, 1, ..."""
    projects: Projects = {}
    for at, name in enumerate(names):
        projects, _ = create(projects, name, f"about {name}", f"context {name}", viewer, at)
    return projects


def test_the_newest_is_active() -> None:
    projects = made("map", "Boat Repair!")
    assert "boat_repair" == projects["active"] == active_of(projects, ANYBODY)
    assert ["paused", "active"] == [slot["status"] for slot in projects["slots"].values()]
    expected = "map (paused): about map\nboat_repair (active): about Boat Repair!"
    assert expected == listing(projects, ANYBODY)
    text = "You are working on boat_repair: about Boat Repair!\ncontext Boat Repair!"
    assert text == described(projects, ANYBODY)


def test_without_projects() -> None:
    assert ("", "you have no project") == (described({}, ANYBODY), listing({}, ANYBODY))


@pytest.mark.parametrize(("name", "summary"), [("", "x"), ("!?", "x"), ("map", " \n")])
def test_what_is_no_project(name: str, summary: str) -> None:
    with pytest.raises(ValueError, match="a project needs a key and a summary"):
        create({}, name, summary, "", ANYBODY, 0)


def test_a_key_is_used_once() -> None:
    with pytest.raises(ValueError, match="there is a project 'map' already"):
        create(made("map"), "MAP", "x", "", ANYBODY, 1)


def test_they_are_bounded() -> None:
    """Of too many, the completed project that rested longest makes room."""
    projects, key = create({}, "k" * 99, "s" * 999, "c" * 9999, ANYBODY, 0)
    slot = projects["slots"][key]
    assert (39, 200) == (len(key), len(slot["summary"]))
    assert LONGEST_CONTEXT >= len(slot["context"])
    full = made(*(f"p{n}" for n in range(MOST_PROJECTS)))
    with pytest.raises(ValueError, match="there are 20 projects already; complete one first"):
        create(full, "more", "x", "", ANYBODY, 99)
    for at, name in ((30, "p7"), (20, "p9")):
        full = update(full, name, {"status": "completed"}, ANYBODY, at)
    full, _ = create(full, "more", "x", "", ANYBODY, 99)
    assert MOST_PROJECTS == len(full["slots"])
    assert "p9" not in full["slots"]
    assert "p7" in full["slots"]


def test_swapping() -> None:
    """The old project keeps its progress and rests; swapping to the active one updates it."""
    projects, report = swap(made("map", "boat"), "Map", "half the boat is done", ANYBODY, 50)
    assert {
        "old_project": "boat",
        "new_project": "map",
        "new_project_summary": "about map",
        "new_project_context": "context map",
    } == report
    boat, chart = projects["slots"]["boat"], projects["slots"]["map"]
    assert ("half the boat is done", "paused", 50) == (
        boat["context"],
        boat["status"],
        boat["last_active"],
    )
    assert ("active", 50, "map") == (chart["status"], chart["last_active"], projects["active"])
    result, _ = swap(projects, "boat", "", ANYBODY, 60)
    assert "context map" == result["slots"]["map"]["context"]
    same, report = swap(result, "boat", "painted", ANYBODY, 70)
    assert ("boat", "boat", "painted") == (
        report["old_project"],
        same["active"],
        same["slots"]["boat"]["context"],
    )


@pytest.mark.parametrize(
    ("projects", "names"), [({}, "none"), (made("map", "boat"), "map, boat")], ids=["none", "two"]
)
def test_what_is_not_there(projects: Projects, names: str) -> None:
    expected = re.escape(f"Project 'mine' does not exist; available_projects: {names}")
    with pytest.raises(ValueError, match=expected):
        swap(projects, "mine", "", ANYBODY, 0)
    with pytest.raises(ValueError, match=expected):
        update(projects, "mine", {}, ANYBODY, 0)


@pytest.mark.parametrize(
    ("active", "key", "changes"),
    [
        ("boat", "", {"context": "new"}),
        ("boat", "map", {"context": "new"}),
        ("map", "map", {"context": "new", "status": "active"}),
        ("boat", "", {"context": "new", "status": "active"}),
        ("", "", {"context": "new", "status": "completed"}),
        ("boat", "map", {"context": "new", "status": "completed", "summary": "done"}),
    ],
)
def test_updating(active: str, key: str, changes: dict[str, str]) -> None:
    projects = update(made("map", "boat"), key, changes, ANYBODY, 9)
    slot = projects["slots"][key or "boat"]
    assert (active, "new", 9) == (projects["active"], slot["context"], slot["last_active"])
    assert changes.get("summary", slot["summary"]) == slot["summary"]
    statuses = [each["status"] for each in projects["slots"].values()]
    assert bool(active) == statuses.count("active")


def test_what_is_private_is_seen_by_one() -> None:
    projects: dict[str, Any] = made("secret", viewer=TOM)
    assert ["secret"] == [*visible(projects, TOM)]
    assert {} == visible(projects, ANYBODY), "others hear what Tom is answered"
    assert ({}, "", "") == (
        visible(projects, MIRA),
        active_of(projects, MIRA),
        described(projects, MIRA),
    )
    assert {} == visible(made("secret", viewer=Viewer("", is_private=True)), Viewer())
    with pytest.raises(ValueError, match="available_projects: none"):
        swap(projects, "secret", "", MIRA, 0)


def test_a_hidden_key_is_not_given_away() -> None:
    """The second project gets another key, which does not show that the first exists."""
    projects, key = create(made("plan", viewer=TOM), "plan", "x", "", MIRA, 5)
    assert "plan_2" == key
    assert ("paused", "context plan") == (
        projects["slots"]["plan"]["status"],
        projects["slots"]["plan"]["context"],
    )
    long = "a plan to mend the boat and the harbour wall"
    both, key = create(made(long, viewer=TOM), long, "x", "", MIRA, 5)
    assert key == key_of(key)
    assert both["slots"].keys() >= update(both, key, {"summary": "y"}, MIRA, 6)["slots"].keys()
    back, report = swap(projects, "plan", "nothing of Mira's", TOM, 6)
    assert ("", "") == (report["old_project"], back["slots"]["plan_2"]["context"])


def test_private_words_stay_out_of_open_projects() -> None:
    projects = made("map", "boat")
    for act in (
        lambda: update(projects, "map", {"context": "psst"}, TOM, 1),
        lambda: swap(projects, "map", "psst", TOM, 1),
    ):
        with pytest.raises(ValueError, match="this talk is private and that project is not"):
            act()
    assert "map" == swap(projects, "map", "", TOM, 1)[0]["active"]
