"""Questions, instructions and tools by hand: the traffic between people and assistants."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.base import missing
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result, conversation, tools
from evennia_ai.operations.questions import Questions
from evennia_ai.operations.rights import is_staff

QUESTIONS, WORK = "Questions", "Goals and tools"
ASKED = {
    "number": 3,
    "assistant": "Edda",
    "kind": "safety.limit.max_iterations",
    "prompt": "I have used my 5 steps. 5 more?",
    "detail": "",
    "choices": [{"id": "yes", "label": "yes", "hotkey": "y"}],
    "is_stalled": False,
}
NO_TOOL = "{who} has no tool {name!r}."


def _open(call: Call) -> Questions:
    """The open questions that the caller may answer, of one assistant or of all."""
    found = operations.questions(call.account, is_staff=is_staff(call.account)).data.questions
    key = None if call.script is None else call.script.key
    return Questions([each for each in found if key in (None, each["assistant"])])


def _answer(call: Call) -> Deferred[Result]:
    number = call.path["number"]
    if number not in {each["number"] for each in _open(call).questions}:
        raise missing(f"No question {number} that you may answer is open.")
    text = call.body["answer"]
    return operations.answer(number, call.account, text, is_staff=is_staff(call.account))


def _execute(call: Call) -> Deferred[Result]:
    name = call.path["name"]
    known = {row["name"] for row in tools.list_tools(call.script).data.tools}
    if name not in known:
        raise missing(NO_TOOL.format(who=call.script.key, name=name[:60]))
    arguments = call.body.get("arguments", {})
    return tools.execute_tool(call.script, name, arguments, person=call.account)


def _list(path: str, name: str, act: str, summary: str) -> Row:
    """Address of the questions that wait for the caller, with or without an assistant."""
    return Row(
        Route("GET", path, name, act, QUESTIONS),
        _open,
        summary,
        "Of all assistants, or of the one in the address.",
        result=Questions,
        answer={"questions": [ASKED]},
    )


def _take(path: str, name: str, act: str, summary: str, needs: str = "") -> Row:
    """Address of the answer to a question, with or without an assistant."""
    return Row(
        Route("POST", path, name, act, QUESTIONS),
        _answer,
        summary,
        "Where a call waits for a yes it is run at once, and this waits for it.",
        body=asked.GivenAnswer,
        is_long=True,
        action="answer",
        needs=needs,
        example={"answer": "yes"},
        answer={"message": "Edda goes on with your yes."},
    )


ONE_QUESTION = "questions/<ai_number:number>/answer/"
ROWS = (
    _list("questions/", "my-questions", "", "List the questions that you may answer"),
    _take(
        ONE_QUESTION,
        "answer-mine",
        "",
        "Answer a question",
        "For whom the question was put to, and who may answer in their place.",
    ),
    _list(
        f"{ONE}questions/",
        "questions",
        "status",
        "List the questions of an assistant that you may answer",
    ),
    _take(f"{ONE}{ONE_QUESTION}", "answer", "status", "Answer a question of an assistant"),
    Row(
        Route("POST", f"{ONE}tell/", "tell", "tell", WORK),
        lambda call: conversation.tell(
            call.script, call.account, call.body["instruction"], name=call.body.get("name", "")
        ),
        "Tell an assistant to do something",
        "It is done under the same limits as ever, and this waits for it. With a `name` it is done "
        "once, and its answer can be had again.",
        result=conversation.Told,
        body=asked.Instruction,
        is_long=True,
        example={"instruction": "Say good night to everybody here."},
        answer={"message": "Good night, all.", "answer": "Good night, all.", "number": 12},
    ),
    Row(
        Route("GET", f"{ONE}requests/<str:name>/", "request", "tell", WORK),
        lambda call: conversation.find_request(call.script, call.account, call.path["name"]),
        "Show what came of a task that you told it by a name",
        "For a day after the time for it; also where the game was stopped meanwhile.",
        result=conversation.Asked,
        answer={
            "name": "dinner-7",
            "state": "answered",
            "answer": "Good night, all.",
            "reason": "",
            "number": 12,
            "began_at": "2026-11-24T18:00:00+00:00",
            "ends_at": "2026-11-24T18:01:00+00:00",
        },
    ),
    Row(
        Route("GET", f"{ONE}tools/", "tools", "show tools", WORK),
        lambda call: tools.list_tools(call.script),
        "List an assistant's tools",
        "Each with the JSON schema of what it takes, and whether it may be used.",
        result=tools.Tools,
    ),
    Row(
        Route("POST", f"{ONE}tools/<str:name>/execute/", "execute", "execute tool", WORK),
        _execute,
        "Run one tool by hand",
        "As the assistant, under the same locks and limits as ever.",
        result=tools.Executed,
        body=asked.Arguments,
        is_long=True,
        example={"arguments": {"message": "Good night."}},
        answer={
            "message": "say: done.",
            "tool": "say",
            "success": True,
            "result": "said",
            "duration_ms": 2,
        },
    ),
)
