"""A model, a toolbox and a checkpoint store in memory, and a driver for coroutines."""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evennia_ai.core.safety.limits import DecisionReason
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.execution import ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import TokenUsage, Turn
from evennia_ai.engine import tick
from evennia_ai.engine.ports import Ports, Prompt, Reply, Specs, Toolbox
from evennia_ai.engine.toolboxes import Gated, Noted, Protected
from evennia_ai.errors import LimitReachedError, StaleEpochError
from evennia_ai.resilience import CircuitBreakerRegistry
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
NOOP = ToolCall("c3", "noop", {"reason": "nothing to say"})
DIG = ToolCall("c4", "dig", {})


class Pause:
    """An awaitable that pauses once."""

    def __await__(self) -> Generator[str, None, None]:
        yield "waiting"


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing to its end."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it waits for something")


def reply(*calls: ToolCall, content: str = "", tokens: int = 10) -> Reply:
    """A reply of the model with these calls, which cost this many tokens."""
    return Reply(content, calls, TokenUsage(tokens, 1), "stop")


@dataclass
class ListedModel:
    """Gives the listed answers one after the other; an exception among them is raised.

    A call without tools (for a last word) beyond the list gets an empty reply.

    Attributes:
        asked: the messages of each call.
        waits: whether each answer takes a pause.
        on_ask: called at each call, with the tools on offer.
    """

    answers: Sequence[Reply | Exception]
    diary: list[str]
    asked: list[list[Message]] = field(default_factory=list)
    waits: bool = False
    on_ask: Callable[[Sequence[ToolSpec]], None] = lambda tools: None

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        self.on_ask(tools)
        self.asked.append(list(messages))
        self.diary.append("ask")
        if self.waits:
            await Pause()
        if not tools and len(self.asked) > len(self.answers):
            return Reply()
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class ListedTools:
    """Tools that succeed unless another outcome is listed for them."""

    diary: list[str]
    outcomes: dict[str, list[ToolResult | BaseException]] = field(default_factory=dict)
    on_run: Callable[[], None] = lambda: None
    offered: Sequence[ToolSpec] = SPECS

    def specs(self) -> Specs:
        return {spec.name: spec for spec in self.offered}

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        self.diary.append(f"run {call.name}")
        self.on_run()
        listed = self.outcomes.get(call.name)
        outcome = listed.pop(0) if listed else ToolResult(True, f"{call.name} done")
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@dataclass
class EpochCheckpointStore:
    """Checks the epoch, and writes notes and checkpoints into the diary.

    Attributes:
        fault: raised instead of noting, when there is one.
        kept: the conversation at each checkpoint.
    """

    diary: list[str]
    epoch: int = 7
    fault: Exception | None = None
    kept: list[list[Message]] = field(default_factory=list)

    def cancel(self) -> None:
        """Make every turn of the present epoch void."""
        self.epoch += 1

    def fence(self, turn: Turn) -> None:
        if turn.epoch != self.epoch:
            raise StaleEpochError(turn.epoch, self.epoch)

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        self.fence(turn)
        if self.fault is not None:
            raise self.fault
        self.diary.append(f"note {call.name}")

    def forget_effect(self, turn: Turn) -> None:
        self.diary.append("forget")

    def checkpoint(self, turn: Turn) -> None:
        self.fence(turn)
        self.diary.append("keep")
        self.kept.append(list(turn.said))


@dataclass
class ListedLimits:
    """Answers each request for more as listed in `grants`; beyond the list it refuses.

    Attributes:
        config: the limits and checks.
        hits: every limit that was reached, in order.
    """

    diary: list[str]
    config: SafetyConfig = field(default_factory=SafetyConfig)
    grants: list[bool] = field(default_factory=list)
    hits: list[LimitReachedError] = field(default_factory=list)
    on_ask: Callable[[], None] = lambda: None

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        self.hits.append(hit)
        self.diary.append(f"limit {hit.kind}")
        self.on_ask()
        if not (self.grants and self.grants.pop(0)):
            hit.reason = DecisionReason.REFUSED
            return False
        turn.grants[hit.kind] = turn.grants.get(hit.kind, 0) + hit.amount
        return True

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        self.hits.append(hit)


def check_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """The complaint about arguments that are missing or not text, or ""."""
    missing = [name for name in spec.parameters["required"] if name not in arguments]
    if missing:
        return f"{spec.name} needs {', '.join(missing)}"
    allowed = {name: kind.get("enum") for name, kind in spec.parameters["properties"].items()}
    for name, value in arguments.items():
        if not isinstance(value, str) or (allowed[name] and value not in allowed[name]):
            return f"{spec.name}: {name} must be {allowed[name] or 'text'}"
    return ""


