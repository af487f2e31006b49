"""What staff type after `assistant`: making, starting, stopping, checking, channels."""

from __future__ import annotations

from typing import Any

from evennia.utils.evtable import EvTable

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report
from evennia_ai.operations.channels import MODES
from evennia_ai.outbound import literal


class StaffWords(AssistantCommand):
    """The words of `assistant` that need the lock `staff`."""

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
        if data["ignored_settings"]:
            lines.append(f"  ignored   {data['ignored_settings']}")
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

    def _channel(self, rest: str) -> None:
        names, _, mode = rest.partition("=")
        who, _, channel = names.strip().partition(" ")
        if not mode.strip() or not channel.strip():
            modes = " | ".join(MODES)
            self.msg(f"Usage: assistant channel <name> <channel> = {modes}")
            return
        script = self.pick(who)
        if script is not None:
            self.show(operations.set_channel(script, channel, mode.strip().casefold()))

    def _account(self, name: str) -> None:
        script = self.pick(name)
        if script is not None:
            self.show(operations.give_account(script))
