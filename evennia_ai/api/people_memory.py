"""Views of what is remembered of people: each has a say over their own, staff over anybody's."""

from __future__ import annotations

from typing import Any

from evennia_ai.api import asked, memory_answers
from evennia_ai.api.assistants import page_of
from evennia_ai.api.base import ApiView, Call, look_of, with_data
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.memory import MEMORY, named
from evennia_ai.api.people import dbref_of, name_of
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, profiles, remembered

TAG = "People"
EVERYBODY = "For every account, about itself."
THING = {
    "id": "41",
    "kind": "fact",
    "text": "Mira is fond of old maps.",
    "at": "2026-01-31T12:00:00+00:00",
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


def _exported(result: Result) -> Result:
    """An export, with people named as everywhere in the API."""
    data = named(result).data
    return with_data(result, **{**data, "person": name_of(data["person"])})


class MyMemory(ApiView):
    """What an assistant remembers of the caller."""

    @Endpoint(
        "",
        "See what an assistant remembers of you",
        tag=TAG,
        gives=memory_answers.Known,
        query=asked.Page,
        answer={"is_remembered": True, "known": [THING], "count": 1, "next": None},
        needs=EVERYBODY,
    )
    def get(self, call: Call) -> Any:
        """What you said and did, and what it made of that; nothing of anybody else."""
        data = remembered.what_is_known(call.script, call.account).data
        page, rest = page_of(call.query, data["known"])
        known = [
            {"id": str(row["number"]), **{k: row[k] for k in row if k != "number"}} for row in page
        ]
        return {**data, "known": known, "next": rest}

    @Endpoint(
        "",
        "Say whether an assistant may remember you",
        tag=TAG,
        gives=Done,
        body=asked.Remembering,
        action="remember me",
        example={"is_remembered": False},
        answer={"message": "Edda remembers what you do again."},
        needs=EVERYBODY,
    )
    def patch(self, call: Call) -> Result:
        """What is remembered already stays; to have that forgotten is a thing of its own."""
        is_remembered = call.body["is_remembered"]
        return remembered.set_remembered(call.script, call.account, is_remembered)

    @Endpoint(
        "",
        "Let an assistant forget you",
        tag=TAG,
        gives=memory_answers.Forgotten,
        action="forget me",
        answer={"message": "Edda forgot you: 12 memories.", "count": 12},
        needs=EVERYBODY,
    )
    def delete(self, call: Call) -> Result:
        """Everything, everywhere: memories, what it made of you, and your part of the talk."""
        return remembered.forget_everything(call.script, call.account)


class MyExport(ApiView):
    """All that an assistant has stored of the caller."""

    @Endpoint(
        "",
        "Export what an assistant has stored of you",
        tag=TAG,
        gives=memory_answers.Export,
        answer=EXPORT,
        needs=EVERYBODY,
    )
    def get(self, call: Call) -> Result:
        """All of it, as it is."""
        return _exported(remembered.export_known(call.script, call.account))


class MyOneMemory(ApiView):
    """One thing that an assistant remembers of the caller."""

    @Endpoint(
        "",
        "Correct what an assistant remembers of you",
        tag=TAG,
        gives=Done,
        body=asked.CorrectedMemory,
        action="correct memory of me",
        is_private=True,
        example={"text": "Mira is fond of new maps."},
        answer={"message": "Edda remembers that now: Mira is fond of new maps."},
        paths=("key", "id"),
        needs=EVERYBODY,
    )
    def patch(self, call: Call) -> Result:
        """It is believed as what you say of yourself, no more."""
        number, text = call.path["id"], call.body["text"]
        return remembered.correct_known(call.script, call.account, number, text)

    @Endpoint(
        "",
        "Let an assistant forget one thing about you",
        tag=TAG,
        gives=memory_answers.Forgotten,
        action="forget memory of me",
        answer={"message": "Edda forgot that.", "count": 1},
        paths=("key", "id"),
        needs=EVERYBODY,
    )
    def delete(self, call: Call) -> Result:
        """At once and for good, with what was concluded from it."""
        return remembered.forget_known(call.script, call.account, call.path["id"])


def _person(call: Call) -> str:
    """Who is meant, also where they are gone; a player where it is one of their characters."""
    return profiles.find_person(call.script, dbref_of(call.path["person"]))


class TheirMemory(ApiView):
    """What an assistant remembers of somebody, for staff."""

    @Endpoint(
        "show memories",
        "Export what an assistant remembers of somebody",
        tag=TAG,
        gives=memory_answers.Export,
        answer=EXPORT,
        query=asked.Revealing,
        paths=("key", "person"),
    )
    def get(self, call: Call) -> Result:
        """All that is stored of them, which is recorded; private words where `reveal` is true."""
        look = look_of(call)
        return _exported(remembered.export_known(call.script, _person(call), by=call.by, look=look))

    @Endpoint(
        "change memories",
        "Let an assistant forget somebody",
        tag=TAG,
        gives=memory_answers.Forgotten,
        action="forget person",
        answer={"message": "Edda forgot them: 12 memories.", "count": 12},
        paths=("key", "person"),
    )
    def delete(self, call: Call) -> Result:
        """As they may ask themselves: everything, everywhere."""
        return remembered.forget_everything(call.script, _person(call), by=call.by)


def _profile(row: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in row.items() if name != "entity"}
    return {"person": name_of(row["entity"]), **told}


class Profiles(ApiView):
    """Those an assistant has met."""

    @Endpoint(
        "show memories",
        "List whom an assistant knows",
        tag=TAG,
        gives=memory_answers.ProfilePage,
        query=asked.Page,
        answer={"profiles": [PROFILE], "count": 1, "next": None},
    )
    def get(self, call: Call) -> Any:
        """Who was met last first, and how they stand."""
        data = profiles.list_profiles(call.script).data
        page, rest = page_of(call.query, data["profiles"])
        return {**data, "profiles": [_profile(row) for row in page], "next": rest}


class OneProfile(ApiView):
    """What an assistant makes of somebody."""

    @Endpoint(
        "show memories",
        "See what an assistant makes of somebody",
        tag=TAG,
        gives=memory_answers.Profile,
        answer={**PROFILE, "attributes": [ATTRIBUTE], "observations": 12},
        query=asked.Revealing,
        paths=("key", "person"),
    )
    def get(self, call: Call) -> Any:
        """What it knows of them, and how they stand."""
        shown = profiles.show_profile(call.script, _person(call), look=look_of(call))
        return _profile(shown.data["profile"]) if shown.ok else shown