def gate(tools: Toolbox) -> Gated:
    return Gated(tools, check_arguments)


def make_pattern(**changes: Any) -> ExecutionPattern:
    """A pattern that allows everything, with these changes."""
    every: dict[str, Any] = {
        "mode": ExecutionMode.REACT_LOOP,
        "max_iterations": 5,
        "calls_per_reply": 4,
        "allowed_categories": frozenset(ToolCategory),
        "tool_filter": None,
        "terminal_ends_loop": True,
        "dangerous_requires_confirm": False,
        "allows_multi_tool": True,
        "allows_sub_agents": True,
    }
    return ExecutionPattern(**{**every, **changes})


class Stage:
    """One turn with everything it needs, in memory.

    Attributes:
        diary: what was done, in order: "ask", "note <tool>", "run <tool>", "limit <kind>".
        reported: the unexpected errors.
        fill: tokens of each call's prompt; the last number counts for all further calls.
        word: tokens that any text counts for.
        is_heard: whether anybody can hear the answer.
    """

    def __init__(self, *answers: Reply | Exception, **event: Any) -> None:
        self.diary: list[str] = []
        self.reported: list[BaseException] = []
        self.turn = Turn(7, (make_event(**event),), (), [{"role": "user", "content": "earlier"}])
        self.model = ListedModel(answers, self.diary)
        self.tools = ListedTools(self.diary)
        self.checkpoint_store = EpochCheckpointStore(self.diary)
        self.limits = ListedLimits(self.diary)
        self.fill = [100]
        self.word = 1
        self.instructions = ""
        self.is_heard: Callable[[Turn], bool] = lambda turn: True

    def ports(self) -> Ports:
        """The ports of the turn, with the real wrappers around the tools."""
        report = lambda turn, call, error: self.reported.append(error)  # noqa: E731
        guarded = Protected(self.tools, CircuitBreakerRegistry(), report)
        gated = Gated(Noted(guarded, self.checkpoint_store), check_arguments)
        return Ports(
            self.model,
            gated,
            self.checkpoint_store,
            self.compose,
            self.limits,
            is_heard=self.is_heard,
        )

    def compose(self, turn: Turn, specs: Specs) -> Prompt:
        """The history, then the turn, with as many tokens as `fill` says for this call."""
        tokens = self.fill[min(len(self.model.asked), len(self.fill) - 1)]
        shown = [*turn.history, *turn.said]
        return Prompt(shown, tokens, 1000, lambda text: self.word, instructions=self.instructions)

    def start(self, **pattern: Any) -> Coroutine[Any, Any, Stop]:
        """The coroutine of the turn, not yet begun."""
        return tick.run(self.turn, self.ports(), make_pattern(**pattern))

    def play(self, **pattern: Any) -> Stop:
        return finish(self.start(**pattern))

    def results(self) -> list[str]:
        """The tool results in the conversation, once it is checked that no call lacks one."""
        messages = self.turn.said
        assert [] == dangling(messages)
        return [message["content"] for message in messages if message["role"] == "tool"]


def dangling(messages: Sequence[Message]) -> list[str]:
    """Ids of calls without a result right after them, and of results without their call."""
    wrong, open_ids = [], []
    for message in messages:
        if message["role"] == "tool" and message["tool_call_id"] in open_ids:
            open_ids.remove(message["tool_call_id"])
        elif message["role"] == "tool":
            wrong.append(message["tool_call_id"])
        else:
            wrong += open_ids
            open_ids = [call["id"] for call in message.get("tool_calls", ())]
    return wrong + open_ids


def look(number: int) -> ToolCall:
    """A call that differs from that of any other number."""
    return ToolCall(f"c{number}", "look", {"target": f"thing {number}"})


def looks(count: int, tokens: int = 10) -> list[Reply]:
    """Replies that each look at something else."""
    return [reply(look(number), tokens=tokens) for number in range(count)]


def bounded(stage: Stage, **loop: Any) -> Stage:
    """Set limits on the loop of the stage, and give the stage."""
    stage.limits.config = SafetyConfig.from_stored({"loop": loop})
    return stage


def asked(stage: Stage) -> list[str]:
    """The limits for which an extension was asked."""
    return [step[6:] for step in stage.diary if step.startswith("limit ")]


def ran(stage: Stage) -> list[str]:
    """The tools that were run."""
    return [step[4:] for step in stage.diary if step.startswith("run ")]
