"""The page that makes assistants: by a form, from a card, as a copy, or in a being."""

from io import BytesIO
from typing import Any
from unittest import mock

from django.test.utils import override_settings
from evennia.accounts.accounts import DefaultAccount
from evennia.utils import create

from evennia_ai import operations
from evennia_ai.core.cards.character_card import MOST_BYTES, as_json, as_png, new_card
from evennia_ai.runtime import state
from evennia_ai.web.pages import make
from tests.browser.cases import CASES
from tests.web.support import WebTest, intruders, text_of

CARD = new_card(
    name="Edda",
    description="Edda copies <b>charts</b>.",
    first_mes="*looks up*",
    system_prompt="Be dry.",
    character_book={
        "extensions": {},
        "entries": [
            {
                "keys": ["atlas"],
                "content": "The atlas is lent.",
                "extensions": {},
                "enabled": True,
                "insertion_order": 1,
            }
        ],
    },
)


def file_of(content: bytes, name: str = "card.json") -> BytesIO:
    file = BytesIO(content)
    file.name = name
    return file


class MakingTest(WebTest):
    def test_an_empty_game_leads_here(self) -> None:
        self.end_all()
        response = self.get("now")
        assert f'href="{self.address("make")}"' in response.content.decode()
        assert "There is no assistant that you may copy." in text_of(self.get("make"))

    @override_settings(EVENNIA_AI_PROMPTS={"templates": {"stern": "You are {name}."}})
    def test_it_stands_where_it_was_put_and_its_page_is_shown(self) -> None:
        """The account that made it controls it."""
        form = {
            "key": "Edda",
            "persona": "You copy charts.\r\nYou are dry.",
            "desc": "A scribe.",
            "location": str(self.room2.dbref),
            "template": "stern",
        }
        response = self.post("create", form, who="builder")
        assert self.address("live", key="Edda") == response.redirect_chain[-1][0]
        assert "Edda is awake" in text_of(response)
        script: Any = operations.find_assistant("Edda")
        assert self.room2 == script.obj.location
        assert "A scribe." == script.obj.db.desc
        assert "You copy charts.\nYou are dry." == state.read(script, "persona")
        assert "stern" == state.read(script, "applied_template")
        assert 302 == self.post("stop", who="builder", follow=False, key="Edda").status_code

    def test_what_is_wrong_stands_beside_its_field_and_all_is_kept(self) -> None:
        form = {"key": "Ada", "persona": "You <sing>.", "desc": "A bird.", "location": "#1x"}
        for change, problem in (
            ({}, "There is no room named '#1x'"),
            ({"location": "x" * 60_000}, "There is no room named 'xxx"),
            ({"location": ""}, "Ada"),
            ({"location": "", "key": "Edda", "persona": "x" * 20_001}, "at most 20,000"),
            ({"location": "", "key": "<b>"}, "<b>"),
        ):
            with self.subTest(change=str(change)[:60]):
                typed = {**form, **change}
                response = self.post("create", typed)
                assert response.status_code in (400, 404, 409)
                assert problem in text_of(response)
                body = response.content.decode()
                assert 'aria-hidden="true">✖</span>' in body
                assert "A bird.</textarea>" in body
                assert typed["persona"].replace("<", "&lt;").replace(">", "&gt;") in body
        assert ["Ada"] == [str(script.key) for script in operations.list_assistants()]

    def test_the_room_stays_where_another_form_was_sent(self) -> None:
        """The field keeps what was typed, or proposes the room of the person's character."""

        def room(name: str, form: dict[str, str]) -> str:
            body = self.post(name, form).content.decode()
            return body.partition('id="location" name="location" value="')[2].partition('"')[0]

        with mock.patch.object(DefaultAccount, "get_all_puppets", return_value=[self.mira]):
            here = str(self.mira.location.dbref)
            assert here == room("look-at-card", {})
            assert here == room("copy", {"source": "", "copy_name": "Bea"})
            assert "#1x" == room("create", {"key": "Bea", "location": "#1x"})
            assert "" == room("create", {"key": "", "location": ""})

    def test_a_copy(self) -> None:
        self.ada_script.db.persona = "You keep maps."
        form = {"source": "Ada", "copy_name": "Bea"}
        assert 403 == self.post("copy", form, who="builder").status_code
        response = self.post("copy", form, who="controller")
        assert self.address("live", key="Bea") == response.redirect_chain[-1][0]
        bea: Any = operations.find_assistant("Bea")
        assert "You keep maps." == state.read(bea, "persona")
        response = self.post("copy", {"source": "<i>", "copy_name": "Cem"})
        assert "Choose which assistant is copied." in text_of(response)
        assert 'value="Cem"' in response.content.decode()

    def test_a_being_is_given_a_mind(self) -> None:
        golem = create.create_object(key="Golem", location=self.room1)
        response = self.post("adopt", {"npc": str(golem.dbref), "adopted_key": "Bram"})
        assert self.address("live", key="Bram") == response.redirect_chain[-1][0]
        assert golem == operations.find_assistant("Bram").obj  # type: ignore[union-attr]
        response = self.post("adopt", {"npc": "<b>nobody", "adopted_key": "Cem"})
        assert "There is no character or object named '<b>nobody'" in text_of(response)
        assert 'value="Cem"' in response.content.decode()
        response = self.post("adopt", {"npc": "x" * 60_000, "adopted_key": "Cem"})
        assert "There is no character or object named 'xxx" in text_of(response)
        assert 403 == self.post("adopt", {"npc": str(self.room2.dbref)}, who="player").status_code


