"""The two tools of delegation: handing a task to another assistant, and reporting its result.

`tasks.delegations` keeps who waits for whom. This module decides who may be given a task, what it
is told, how far delegation may go, and how long the assistant waits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred

from evennia_ai import audit
from evennia_ai.agent import remote_delegating, report_summary
from evennia_ai.agent.delegation_limits import denial, pass_limits
from evennia_ai.agent.queueing import cooling_seconds
from evennia_ai.approvals import checkpoints
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.safety.limits import Decision, LimitKind
from evennia_ai.core.text.cleaning import cut_at_sentence, quote, strip_control
from evennia_ai.core.turn import goals, namesakes
from evennia_ai.core.turn.conversation import Message, split_private_calls, visible_history
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import LimitReachedError, ToolError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.runtime.names import name_of
from evennia_ai.tasks import delegations, task_waits
from evennia_ai.tasks.delegations import Delegation
from evennia_ai.tools import tool

LONGEST_TASK = 2000  # characters
LONGEST_TALK = 2000  # characters of the conversation that go along
MOST_GOALS = 3  # that go along
MOST_LINES = 8  # of the conversation
# The delegation limit, which people may extend, ends the wait; but a tool must have a timeout.
A_DAY_SECONDS = 86_400.0
EMERGENCY = "emergency_stop"
ALONE = "You are asked as a specialist: do this task alone."
EXPERTISE = "Use your own expertise."


# ---- the two tools -----------------------------------------------------------------------------


@tool(category="async_required", timeout_seconds=A_DAY_SECONDS)
async def delegate_task(
    character: Character, task: str, specialist: str | None = None, *, turn: Turn
) -> str:
    """Hand a task to another assistant, a specialist, and wait for what it reports.

    Args:
        task: what is to be done, with all that one has to know for it.
        specialist: its name; left out, whoever is free is asked.
    """
    script = character.assistant_script
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    if not config.sub_agents_enabled:
        raise ToolError("you hand no tasks to others: your owner did not enable it")
    words = cut_at_sentence(strip_control(task).strip(), LONGEST_TASK)
    if not words:
        raise ToolError("say in words what is to be done")
    known = delegations.specialists_here(script, config.delegate_assistant_tag)
    if (agent := delegations.find_elsewhere(script, known, specialist)) is not None:
        return await remote_delegating.delegate_remotely(script, turn, agent, words, config)
    delegate = _choose(script, turn, known, specialist)
    await pass_limits(script, turn)
    # Asked again: the limits may have waited for a person, and the delegate may be stopped by now.
    if problem := _objection(script, turn, delegate):
        raise ToolError(problem)
    turn.delegations += 1
    turn.chain.delegations += 1
    body = brief(script, turn, words, config.personality_insulation)
    deadline = ReportDeadline(script, turn)
    delegation = delegations.begin(script, delegate, turn, body, deadline.expire)
    try:
        result = await _wait(delegation, deadline)
    finally:
        # Also after a failure, whose error may quote what only these audiences may know.
        turn.hold(*delegation.learned)
    if not config.result_summarization:
        return result
    return await report_summary.fit(script, turn, words, result)


@tool(category="terminal")
def report(character: Character, message: str, *, turn: Turn) -> str:
    """Report what came of the task that you were given. Only who gave it to you reads it.

    Args:
        message: the result, in plain words, with all that was asked for.
    """
    words = strip_control(message).strip()
    if not words:
        raise ToolError("say in words what came of the task")
    is_heard = task_waits.answer(
        turn.event, words, held=turn.held, stopped_by=turn.stopped_by, is_talk=turn.is_talk
    )
    if not is_heard:
        audit.record("report_unheard", character.assistant_script, id=turn.event.id)
        raise ToolError("nobody waits for this report any more; let it be, with noop")
    return f"reported to {turn.event.sender_name}"


# ---- who is asked ------------------------------------------------------------------------------


def _choose(
    script: Assistant, turn: Turn, known: Sequence[Assistant], name: str | None
) -> Assistant:
    """Choose the specialist of that name, else the one with the shortest inbox.

    Args:
        known: specialists in the game; agents outside it are asked only by name.
    """
    elsewhere = (agent.name for agent in delegations.specialists_elsewhere(script))
    names = ", ".join([*(str(other.key) for other in known), *elsewhere]) or "none"
    if name and name.strip().casefold() == str(script.key).casefold():
        raise ToolError(f"you cannot hand a task to yourself; specialists are: {names}")
    if name:
        known = [other for other in known if other.key.casefold() == name.strip().casefold()]
    if not known:
        name_part = f" called {quote(name)}" if name else ""
        raise ToolError(f"there is no specialist{name_part}; there are: {names}")
    problems = {other: _objection(script, turn, other) for other in known}
    able = [other for other in known if not problems[other]]
    if not able:
        is_stopped = EMERGENCY in problems.values()
        raise ToolError(EMERGENCY if is_stopped else "; ".join(problems.values()))
    return min(able, key=lambda other: len(other.work.inbox))


def _objection(script: Assistant, turn: Turn, delegate: Assistant) -> str:
    """The reason an assistant cannot be given a task now, or ""."""
    name, body = delegate.key, delegate.obj
    if state.is_stopped(delegate):
        return EMERGENCY
    if delegate.work is None or delegate.silence:
        return f"{name} takes no task: {delegate.silence or 'it is not running'}"
    # Two assistants that wait for each other would wait until the limit.
    if delegations.waits_for(delegate, script):
        return f"{name} waits for what you do yourself, so it cannot be asked"
    if turn.event.person in delegate.work.muted:
        return f"{name} does nothing for somebody who has muted it"
    if seconds := cooling_seconds(delegate, turn.event.person):
        return f"{name} does nothing for that person for {in_words(seconds)}"
    if not body.access(script.obj, "delegate", default=True):
        return f"{name} takes no task of yours"
    return ""


# ---- what it is told ---------------------------------------------------------------------------


def brief(script: Assistant, turn: Turn, task: str, insulation: str) -> str:
    """A task as the delegate reads it, without anything that was said in private.

    Args:
        insulation: `personality_insulation`: none, orchestrator or delegate.
    """
    if insulation == "orchestrator":
        return f"{task}\n{ALONE}"
    open_goals = goals.active(state.read(script, "current_goals"))[:MOST_GOALS]
    goal_text = "; ".join(goal["text"] for goal in open_goals)
    parts = [task, f"Goals of {_name(script)}: {goal_text}" if goal_text else ""]
    if insulation == "delegate":
        parts.append(EXPERTISE)
    elif talk := _public_talk(script, turn):
        parts.append(f"The talk of {_name(script)} so far:\n{talk}")
    return "\n".join(filter(None, parts))


def _name(script: Assistant) -> str:
    """The name that others see; they need not know its key."""
    return name_of(script.obj, None)


def _public_talk(script: Assistant, turn: Turn) -> str:
    history = script.work.history
    last = namesakes.bearers(history, turn.named)
    messages = visible_history(namesakes.told_apart(history, last), "")
    messages += (
        [] if turn.is_private else visible_history(split_private_calls(turn.said, turn.asides), "")
    )
    lines = [line for message in messages for line in _lines_of(message, _name(script))]
    return "\n".join(lines[-MOST_LINES:])[-LONGEST_TALK:]


def _lines_of(message: Message, name: str) -> list[str]:
    """The lines that people said to the assistant, or that it said."""
    if message["role"] == "user":
        return [message["content"]]
    calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    words = [json.loads(arguments).get("message") for arguments in calls]
    return [f"{name} answers: {quote(str(sentence))}" for sentence in words if sentence]


# ---- waiting -----------------------------------------------------------------------------------


async def _wait(delegation: Delegation, deadline: ReportDeadline) -> str:
    """Put the task into the delegate's inbox, and wait for its report."""
    try:
        delegation.delegate.enqueue(delegation.event)
        report: str = await delegation.answer
        return report
    finally:
        deadline.cancel()
        # Does nothing after a report; after a cancellation the delegate must not go on in vain.
        task_waits.withdraw(delegation, task_waits.DROPPED)


