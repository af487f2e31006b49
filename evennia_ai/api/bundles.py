"""Assistants that move between games, each as one file with all that it knows."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from rest_framework.exceptions import ValidationError

from evennia_ai.api.assistants import MadeAssistant, made, with_room
from evennia_ai.api.base import ApiView
from evennia_ai.api.bodies import JsonParser
from evennia_ai.api.cards import FileText
from evennia_ai.api.fields import Flag, Name, Plain, Strict, Text
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result, bundle_in, bundle_out
from evennia_ai.operations.bundle_parts import Bundle
from evennia_ai.operations.result import note

TAG = "Moving"
MOST_SENT = 16_000_000
LONGEST_FILE = -(-MOST_SENT // 3) * 4
FILE = b64encode(b"PK\x03\x04").decode()


class BundleParser(JsonParser):
    """Reads JSON with a whole file in it: one object; a name may have a bracket."""

    most_bytes = LONGEST_FILE + 100_000
    most_parts = 1_000


class BundleView(ApiView):
    """An address to which assistants are sent."""

    parser_classes = (BundleParser,)


class People(Plain):
    """Accounts of this game by the names of the players that they were in the other one."""

    child = Text(max_length=100)
    most = 1_000

    def to_internal_value(self, data: object) -> dict[str, Any]:
        """Names by names."""
        found = super().to_internal_value(data)
        if not all(isinstance(each, str) and len(each) <= 100 for each in found.values()):
            raise ValidationError("These must be names of accounts.")
        return found


def _file() -> FileText:
    told = "The file that the other game wrote, in base64."
    return FileText(max_length=LONGEST_FILE, help_text=told)


def _people() -> People:
    told = "Account here by player there; all others stay strangers."
    return People(required=False, help_text=told)


class BundleLookBody(Strict):
    """An assistant of another game, to be looked at."""

    file = _file()
    key = Name(required=False, help_text="Its name here; else as there.")
    people = _people()


class BundleBody(Strict):
    """An assistant of another game."""

    file = _file()
    key = Name(required=False, help_text="Its name here; else as there.")
    location = Text(max_length=100, required=False, help_text="The room it stands in.")
    people = _people()
    enable = Flag(required=False, help_text="It answers at once; else somebody starts it.")


@dataclass(frozen=True, slots=True)
class BundleSent:
    """An assistant as a file."""

    file: Annotated[str, note("A zip in base64, with every private word the assistant knows.")]


def _with(call: Call, do: Callable[[Bundle], Result]) -> Result:
    try:
        found = bundle_in.read(b64decode(call.body["file"], validate=True))
    except binascii.Error:
        found = Result(False, "This is no base64.")
    if not found.ok:
        return Result(False, found.message, errors={"file": found.message})
    return do(found.data)


def _show(call: Call) -> Result:
    def show(bundle: Bundle) -> Result:
        shown = bundle_in.show_bundle(bundle, call.body.get("key", ""), call.body.get("people"))
        # What stands in its way is part of the answer.
        return Result(True, shown.message, shown.data)

    return _with(call, show)


def _create(call: Call) -> Result:
    given = with_room(call)
    if isinstance(given, Result):
        return given

    def create(bundle: Bundle) -> Result:
        return bundle_in.import_bundle(
            bundle,
            key=given.get("key", ""),
            location=given.get("location"),
            people=given.get("people"),
            enable=given.get("enable", False),
            by=call.by,
            maker=call.account,
        )

    return made(call, _with(call, create))


def _send(call: Call) -> Result:
    found = bundle_out.export_assistant(call.script, by=call.by)
    if not found.ok:
        return found
    if len(found.data) > MOST_SENT:
        return Result.unavailable(
            f"{call.script.key} has {len(found.data):,} bytes, and {MOST_SENT:,} can be sent at "
            "once; have it written into a file of the game instead."
        )
    return found.holding(BundleSent(b64encode(found.data).decode()))


ROWS = (
    Row(
        # No GET: a token that only reads gets no private word.
        Route("POST", f"{ONE}export/", "bundle", "export assistant", TAG),
        _send,
        "Get the whole assistant as a file",
        "With every private word it knows; that it was had is on record.",
        result=BundleSent,
        is_long=True,
        answer={"message": "Ada with all it knows, 20,481 bytes", "file": FILE},
    ),
    Row(
        Route("POST", "imports/", "bundles", "import assistant", TAG),
        _create,
        "Bring in an assistant of another game",
        "All of it or nothing. It arrives silent, with this game's caps, powers and models.",
        result=MadeAssistant,
        body=BundleBody,
        status=201,
        is_private=True,
        example={"file": FILE, "key": "Edda", "people": {"Tom": "Thomas"}},
        answer={"message": "Edda is here, and silent. ...", "key": "Edda"},
        is_long=True,
        view=BundleView,
    ),
    Row(
        Route("POST", "imports/preview/", "bundle-preview", "import assistant", TAG),
        _show,
        "See what would come of an assistant's file",
        "And who of its people is called like somebody here. Nothing is stored.",
        result=bundle_in.BundleShown,
        body=BundleLookBody,
        action="look at assistant's file",
        is_private=True,
        example={"file": FILE},
        answer={
            "message": "Edda of Harbour, to be Edda here: 12 memories, ...",
            "key": "Edda",
            "name": "Edda",
            "game": "Harbour",
            "version": "0.1.0",
            "stopped": "",
            "memories": 12,
            "profiles": 1,
            "settings": ["persona"],
            "left_out": ["budget_config"],
            "people": ["Tom"],
            "same": {},
            "alike": ["Tom"],
            "problems": [],
        },
        is_long=True,
        view=BundleView,
    ),
)
