"""The tool that shows the assistant its own state: prompt size, budget, errors and queue."""

from __future__ import annotations

from evennia_ai.budget import ledger
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError, ToolDeniedError
from evennia_ai.runtime import asked, services, state
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.runtime.rights import Right
from evennia_ai.tools.groups import STATE
from evennia_ai.tools.orders import all_hold
from evennia_ai.tools.registry import tool

FOR_STAFF = "only whoever may run you is told how you stand"


def _may_know(character: Character, turn: Turn) -> bool:
    return all_hold(character, turn, Right.CONTROL)


@tool(category="safe_chain", group=STATE, useful_when=_may_know, only_reads=True)
def my_state(character: Character, turn: Turn) -> str:
    """See how you stand: your prompt's size, today's budget, errors, and what waits for you."""
    # Again: the model may call tools that it is not shown.
    if not _may_know(character, turn):
        raise ToolDeniedError(FOR_STAFF)
    script = character.assistant_script
    return "\n".join((_prompt(script), _budget(script), _errors(script), _waiting(script)))


def _prompt(script: Assistant) -> str:
    used, most = script.work.context_tokens, script.work.max_context_tokens
    return f"prompt: {used:,} of {most:,} tokens at the last call"


def _budget(script: Assistant) -> str:
    own, now = state.read(script, "budget_config"), script.clock.seconds()
    try:
        today = ledger.today_of(script.key, ledger.config_for(own), now)
    except ConfigurationError as error:
        return f"budget: unknown, for {error}"
    if not today.allowed:
        return f"budget: {today.used:,} tokens used today (UTC), without a cap"
    left = max(0, today.allowed - today.used)
    return f"budget: {today.used:,} of {today.allowed:,} tokens used today (UTC), {left:,} left"


def _errors(script: Assistant) -> str:
    failed = state.read(script, "consecutive_errors")
    most = state.read(script, "max_consecutive_errors")
    out = [*services.pool().breakers.degraded(), *script.work.breakers.degraded()]
    names = ", ".join(sorted(str(each["name"]) for each in out)) or "nothing"
    return f"errors: {failed} failed turns in a row, {most} stop you; out of order: {names}"


def _waiting(script: Assistant) -> str:
    questions = sum(not item.choice for item in asked.stored(script))
    messages = counted(len(script.work.inbox), "messages")
    return f"waiting: {messages}, {counted(questions, 'questions')} to people"
