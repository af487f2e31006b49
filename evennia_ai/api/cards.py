"""Endpoints of character cards and lore packs, which people exchange between programs."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Annotated, Any

from evennia_ai.api.assistants import with_room
from evennia_ai.api.base import require_found, set_location, view_for_long_bodies
from evennia_ai.api.fields import Name, Plain, StrictMapping, Text, Word
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.core.cards.character_card import MOST_BYTES, CharacterCard
from evennia_ai.core.cards.lore_pack import LONGEST_PACK, MOST_ENTRIES, PACK_NAME
from evennia_ai.operations import Result
from evennia_ai.operations.files import cards, lore_packs
from evennia_ai.operations.result import ProblemKind, note

TAG = Tag("Cards and packs", "Import and export of character cards and lore packs.")
MEDIA = {cards.JSON: "application/json", cards.PNG: "image/png"}
LONGEST_FILE = -(-MOST_BYTES // 3) * 4
FILE = b64encode(b'{"name": "Edda", "description": "Edda copies old charts."}').decode()
SHOWN = {
    "key": "Edda",
    "name": "Edda",
    "persona": "Edda copies old charts.",
    "card_notes": "",
    "lore": 0,
    "lore_texts": [],
    "unused": [],
}
PACK = {
    "pack": "harbour",
    "entries": [{"id": "oil", "text": "The beacon burns oil.", "keywords": ["beacon"]}],
}
NO_BASE64 = "This is not valid base64."
CHANGE = {"pack": "harbour", "added": 1, "changed": 0, "removed": 0, "unchanged": 0}


# A body with a whole file in it is one object; a hundred parts leave room for brackets in texts.
CardView = view_for_long_bodies(LONGEST_FILE + 10_000, 100)
PackView = view_for_long_bodies(LONGEST_PACK)


class FileText(Text):
    """A field with a file in base64."""

    pattern, wrong = "^[A-Za-z0-9+/]+={0,2}$", "This must be a file in base64."
    usual = {"max_length": LONGEST_FILE}


class CardBody(StrictMapping):
    """A character card."""

    file = FileText("The card's file, PNG or JSON, in base64.", required=True)


class NewCardBody(CardBody):
    """A character card, from which an assistant is created."""

    key = Name("Its name; by default the name in the card.")
    location = Text("The room where it is put.", max_length=100)


class PackBody(Plain):
    """A lore pack, as docs/cards.md has it."""

    described = {
        "type": "object",
        "properties": {
            "pack": {
                "type": "string",
                "pattern": PACK_NAME,
                "description": "Name of the lore pack.",
            },
            "entries": {
                "type": "array",
                "items": {"type": "object"},
                "maxItems": MOST_ENTRIES,
                "description": "Lore entries: id, text, keywords, and when each is told.",
            },
        },
        "required": ["pack", "entries"],
        "additionalProperties": False,
    }


class PreviewQuery(StrictMapping):
    """The option to see what would change, without changing it."""

    preview = Word(
        "True to store nothing and only report what would be stored.", choices=["true", "false"]
    )


class CardFormat(StrictMapping):
    """The format of a file."""

    format = Word("Format of the card: `json` or `png`.", choices=list(cards.KINDS))


@dataclass(frozen=True, slots=True)
class CardSent:
    """A card as a file."""

    media: Annotated[str, note("Media type: `application/json` or `image/png`.")]
    file: Annotated[str, note("The file in base64, as the import accepts it.")]


def wrong_file(message: str) -> Result[Any]:
    """Refuse the file in a body."""
    return Result(False, message, errors={"file": message})


def _read(call: Call) -> Result[CharacterCard]:
    try:
        result = cards.read(b64decode(call.body["file"], validate=True))
    except binascii.Error:
        return wrong_file(NO_BASE64)
    return result if result.ok else wrong_file(result.message)


def _create(call: Call) -> Result:
    body = with_room(call)
    card = _read(call)
    if not card.ok:
        return card
    result = cards.import_card(
        card.data,
        key=body.get("key", ""),
        location=body.get("location"),
        by=call.by,
        maker=call.account,
    )
    if result.ok:
        set_location(call, "card", key=result.data.key)
    return result


def _replace(call: Call) -> Result:
    result = _read(call)
    return cards.import_card(result.data, call.script, by=call.by) if result.ok else result


def _preview(call: Call) -> Result:
    result = _read(call)
    return cards.show_card(result.data) if result.ok else result


def _export(call: Call) -> CardSent:
    kind = call.query.get("format", cards.JSON)
    return CardSent(MEDIA[kind], b64encode(cards.export_card(call.script, kind)).decode())


def _import_pack(call: Call) -> Result:
    result = lore_packs.read_given(call.body)
    if not result.ok:
        return Result(False, result.message, problem=ProblemKind.INVALID)
    is_tried = call.query.get("preview") == "true"
    return lore_packs.import_pack(result.data, by=call.by, is_tried=is_tried)


ROWS = (
    Row(
        Route("POST", "cards/", "cards", "create", TAG),
        _create,
        "Create an assistant from a character card",
        "A SillyTavern card of version 1 to 3. Parts that are not used are stored for a "
        "later export.",
        operation_id="make_an_assistant_of_a_character_card",
        result=cards.CardShown,
        body=NewCardBody,
        status=201,
        action="import card",
        is_private=True,
        example={"file": FILE, "key": "Edda"},
        answer={
            "message": "Edda is awake, but in no room. Go to its room and type: tel Edda = here",
            **SHOWN,
        },
        view=CardView,
    ),
    Row(
        Route("POST", "cards/preview/", "card-preview", "create", TAG),
        _preview,
        "Preview the import of a character card",
        "Shows what would be stored, and which parts would be kept but not used. "
        "Nothing is stored.",
        operation_id="see_what_would_be_stored_of_a_character_card",
        result=cards.CardShown,
        body=CardBody,
        action="look at card",
        is_private=True,
        example={"file": FILE},
        answer={"message": "The card of Edda, for Edda. It stores: ...", **SHOWN},
        view=CardView,
    ),
    Row(
        Route("GET", f"{ONE}card/", "card", "show configuration", TAG),
        _export,
        "Get an assistant's character card",
        "The imported card with later changes; without one, a card made from the "
        "assistant's description.",
        result=CardSent,
        query=CardFormat,
        answer={"media": MEDIA[cards.JSON], "file": FILE},
        view=CardView,
    ),
    Row(
        Route("PUT", f"{ONE}card/", "card", "configure", TAG),
        _replace,
        "Apply a character card to an assistant",
        "Replaces its persona and whatever an earlier card gave it.",
        operation_id="give_an_assistant_a_character_card",
        result=cards.CardShown,
        body=CardBody,
        action="import card",
        is_private=True,
        example={"file": FILE},
        answer={"message": "Edda has the card of Edda.", **SHOWN},
        view=CardView,
    ),
    Row(
        Route("GET", "lore/packs/", "lore-packs", "show memories", TAG),
        lambda call: lore_packs.list_packs(),
        "List the lore packs",
        f"Each with the number of its entries; `{lore_packs.OWN}` is what came with none.",
        result=lore_packs.Packs,
        answer={"packs": {"harbour": 1}},
        view=PackView,
    ),
    Row(
        Route("POST", "lore/packs/", "lore-packs", "change lore", TAG),
        _import_pack,
        "Import a lore pack",
        "Makes the lore of that name match the pack. Sending the same pack again changes nothing.",
        operation_id="bring_in_a_lore_pack",
        result=lore_packs.PackChange,
        body=PackBody,
        query=PreviewQuery,
        action="import lore pack",
        is_private=True,
        example=PACK,
        answer={"message": "The lore pack harbour: of its entries are 1 added ...", **CHANGE},
        view=PackView,
    ),
    Row(
        Route("GET", "lore/packs/<ai_pack:pack>/", "lore-pack", "show memories", TAG),
        lambda call: require_found(lore_packs.export_pack(call.path["pack"])),
        "Get a lore pack",
        "In the form in which another game can import it.",
        result=lore_packs.PackFile,
        answer=PACK,
    ),
)
