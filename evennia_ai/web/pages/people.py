"""The page of people whom one assistant knows: their profiles, and its memories of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evennia_ai import operations
from evennia_ai.operations import Result
from evennia_ai.operations.files.exports import as_file, file_name
from evennia_ai.operations.memory.profiles import Met
from evennia_ai.operations.memory.rows import OwnMemory, audience_text
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.forms import (
    AT_ONCE,
    next_page,
    offset_in,
    query_string,
    require_confirmation,
    time_shown,
)
from evennia_ai.web.pages.memory import unknown_person
from evennia_ai.web.rows import ONE, Action, Download, File, Page, Shown, Visit


def _show(visit: Visit) -> Shown:
    script, account = visit.assistant, visit.account
    # With a person, the offset is that of their memories.
    first = 0 if _who(visit) else offset_in(visit)
    profiles = operations.list_profiles(script, after=first).data
    following = first + len(profiles.profiles)
    shown = {
        "people": [_person(row["entity"], row, row["attributes"]) for row in profiles.profiles],
        "count": profiles.count,
        "more": query_string(after=following) if following < profiles.count else "",
        "who": _who(visit),
        "one": None,
        "may_change": is_allowed("change memories", account, script),
    }
    return {**shown, **_shown_one(visit)} if _who(visit) else shown


def _who(visit: Visit) -> str:
    return (visit.form.get("who") or visit.query.get("who", "")).strip()


def _person_of(visit: Visit) -> str:
    """The id of the person who is asked for; "" if there is none."""
    return operations.find_person(visit.assistant, _who(visit)) if _who(visit) else ""


def _shown_one(visit: Visit) -> dict[str, Any]:
    script = visit.assistant
    person = _person_of(visit)
    if not person:
        visit.result = visit.result or unknown_person(_who(visit))
        return {}
    profile = operations.show_profile(script, person, look=visit.look)
    first = offset_in(visit)
    known = operations.what_is_known(
        script, person, after=first, limit=AT_ONCE, by=visit.by, look=visit.look
    ).data
    one = {
        "person": person,
        "known": [_thing(row) for row in known.known],
        "count": known.count,
        "more": next_page(known.count, first, who=person),
        "is_remembered": known.is_remembered,
        "query": query_string(who=person),
        "here": query_string(who=person, after=first or None),
    }
    if not profile.ok:
        return {"one": {**one, "title": _who(visit)}}
    row = profile.data
    return {
        "one": {
            **one,
            "title": row["name"] or person,
            "profile": _person(person, row, len(row["attributes"])),
            "attributes": [
                {
                    **each,
                    "audience": audience_text(each["audience"]),
                    "at": time_shown(each["at"]),
                }
                for each in row["attributes"]
            ],
        }
    }


def _thing(row: OwnMemory) -> dict[str, Any]:
    return {
        **row,
        "at": time_shown(row["at"]),
        "superseded": time_shown(row["superseded"]),
        # A memory has a page; ids of a profile's attributes begin with a letter.
        "page": row["id"] if row["id"].isdecimal() else "",
    }


def _person(entity: str, row: Met, attributes: int) -> Shown:
    """A person whom an assistant knows, with the query string of the page about them.

    `favour` is how much it likes them, in per cent.
    """
    return {
        "name": row["name"] or entity,
        "query": query_string(who=entity),
        "favour": round(100 * row["favour"]),
        "meetings": row["meetings"],
        "first": time_shown(row["first_at"]),
        "last": time_shown(row["last_at"]),
        "attributes": attributes,
    }


def _forget(visit: Visit) -> Result:
    person = _person_of(visit)
    if not person:
        return unknown_person(_who(visit))
    refused = require_confirmation(
        visit, "all memories of them are dropped, all notes of them and all talk with them too."
    )
    return refused or operations.forget_everything(visit.assistant, person, by=visit.by)


def _export(visit: Visit) -> Result[File]:
    script, person = visit.assistant, _person_of(visit)
    if not person:
        return unknown_person(_who(visit))
    known = operations.export_known(script, person, by=visit.by, look=visit.look)
    name = file_name("memories", script.key, person)
    return known.with_data(File(name, as_file(asdict(known.data))))


LOOK, CHANGE = "show memories", "change memories"
PAGES = (Page(f"{ONE}people/", "people", "People", LOOK, _show),)
ACTIONS = (
    Action(f"{ONE}people/forget/", "person-forget", "people", CHANGE, _forget, goes_to="people"),
)
DOWNLOADS = (Download(f"{ONE}people/export/", "person-export", "people", LOOK, _export),)
