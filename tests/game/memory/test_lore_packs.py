"""Lore packs in the game: import, export, and lore that is told under conditions."""

import json
from pathlib import Path
from typing import Any

from django.test.utils import override_settings

from evennia_ai import audit, operations
from evennia_ai.core.memory.recollection import WORLD, MemoryKind
from evennia_ai.memory import lore
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.operations.files import lore_packs
from tests.game.operations.test_cards import CardTest
from tests.game.support import whispers

YAML = """\
pack: harbour
entries:
  - id: oil
    text: The lighthouse burns whale oil, says {{char}}.
    keywords: [lighthouse, lamp]
    importance: 7
  - id: secret
    text: The cellar holds the missing casks.
    keywords: [lighthouse]
    when:
      - {tag: keeper, category: guild}
  - id: fog
    text: Fog hides the reef.
    constant: true
"""
SECRET = "The cellar holds the missing casks."
QUESTS = "tests.game.memory.test_lore_packs.quest_state"
HARBOUR = {"pack": "harbour", "entries": [{"id": "a", "text": "x", "keywords": ["a"]}]}


def quest_state(being: Any, quest: str) -> str | None:
    return being.attributes.get(f"quest_{quest}")


def broken_state(being: Any, quest: str) -> str:
    """A function of a game that fails."""
    raise KeyError(quest)


class PackTest(CardTest):
    """A game with a YAML pack in its folder."""

    def setUp(self) -> None:
        super().setUp()
        self.put("harbour.yaml", YAML.encode())

    def changed(self, pack: Any, **more: Any) -> tuple[int, int, int, int]:
        """The counts of an import: added, changed, removed, unchanged."""
        result = lore_packs.read(json.dumps(pack).encode())
        assert result.ok, result.message
        data = lore_packs.import_pack(result.data, by="Tom", **more).data
        return data.added, data.changed, data.removed, data.unchanged

    def texts(self) -> list[str]:
        return [row["text"] for row in operations.list_lore().data.lore]

    def told(self, line: str) -> str:
        """The last message to the model in the turn that a line starts."""
        self.ask(line, whispers("Hm."))
        return self.prompt()


