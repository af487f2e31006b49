"""The page of the game's lore: a trial of what a text brings up, entries, and packs."""

import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from evennia.utils import create

from evennia_ai import operations
from evennia_ai.audit import GAME
from evennia_ai.operations.files import lore_packs
from tests.browser.cases import CASES
from tests.web.remembering import RememberingPages
from tests.web.support import form_of, intruders, text_of

MILL = "The mill has stood empty since the flood."
PACK = {
    "pack": "harbour",
    "entries": [
        {"id": "oil", "text": "Lamp oil burns.", "keywords": ["oil"]},
        {
            "id": "guild",
            "text": "The guild meets at night.",
            "keywords": ["guild"],
            "when": [{"tag": "member", "category": "guild"}],
        },
    ],
}


class LorePages(RememberingPages):
    """The game has one piece of lore."""

    def setUp(self) -> None:
        super().setUp()
        result = operations.add_lore(MILL, keywords=["mill", "flood"])
        self.mill = int(result.data["number"])

    def all(self) -> list[str]:
        return [row["text"] for row in operations.list_lore().data.lore]

    def bring_in(self, pack: Any, **form: str) -> Any:
        raw = pack if isinstance(pack, bytes) else json.dumps(pack).encode()
        return self.post("pack-import", {"file": SimpleUploadedFile("p.json", raw), **form})


class TrialTest(LorePages):
    """The trial: the lore that a text brings up."""

    def tried(self, said: str, **more: str) -> str:
        """Return the part of the page that tells what a text would bring up."""
        shown = text_of(self.get("lore", query={"said": said, "assistant": "Ada", **more}))
        return shown.partition("Only these words")[2].partition("All lore")[0]

    def test_what_is_told_and_by_which_word(self) -> None:
        text = self.tried("Shall we go to the Mill?")
        assert "Used: matched by mill" in text
        assert MILL in text
        assert "No lore matches." in self.tried("Shall we go home?")

    def test_what_stands_in_the_way_is_said(self) -> None:
        self.bring_in(PACK)
        assert "Not used: unmet condition: the person has the tag member" in self.tried("the guild")
        pia = create.create_object(
            "evennia.objects.objects.DefaultCharacter", "Pim", location=self.room1
        )
        pia.tags.add("member", category="guild")
        assert "Used: matched by guild" in self.tried("the guild", who="Pim", location=self.room1)
        other = create.create_object("evennia.objects.objects.DefaultRoom", "Elsewhere")
        operations.add_lore("It echoes.", keywords=["echo"], audience=f"room {other.dbref}")
        assert "not for those who would hear it: said in Elsewhere" in self.tried("an echo")
        for number in range(5):
            operations.add_lore(f"Mill {number}.", keywords=["mill"], importance=6)
        text = self.tried("the mill")
        assert 4 == text.count(" Used: ")
        assert "Not used: no room is left" in text

    def test_of_what_is_not_told_some_is_shown(self) -> None:
        for number in range(50):
            operations.add_lore(f"Bell {number}.", keywords=["bell"])
        text = self.tried("the bell")
        assert (4, 30) == (text.count(" Used: "), text.count("Not used: "))

    def test_what_needs_no_word_in_a_room(self) -> None:
        """Lore of a room without keywords is told there, whatever is said."""
        here = self.ada.location.dbref
        operations.add_lore("It smells of tar.", keywords=[], audience=f"room {here}")
        assert "Used: it belongs to this place It smells of tar." in self.tried("hello")

    def test_what_cannot_be_tried_is_said(self) -> None:
        for query, problem in (
            ({"who": "Nobody", "assistant": "Ada"}, "There is nobody by the name 'Nobody'"),
            ({"assistant": "Nobody"}, "There is no assistant named 'Nobody'"),
            ({"assistant": "Ada", "said": "x" * 1001}, "a memory has at most 1000 characters"),
        ):
            response = self.get("lore", query={"said": "the mill at dusk", **query})
            assert response.status_code in (400, 404)
            assert problem in text_of(response)
            assert query.get("said", "the mill at dusk") in response.content.decode()


