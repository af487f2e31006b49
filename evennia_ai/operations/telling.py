"""Telling an assistant what to do, and asking it something, from outside of the room it is in."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai import errands
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.errands import NoAnswerError, Reason
from evennia_ai.operations.result import Problem, Result

_PROBLEMS = {
    Reason.INVALID: Problem.INVALID,
    Reason.REFUSED: Problem.FORBIDDEN,
    Reason.BUSY: Problem.UNAVAILABLE,
    Reason.STOPPED: Problem.CONFLICT,
    Reason.LATE: Problem.UNAVAILABLE,
    Reason.SILENT: Problem.CONFLICT,
    Reason.FAILED: Problem.UNAVAILABLE,
}


def tell(script: AssistantScript, person: Any, instruction: str) -> Deferred[Result]:
    """Tell an assistant to do something: it believes that fully, and may act in the world.

    What asks a person first does so as ever. Cancelling the Deferred takes it back.

    Args:
        person: who tells it; the right to is checked already.

    Returns:
        data: "answer", what it reports in its own words (a model's: show it as text), and "number",
            by which `why` knows it, also where it came to nothing.
    """
    return _run(script, instruction, person, is_order=True)


def ask(script: AssistantScript, question: str, *, person: Any = None) -> Deferred[Result]:
    """Ask an assistant something; nobody hears the answer, and it does nothing in the world.

    Args:
        person: in whose name; None: the game itself.

    Returns:
        data: as of `tell`.
    """
    return _run(script, question, person, is_order=False)


def _run(script: AssistantScript, words: str, person: Any, *, is_order: bool) -> Deferred[Result]:
    try:
        errand = errands.begin(script, words, person, is_order=is_order)
    except NoAnswerError as error:
        return succeed(_refusal(error))

    def done(answer: str) -> Result:
        data = {"answer": answer, "number": errand.event.number}
        return Result(True, f"{script.key}: {answer}", data)

    return errand.answer.addCallbacks(done, _failed)


def _failed(failure: Failure) -> Result:
    failure.trap(NoAnswerError)
    return _refusal(failure.value)


def _refusal(error: NoAnswerError) -> Result:
    data = {"answer": "", "number": error.number}
    return Result(False, f"{error}.", data, _PROBLEMS[error.reason])
