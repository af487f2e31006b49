"""The recording of a turn: all that went to the model and came back, and how it ended."""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.turn.conversation import user_message
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import TokenUsage, Turn
from evennia_ai.engine import tick
from evennia_ai.engine.ports import Ports, Prompt, Reply
from evennia_ai.engine.recording import RecordedCall, RecordedTurn, ToolUse, TurnRing
from evennia_ai.errors import ModelConnectionError, StaleEpochError
from tests.core.samples import make_event
from tests.engine.doubles import HELLO, LOOK, Stage, bounded, finish, looks, make_pattern, reply


class Ringed:
    """A stage whose turn is recorded.

    Attributes:
        step_counts: the number of steps of the newest turn at each change.
    """

    def __init__(self, stage: Stage, most: int = 3, most_characters: int = 10_000) -> None:
        self.stage = stage
        self.step_counts: list[int] = []
        self.ring = TurnRing(most, most_characters, self._tell)
        self._seconds = count(0.0, 1.0)

    def _tell(self) -> None:
        self.step_counts.append(len(self.ring.newest()[0].steps) if self.ring.newest() else 0)

    def start(self, ports: Ports | None = None) -> Coroutine[Any, Any, Stop]:
        async def running(ports: Ports) -> Stop:
            return await tick.run(self.stage.turn, ports, make_pattern())

        clock = partial(next, self._seconds)
        return self.ring.run(self.stage.turn, ports or self.stage.ports(), running, clock)

    def play(self) -> RecordedTurn:
        """Run the turn to its end and give its record."""
        finish(self.start())
        return self.ring.newest()[0]


def test_a_turn_is_kept_step_by_step() -> None:
    ringed = Ringed(Stage(reply(LOOK, content="I look."), reply(HELLO)))
    record = ringed.play()
    first, look, second, speech = record.steps
    assert isinstance(first, RecordedCall)
    assert isinstance(look, ToolUse)
    assert isinstance(second, RecordedCall)
    assert isinstance(speech, ToolUse)
    assert ringed.stage.model.asked == [list(first.messages), list(second.messages)]
    assert first.reply is not None
    assert ("I look.", (LOOK,)) == (first.reply.content, first.reply.tool_calls)
    assert ("say" in [spec.name for spec in first.tools], "look done") == (True, look.text)
    assert [1.0, 1.0, 1.0, 1.0] == [step.seconds for step in record.steps]
    assert (0.0, 9.0) == (record.began, record.ended)
    assert record.stop is not None
    assert (StopReason.TERMINAL_TOOL, "") == (record.stop.reason, record.broke_off)
    assert [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] == ringed.step_counts


def calls_that_cost(*costs: tuple[int, bool]) -> list[RecordedCall]:
    """The records of two calls of the model, each with a cost and whether it had a price."""
    ringed = Ringed(Stage(reply(LOOK), reply(HELLO)))
    left = iter(costs)

    def pay(tools: Sequence[ToolSpec]) -> None:
        nano, is_priced = next(left)
        ringed.stage.turn.spent.add(nano, TokenUsage(), is_priced=is_priced)

    ringed.stage.model.on_ask = pay
    return [step for step in ringed.play().steps if isinstance(step, RecordedCall)]


def test_what_a_call_cost_is_its_own() -> None:
    assert [7, 7] == [step.nano for step in calls_that_cost((7, True), (7, True))]


def test_whether_a_call_had_a_price_is_its_own() -> None:
    calls = calls_that_cost((0, False), (0, True))
    assert [False, True] == [step.is_priced for step in calls]


def test_the_newest_are_kept() -> None:
    ring = TurnRing(2, 100)
    for number in (1, 2, 3):
        stage = Stage(reply(HELLO), number=number, at=float(number))
        ringed = Ringed(stage)
        ringed.ring = ring
        finish(ringed.start())
    assert [3, 2] == [record.turn.event.number for record in ring.newest()]
    assert [2] == [record.turn.event.number for record in ring.find(2)]
    assert ([], []) == (ring.find(1), ring.find(2, at=9.0))
    assert 1 == len(ring.find(2, at=2.0))


def test_none_are_kept_where_none_are_wanted() -> None:
    assert (False, True) == (TurnRing(0).is_on, TurnRing(1).is_on)


def test_what_fails_is_kept_with_its_reason() -> None:
    unknown = ToolCall("c9", "fly")
    ringed = Ringed(Stage(reply(unknown), ModelConnectionError("it is away")))
    record = ringed.play()
    asked, fly, failed = record.steps
    assert isinstance(asked, RecordedCall)
    assert isinstance(fly, ToolUse)
    assert isinstance(failed, RecordedCall)
    assert (False, Fault.UNKNOWN_TOOL, False) == (fly.success, fly.fault, fly.is_known)
    assert (None, "it is away") == (failed.reply, failed.error)
    assert record.stop is not None
    assert StopReason.LLM_ERROR is record.stop.reason


def test_a_limit_is_named_and_holds_nothing() -> None:
    """The exception itself would keep alive everything that it passed through."""
    stage = bounded(Stage(*looks(5)), max_tool_calls_per_context=1)
    record = Ringed(stage).play()
    assert record.stop is not None
    assert (LimitKind.TOOL_CALLS, None) == (record.limit, record.stop.limit)


@pytest.mark.parametrize("error", [StaleEpochError(7, 8), RuntimeError()])
def test_a_turn_that_breaks_off_says_so(error: Exception) -> None:
    ringed = Ringed(Stage(reply(LOOK)))

    class Broken:
        """Tools that only raise."""

        specs = ringed.stage.tools.specs

        async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
            raise error

    with pytest.raises(type(error)):
        finish(ringed.start(replace(ringed.stage.ports(), toolbox=Broken())))
    record = ringed.ring.newest()[0]
    look = record.steps[-1]
    assert isinstance(look, ToolUse)
    assert (type(error).__name__, None, False) == (record.broke_off, record.stop, look.success)
    assert (record.ended is not None, bool(look.text)) == (True, True)


