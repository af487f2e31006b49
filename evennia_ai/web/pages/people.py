"""The people that one assistant knows: its profile of each, and all that is remembered of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evennia_ai import operations
from evennia_ai.operations import Result
from evennia_ai.operations.files.exports import as_file, file_name
from evennia_ai.operations.memory.profiles import Met
from evennia_ai.operations.memory.rows import KnownThing, audience_text
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.pages.memory import nobody
from evennia_ai.web.rows import ONE, Action, Download, File, Page, Shown, Visit, page_address
from evennia_ai.web.typed import AT_ONCE, address_with, after_in, more_than, time_shown, unsure


@dataclass(frozen=True, slots=True)
class PersonLine:
    """Somebody whom an assistant knows, in a line.

    Attributes:
        query: what stands after the page's address for this one.
        favour: how they are liked, in per cent.
    """

    name: str
    query: str
    favour: int
    meetings: int
    first: str
    last: str
    attributes: int


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """One thing that is known of somebody, and who may know this."""

    text: str
    audience: str
    at: str


def _show(visit: Visit) -> Shown:
    script, account = visit.assistant, visit.account
    found = operations.list_profiles(script).data
    shown = {
        "people": [_person(row["entity"], row, row["attributes"]) for row in found.profiles],
        "count": found.count,
        "who": _who(visit),
        "one": None,
        "may_change": is_allowed("change memories", account, script),
    }
    return {**shown, **_shown_one(visit)} if _who(visit) else shown


def _who(visit: Visit) -> str:
    return (visit.form.get("who") or visit.query.get("who", "")).strip()


def _shown_one(visit: Visit) -> dict[str, Any]:
    """The profile and the memories of the person that is asked for."""
    script = visit.assistant
    person = operations.find_person(script, _who(visit))
    if not person:
        visit.said = visit.said or nobody(_who(visit))
        return {}
    profile = operations.show_profile(script, person, look=visit.look)
    known = operations.what_is_known(script, person, by=visit.by, look=visit.look).data
    first = after_in(visit)
    one = {
        "person": person,
        "known": [_thing(row) for row in known.known[first : first + AT_ONCE]],
        "count": known.count,
        "more": more_than(len(known.known), first, who=person),
        "is_remembered": known.is_remembered,
        "query": address_with(who=person),
        "here": address_with(who=person, after=first or None),
    }
    if not profile.ok:
        return {"one": {**one, "title": _who(visit)}}
    row = profile.data.profile
    return {
        "one": {
            **one,
            "title": row["name"] or person,
            "profile": _person(person, row, len(row["attributes"])),
            "attributes": [
                ShownAttribute(
                    each["text"], audience_text(each["audience"]), time_shown(each["at"])
                )
                for each in row["attributes"]
            ],
        }
    }


def _thing(row: KnownThing) -> dict[str, Any]:
    """A thing that is remembered; an attribute of the profile has no page of its own."""
    number = row["number"]
    return {
        **row,
        "at": time_shown(row["at"]),
        "superseded": time_shown(row["superseded"]),
        "page": number if number.isdecimal() else "",
    }


def _person(entity: str, row: Met, attributes: int) -> PersonLine:
    return PersonLine(
        name=row["name"] or entity,
        query=address_with(who=entity),
        favour=round(100 * row["favour"]),
        meetings=row["meetings"],
        first=time_shown(row["first_at"]),
        last=time_shown(row["last_at"]),
        attributes=attributes,
    )


def _forget(visit: Visit) -> Result:
    script = visit.assistant
    person = operations.find_person(script, _who(visit)) if _who(visit) else ""
    if not person:
        return nobody(_who(visit))
    refused = unsure(
        visit, "all memories of them are dropped, all notes of them and all talk with them too."
    )
    return refused or operations.forget_everything(script, person, by=visit.by)


def _export(visit: Visit) -> Result[File]:
    script = visit.assistant
    person = operations.find_person(script, _who(visit)) if _who(visit) else ""
    if not person:
        return nobody(_who(visit))
    found = operations.export_known(script, person, by=visit.by, look=visit.look)
    name = file_name("memories", script.key, person)
    return found.holding(File(name, as_file(asdict(found.data))))


PAGES = (Page(f"{ONE}people/", "people", "People", "show memories", _show),)
ACTIONS = (
    Action(
        f"{ONE}people/forget/",
        "person-forget",
        "people",
        "change memories",
        _forget,
        goes_to=lambda visit, _: page_address("people", key=visit.path["key"]),
    ),
)
DOWNLOADS = (Download(f"{ONE}people/export/", "person-export", "people", "show memories", _export),)
