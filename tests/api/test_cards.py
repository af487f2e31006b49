"""Character cards and lore packs over the API: import, preview, export and limits."""

import json
from base64 import b64decode, b64encode
from typing import Any

from evennia_ai import operations
from evennia_ai.api.cards import LONGEST_FILE
from evennia_ai.core.cards.character_card import MOST_BYTES, as_json, as_png, new_card
from evennia_ai.core.cards.lore_pack import LONGEST_PACK
from evennia_ai.runtime import state
from tests.api.support import ApiTest

CARD = new_card(name="Edda", description="Edda copies charts.", first_mes="*nods*")
PACK = {
    "pack": "harbour",
    "entries": [{"id": "oil", "text": "It burns oil.", "keywords": ["beacon"], "depth": 3}],
}


def body(raw: bytes, **more: Any) -> dict[str, Any]:
    return {"file": b64encode(raw).decode(), **more}


class TestCards(ApiTest):
    def test_it_is_looked_at_and_nothing_is_stored(self) -> None:
        preview = self.call("POST", "cards/preview/", body(as_png(CARD))).told
        assert ("Edda", "Edda copies charts.", ["first_mes: kept but not used"]) == tuple(
            preview[name] for name in ("key", "persona", "unused")
        )
        book = {"entries": [{"keys": ["ink", "pen"], "content": "The ink is old."}]}
        card = as_json(new_card(name="Edda", character_book=book))
        preview = self.call("POST", "cards/preview/", body(card)).told
        assert (1, ["ink, pen: The ink is old."]) == (preview["lore"], preview["lore_texts"])
        assert operations.find_assistant("Edda") is None

    def test_an_assistant_is_made_of_it(self) -> None:
        """The exported card is the imported file, byte for byte."""
        given = body(as_png(CARD), key="Orla", location=self.room1.dbref)
        response = self.call("POST", "cards/", given)
        assert 201 == response.status_code, response.content
        assert "/api/ai/assistants/Orla/card/" == response.headers["Location"]
        script: Any = operations.find_assistant("Orla")
        assert (self.room1, "Edda copies charts.") == (
            script.obj.location,
            state.read(script, "persona"),
        )
        for kind, media, raw in (
            ("json", "application/json", as_json(CARD)),
            ("png", "image/png", as_png(CARD)),
        ):
            sent = self.get(f"assistants/Orla/card/?format={kind}")
            assert (media, raw) == (sent["media"], b64decode(sent["file"]))
        error = self.fault(400, "POST", "cards/", body(as_json(CARD), location="Nowhere"))
        assert "There is no room" in error["fields"]["location"][0]

    def test_it_is_given_to_one_that_there_is(self) -> None:
        answer = self.call("PUT", "assistants/Ada/card/", body(as_json(CARD))).told
        assert ("Ada", "Ada has the card of Edda.") == (answer["key"], answer["message"])
        assert "Edda copies charts." == state.read(self.ada_script, "persona")

    def test_what_is_wrong_is_named(self) -> None:
        for raw, problem in (
            (b"GIF89a", "neither JSON nor a PNG picture"),
            (as_png(CARD)[:-20], "cut off"),
            (b'{"name": 1}', "name is 1; it must be text"),
        ):
            error = self.fault(400, "POST", "cards/preview/", body(raw))
            assert problem in error["fields"]["file"][0]
        for wrong in ({"file": "*"}, {"file": "a"}, {}, {"file": 1}):
            assert ["file"] == list(self.fault(400, "POST", "cards/", wrong)["fields"])
        largest = body(b"{" + b" " * (MOST_BYTES - 1))
        assert LONGEST_FILE == len(largest["file"])
        assert "bytes of JSON" in self.fault(400, "POST", "cards/", largest)["message"]
        longer = json.dumps({"file": "A" * (LONGEST_FILE + 10_000)}).encode()
        self.fault(413, "POST", "cards/", longer)

    def test_nothing_is_read_of_whoever_may_not(self) -> None:
        """A request without the right gets 403 before its body, however long, is parsed."""
        for method, path in (
            ("POST", "cards/"),
            ("POST", "cards/preview/"),
            ("PUT", "assistants/Ada/card/"),
            ("POST", "lore/packs/"),
        ):
            self.fault(403, method, path, b"{", who="player")
            self.fault(400, method, path, b"{")
        self.fault(404, "PUT", "assistants/Nobody/card/", b"{")

    def test_a_body_of_many_parts_is_not_parsed(self) -> None:
        """More than 100 brackets are refused unparsed, but brackets within strings do not count."""
        many = b'{"file": ' + b"[" * 101
        message = self.fault(400, "POST", "cards/preview/", many)["message"]
        assert "more than 100 braces and brackets" in message
        response = self.call("POST", "cards/", body(as_json(CARD), key="Orla [elder]"))
        assert 201 == response.status_code, response.content

    def test_a_card_with_a_name_that_is_taken(self) -> None:
        self.fault(409, "POST", "cards/", body(as_json(CARD), key="Ada"))
        assert [self.ada_script] == list(operations.list_assistants())


class TestPacks(ApiTest):
    def test_it_lives_and_is_gone(self) -> None:
        tried = self.call("POST", "lore/packs/?preview=true", PACK).told
        assert (1, {}) == (tried["added"], self.get("lore/packs/")["packs"])
        assert 1 == self.call("POST", "lore/packs/", PACK).told["added"]
        assert 1 == self.call("POST", "lore/packs/", PACK).told["unchanged"]
        assert PACK == self.get("lore/packs/harbour/")
        assert {"harbour": 1} == self.get("lore/packs/")["packs"]
        assert 1 == self.call("POST", "lore/packs/", {**PACK, "entries": []}).told["removed"]
        self.fault(404, "GET", "lore/packs/harbour/")
        self.fault(404, "GET", "lore/packs/Harbour/")

    def test_what_is_wrong_is_named(self) -> None:
        wrong = {**PACK, "entries": [*PACK["entries"], {"id": "fog", "text": ""}]}  # type: ignore[misc]
        message = self.fault(400, "POST", "lore/packs/", wrong)["message"]
        assert "entry 'fog'.text is ''; it must be" in message
        assert {} == self.get("lore/packs/")["packs"]
        self.fault(400, "POST", "lore/packs/?preview=yes", PACK)
        self.fault(413, "POST", "lore/packs/", b" " * (LONGEST_PACK + 1))

    def test_it_is_for_owners_alone(self) -> None:
        self.fault(403, "POST", "lore/packs/", PACK, who="builder with control")
        assert {} == self.get("lore/packs/", who="builder")["packs"]
