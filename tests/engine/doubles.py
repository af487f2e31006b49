"""A model, a toolbox and a keeper in memory, and a driver for coroutines."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from evennia_ai.core.conversation import Message
from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.core.react import Stop
from evennia_ai.core.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn import Turn, Usage
from evennia_ai.engine import tick
from evennia_ai.engine.ports import Ports, Reply
from evennia_ai.engine.toolboxes import Gated, Protected
from evennia_ai.errors import StaleEpochError
from tests.core.samples import make_event, make_spec

T = TypeVar("T")

SPECS = (
    make_spec("say", {"message": "string"}, ("message",), ToolCategory.TERMINAL),
    make_spec(
        "whisper",
        {"target": "string", "message": "string"},
        ("target", "message"),
        ToolCategory.TERMINAL,
    ),
    make_spec("look", {"target": "string"}),
    make_spec("dig", {}, (), ToolCategory.DANGEROUS),
    make_spec("noop", {"reason": "string"}),
)
HELLO = ToolCall("c1", "whisper", {"target": "Tom", "message": "Hello."})
LOOK = ToolCall("c2", "look", {})


class Pause:
    """Something that is waited for once."""

    def __await__(self) -> Generator[str, None, None]:
        yield "waiting"


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Drive a coroutine that waits for nothing to its end."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it waits for something")


def reply(*calls: ToolCall, content: str = "", tokens: int = 10) -> Reply:
    """A reply of the model that costs tokens."""
    return Reply(content, calls, Usage(tokens, 1), "stop")


@dataclass
class ListedModel:
    """Gives the listed answers one after the other; an exception among them is raised.

    Attributes:
        asked: the messages of each call.
        waits: whether each answer takes a pause.
    """

    answers: Sequence[Reply | Exception]
    diary: list[str]
    asked: list[list[Message]] = field(default_factory=list)
    waits: bool = False

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Give the next answer."""
        self.asked.append(list(messages))
        self.diary.append("ask")
        if self.waits:
            await Pause()
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class ListedTools:
    """Tools that work, but for those whose outcome is listed."""

    diary: list[str]
    outcomes: dict[str, list[ToolResult | BaseException]] = field(default_factory=dict)
    on_run: Callable[[], None] = lambda: None
    offered: Sequence[ToolSpec] = SPECS

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        return self.offered

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Take the next listed outcome, or work."""
        self.diary.append(f"run {call.name}")
        self.on_run()
        listed = self.outcomes.get(call.name)
        outcome = listed.pop(0) if listed else ToolResult(True, f"{call.name} done")
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@dataclass
class EpochKeeper:
    """Keeps the epoch and writes down what was noted before an effect.

    Attributes:
        fault: raised instead of noting, when there is one.
    """

    diary: list[str]
    epoch: int = 7
    fault: Exception | None = None

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError when the turn was cancelled in the meantime."""
        if turn.epoch != self.epoch:
            raise StaleEpochError(turn.epoch, self.epoch)

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Note the call."""
        self.fence(turn)
        if self.fault is not None:
            raise self.fault
        self.diary.append(f"note {call.name}")


class Stage:
    """One turn with everything it needs, in memory.

    Attributes:
        diary: what was done, in order: "ask", "note <tool>", "run <tool>".
        reported: the errors nobody expected.
    """

    def __init__(self, *answers: Reply | Exception, **event: Any) -> None:
        self.diary: list[str] = []
        self.reported: list[BaseException] = []
        self.turn = Turn(7, (make_event(**event),), (), [{"role": "user", "content": "earlier"}])
        self.model = ListedModel(answers, self.diary)
        self.tools = ListedTools(self.diary)
        self.keeper = EpochKeeper(self.diary)

    def ports(self) -> Ports:
        """The ports of the turn, with the real wrappers around the tools."""
        guarded = Gated(Protected(self.tools, lambda call, error: self.reported.append(error)))
        return Ports(self.model, guarded, self.keeper, lambda turn: [*turn.history, *turn.said])

    def start(self, **config: Any) -> Coroutine[Any, Any, Stop]:
        """The turn, about to begin."""
        return tick.run(self.turn, self.ports(), ExecutionConfig(**config))

    def play(self, **config: Any) -> Stop:
        """Run the turn to its end."""
        return finish(self.start(**config))

    def results(self) -> list[str]:
        """The results in the conversation, each checked to follow its call."""
        said = self.turn.said
        for before, message in pairwise(said):
            if message["role"] == "tool":
                assert message["tool_call_id"] == before["tool_calls"][0]["id"]
        calls = sum(len(message.get("tool_calls", ())) for message in said)
        found = [message["content"] for message in said if message["role"] == "tool"]
        assert calls == len(found)
        return found
