"""The toolbox of a dry run."""

from dataclasses import replace

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.dry import TAKEN, DryRunToolbox, Intent, Judgement
from evennia_ai.errors import ToolDeniedError
from tests.core.samples import make_event
from tests.engine.doubles import DIG, HELLO, LOOK, SPECS, ListedTools, finish

READS = tuple(replace(spec, only_reads=spec.name == "look") for spec in SPECS)


def judged(turn: Turn, spec: ToolSpec, call: ToolCall) -> Judgement:
    """Refuse to dig, and allow everything else."""
    if call is DIG:
        raise ToolDeniedError("you are not allowed to dig")
    return Judgement("to Tom alone")


class TestDry:
    def setup_method(self) -> None:
        self.diary: list[str] = []
        self.turn = Turn(7, (make_event(),))
        self.tools = DryRunToolbox(ListedTools(self.diary, offered=READS), judged)

    def run(self, call: ToolCall) -> ToolResult:
        return finish(self.tools.run(call, self.turn))

    def test_what_only_reads_is_run(self) -> None:
        assert "look done" == self.run(LOOK).text
        assert ["run look"] == self.diary
        assert [] == self.tools.intents

    def test_what_others_notice_is_taken_as_done(self) -> None:
        assert ToolResult(True, TAKEN) == self.run(HELLO)
        assert [] == self.diary
        assert [Intent(HELLO, True, "to Tom alone")] == self.tools.intents
        assert 1 == self.turn.effects

    def test_what_may_not_be_done_is_refused(self) -> None:
        result = self.run(DIG)
        assert (False, Fault.DENIED) == (result.success, result.fault)
        assert [Intent(DIG, False, "you are not allowed to dig")] == self.tools.intents
        assert (0, []) == (self.turn.effects, self.diary)

    def test_a_call_that_waits_for_a_yes_has_no_effect(self) -> None:
        waits = ToolResult(False, "somebody has to say yes", Fault.NOT_RUN)
        self.tools = replace(self.tools, judge=lambda *_: Judgement("asked", waits))
        assert waits == self.run(HELLO)
        assert [Intent(HELLO, False, "asked")] == self.tools.intents
        assert 0 == self.turn.effects

    def test_a_tool_that_says_nothing_is_not_run(self) -> None:
        """The category is not enough: a tool that writes notes may have the category of looking."""
        assert READS[2].category == READS[4].category
        self.run(ToolCall("c", "noop", {}))
        assert [] == self.diary