class CardsTest(WebTest):
    def look(self, content: bytes, who: str = "owner", **form: Any) -> Any:
        return self.post("look-at-card", {"file": file_of(content), **form}, who=who)

    def mark(self, response: Any) -> str:
        """Return the key by which the page refers to the uploaded card."""
        body = response.content.decode()
        return str(body.split('name="card" value="')[1].split('"')[0])

    def test_it_is_shown_before_it_is_made(self) -> None:
        for content in (as_json(CARD), as_png(CARD)):
            response = self.look(content)
            assert 200 == response.status_code
            shown = text_of(response)
            for text in ("copies <b>charts</b>.", "Be dry.", "The atlas is lent.", "first_mes"):
                assert text in shown
            assert operations.find_assistant("Edda") is None
            form = {"card": self.mark(response), "card_key": "Edda", "location": ""}
            response = self.post("make-of-card", form)
            assert self.address("live", key="Edda") == response.redirect_chain[-1][0]
            script: Any = operations.find_assistant("Edda")
            assert "copies <b>charts</b>" in state.read(script, "persona")
            operations.delete_assistant(script)

    def test_a_name_that_is_taken_loses_nothing(self) -> None:
        """The uploaded card is kept until an assistant is made of it."""
        form = {"card": self.mark(self.look(as_json(CARD))), "card_key": "Ada"}
        response = self.post("make-of-card", form)
        assert response.status_code in (400, 409)
        assert "The atlas is lent." in text_of(response)
        self.post("make-of-card", {**form, "card_key": "Edda"})
        assert operations.find_assistant("Edda") is not None
        response = self.post("make-of-card", {**form, "card_key": "Bea"})
        assert "choose its file again" in text_of(response)

    def test_what_is_no_card_is_told(self) -> None:
        assert "Choose the card's file first" in text_of(self.post("look-at-card"))
        response = self.look(b"<b>no card")
        assert 400 == response.status_code
        assert "That card cannot be used" in text_of(response)
        assert "more than" in text_of(self.look(b"x" * (MOST_BYTES + 1)))

    def test_another_account_gets_nothing_of_it(self) -> None:
        form = {"card": self.mark(self.look(as_json(CARD))), "card_key": "Edda"}
        response = self.post("make-of-card", form, who="controller")
        assert "choose its file again" in text_of(response)
        assert operations.find_assistant("Edda") is None

    def test_hostile_cards_are_read_as_they_are(self) -> None:
        for case in CASES:
            text = case.written.replace("\x00", "")
            card = new_card(name="Edda", description=text, system_prompt=text)
            assert [] == intruders(self.look(as_json(card))), case.name


def test_few_files_are_held_and_not_for_long(monkeypatch: Any) -> None:
    """One upload per account, at most `MOST`, and none after `KEPT_SECONDS`."""
    now = [0.0]
    monkeypatch.setattr(make, "monotonic", lambda: now[0])
    marks = [make.save_upload(account, b"%d" % account) for account in range(1, make.MOST + 2)]
    assert make.find_upload(1, marks[0]) is None
    assert b"2" == make.find_upload(2, marks[1])
    assert make.find_upload(2, marks[2]) is None
    newer = make.save_upload(2, b"newer")
    assert make.find_upload(2, marks[1]) is None
    assert b"newer" == make.find_upload(2, newer)
    now[0] = make.KEPT_SECONDS + 1
    assert make.find_upload(2, newer) is None