class EntriesTest(LorePages):
    def test_added_by_an_owner(self) -> None:
        form = {"text": "The lamp is lit at dusk.", "keywords": "lamp, dusk", "importance": "8"}
        shown = text_of(self.post("lore-add", {**form, "audience": "faction Guild"}))
        assert "is added." in shown
        (row,) = [r for r in operations.list_lore().data.lore if r["text"] == form["text"]]
        assert (["lamp", "dusk"], 8, "Guild") == (row["tags"], row["importance"], row["place"])
        assert "known to Guild" in shown
        assert ["added", "Astrid"] == [
            self.facts("lore_changed", GAME)[0][n] for n in ("change", "by")
        ]
        assert 403 == self.post("lore-add", form, who="controller").status_code

    def test_what_is_wrong_keeps_what_was_typed(self) -> None:
        right = {
            "text": "It burns.",
            "keywords": "oil-lamp",
            "audience": "world",
            "importance": "5",
        }
        for field, value, problem in (
            ("text", "", "there is nothing to remember"),
            ("keywords", " , ", "it needs a keyword by which it is found"),
            ("audience", "everybody", "'everybody' does not say who may be told"),
            ("audience", "room #99999", "there is no room '#99999'"),
            ("importance", "most", "'most' is not a number"),
            ("importance", "0", "importance must be a whole number from 1 to 10"),
        ):
            form = {**right, field: value}
            for name, path in (("lore-add", {}), ("lore-change", {"number": self.mill})):
                response = self.post(name, form, **path)
                body = response.content.decode()
                assert 400 == response.status_code
                assert problem in text_of(response)
                typed = [text for name_, text in form.items() if name_ != "text"]
                assert all(
                    f'value="{text.strip()}"' in body or f'value="{text}"' in body for text in typed
                )
        assert [MILL] == self.all()

    def test_changed_and_removed(self) -> None:
        body = self.get("one-lore", number=self.mill).content.decode()
        assert 'value="mill, flood"' in body
        form = {"text": "The mill burnt.", "keywords": "mill", "audience": "world"}
        assert "is changed." in text_of(self.post("lore-change", form, number=self.mill))
        assert ["The mill burnt."] == self.all()
        assert 400 == self.post("lore-remove", number=self.mill).status_code
        assert ["The mill burnt."] == self.all()
        shown = text_of(self.post("lore-remove", {"sure": "yes"}, number=self.mill))
        assert "is removed." in shown
        assert [] == self.all()
        gone = self.get("one-lore", number=self.mill)
        assert 404 == gone.status_code
        assert f"There is no lore {self.mill}. Back" in text_of(gone)  # names no command

    def test_a_second_tab_puts_nothing_back(self) -> None:
        """A stale form is shown again with the other change, and a second press saves it."""
        stale = form_of(self.get("one-lore", number=self.mill), "change/")
        self.post("lore-change", {**stale, "keywords": "grinder"}, number=self.mill)
        response = self.post("lore-change", {**stale, "text": "It burnt."}, number=self.mill)
        assert 409 == response.status_code
        assert "was changed by somebody since you opened it" in text_of(response)
        assert "Keywords grinder" in text_of(response)
        assert [MILL] == self.all()
        again = form_of(response, "change/")
        assert ("It burnt.", "mill, flood") == (again["text"], again["keywords"])
        assert "is changed." in text_of(self.post("lore-change", again, number=self.mill))
        assert ["It burnt."] == self.all()

    def test_a_refused_removal_leaves_the_form_filled(self) -> None:
        again = form_of(self.post("lore-remove", number=self.mill), "change/")
        assert (MILL, "mill, flood", "world") == (
            again["text"],
            again["keywords"],
            again["audience"],
        )

    def test_chosen_by_words(self) -> None:
        for number in range(55):
            operations.add_lore(f"Boat {number} lies here.", keywords=["boat"])
        assert MILL in text_of(self.get("lore", query={"text": "FLOOD"}))
        response = self.get("lore", query={"text": "boat"})
        assert "Boat 49 lies" in text_of(response)
        assert "Boat 50 lies" not in text_of(response)
        more = self.get("lore", query={"text": "boat", "after": "50"})
        assert "Boat 54 lies" in text_of(more)
        assert "?text=boat&amp;after=50" in response.content.decode()

    def test_hostile_texts_stay_texts(self) -> None:
        for case in CASES:
            result = operations.add_lore(f"x {case.written}", keywords=[f"w{case.written[:30]}"])
            if result.ok:
                number = result.data["number"]
                assert [] == intruders(self.get("one-lore", number=number)), case.name
            form = {"text": case.written, "keywords": case.written, "audience": case.written}
            assert [] == intruders(self.post("lore-add", form)), case.name
            query = {"said": case.written, "assistant": "Ada", "text": case.written}
            assert [] == intruders(self.get("lore", query=query)), case.name
        assert [] == intruders(self.get("lore"))


class PacksTest(LorePages):
    def test_in_and_out(self) -> None:
        assert "2 added" in text_of(self.bring_in(PACK))
        response = self.get("pack-export", pack="harbour")
        assert 'attachment; filename="lore-harbour.json"' == response["Content-Disposition"]
        assert "0 added, 0 changed, 0 removed" in text_of(self.bring_in(response.content))
        assert "Download harbour (2 entries)" in text_of(self.get("lore"))

    def test_what_would_change(self) -> None:
        assert "would be 2 added" in text_of(self.bring_in(PACK, preview="yes"))
        assert [MILL] == self.all()

    def test_what_is_no_pack(self) -> None:
        for raw in (b"\xff\x00", b"[]", b"{", b"x" * (lore_packs.LONGEST_PACK + 1)):
            response = self.bring_in(raw)
            assert 400 == response.status_code
            assert "That lore pack cannot be used" in text_of(response)
        assert 400 == self.post("pack-import").status_code
        assert [MILL] == self.all()

    def test_no_such_pack(self) -> None:
        response = self.get("pack-export", pack="nowhere")
        assert 404 == response.status_code
        assert "There is no lore pack nowhere." in text_of(response)
