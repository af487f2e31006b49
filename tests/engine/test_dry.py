"""A toolbox that is only tried."""

from __future__ import annotations

from dataclasses import replace

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.dry import TAKEN, DryRunToolbox, Intent, Judgement
from evennia_ai.errors import ToolDeniedError
from tests.core.samples import make_event
from tests.engine.doubles import DIG, HELLO, LOOK, SPECS, ListedTools, finish

READS = tuple(replace(spec, only_reads=spec.name == "look") for spec in SPECS)


def judged(turn: Turn, spec: ToolSpec, call: ToolCall) -> Judgement:
    """Whispers are done, digging is refused."""
    if call is DIG:
        raise ToolDeniedError("you are not allowed to dig")
    return Judgement("to Tom alone")


class TestDry:
    """What is run, what is taken as done, and what is refused."""

    def setup_method(self) -> None:
        """A turn and tools, of which one only reads."""
        self.diary: list[str] = []
        self.turn = Turn(7, (make_event(),))
        self.tools = DryRunToolbox(ListedTools(self.diary, offered=READS), judged)

    def run(self, call: ToolCall) -> ToolResult:
        """What came of a call."""
        return finish(self.tools.run(call, self.turn))

    def test_what_only_reads_is_run(self) -> None:
        """It is nothing that the assistant would do."""
        assert "look done" == self.run(LOOK).text
        assert ["run look"] == self.diary
        assert [] == self.tools.intents

    def test_what_others_notice_is_taken_as_done(self) -> None:
        """It is noted, counted as an effect, and not run."""
        assert ToolResult(True, TAKEN) == self.run(HELLO)
        assert [] == self.diary
        assert [Intent(HELLO, True, "to Tom alone")] == self.tools.intents
        assert 1 == self.turn.effects

    def test_what_may_not_be_done_is_refused(self) -> None:
        """With the reason, for the model and for whoever tries."""
        result = self.run(DIG)
        assert (False, Fault.DENIED) == (result.success, result.fault)
        assert [Intent(DIG, False, "you are not allowed to dig")] == self.tools.intents
        assert (0, []) == (self.turn.effects, self.diary)

    def test_a_call_that_waits_for_a_yes_has_no_effect(self) -> None:
        """The model is told what it would be told."""
        waits = ToolResult(False, "somebody has to say yes", Fault.NOT_RUN)
        self.tools = replace(self.tools, judge=lambda *_: Judgement("asked", waits))
        assert waits == self.run(HELLO)
        assert [Intent(HELLO, False, "asked")] == self.tools.intents
        assert 0 == self.turn.effects

    def test_a_tool_that_says_nothing_is_not_run(self) -> None:
        """The kind of tool is not enough: notes are of the same kind as looking."""
        assert READS[2].category == READS[4].category
        self.run(ToolCall("c", "noop", {}))
        assert [] == self.diary
