"""Telling an assistant what to do, and asking it something, from outside of the room it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.agent import requests
from evennia_ai.agent.requests import NoAnswerError, Reason
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.result import Problem, Result, note

_PROBLEMS = {
    Reason.INVALID: Problem.INVALID,
    Reason.REFUSED: Problem.FORBIDDEN,
    Reason.BUSY: Problem.UNAVAILABLE,
    Reason.STOPPED: Problem.CONFLICT,
    Reason.LATE: Problem.UNAVAILABLE,
    Reason.SILENT: Problem.CONFLICT,
    Reason.FAILED: Problem.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True)
class Told:
    """An assistant's report, in its own words: a model's, to be shown as text."""

    answer: str
    number: Annotated[int, note("By which `why` knows it; 0: it was not even heard.")]


def tell(script: AssistantScript, person: Any, instruction: str) -> Deferred[Result[Told]]:
    """Tell an assistant to do something: it believes that fully, and may act in the world.

    What asks a person first does so as ever. Cancelling the Deferred takes it back.

    Args:
        person: who tells it; the right to is checked already.

    Returns:
        The number also where it came to nothing.
    """
    return _run(script, instruction, person, is_order=True)


def ask(script: AssistantScript, question: str, *, person: Any = None) -> Deferred[Result[Told]]:
    """Ask an assistant something; nobody hears the answer, and it does nothing in the world.

    Args:
        person: in whose name; None: the game itself.
    """
    return _run(script, question, person, is_order=False)


def _run(
    script: AssistantScript, words: str, person: Any, *, is_order: bool
) -> Deferred[Result[Told]]:
    try:
        errand = requests.begin(script, words, person, is_order=is_order)
    except NoAnswerError as error:
        return succeed(_refusal(error))

    def done(answer: str) -> Result[Told]:
        return Result(True, f"{script.key}: {answer}", Told(answer, errand.event.number))

    return errand.answer.addCallbacks(done, _failed)


def _failed(failure: Failure) -> Result[Told]:
    failure.trap(NoAnswerError)
    return _refusal(failure.value)


def _refusal(error: NoAnswerError) -> Result[Told]:
    return Result(False, f"{error}.", Told("", error.number), _PROBLEMS[error.reason])
