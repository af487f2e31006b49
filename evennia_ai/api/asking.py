"""Views of what passes between people and assistants: questions, instructions, tools by hand."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.api import answers, asked
from evennia_ai.api.base import ApiView, Call, missing, picked
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, executing, telling
from evennia_ai.operations.rights import is_staff

QUESTIONS, WORK = "Questions", "Goals and tools"
SHOWN = ("number", "assistant", "kind", "prompt", "detail", "choices", "is_stalled")
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


def _listing(act: str, summary: str, **options: Any) -> type[ApiView]:
    """The view of the questions that wait for the caller."""

    class Questions(ApiView):
        """The questions that wait for the caller."""

        @Endpoint(
            act,
            summary,
            tag=QUESTIONS,
            gives=answers.Questions,
            answer={"questions": [ASKED]},
            **options,
        )
        def get(self, call: Call) -> Any:
            """Of all assistants, or of the one in the address."""
            return {"questions": _open(call)}

    return Questions


def _answering(act: str, summary: str, **options: Any) -> type[ApiView]:
    """The view that takes the answer to a question."""

    class Answer(ApiView):
        """Answering a question."""

        @Endpoint(
            act,
            summary,
            tag=QUESTIONS,
            gives=Done,
            body=asked.GivenAnswer,
            is_long=True,
            action="answer",
            example={"answer": "yes"},
            answer={"message": "Edda goes on with your yes."},
            **options,
        )
        def post(self, call: Call) -> Any:
            """Where a call waits for a yes it is run at once, and this waits for it."""
            return _answer(call)

    return Answer


def _open(call: Call) -> list[dict[str, Any]]:
    """The open questions that the caller may answer, of one assistant or of all."""
    found = operations.questions(call.account, is_staff=is_staff(call.account)).data["questions"]
    key = None if call.script is None else call.script.key
    return [picked(item, *SHOWN) for item in found if key in (None, item["assistant"])]


def _answer(call: Call) -> Deferred[Result]:
    number = call.path["number"]
    if number not in {item["number"] for item in _open(call)}:
        raise missing(f"No question {number} that you may answer is open.")
    text = call.body["answer"]
    return operations.answer(number, call.account, text, is_staff=is_staff(call.account))


# Each with or without an assistant in the address.
MyQuestions = _listing("", "List the questions that you may answer", paths=())
Questions = _listing("status", "List the questions of an assistant that you may answer")
AnswerMine = _answering(
    "",
    "Answer a question",
    paths=("number",),
    needs="For whom the question was put to, and who may answer in their place.",
)
AnswerOne = _answering("status", "Answer a question of an assistant", paths=("key", "number"))


class Tell(ApiView):
    """Telling an assistant to do something."""

    @Endpoint(
        "tell",
        "Tell an assistant to do something",
        tag=WORK,
        gives=answers.Told,
        body=asked.Instruction,
        is_long=True,
        example={"instruction": "Say good night to everybody here."},
        answer={"message": "Good night, all.", "answer": "Good night, all.", "number": 12},
    )
    def post(self, call: Call) -> Any:
        """It is done under the same limits as ever, and this waits for it."""
        return telling.tell(call.script, call.account, call.body["instruction"])


class Tools(ApiView):
    """The tools of an assistant."""

    @Endpoint("show tools", "List an assistant's tools", tag=WORK, gives=answers.Tools)
    def get(self, call: Call) -> Result:
        """Each with the JSON schema of what it takes, and whether it may be used."""
        return executing.list_tools(call.script)


class Execute(ApiView):
    """Running one tool by hand."""

    @Endpoint(
        "execute tool",
        "Run one tool by hand",
        tag=WORK,
        gives=answers.Executed,
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
        paths=("key", "name"),
    )
    def post(self, call: Call) -> Any:
        """As the assistant, under the same locks and limits as ever."""
        name = call.path["name"]
        known = {row["name"] for row in executing.list_tools(call.script).data["tools"]}
        if name not in known:
            raise missing(NO_TOOL.format(who=call.script.key, name=name[:60]))
        arguments = call.body.get("arguments", {})
        return executing.execute_tool(call.script, name, arguments, person=call.account)
