"""The test case of the tools: a tool run by hand as Ada, with its outcome as a value."""

from typing import Any

from evennia.utils import create
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.tools import TOOL_REGISTRY, CharacterTools
from evennia_ai.tools.schema import arguments_problem
from tests.game.support import GameTest


def make_turn(person: str = "*#1", source: str = "whisper", **changes: Any) -> Turn:
    event = Event("e1", "message", source, "#1", "Tom", "hello", 0.9, 3, 1, 0.0, person=person)
    return Turn(0, (event,), **changes)


class ToolTest(GameTest):
    """A test case that runs one tool by hand."""

    def start(
        self, name: str, arguments: dict[str, Any], turn: Turn | None = None, **more: Any
    ) -> Deferred[ToolResult]:
        """Begin a call, under the same check as the model's."""
        problem = arguments_problem(TOOL_REGISTRY[name].spec, arguments)
        assert not problem, problem
        call = ToolCall("c1", name, arguments, **more)
        tools = CharacterTools(self.ada, self.clock)
        return Deferred.fromCoroutine(tools.run(call, turn or make_turn()))

    def do(self, name: str, /, *, turn: Turn | None = None, **arguments: Any) -> tuple[bool, str]:
        """The success of a call and the text for the model; the call must not have to wait."""
        outcomes: list[Any] = []
        self.start(name, arguments, turn).addBoth(outcomes.append)
        assert outcomes, f"{name} still waits"
        outcome = outcomes[0]
        if isinstance(outcome, Failure):
            outcome.trap(ToolError)
            return False, outcome.getErrorMessage()
        return outcome.success, outcome.text

    def told(self, name: str, /, *, turn: Turn | None = None, **arguments: Any) -> str:
        is_done, text = self.do(name, turn=turn, **arguments)
        assert is_done, text
        return text

    def refusal(self, name: str, /, *, turn: Turn | None = None, **arguments: Any) -> str:
        """The text for the model of a call that is refused."""
        is_done, text = self.do(name, turn=turn, **arguments)
        assert not is_done, text
        return text

    def make_thing(self, key: str, desc: str = "", **options: Any) -> Any:
        kind = "evennia.objects.objects.DefaultObject"
        thing = create.create_object(kind, key=key, **{"location": self.room1, **options})
        thing.db.desc = desc or None
        return thing
