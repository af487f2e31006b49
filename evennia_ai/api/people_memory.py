"""Endpoints of memories about people: everybody may manage their own, staff those of anybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from evennia_ai.api import requests
from evennia_ai.api.base import limit_of, look_of, next_of
from evennia_ai.api.memory import MEMORY, REACHED, WITH_IT, named
from evennia_ai.api.people import dbref_of, name_of
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.memory import own, profiles
from evennia_ai.operations.memory.rows import Export, ForgottenThing, OwnMemory
from evennia_ai.operations.result import note

TAG = Tag("People", "Memories about people, for the people themselves and for staff.")
OF_PERSON = f"{ONE}people/<ai_person:person>/memory/"
EVERYBODY = "For every account, about itself."
THING = {
    "id": "41",
    "kind": "fact",
    "text": "Mira is fond of old maps.",
    "at": "2026-01-31T12:00:00+00:00",
    "superseded": "",
    "is_private": True,
}
PROFILE = {
    "person": "account-3",
    "entity_type": "player",
    "name": "Mira",
    "favour": 0.4,
    "meetings": 5,
    "first_at": "2026-01-01T12:00:00+00:00",
    "last_at": "2026-01-31T12:00:00+00:00",
    "attributes": 1,
}
ATTRIBUTE = {"text": "Fond of old maps.", "audience": "world", "at": PROFILE["last_at"]}
EXPORT = {
    "assistant": "Edda",
    "person": "account-3",
    "is_remembered": True,
    "is_muted": False,
    "profile": {"name": "Mira", "favour": 0.4, "meetings": 5, "attributes": [ATTRIBUTE]},
    "memories": [MEMORY],
    "notes": [],
    "conversation": [],
    "heard": [],
    "company": {"answered": 5, "refused": 0},
}


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page of what an assistant remembers of a person."""

    is_remembered: Annotated[bool, note("True if new things about the person may be remembered.")]
    known: list[OwnMemory]
    count: Annotated[int, note("Total number of entries.")]
    next: Annotated[int | None, note("Offset of the next page; null on the last page.")]


class Acquaintance(profiles.Met):
    """A person whom an assistant knows."""

    person: Annotated[str, note("Such as `account-3`.")]
    attributes: Annotated[int, note("Number of known facts about the person.")]


@dataclass(frozen=True, slots=True)
class AcquaintancePage:
    """A page of the people whom an assistant knows, the last met first."""

    profiles: list[Acquaintance]
    count: Annotated[int, note("Total number of entries.")]
    next: Annotated[int | None, note("Offset of the next page; null on the last page.")]


class ProfileOfOne(profiles.Met):
    """An assistant's profile of a person."""

    person: Annotated[str, note("Such as `account-3`.")]
    attributes: list[profiles.Attribute]
    observations: Annotated[int, note("Number of memories of the person.")]


def _exported(result: Result[Export]) -> Result[Export]:
    """Replace the ids of people in an export by the API's names."""
    data = named(result).data
    return result.with_data(replace(data, person=name_of(data.person)))


# ---- one's own ---------------------------------------------------------------------------------


def _list_own(call: Call) -> KnownPage:
    offset = call.query.get("offset", 0)
    data = own.what_is_known(call.script, call.account, after=offset).data
    page = data.known[: limit_of(call.query)]
    return KnownPage(data.is_remembered, page, data.count, next_of(call.query, page, data.count))


# ---- for staff ---------------------------------------------------------------------------------


def _person(call: Call) -> str:
    # Memories are kept under the player's id, also if a character is named or the player is gone.
    return profiles.find_person(call.script, dbref_of(call.path["person"]))


def _export(call: Call) -> Result:
    look = look_of(call)
    return _exported(own.export_known(call.script, _person(call), by=call.by, look=look))


def _sent_profile(row: profiles.ProfileRow | profiles.Profile) -> Any:
    rest = {name: value for name, value in row.items() if name != "entity"}
    return {"person": name_of(row["entity"]), **rest}


def _profiles(call: Call) -> AcquaintancePage:
    offset, limit = call.query.get("offset", 0), limit_of(call.query)
    data = profiles.list_profiles(call.script, after=offset, limit=limit).data
    page = [_sent_profile(row) for row in data.profiles]
    return AcquaintancePage(page, data.count, next_of(call.query, page, data.count))


