"""Questions of assistants to people: may I do this, may I have more of that?"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.operations import Result
from evennia_ai.operations.rights import is_allowed, is_staff
from evennia_ai.web.rows import Action, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream
from evennia_ai.web.typed import time_shown


def _show(visit: Visit) -> Shown:
    # Before anything is read: nothing is missed. The stream of all is for whoever may list all.
    stream = address_of_stream() if is_allowed("list", visit.account) else ""
    found = operations.questions(visit.account, is_staff=is_staff(visit.account))
    return {
        "stream": stream,
        "questions": [
            {
                **each,
                "asked_shown": time_shown(each["asked_at"]),
                "until_shown": time_shown(each["until"] or ""),
            }
            for each in found.data.questions
        ],
    }


def _answer(visit: Visit) -> Deferred[Result]:
    number, text = visit.path["number"], visit.form.get("answer", "")
    return operations.answer(number, visit.account, text, is_staff=is_staff(visit.account))


PAGES = (Page("questions/", "questions", "Questions", "", _show),)
ACTIONS = (Action("questions/<int:number>/", "answer", "questions", "", _answer, is_long=True),)
