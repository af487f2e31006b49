"""The command `aimemory lore`, by which staff write down the game's world."""

import re

from evennia_ai import audit, operations
from evennia_ai.core.memory.recollection import faction_audience, place_audience
from tests.game.memory.remembering_case import RememberingTest


class LoreTest(RememberingTest):
    """Tom is a developer, who may change lore."""

    def add(self, head: str, text: str) -> int:
        shown = self.typed(f"aimemory lore add {head} = {text}")
        match = re.fullmatch(r"Lore (\d+) is added\.", shown)
        return int(match[1])

    def lore(self) -> list[dict[str, object]]:
        return operations.list_lore().data.lore


class TestLore(LoreTest):
    def test_for_whom_it_is(self) -> None:
        room = self.room1.dbref
        self.add("lamp, light house", "The lighthouse is dark.")
        self.add("world atlas", "The atlas is lost.")
        self.add(f"room {room} stair", "Mind the stair.")
        self.add(f"room {room}", "It smells of dust.")
        self.add("faction Thieves password", "It is 'moth'.")
        place = place_audience("", room)
        assert [
            (["lamp", "light house"], "world", ""),
            (["atlas"], "world", ""),
            (["stair"], place, room),
            ([], place, room),
            (["password"], faction_audience("thieves"), "Thieves"),
        ] == [(row["tags"], row["audience"], row["place"]) for row in self.lore()]
        shown = self.typed("aimemory lore")
        for part in ("lamp, light house: The lighthouse", "(said in", "(known to Thieves)"):
            assert part in shown, part
        assert shown == self.typed("aimemory/lore")

    def test_changed_and_removed(self) -> None:
        number = self.add("lamp", "It is dark.")
        changed = f"aimemory lore change {number} = It is = lit."
        assert f"Lore {number} is changed." == self.typed(changed)
        assert ["It is = lit."] == [row["text"] for row in self.lore()]
        assert f"Lore {number} is removed." == self.typed(f"aimemory lore remove {number}")
        assert [] == self.lore()
        assert "There is no lore yet" in self.typed("aimemory lore")
        assert f"There is no lore {number}" in self.typed(f"aimemory lore remove {number}")
        audit.flush()
        entries = audit.application().page(audit.GAME, limit=50, events=("lore_changed",))
        changes = [entry.details for entry in reversed(entries)]
        assert ["added", "changed", "removed"] == [details["change"] for details in changes]
        assert ["Tom"] * 3 == [details["by"] for details in changes]
        assert "dark" not in str(changes)

    def test_what_cannot_be(self) -> None:
        for line, answer in (
            ("add = x", "There is no"),
            ("add lamp", "There is no"),
            ("add lamp =", "there is nothing to remember"),
            ("add room #99999 lamp = x", "there is no room '#99999'"),
            ("add room lobby lamp = x", "there is no room 'lobby'"),
            ("add ?! = x", "the keyword '?!' has no letter or digit"),
            (f"add {'x' * 41} = x", "a keyword has at most 40 characters"),
            (f"add {','.join(map(str, range(21)))} = x", "at most 20 can be"),
            (f"add lamp = {'x' * 1001}", "a memory has at most 1000 characters"),
            ("change 999999 = x", "There is no lore 999999"),
            ("change 1 2 = x", "There is no"),
            ("remove 1 = x", "There is no"),
            ("dance", "There is no"),
        ):
            assert answer in self.typed(f"aimemory lore {line}"), line
        assert [] == self.lore()

    def test_who_changes_it(self) -> None:
        """Only those who hold the owner lock change lore; other staff read it."""
        self.add("lamp", "It is dark.")
        with self.settings(EVENNIA_AI_OWNER_LOCK="false()"):
            for line in ("add lamp = x", "change 1 = x", "remove 1"):
                shown = self.typed(f"aimemory lore {line}")
                assert "You may not do that: change lore needs false()." == shown, line
            assert "It is dark." in self.typed("aimemory lore")
        assert 1 == len(self.lore())

    def test_by_a_program(self) -> None:
        """Everything may change at once, and nothing does where one value is wrong."""
        number = self.add("lamp", "It is dark.")
        result = operations.change_lore(
            number, text="It is lit.", keywords=["wick"], audience="faction keepers", importance=9
        )
        row = result.data
        assert ("It is lit.", ["wick"], 9) == (row["text"], row["tags"], row["importance"])
        assert faction_audience("keepers") == row["audience"]
        for wrong in ({"audience": "me"}, {"keywords": []}, {"importance": 11}, {"text": " "}):
            assert not operations.change_lore(number, **wrong).ok, wrong
        assert [row] == self.lore()
        assert not operations.add_lore("x", keywords=["y"], importance=0).ok
