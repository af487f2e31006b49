"""The page of questions that assistants put to people."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.operations import Result
from evennia_ai.operations.rights import is_allowed, is_staff
from evennia_ai.web.forms import time_shown
from evennia_ai.web.rows import Action, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream


def _show(visit: Visit) -> Shown:
    # Its mark is taken before anything is read, so that no change falls in between. The stream of
    # all assistants needs the right to list them.
    stream = address_of_stream() if is_allowed("list", visit.account) else ""
    result = operations.questions(visit.account, is_staff=is_staff(visit.account))
    return {
        "stream": stream,
        "questions": [
            {
                **each,
                "asked_shown": time_shown(each["asked_at"]),
                "until_shown": time_shown(each["until"] or ""),
            }
            for each in result.data.questions
        ],
    }


def _answer(visit: Visit) -> Deferred[Result]:
    number, text = visit.path["number"], visit.form.get("answer", "")
    return operations.answer(number, visit.account, text, is_staff=is_staff(visit.account))


PAGES = (Page("questions/", "questions", "Questions", "", _show),)
ACTIONS = (Action("questions/<int:number>/", "answer", "questions", "", _answer, is_long=True),)
