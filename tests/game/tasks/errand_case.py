"""Test cases of errands: recorded events, model calls, and the outcome of a Deferred."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.agent.requests import NoAnswerError, Reason
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.support import pump
from tests.game.tools.tool_case import ToolTest
from tests.recorded import record_of


def reports_of(message: str = "An hour past noon.") -> bytes:
    return completion(None, ("report", {"message": message}))


def confirm(script: Any) -> None:
    """Let an assistant do nothing dangerous without a confirmation."""
    configs = {"tick_event": {"dangerous_requires_confirm": True}}
    state.write(script, context_configs=configs)


class TaskTest(ToolTest):
    """Ada, and a listener to the record.

    Attributes:
        happened: the recorded events, as (event, assistant, facts).
    """

    def setUp(self) -> None:
        super().setUp()
        self.happened = record_of(self)

    def facts(self, wanted: str) -> list[dict[str, Any]]:
        return [facts for name, _, facts in self.happened if name == wanted]

    def result(self, call: int) -> dict[str, Any]:
        """The tool result that is the newest message of a model call."""
        return dict(json.loads(self.prompt(call)))

    def tools_of(self, call: int) -> set[str]:
        return {item["function"]["name"] for item in self.model.bodies[call]["tools"]}


class ErrandTest(TaskTest):
    @contextmanager
    def logged(self) -> Iterator[list[str]]:
        lines: list[str] = []
        names = ("log_err", "log_trace")
        with ExitStack() as held:
            for name in names:
                held.enter_context(mock.patch.object(logger, name, lines.append))
            yield lines

    def outcome(self, asked: Deferred[Any]) -> list[Any]:
        """The value or error of a Deferred, after all that is due; [] while it has none."""
        outcomes: list[Any] = []
        pump()
        asked.addBoth(lambda outcome: outcomes.append(getattr(outcome, "value", outcome)))
        return outcomes

    def refused(self, asked: Deferred[Any], reason: Reason, words: str) -> None:
        (error,) = self.outcome(asked)
        assert isinstance(error, NoAnswerError), error
        assert (reason, True) == (error.reason, words in str(error)), str(error)

    def event(self, number: int) -> Event:
        """A task that nobody waits for."""
        return Event("t1", TASK, "whisper", "#1", "Tom", "count", 0.9, 0, 0, 0.0, number=number)