class ReportDeadline:
    """The time that a turn waits for a report: a limit, which people may extend."""

    def __init__(self, script: Assistant, turn: Turn) -> None:
        self._turn = turn
        self._window = self._cap = state.safety_config(script).timeout.delegation_seconds
        self._question: Deferred[None] | None = None

    def cancel(self) -> None:
        """Withdraw the question to people, if one is open."""
        if self._question is not None:
            self._question.cancel()

    def expire(self, held: Delegation) -> None:
        """Ask for as much time again, now that it is over."""
        self._question = Deferred.fromCoroutine(self._ask(held))

    async def _ask(self, held: Delegation) -> None:
        hit = LimitReachedError(
            LimitKind.DELEGATION_SECONDS,
            used=held.requester.clock.seconds() - held.began_at,
            cap=self._cap,
            amount=self._window,
            scope=self._turn.scope,
        )
        about = f"what I gave {held.delegate.key} to do"
        try:
            decision = await checkpoints.ask(
                held.requester, hit, task=about, event=self._turn.event
            )
        except CancelledError:
            return
        # However asking fails, the turn must not wait for ever.
        except Exception as error:
            logger.log_err(f"[assistant] nobody could be asked: {error}")
            delegations.end_late(held)
            return
        self._decide(held, hit, decision)

    def _decide(self, held: Delegation, hit: LimitReachedError, decision: Decision) -> None:
        self._question = None
        # The report may have come while people were asked.
        if delegations.of(held.event) is not held or held.watch is None:
            return
        if not decision.allow_continue:
            task_waits.give_up(held, ToolError(denial(hit, decision.reason)))
            return
        self._cap += decision.extension
        details = {"id": held.event.id, "delegate": held.delegate.key, "cap": self._cap}
        audit.record("delegation_extended", held.requester, **details)
        # Not always a whole window: a changed setting adds only the difference.
        held.watch.limit(decision.extension)
