"""What staff type after `assistant`: making, starting, stopping, checking, channels."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evennia.utils.evtable import EvTable

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.core.lockout import State
from evennia_ai.core.tokens import band, calculate_utilization
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report
from evennia_ai.operations.channels import MODES
from evennia_ai.outbound import literal

ALL = "all"
EMERGENCY_USAGE = (
    "Usage: assistant emergency stop [<name>] | stop all, assistant emergency clear [<name>]"
)


def _since(at: float) -> str:
    """A point in time, as staff read it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _locked(data: Mapping[str, Any]) -> str:
    """Why and since when an assistant may not act, and what clears that."""
    lockout, key = data["lockout"], data["key"]
    clear = f"assistant emergency clear {key}"
    if lockout is None:
        return f"{key} is stopped, until: {clear}"
    word = "stopped" if data["state"] == State.STOPPED else f"locked ({lockout['cause']})"
    since = _since(lockout["at"])
    return f"{key} is {word} since {since}: {lockout['reason']}. Until: {clear}"


def _context(tokens: int, most: int) -> str:
    """How full the model's context was at the last call."""
    percent = calculate_utilization(tokens, most)
    return f"{tokens:,} of {most:,} tokens in the last prompt: {band(percent).message}"


def _server(server: Mapping[str, Any]) -> str:
    """An MCP server: how it is, and with how many tools."""
    problem = f", {server['problem']}" if server["problem"] else ""
    return f"{server['name']}: {server['state']}, {server['tools']} tools{problem}"


def _degraded(breaker: Mapping[str, Any]) -> str:
    """A service that is not asked now, until when, and what went wrong last."""
    wait = breaker["retry_after"]
    until = f", asked again in {wait:.0f} s" if wait else ""
    return f"{breaker['name']} {breaker['state']}{until}: {breaker['last_failure_error']}"


class StaffWords(AssistantCommand):
    """The words of `assistant` that need the lock `staff`."""

    def _overview(self, _rest: str) -> None:
        scripts = operations.list_assistants()
        if not scripts:
            self.msg("There is no assistant yet. Make one: assistant create <name>")
            return
        head = ("Assistant", "Where", "State", "Brain", "Waiting", "Questions", "Tokens today")
        table = EvTable(*head, border="cells")
        locked = []
        for script in scripts:
            result = operations.status(script)
            data = result.data
            state = result.message.partition(": ")[2]
            row = (data["key"], data["location"] or "nowhere", state, data["brain"])
            counts = (data["pending_events"], data["questions"], data["today"])
            table.add_row(*map(literal, row), *counts)
            if data["emergency_stop"]:
                locked.append(literal(_locked(data)))
        self.msg("\n".join([str(table), *locked]))

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
            f"  today     {data['today']} tokens (assistant budget {data['key']})",
            f"  waiting   {data['pending_events']}, {data['questions']} open questions",
            f"  errors    {data['consecutive_errors']} in a row, stops itself at "
            f"{data['max_consecutive_errors']}",
        ]
        if data["emergency_stop"]:
            lines.insert(1, f"  stopped   {_locked(data)}")
        if data["wrong_settings"]:
            lines.insert(1, f"  wrong     {data['wrong_settings']}")
        if data["ignored_settings"]:
            lines.append(f"  ignored   {data['ignored_settings']}")
        if data["max_context_tokens"]:
            lines.append(
                f"  context   {_context(data['context_tokens'], data['max_context_tokens'])}"
            )
        for breaker in data["breakers"].values():
            lines.append(f"  breaker   {breaker['name']} {breaker['state']}")
        lines += [f"  mcp       {_server(server)}" for server in data["mcp"]]
        lines += [f"  degraded  {_degraded(breaker)}" for breaker in data["degraded"]]
        self.msg(literal("\n".join(lines)))

    def _create(self, rest: str) -> None:
        name, _, persona = rest.partition("=")
        location = self.caller.location
        self.show(operations.create_assistant(name, location=location, persona=persona.strip()))

    def _enable(self, name: str, enabled: bool) -> None:
        script = self.pick_controlled(name, "start" if enabled else "stop")
        if script is not None:
            self.show(operations.set_enabled(script, enabled, by=self.caller.key))

    def _emergency(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        word, name = word.casefold(), name.strip()
        if word not in ("stop", "clear"):
            self.msg(EMERGENCY_USAGE)
            return
        if word == "stop" and name.casefold() == ALL:
            self._stop_all()
            return
        script = self.pick_controlled(name, f"emergency {word}")
        if script is None:
            return
        by = str(self.caller.key)
        if word == "clear":
            self.show(operations.clear(script, by=by))
        else:
            self.show(operations.stop(script, f"stopped by {by}", by=by))

    def _stop_all(self) -> None:
        """Stop all that the caller has a say over, and name the others."""
        scripts = operations.list_assistants()
        if not scripts:
            self.msg("There is no assistant to stop.")
            return
        mine: list[Any] = []
        others: list[Any] = []
        for script in scripts:
            (mine if self.may_control(script) else others).append(script)
        by = str(self.caller.key)
        if mine:
            self.show(operations.stop_all(mine, f"all were stopped by {by}", by=by))
        for script in others:
            self.show(operations.refuse_control(script, self.caller, "emergency stop all"))

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
        script = self.pick_controlled(who, "channel")
        if script is not None:
            self.show(operations.set_channel(script, channel, mode.strip().casefold()))

    def _account(self, name: str) -> None:
        script = self.pick_controlled(name, "account")
        if script is not None:
            self.show(operations.give_account(script))
