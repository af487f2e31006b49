"""Endpoints that move whole assistants between games, each as one file."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from io import BytesIO
from typing import Annotated, Any

from rest_framework.exceptions import ValidationError
from twisted.internet.defer import Deferred

from evennia_ai import emergency
from evennia_ai.api.assistants import MadeAssistant, made, with_room
from evennia_ai.api.base import view_for_long_bodies
from evennia_ai.api.cards import NO_BASE64, FileText, wrong_file
from evennia_ai.api.fields import Flag, Name, Plain, StrictMapping, Text
from evennia_ai.api.rows import ONE, Call, Operation, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.assistants.creation import Creation
from evennia_ai.operations.bundles import reading, writing
from evennia_ai.operations.bundles.parts import Bundle
from evennia_ai.operations.bundles.writing import moving
from evennia_ai.operations.result import ProblemKind, note
from evennia_ai.runtime.game_thread import Steps

TAG = Tag("Moving", "Export and import of whole assistants between games.")
# Bytes. In base64 a file is a third longer, and has to fit into one JSON body.
MOST_SENT = 16_000_000
LONGEST_FILE = -(-MOST_SENT // 3) * 4
FILE = b64encode(b"PK\x03\x04").decode()


BundleView = view_for_long_bodies(LONGEST_FILE + 100_000, 1_000)
# Base64 characters decoded in one step; between steps the game goes on. A multiple of four, since
# each piece is decoded by itself.
DECODE_CHARS = 1 << 18


class People(Plain):
    """Accounts of this game, by the names of their players in the other game."""

    child = Text(max_length=100)
    most = 1_000

    def to_internal_value(self, data: object) -> dict[str, Any]:
        """Validate a mapping of names to names."""
        people = super().to_internal_value(data)
        if not all(isinstance(each, str) and len(each) <= 100 for each in people.values()):
            raise ValidationError("These must be account names.")
        return people


class BundleLookBody(StrictMapping):
    """An assistant of another game, for a preview."""

    file = FileText(
        "The file exported by the other game, in base64.", max_length=LONGEST_FILE, required=True
    )
    key = Name("Its name in this game; by default the name in the file.")
    people = People(
        "Accounts of this game by the names of the other game's players; everybody else "
        "stays a stranger."
    )


class BundleBody(BundleLookBody):
    """An assistant of another game."""

    location = Text("The room where it is put.", max_length=100)
    enable = Flag("True to start it at once; otherwise it stays silent until somebody starts it.")


@dataclass(frozen=True, slots=True)
class BundleSent:
    """An assistant as a file."""

    file: Annotated[
        str, note("A zip file in base64, including all private words that the assistant knows.")
    ]


def _read(call: Call) -> Steps[Result[Bundle]]:
    try:
        raw = yield from _decode(call.body["file"])
    except binascii.Error:
        return wrong_file(NO_BASE64)
    result = yield from reading.reading_steps(raw)
    if result.problem is ProblemKind.INVALID:
        return wrong_file(result.message)
    return result


def _decode(text: str) -> Steps[bytes]:
    raw = BytesIO()
    for start in range(0, len(text), DECODE_CHARS):
        raw.write(b64decode(text[start : start + DECODE_CHARS], validate=True))
        yield
    return raw.getvalue()


async def _preview(call: Call) -> Result:
    result: Result[Bundle] = await moving(_read(call))
    if not result.ok:
        return result
    preview = reading.show_bundle(result.data, call.body.get("key", ""), call.body.get("people"))
    # A preview succeeds even if an import would not: the obstacles are part of its data.
    return Result(True, preview.message, preview.data)


async def _create(call: Call) -> Result:
    body = with_room(call)
    # Counted at the start: an assistant must not arrive active if all were stopped meanwhile.
    return made(call, await moving(_import(call, body, emergency.count_of_stops())))


def _import(call: Call, given: dict[str, Any], stops: int) -> Steps[Result[Creation]]:
    result = yield from _read(call)
    if not result.ok:
        return result.as_refusal()
    options = {
        "location": given.get("location"),
        "enable": given.get("enable", False),
        "maker": call.account,
    }
    key, people = given.get("key", ""), given.get("people") or {}
    return (yield from reading.import_steps(result.data, key, people, call.by, options, stops))


async def _export(call: Call) -> Result:
    result: Result[bytes] = await writing.export_assistant(call.script, by=call.by)
    if result.ok and len(result.data) > MOST_SENT:
        return Result.unavailable(
            f"{call.script.key} has {len(result.data):,} bytes, and {MOST_SENT:,} can be sent at "
            "once; have it written into a file of the game instead."
        )
    return result.map(lambda raw: BundleSent(b64encode(raw).decode()))


def _as_operation(do: Callable[[Call], Coroutine[Any, Any, Result]]) -> Operation:
    return lambda call: Deferred.fromCoroutine(do(call))


ROWS = (
    Row(
        # POST, not GET: a token that only reads must not get private words.
        Route("POST", f"{ONE}export/", "bundle", "export assistant", TAG),
        _as_operation(_export),
        "Export a whole assistant",
        "The file contains all private words it knows; the export is recorded in the audit log.",
        operation_id="get_the_whole_assistant_as_a_file",
        result=BundleSent,
        is_long=True,
        answer={"message": "Ada with all it knows, 20,481 bytes", "file": FILE},
    ),
    Row(
        Route("POST", "imports/", "bundles", "import assistant", TAG),
        _as_operation(_create),
        "Import an assistant from another game",
        "Imports all of it or nothing. It arrives silent, with this game's caps, powers "
        "and models.",
        operation_id="bring_in_an_assistant_of_another_game",
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
        _as_operation(_preview),
        "Preview the import of an assistant",
        "Shows what would be imported, and which of its people have the same name as an "
        "account here. Nothing is stored.",
        operation_id="see_what_would_come_of_an_assistants_file",
        result=reading.BundleShown,
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
            "goals": 0,
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
