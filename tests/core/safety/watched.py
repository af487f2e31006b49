"""Helpers that feed calls and their outcomes to a safety monitor."""

from typing import Any

from evennia_ai.core.safety.monitor import Caution, Halt, SafetyMonitor, Verdict
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult

OFF = {"same_failures": 0, "same_successes": 0, "failures_in_a_row": 0, "anomalies": 0}


def make_monitor(**checks: int) -> SafetyMonitor:
    """A monitor of a new task, with the default checks except these."""
    return SafetyMonitor(Checks(**checks))


def only(**checks: int) -> SafetyMonitor:
    return make_monitor(**{**OFF, **checks})


def fail(
    monitor: SafetyMonitor, name: str = "look", fault: Fault = Fault.FAILED, **arguments: Any
) -> Verdict:
    return monitor.after_tool(ToolCall("c1", name, arguments), ToolResult(False, "no", fault))


def work(
    monitor: SafetyMonitor, name: str = "look", text: str = "a lamp", **arguments: Any
) -> Verdict:
    return monitor.after_tool(ToolCall("c1", name, arguments), ToolResult(True, text))


def short(verdict: Verdict) -> str:
    """`go`, `warn`, or the cause of a halt."""
    if isinstance(verdict, Halt):
        return verdict.cause.value
    return "warn" if isinstance(verdict, Caution) else "go"


def play(monitor: SafetyMonitor, pattern: str) -> list[str]:
    """The verdicts on a sequence of operations.

    F is always the same failure and S the same success; N is a failure like no other, G a good call
    like no other, and U an unparsable reply.
    """
    verdicts = []
    for number, sign in enumerate(pattern):
        verdict = {
            "F": lambda: fail(monitor, "dig", at="north"),
            "S": lambda: work(monitor, "look", at="lamp"),
            "N": lambda n=number: fail(monitor, "dig", at=n),
            "G": lambda n=number: work(monitor, "look", at=n),
            "U": monitor.after_reply_unparsable,
        }[sign]()
        verdicts.append(short(verdict))
    return verdicts
