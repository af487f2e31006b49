"""One turn of a dry run: the ports of a real turn, none of which reaches anybody.

The model is really called. Tools that only read are run; of the others it is noted what they would
do. Limits are applied as configured, but nobody is asked to extend one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from evennia_ai.agent import preparation
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.metering import turn_model
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.hearing.audience import Otherwise
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.limits import LIMITS, MONEY, DecisionReason, LimitKind
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.text.words import number
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine import tick
from evennia_ai.engine.checkpoint import Checkpoint
from evennia_ai.engine.dry import DryRunToolbox, Intent, Judgement
from evennia_ai.engine.ports import Ports
from evennia_ai.engine.recording import RecordedTurn
from evennia_ai.engine.toolboxes import Logged, Timed
from evennia_ai.errors import LimitReachedError, StoppedError, ToolDeniedError
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tool_execution import guarded, offered
from evennia_ai.tools import CharacterTools
from evennia_ai.tools.leaving import PrivateWordsGuard, refused
from evennia_ai.tools.showing import shown

WAITS = "not done yet: somebody has to say yes first; you will be told"
ASKS = "a person is asked first"
ASIDE = "{why}, so it would go to whoever asked alone"
MASKED = "{why}, so its words would be left out"


@dataclass(slots=True)
class DryTurn:
    """A turn of a dry run.

    Attributes:
        intents: tool calls that it would have made.
        record: what its model was sent and replied; None before the first call.
    """

    turn: Turn
    intents: list[Intent] = field(default_factory=list)
    record: RecordedTurn | None = None


def begin(stand_in: Assistant, event: Event) -> DryTurn:
    """Begin the turn that answers an event."""
    stored = event.as_stored()
    # A turn takes its events from the queue.
    stand_in.work.inbox = [stored]
    return DryTurn(turns.load(stand_in, stored, 1))


async def run(
    dry: DryTurn, script: AssistantScript, stand_in: Assistant, is_asker: Callable[[str], bool]
) -> None:
    """Run the turn like a real one, up to the end of its loop.

    Args:
        script: the real assistant, whose emergency stop ends the dry run.
        is_asker: tells if a name is the speaker's.

    Raises:
        ConfigurationError: settings do not fit together.
        StoppedError: the assistant was stopped meanwhile.
    """
    turn, client = dry.turn, stand_in.client()
    metered = MeteredClient(stand_in, client, turn.payer, spent=turn.spent)
    inputs = await preparation.inputs_for_turn(stand_in, client, turn)
    assessment = await preparation.assess_by_model(stand_in, turn, metered)
    pattern = preparation.pattern_of(stand_in, turn, inputs, assessment)
    _note(stand_in, turn, "may do", "; ".join(pattern.reasons))
    model = turn_model(stand_in, turn, metered, inputs, preparation.counter_of(client))
    judge = Judge(stand_in, pattern, is_asker)
    offer = offered(
        stand_in,
        turn,
        pattern,
        DryRunToolbox(guarded(stand_in), judge, dry.intents),
        is_small=model.is_small,
        is_grounded=inputs.is_grounded,
    )
    ports = Ports(
        model,
        Logged(Timed(offer, model.time.left), stand_in.clock.seconds),
        DryCheckpointStore(script),
        model.compose,
        DryLimits(stand_in),
        partial(shown, stand_in.obj, turn),
    )
    ring, seconds = stand_in.work.recorded, stand_in.clock.seconds
    try:
        await ring.run(turn, ports, lambda recorded: tick.run(turn, recorded, pattern), seconds)
    finally:  # a turn that failed is shown up to the failure
        dry.record = next(iter(ring.newest()), None)


def _note(stand_in: Assistant, turn: Turn, step: str, detail: str) -> None:
    stand_in.work.decisions.note([event.number for event in turn.events], step, detail)


@dataclass(frozen=True, slots=True)
class DryCheckpointStore:
    """A checkpoint store that stores nothing; an emergency stop of the assistant ends the turn."""

    script: AssistantScript

    def fence(self, turn: Turn) -> None:
        """Go on only while the assistant is not stopped.

        Raises:
            StoppedError: it is stopped.
        """
        if state.is_stopped(self.script):
            raise StoppedError(self.script.key)

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Do nothing: no call of a dry run has an effect."""

    def forget_effect(self, turn: Turn) -> None:
        """Do nothing: no effect was noted."""

    def checkpoint(self, turn: Turn) -> None:
        """Store nothing: a dry run does not go on after a restart."""
        self.fence(turn)


@dataclass(frozen=True, slots=True)
class DryLimits:
    """The limits of a dry run: extended only where the settings do so without asking a person."""

    stand_in: Assistant

    @property
    def config(self) -> SafetyConfig:
        """The assistant's safety settings."""
        return state.safety_config(self.stand_in)

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        """Decide without asking a person; caps on money are never raised."""
        if hit.kind.startswith(MONEY):
            hit.reason = DecisionReason.NO_BUS
            _note(self.stand_in, turn, "limit", f"{_limit(hit)}: reached")
            return False
        # Without a bus for questions, what would be asked of a person is decided as NO_BUS.
        decision = await Checkpoint(
            self.config.on_limit,
            None,
            self.stand_in.work.extensions,
            lambda name, details: None,
            lambda error: None,
        ).handle_limit_exceeded(hit)
        hit.reason = decision.reason
        if decision.allow_continue:
            turn.grants[hit.kind] = turn.grants.get(hit.kind, 0) + decision.extension
            outcome = "extended"
        elif decision.reason is DecisionReason.NO_BUS:
            outcome = "a person would be asked"
        else:
            outcome = "reached"
        _note(self.stand_in, turn, "limit", f"{_limit(hit)}: {outcome}")
        return decision.allow_continue

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        """Note that what exceeded a limit was left out."""
        detail = f"{hit.kind}: {number(hit.used)} were wanted, {number(hit.cap)} kept"
        _note(self.stand_in, turn, "limit", detail)


def _limit(hit: LimitReachedError) -> str:
    return f"{hit.kind}, {LIMITS[LimitKind(hit.kind)].used_of(hit.used, hit.cap)}"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge of tool calls that are not run: locks, confirmations, and who would hear private words.

    What a tool itself would find out, such as that there is no such exit, is not known.

    Args:
        is_asker: tells if a name is the speaker's, who is assumed to be present.
    """

    stand_in: Assistant
    pattern: ExecutionPattern
    is_asker: Callable[[str], bool]

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> Judgement:
        """Judge a call.

        Raises:
            ToolError: the call would be refused.
        """
        # In the order of a real call: locks, confirmation, then who would hear it.
        check = CharacterTools(self.stand_in.obj, self.stand_in.clock).check
        check(call.name, turn)
        is_answer = self.is_asker(str(call.arguments.get("target", "")))
        guard = PrivateWordsGuard(self.stand_in, check)
        is_dangerous = spec.category is ToolCategory.DANGEROUS
        if spec.needs_confirmation or (is_dangerous and self.pattern.dangerous_requires_confirm):
            if problem := guard.refusal(turn, spec, call):
                raise ToolDeniedError(problem)
            return Judgement(ASKS, ToolResult(False, WAITS, Fault.NOT_RUN))
        # Private words in the prompt are the speaker's own, so they may be said to the speaker.
        if is_answer:
            return Judgement()
        leave = guard.leave(turn, spec, call)
        if leave.is_allowed:
            return Judgement()
        if leave.way.otherwise is Otherwise.REFUSED:
            raise ToolDeniedError(refused(leave))
        how = ASIDE if leave.way.otherwise is Otherwise.ASIDE else MASKED
        return Judgement(how.format(why=leave.why))
