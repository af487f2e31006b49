"""The command `aiexec`, which runs an assistant's tools by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.commands.base import StaffCommand
from evennia_ai.commands.tables import allowed, explain, takes
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.budget.usage import usage
from evennia_ai.operations.result import Result
from evennia_ai.operations.times import clock_of
from evennia_ai.operations.tools import running as tools
from evennia_ai.operations.tools.running import ToolRow

LOG, EXPLAIN = "log", "?"


class CmdAiExec(StaffCommand):
    """
    See an AI assistant's tools, and run one by hand, as if it did.

    Usage:
      aiexec [<name>]                       - its tools, and what each takes
      aiexec <name> <tool> ?                - what one does and takes
      aiexec <name> <tool> [<key> = <value> ...]
      aiexec <name> <tool> {"key": "value"} - the same as JSON
      aiexec <name> <tool> <value>          - where it needs no more than one
      aiexec <name> log                     - the last calls, and how often each

    What a tool does happens in the game, by it, under its limits. To run one
    needs its lock `ai_control`. If a value itself contains the name of an
    argument and =, use JSON.

    Examples:
      aiexec ada say Good evening, all.
      aiexec ada whisper target = Tom, message = Come here.
    """

    key = "aiexec"
    how = 'aiexec <name> [<tool> [? | <key> = <value> ... | {"key": "value"}] | log]'

    def act(self) -> None:
        """Run the command."""
        script, rest = self.whose(self.line(), (LOG,))
        if script is None:
            return
        name, _, more = rest.partition(" ")
        if not name:
            self._list(script)
        elif name.casefold() == LOG and not more.strip():
            self._log(script)
        else:
            self._explain_or_run(script, name, more.strip())

    def _list(self, script: AssistantScript) -> None:
        if not self.may("show tools", script):
            return
        rows = [
            (tool["name"], tool["category"], takes(tool["parameters"]), allowed(tool))
            for tool in tools.list_tools(script).data.tools
        ]
        foot = f"More about one: aiexec {script.key} <tool> ?"
        head = ("Tool", "Category", "Takes", "Allowed")
        self.show_table(f"{script.key} has {counted(len(rows), 'tools')}", head, rows, foot)

    def _log(self, script: AssistantScript) -> None:
        if not self.may("usage", script):
            return
        used = usage(script).data
        rows = [_call_row(entry) for entry in reversed(used.executions)]
        foot = "\n".join(
            f"  {name}: {counted(counts['calls'], 'calls')}, {counted(counts['errors'], 'errors')}"
            for name, counts in used.tools.items()
        )
        head = ("When", "Tool", "With", "Result", "ms")
        title = (
            f"The last tool calls of {script.key}"
            if rows
            else f"{script.key} has not called a tool yet"
        )
        self.show_table(title, head, rows, foot)

    def _explain_or_run(self, script: AssistantScript, name: str, more: str) -> None:
        result = tools.find_tool(script, name)
        if not result.ok:
            self.show_usage(result.message)
            return
        tool = result.data
        if more == EXPLAIN:
            if self.may("show tools", script):
                self.show(Result(True, "\n".join(_described(tool))))
            return
        if not self.may("execute tool", script):
            return
        arguments = tools.parse_arguments(script, tool["name"], more)
        if isinstance(arguments, Result):
            self.show_usage(arguments.message)
            return
        # A tool may wait for a service or a person, so the result is shown when it comes.
        running = tools.execute_tool(script, tool["name"], arguments, person=self.caller)
        self.show_later(running)


def _described(tool: ToolRow) -> list[str]:
    barred = "" if tool["is_allowed"] else ", not allowed now"
    asks = ", after a person's yes" if tool["needs_yes"] else ""
    head = f"{tool['name']} ({tool['category']}{asks}{barred}): {tool['description']}"
    return [head, *explain(tool["parameters"])]


def _call_row(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    arguments = ", ".join(f"{key} = {value}" for key, value in (entry["parameters"] or {}).items())
    came = "done" if entry["success"] else f"failed: {entry.get('error', '')}"
    when, ms = clock_of(entry["timestamp"]), entry["duration_ms"]
    return when, entry["tool"], one_line(arguments, 80), one_line(came, 80), ms