def test_one_that_goes_on_is_open() -> None:
    """While the model is awaited its call has no end; once cancelled, it has one."""
    ringed = Ringed(Stage(reply(HELLO)))
    ringed.stage.model.waits = True
    running = ringed.start()
    running.send(None)
    record = ringed.ring.newest()[0]
    (call,) = record.steps
    assert (None, None) == (call.seconds, record.ended)
    running.close()
    assert "GeneratorExit" == record.broke_off
    assert call.seconds is not None


def test_a_long_turn_is_kept_as_far_as_there_is_room() -> None:
    """The newest messages and the beginning of a tool's text stay, and the record says so."""
    prompt = Prompt(
        [user_message("a" * 90), user_message("b" * 30)], 40, 1000, blocks=[("event", "b" * 30)]
    )
    record = RecordedTurn(Turn(7, (make_event(),)), 0.0, room=150)
    call = RecordedCall(0.0, prompt, prompt.messages, (), reply=Reply("c" * 40))
    record.record_call(call)
    assert (True, [user_message("b" * 30)]) == (call.is_cut, call.messages)
    assert ([], []) == (call.prompt.messages, call.prompt.blocks)
    assert call.reply == Reply("c" * 40)
    use = ToolUse(0.0, LOOK, "d" * 100)
    record.record_use(use)
    assert use.is_cut
    assert 0 == record.room
    assert 0 < len(use.text) < 100
    last = RecordedCall(0.0, prompt, prompt.messages, (), reply=Reply("e" * 40))
    record.record_call(last)
    assert last.reply is not None
    assert ("", []) == (last.reply.content, last.messages)


def test_arguments_take_room() -> None:
    """Arguments of the model's calls and of a tool's are left out where they do not fit."""
    prompt = Prompt([], 0, 1000)
    long = ToolCall("c1", "write_note", {"text": "a" * 200})
    nameless = ToolCall("c2", "n" * 500)
    record = RecordedTurn(Turn(7, (make_event(),)), 0.0, room=300)
    call = RecordedCall(0.0, prompt, (), (), reply=Reply(tool_calls=(long,)))
    record.record_call(call)
    size = len(str(long.arguments))
    assert call.reply is not None
    assert (False, (long,), 300 - size) == (call.is_cut, call.reply.tool_calls, record.room)
    more = RecordedCall(0.0, prompt, (), (), reply=Reply("hm", tool_calls=(LOOK, long, nameless)))
    record.record_call(more)
    assert more.reply is not None
    look, cut, named = more.reply.tool_calls
    assert (True, LOOK, "write_note", {}) == (more.is_cut, look, cut.name, cut.arguments)
    assert ("n" * 64, "hm") == (named.name, more.reply.content)
    left = record.room
    use = ToolUse(0.0, long, "done")
    record.record_use(use)
    assert ("write_note", {}, True) == (use.call.name, use.call.arguments, use.is_cut)
    assert (left - 4, "done") == (record.room, use.text)
    failed = RecordedCall(0.0, Prompt([], 900, 1000), (), (), error="it is away")
    record.record_call(failed)
    assert (None, True, left - 4) == (failed.reply, failed.is_cut, record.room)
    roomy = RecordedTurn(Turn(7, (make_event(),)), 0.0, room=300)
    use = ToolUse(0.0, long, "done")
    roomy.record_use(use)
    assert (long, False, 300 - size - 4) == (use.call, use.is_cut, roomy.room)


def test_prompts_share_what_is_equal_in_them() -> None:
    """The head of a hundred prompts is held in memory once."""
    ring = TurnRing()

    def made(words: str) -> Prompt:
        head = {"role": "system", "content": "".join(("You are ", "Ada."))}
        messages = [head, user_message(words)]
        prompt = Prompt(messages, 9, 99, blocks=[("head", head["content"]), ("event", words)])
        ring.share(prompt)
        return prompt

    first, second = made("one"), made("two")
    assert first.messages[0] is second.messages[0]
    assert first.blocks[0] is second.blocks[0]
    assert ["one", "two"] == [str(each.messages[1]["content"]) for each in (first, second)]
    assert [("event", "one"), ("event", "two")] == [each.blocks[1] for each in (first, second)]


def test_a_failed_call_that_is_long_is_cut_as_well() -> None:
    """No answer takes room there, so all messages that fit stay."""
    prompt = Prompt([user_message("a" * 10)], 100, 1000)
    record = RecordedTurn(Turn(7, (make_event(),)), 0.0, room=150)
    call = RecordedCall(0.0, prompt, prompt.messages, (), error="away")
    record.record_call(call)
    assert (True, prompt.messages) == (call.is_cut, call.messages)


def test_who_listens_gets_each_record_when_it_has_ended() -> None:
    heard: list[tuple[str, float | None]] = []
    ringed = Ringed(Stage(reply(HELLO)))
    ringed.ring = TurnRing(
        3, 100, name="Ada", listeners=[lambda name, record: heard.append((name, record.ended))]
    )
    record = ringed.play()
    assert [("Ada", record.ended)] == heard
    assert record.ended is not None


def test_all_is_forgotten_at_once() -> None:
    """Prompts quote people in places that nobody can list, so forgetting is all or nothing."""
    ringed = Ringed(Stage(reply(HELLO)))
    ringed.play()
    ringed.ring.forget()
    assert [] == ringed.ring.newest()
