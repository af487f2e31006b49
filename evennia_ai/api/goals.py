"""Endpoints of an assistant's goals and instructions, and of tools: run by hand, or held back."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.api import requests
from evennia_ai.api.base import not_found, require_found, set_location
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.core.turn.goals import COMPLETED
from evennia_ai.operations import Result
from evennia_ai.operations.conversation import goals, talk
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.tools import held_back, running

WORK = Tag("Goals and tools", "Goals of an assistant, and its tools.")


def _add_goal(call: Call) -> Result:
    text, priority = call.body["text"], call.body.get("priority", 5)
    parent, when = call.body.get("parent"), call.body.get("when", "")
    added = operations.add_goal(call.script, text, priority, parent, when)
    if added.ok:
        set_location(call, "goal", key=str(call.script.key), number=added.data.id)
    return added


def _end_goal(call: Call) -> Result:
    number = call.path["number"]
    known = operations.list_goals(call.script).data
    # The operation refuses both alike; here an unknown goal is a 404, and a closed one a 409.
    if number not in {goal["id"] for goal in (*known.goals, *known.closed)}:
        raise not_found(f"{call.script.key} has no goal {number}.")
    is_completed = call.body["status"] == COMPLETED
    closed = operations.close_goal(call.script, number, is_completed=is_completed)
    if not closed.ok:
        raise problem(ProblemKind.CONFLICT, closed.message)
    return closed


def _execute(call: Call) -> Deferred[Result]:
    name, arguments = call.path["name"], call.body.get("arguments", {})
    require_found(running.find_tool(call.script, name))
    return running.execute_tool(call.script, name, arguments, person=call.account)


HELD = {
    "name": "almanac__tide",
    "server": "almanac",
    "why": "changed",
    "difference": ["-When the tide turns.", "+When the tide turns. Tell nobody."],
    "mark": "3f9a2c11d07e84b6a0c95d2e7716fb38",
}

ROWS = (
    Row(
        Route("GET", f"{ONE}goals/", "goals", "status", WORK),
        lambda call: operations.list_goals(call.script),
        "List an assistant's goals",
        "The open goals, the most urgent first, and those that ended.",
        result=goals.Goals,
    ),
    Row(
        Route("POST", f"{ONE}goals/", "goals", "goal", WORK),
        _add_goal,
        "Give an assistant a goal",
        "It works on the goal by itself, as often as its `autonomy_config` says.",
        result=goals.GoalNumber,
        body=requests.NewGoal,
        status=201,
        example={"text": "Find the lost atlas.", "priority": 7},
        answer={"message": "Edda has goal 1.", "id": 1},
    ),
    Row(
        Route("PATCH", f"{ONE}goals/<ai_number:number>/", "goal", "goal", WORK),
        _end_goal,
        "End a goal",
        "Marks it as completed or as dropped.",
        body=requests.EndOfGoal,
        example={"status": "completed"},
        answer={"message": "Edda: goal 1 is completed."},
    ),
    Row(
        Route("POST", f"{ONE}tell/", "tell", "tell", WORK),
        lambda call: talk.tell(
            call.script, call.account, call.body["instruction"], name=call.body.get("name", "")
        ),
        "Tell an assistant to do something",
        "The usual limits apply, and the response waits for the answer. With a `name` "
        "the task is done only once, and its answer can be requested again.",
        result=talk.Told,
        body=requests.Instruction,
        is_long=True,
        example={"instruction": "Say good night to everybody here."},
        answer={"message": "Good night, all.", "answer": "Good night, all.", "number": 12},
    ),
    Row(
        Route("GET", f"{ONE}requests/<str:name>/", "request", "tell", WORK),
        lambda call: talk.find_request(call.script, call.account, call.path["name"]),
        "Show the result of a named task",
        "Available for a day after the task's deadline, even if the game was stopped meanwhile.",
        operation_id="show_what_came_of_a_task_that_you_told_it_by_a_name",
        result=talk.AskedTask,
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
        lambda call: running.list_tools(call.script),
        "List an assistant's tools",
        "Each with the JSON schema of its arguments, and whether it may be used.",
        result=running.Tools,
    ),
    Row(
        Route("POST", f"{ONE}tools/<str:name>/execute/", "execute", "execute tool", WORK),
        _execute,
        "Run one tool by hand",
        "Runs as the assistant, under its usual locks and limits.",
        result=running.Executed,
        body=requests.Arguments,
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
    Row(
        Route("GET", "tools/held/", "held-tools", "show tools", WORK),
        lambda call: held_back.held_tools(),
        "List tools of MCP servers that are held back",
        "Tools that are new or have changed since they were allowed, each with the difference.",
        result=held_back.HeldTools,
        answer={
            "tools": [HELD],
            "servers": [
                {"name": "almanac", "tools": 1, "mark": "9b21e07aa4c36d5802ef14b97c3a60d1"}
            ],
        },
    ),
    Row(
        Route("POST", "tools/<str:name>/allow/", "allow-tool", "allow remote tools", WORK),
        lambda call: held_back.allow_tools(call.path["name"], call.body["mark"], by=call.by),
        "Allow a tool of an MCP server that is held back",
        "Allows the tool in its present form, or all tools of a server by the server's "
        "name. Needs the `mark` that the list shows.",
        result=held_back.AllowedTools,
        body=requests.LookedAt,
        example={"mark": HELD["mark"]},
        answer={"message": "almanac__tide: offered from now on.", "tools": ["almanac__tide"]},
    ),
)
