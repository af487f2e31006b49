"""Endpoints of the questions that assistants put to people."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.api import requests
from evennia_ai.api.base import not_found
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.conversation.questions import Questions
from evennia_ai.operations.rights import is_staff

QUESTIONS = Tag("Questions", "Questions that assistants ask people.")

ASKED = {
    "number": 3,
    "assistant": "Edda",
    "kind": "safety.limit.max_iterations",
    "prompt": "I have used my 5 steps. 5 more?",
    "detail": "",
    "choices": [{"id": "yes", "label": "yes", "hotkey": "y"}],
    "because": "Tom, by whisper",
    "asked_at": "2026-11-21T20:15:04Z",
    "until": "2026-11-21T20:16:04Z",
    "today": "1,204 of 1,500,000",
    "is_stalled": False,
}


def _open(call: Call) -> Questions:
    questions = operations.questions(call.account, is_staff=is_staff(call.account)).data.questions
    key = None if call.script is None else call.script.key
    return Questions([each for each in questions if key in (None, each["assistant"])])


def _answer(call: Call) -> Deferred[Result]:
    number = call.path["number"]
    # The same answer for a question that does not exist and one that is somebody else's.
    if number not in {each["number"] for each in _open(call).questions}:
        raise not_found(f"No question {number} that you may answer is open.")
    text = call.body["answer"]
    return operations.answer(number, call.account, text, is_staff=is_staff(call.account))


def _list(path: str, name: str, act: str, summary: str) -> Row:
    return Row(
        Route("GET", path, name, act, QUESTIONS),
        _open,
        summary,
        "For all assistants, or for the one in the path.",
        result=Questions,
        answer={"questions": [ASKED]},
    )


def _take(path: str, name: str, act: str, summary: str, needs: str = "") -> Row:
    return Row(
        Route("POST", path, name, act, QUESTIONS),
        _answer,
        summary,
        "If a tool call waits for approval, it runs at once and the response waits for it.",
        body=requests.GivenAnswer,
        is_long=True,
        action="answer",
        needs=needs,
        example={"answer": "yes"},
        answer={"message": "Edda goes on, with your answer: yes."},
    )


ONE_QUESTION = "questions/<ai_number:number>/answer/"

# Players answer what was put to them; the rows of one assistant are for staff.
ROWS = (
    _list("questions/", "my-questions", "", "List the questions that you may answer"),
    _take(
        ONE_QUESTION,
        "answer-mine",
        "",
        "Answer a question",
        "For the person who was asked, and for those who may answer in their place.",
    ),
    _list(
        f"{ONE}questions/",
        "questions",
        "status",
        "List the questions of an assistant that you may answer",
    ),
    _take(f"{ONE}{ONE_QUESTION}", "answer", "status", "Answer a question of an assistant"),
)