class TestPacks(PackTest):
    def test_it_asks_before_it_stores(self) -> None:
        shown = self.given("assistant lore import harbour.yaml", "no")
        assert "entries would be 3 added, 0 changed, 0 removed; 0 are unchanged" in shown
        assert [] == self.texts()
        assert "are 3 added" in self.given("assistant lore import harbour.yaml")
        assert 3 == len(self.texts())
        assert "harbour: 3 entries" in self.typed("assistant lore")
        audit.flush()
        (entry,) = audit.application().page(audit.GAME, limit=9, events=("lore_changed",))
        assert ("brought in", "harbour", "Tom") == tuple(
            entry.details[name] for name in ("change", "key", "by")
        )

    def test_the_same_again_changes_nothing(self) -> None:
        """A changed pack changes only what came with it before."""
        self.typed("aimemory lore add mill = The mill is haunted.")
        a, b = ({"id": name, "text": name, "keywords": [name]} for name in "ab")
        pack = {"pack": "harbour", "entries": [a, b]}
        assert (2, 0, 0, 0) == self.changed(pack, is_tried=True)
        assert (2, 0, 0, 0) == self.changed(pack)
        keys = [row.key for row in lore.of_book(rows.SHARED, "harbour")]
        assert (0, 0, 0, 2) == self.changed(pack)
        other = {"pack": "harbour", "entries": [{**a, "depth": 3}, {**a, "id": "c"}]}
        assert (1, 1, 1, 0) == self.changed(other)
        assert keys[0] in [row.key for row in lore.of_book(rows.SHARED, "harbour")]
        assert (0, 0, 2, 0) == self.changed({"pack": "harbour", "entries": []})
        assert ["The mill is haunted."] == self.texts()

    def test_what_goes_out_comes_in_again(self) -> None:
        """So does lore that was written by command, with its room or faction."""
        self.given("assistant lore import harbour.yaml")
        self.typed(f"aimemory lore add room {self.room1.dbref} stair = Mind the stair.")
        self.typed("aimemory lore add faction Guild oath = We swear by salt.")
        for line, count in (("export harbour", 3), ("export", 2)):
            path = Path(self.typed(f"assistant lore {line}").rpartition(" ")[2])
            pack = json.loads(path.read_text(encoding="utf-8"))
            assert count == len(pack["entries"])
            assert (0, 0, 0, count) == self.changed(pack), line
        lore.remove_book(rows.SHARED, "harbour")
        for number in Memory.objects.values_list("pk", flat=True):
            operations.remove_lore(number)
        assert (2, 0, 0, 0) == self.changed(pack)
        assert (0, 0, 0, 2) == self.changed(pack)
        assert {"room", "faction"} == {
            row["audience"].partition(":")[0] for row in operations.list_lore().data.lore
        }

    def test_what_another_game_wrote_down_for_itself(self) -> None:
        """The pack of a game's own lore is merged: a later import of it removes nothing."""
        foreign = {"id": "f" * 32, "text": "Salt is dear.", "keywords": ["salt"]}
        pack = {"pack": lore_packs.OWN, "entries": [foreign]}
        assert (1, 0, 0, 0) == self.changed(pack)
        assert (0, 0, 0, 1) == self.changed(pack)
        self.typed("aimemory lore add mill = The mill is haunted.")
        out: Any = lore_packs.export_pack().data
        assert ["Salt is dear.", "The mill is haunted."] == [
            each["text"] for each in out["entries"]
        ]
        assert {lore_packs.OWN: 2} == lore_packs.list_packs().data.packs
        assert (0, 0, 0, 2) == self.changed(out)
        assert (0, 0, 0, 0) == self.changed({**pack, "entries": []})
        assert 2 == len(self.texts())

    def test_staff_change_what_is_constant(self) -> None:
        entry = {"id": "fog", "text": "Fog hides the reef.", "constant": True}
        self.changed({"pack": "harbour", "entries": [entry]})
        number = Memory.objects.get().pk
        assert "is changed" in self.typed(f"aimemory lore change {number} = The fog is gone.")
        assert ["The fog is gone."] == self.texts()
        assert operations.change_lore(number, importance=9, keywords=[]).ok

    def test_nothing_is_stored_of_what_is_wrong(self) -> None:
        room = {**HARBOUR["entries"][0], "audience": "room #99999"}  # type: ignore[index]
        for text, problem in (
            (json.dumps({**HARBOUR, "entries": [room]}), "entry 'a'.audience: there is no room"),
            ('{"pack": "harbour"}', "a pack has `pack` and `entries`"),
            ('{"pack": "a", "pack": "b"}', "a name is repeated"),
            ('{"pack": "a"} = ada', "nothing can follow the pack"),
            ("none.yaml", "there is no file 'none.yaml'"),
        ):
            assert problem in self.typed(f"assistant lore import {text}"), text
        for raw, problem in (
            (b"pack: [", "neither JSON nor plain YAML"),
            (b"a: &x [1]\nb: *x", "line 1: & and * are not allowed"),
            (b"pack: a\nentries:\n- {id: a, id: b}", "line 3: a name is repeated"),
            (b"[" * 50, "line 1: nested more than 12 deep"),
            (b"pack: 2026-01-31\nentries: []", "datetime.date(2026, 1, 31) is not text"),
            (b"pack: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
            (b"- a", "a pack has `pack` and `entries`"),
            (b"\xff", "not UTF-8 at byte 0"),
            (b"# " * 600_000, "has more than 1,048,576 bytes"),
        ):
            self.put("odd.yaml", raw)
            assert problem in self.typed("assistant lore import odd.yaml"), raw[:40]
        assert [] == self.texts()
        assert "There is no lore pack none." in self.typed("assistant lore export none")
        assert "it must be a name of" in self.typed("assistant lore export No/ne")
        assert "Usage: assistant lore" in self.typed("assistant lore remove harbour")


class TestConditions(PackTest):
    def test_a_tag_of_whoever_asks(self) -> None:
        self.given("assistant lore import harbour.yaml")
        text = self.told("whisper Ada = Tell me of the lighthouse.")
        assert "The lighthouse burns whale oil, says Ada." in text
        assert SECRET not in text
        self.tom.tags.add("keeper", category="guild")
        assert SECRET in self.told("whisper Ada = And of the lighthouse?")
        assert "Fog hides the reef." in self.told("whisper Ada = hello")

    @override_settings(EVENNIA_AI_QUEST_STATE=QUESTS)
    def test_each_kind_of_condition(self) -> None:
        conditions: list[tuple[dict[str, Any], Any]] = [
            ({"attribute": "lamp"}, lambda: self.tom.attributes.add("lamp", 1)),
            ({"attribute": "lamp", "value": True}, lambda: self.tom.attributes.add("lamp", True)),
            ({"attribute": "rank", "value": 3}, lambda: self.tom.attributes.add("rank", 3)),
            ({"tag": "wet", "of": "room"}, lambda: self.room1.tags.add("wet")),
            ({"tag": "sworn", "of": "assistant"}, lambda: self.ada.tags.add("sworn")),
            (
                {"quest": "ring", "state": "found"},
                lambda: self.tom.attributes.add("quest_ring", "found"),
            ),
        ]
        for condition, meet in conditions:
            entry = {"id": "a", "text": "It rains.", "constant": True, "when": [condition]}
            self.changed({"pack": "harbour", "entries": [entry]})
            assert "It rains." not in self.told("whisper Ada = hello"), condition
            meet()
            assert "It rains." in self.told("whisper Ada = hello"), condition

    def test_a_games_function_that_fails_meets_nothing(self) -> None:
        """A missing function counts the same, and the turn goes on."""
        when = [{"quest": "ring", "state": "found"}]
        entry = {"id": "a", "text": "It rains.", "constant": True, "when": when}
        self.changed({"pack": "harbour", "entries": [entry]})
        for path in ("", "tests.game.memory.test_lore_packs.broken_state"):
            with override_settings(EVENNIA_AI_QUEST_STATE=path):
                text = self.told("whisper Ada = hello")
                assert ("hello" in text, "It rains." in text) == (True, False), path

    def test_it_leaves_room_for_memories(self) -> None:
        """Constant lore, however much, does not crowd out recollections."""
        self.remember("The atlas is in the east tower.", kind="fact", audience=WORLD)
        entries = [{"id": n, "text": n * 1_000, "constant": True} for n in "abcd"]
        self.changed({"pack": "harbour", "entries": entries})
        text = self.told("whisper Ada = Where is the atlas?")
        assert (True, True) == ("aaaa" in text, "The atlas is in the east tower." in text)

    def test_what_is_long_is_told_whole(self) -> None:
        words = " ".join(f"Word {number} of it is here." for number in range(40))
        self.changed({"pack": "harbour", "entries": [{"id": "a", "text": words, "constant": True}]})
        text = self.told("whisper Ada = hello")
        assert [] == [n for n in range(40) if f"Word {n} of it is here." not in text]

    def test_what_staff_change_holds_until_the_pack_comes_again(self) -> None:
        self.changed(HARBOUR)
        number = Memory.objects.get().pk
        assert "changed" in self.typed(f"aimemory lore change {number} = other")
        assert (0, 1, 0, 0) == self.changed(HARBOUR)
        assert WORLD == rows.of(rows.SHARED, kind=MemoryKind.LORE).get().audience