ROWS = (
    # Rows below `me/` need no right: they are about the caller's own memories only.
    Row(
        Route("GET", f"{ONE}me/memory/", "my-memory", "", TAG),
        _list_own,
        "Show what an assistant remembers about you",
        "What you said and did, and what it concluded from that; nothing about anybody else.",
        operation_id="see_what_an_assistant_remembers_of_you",
        result=KnownPage,
        query=requests.PageQuery,
        answer={"is_remembered": True, "known": [THING], "count": 1, "next": None},
        needs=EVERYBODY,
    ),
    Row(
        Route("PATCH", f"{ONE}me/memory/", "my-memory", "", TAG),
        lambda call: own.set_remembered(call.script, call.account, call.body["is_remembered"]),
        "Set whether an assistant may remember you",
        "Existing memories stay; deleting them is a separate request.",
        operation_id="say_whether_an_assistant_may_remember_you",
        body=requests.Remembering,
        action="remember me",
        example={"is_remembered": False},
        answer={"message": "Edda will remember new things about you again."},
        needs=EVERYBODY,
    ),
    Row(
        Route("DELETE", f"{ONE}me/memory/", "my-memory", "", TAG),
        lambda call: own.forget_everything(call.script, call.account),
        "Delete everything an assistant remembers about you",
        "Deletes everything: memories, its profile of you, and your part of the talk.",
        operation_id="let_an_assistant_forget_you",
        result=own.ForgottenPerson,
        action="forget me",
        answer={"message": "Edda has forgotten you: 12 memories.", "count": 12},
        needs=EVERYBODY,
    ),
    Row(
        Route("GET", f"{ONE}me/memory/export/", "my-memory-export", "", TAG),
        lambda call: _exported(own.export_known(call.script, call.account)),
        "Export what an assistant has stored about you",
        "Everything that is stored, without masking.",
        operation_id="export_what_an_assistant_has_stored_of_you",
        result=Export,
        answer=EXPORT,
        needs=EVERYBODY,
    ),
    Row(
        Route("PATCH", f"{ONE}me/memory/<ai_own:id>/", "my-one-memory", "", TAG),
        lambda call: own.correct_known(
            call.script, call.account, call.path["id"], call.body["text"]
        ),
        "Correct what an assistant remembers about you",
        "The new text is trusted like anything you say about yourself; memories of the "
        "old text are deleted.",
        operation_id="correct_what_an_assistant_remembers_of_you",
        result=ForgottenThing,
        body=requests.CorrectedMemory,
        action="correct memory of me",
        is_private=True,
        example={"text": "Mira is fond of new maps."},
        answer={
            "message": WITH_IT.format("Edda remembers that now: Mira is fond of new maps."),
            **REACHED,
            "count": 2,
        },
        needs=EVERYBODY,
    ),
    Row(
        Route("DELETE", f"{ONE}me/memory/<ai_own:id>/", "my-one-memory", "", TAG),
        lambda call: own.forget_known(call.script, call.account, call.path["id"]),
        "Delete one thing an assistant remembers about you",
        "Deletes at once and permanently, including what says the same, its journal "
        "entries and what was concluded from it.",
        operation_id="let_an_assistant_forget_one_thing_about_you",
        result=ForgottenThing,
        action="forget memory of me",
        answer={"message": WITH_IT.format("Edda forgot that."), **REACHED},
        needs=EVERYBODY,
    ),
    Row(
        Route("GET", OF_PERSON, "their-memory", "show memories", TAG),
        _export,
        "Export what an assistant remembers about a person",
        "Everything stored about the person, with private words if `reveal` is true. "
        "The export is recorded in the audit log.",
        operation_id="export_what_an_assistant_remembers_of_somebody",
        result=Export,
        answer=EXPORT,
        query=requests.Revealing,
    ),
    Row(
        Route("DELETE", OF_PERSON, "their-memory", "change memories", TAG),
        lambda call: own.forget_everything(call.script, _person(call), by=call.by),
        "Delete everything an assistant remembers about a person",
        "Deletes everything, as the person could do themselves.",
        operation_id="let_an_assistant_forget_somebody",
        result=own.ForgottenPerson,
        action="forget person",
        answer={"message": "Edda has forgotten them: 12 memories.", "count": 12},
    ),
    Row(
        Route("GET", f"{ONE}profiles/", "profiles", "show memories", TAG),
        _profiles,
        "List the people an assistant knows",
        "The people it met last come first, each with their relationship.",
        operation_id="list_whom_an_assistant_knows",
        result=AcquaintancePage,
        query=requests.PageQuery,
        answer={"profiles": [PROFILE], "count": 1, "next": None},
    ),
    Row(
        Route("GET", f"{ONE}profiles/<ai_person:person>/", "profile", "show memories", TAG),
        lambda call: profiles.show_profile(call.script, _person(call), look=look_of(call)).map(
            _sent_profile
        ),
        "Show an assistant's profile of a person",
        "What it knows about the person, and their relationship.",
        operation_id="see_what_an_assistant_makes_of_somebody",
        result=ProfileOfOne,
        answer={**PROFILE, "attributes": [ATTRIBUTE], "observations": 12},
        query=requests.Revealing,
    ),
)
