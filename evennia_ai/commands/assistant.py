"""The command `assistant`: the overview, and everything staff do with assistants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.utils.evtable import EvTable

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report
from evennia_ai.outbound import literal


class CmdAssistant(AssistantCommand):
    """
    Look after the AI assistants of the game.

    Usage:
      assistant                            - all of them at a glance
      assistant status [<name>]            - one of them in detail
      assistant create <name> [= <who she is, in a sentence or two>]
      assistant start <name>               - let her answer
      assistant stop <name>                - keep her silent
      assistant check [<name>]             - try her model: does it answer, know
                                             tools, read long prompts, how fast
      assistant emergency stop [<name>]    - stop at once, over restarts too
      assistant emergency clear [<name>]   - let her go on

    Examples:
      assistant create Edda = Edda copies old charts and loves a good riddle.
      assistant check
    """

    key = "assistant"
    aliases = ("aisetup",)
    locks = "cmd:perm(Builder)"

    def func(self) -> None:
        """Find the word and do it."""
        word, rest = self.word_and_rest()
        act = self._words().get(word)
        if act is None:
            self.msg(f"assistant has no '{literal(word)}'. Type: help assistant")
            return
        act(rest)

    def _words(self) -> dict[str, Callable[[str], None]]:
        return {
            "": self._overview,
            "list": self._overview,
            "status": self._status,
            "create": self._create,
            "init": self._create,
            "start": lambda name: self._enable(name, True),
            "stop": lambda name: self._enable(name, False),
            "check": self._check,
            "emergency": self._emergency,
        }

    def _overview(self, _rest: str) -> None:
        scripts = operations.list_assistants()
        if not scripts:
            self.msg("There is no assistant yet. Make one: assistant create <name>")
            return
        table = EvTable("Assistant", "Where", "State", "Brain", "Waiting", "Tokens", border="cells")
        for script in scripts:
            result = operations.status(script)
            data = result.data
            state = result.message.partition(": ")[2]
            row = (data["key"], data["location"] or "nowhere", state, data["brain"])
            table.add_row(*map(literal, row), data["pending_events"], data["tokens"])
        self.msg(str(table))

    def _status(self, name: str) -> None:
        script = self.pick(name)
        if script is None:
            return
        result = operations.status(script)
        data = result.data
        lines = [
            result.message,
            f"  brain     {data['brain']}",
            f"  used      {data['calls']} model calls, {data['tokens']} tokens",
            f"  waiting   {data['pending_events']}",
            f"  errors    {data['consecutive_errors']} in a row, stops itself at "
            f"{data['max_consecutive_errors']}",
        ]
        for breaker in data["breakers"].values():
            lines.append(f"  breaker   {breaker['name']} {breaker['state']}")
        self.msg(literal("\n".join(lines)))

    def _create(self, rest: str) -> None:
        name, _, persona = rest.partition("=")
        location = self.caller.location
        self.show(operations.create_assistant(name, location=location, persona=persona.strip()))

    def _enable(self, name: str, enabled: bool) -> None:
        script = self.pick(name)
        if script is not None:
            self.show(operations.set_enabled(script, enabled))

    def _emergency(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        word = word.casefold()
        if word not in ("stop", "clear"):
            self.msg("Usage: assistant emergency stop [<name>], assistant emergency clear [<name>]")
            return
        script = self.pick(name)
        if script is None:
            return
        if word == "clear":
            self.show(operations.clear(script))
        else:
            self.show(operations.stop(script, f"stopped by {self.caller.key}"))

    def _check(self, name: str) -> None:
        script = self.pick(name) if name else None
        if name and script is None:
            return
        try:
            checked = operations.check_model(script)
        except ConfigurationError as error:
            self.msg(literal(f"The model is not set up: {error}"))
            return
        self.msg("Asking the model; this takes a moment.")
        checked.addCallback(self._show_report).addErrback(self._show_trouble)

    def _show_report(self, report: Report) -> None:
        lines = [report.title]
        for line in report.lines:
            lines.append(f"  {line.name:<11} {'ok' if line.ok else 'NO':<3} {line.text}")
        verdict = "An assistant can work with it." if report.ok else "Mend what says NO first."
        self.msg(literal("\n".join([*lines, verdict])))

    def _show_trouble(self, failure: Any) -> None:
        self.msg(literal(f"The check itself failed: {failure.getErrorMessage()}"))
        failure.raiseException()
