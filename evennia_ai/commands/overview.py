"""The command `assistant` without a word, `assistant list` and `assistant status`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from evennia_ai import operations
from evennia_ai.commands.tables import cropped_rows, short, span
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.core.safety import notices
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.core.text.words import counted, money
from evennia_ai.core.turn.tokens import band, calculate_utilization
from evennia_ai.memory.modes import PAUSED
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.budget.caps import CapRow, known_cost
from evennia_ai.operations.memory.upkeep import FAILED, MemorySummary, condition_of
from evennia_ai.operations.monitoring.capacity import in_words
from evennia_ai.operations.monitoring.status import Brief, Glance, Status
from evennia_ai.operations.settings.checks import broken_modules
from evennia_ai.operations.times import as_shown

# Maximum widths in characters; 0 for the column that gets the rest of the line.
HEAD = ("Assistant", "State", "Idle", "Model", "Tokens today", "$ today", "Breakers", "Asks")
WIDEST = (16, 16, 8, 0, 14, 14, 16, 4)
LINE = 100
UNSEARCHABLE = "cannot be searched: {problem}"


def _lockout_text(data: Brief) -> str:
    """The reason and time of an emergency stop, and the command that clears it."""
    lockout, key = data.lockout, data.key
    clear = f"assistant emergency clear {key}"
    if lockout is not None and lockout["cause"] == Cause.BODY:
        clear = f"assistant adopt <npc> = {key}"
    if lockout is None:
        return f"{key} is stopped. To let it go on: {clear}"
    since = as_shown(lockout["at"])
    if data.state is State.STOPPED:
        return (
            f"{key} has been stopped since {since}: {lockout['reason']}. To let it go on: {clear}"
        )
    notice = notices.locked(key, Cause(lockout["cause"]), lockout["reason"])
    return f"{notice.line} That was {since}. To let it go on: {clear}\n    {notice.detail}"


def _context(tokens: int | None, most: int) -> str:
    tokens = tokens or 0
    percent = calculate_utilization(tokens, most)
    return f"{tokens:,} of {most:,} tokens in the last prompt: {band(percent).message}"


def _memory_text(memory: MemorySummary) -> str:
    """Problems and state of the memory as one line, or ""."""
    if memory["state"] == FAILED:
        return UNSEARCHABLE.format(problem=memory["problem"])
    waits = f"{memory['waiting']} wait for the index" if memory["waiting"] else ""
    return "; ".join(filter(None, (memory["problem"], memory["notice"], waits)))


def _server_text(server: Mapping[str, Any]) -> str:
    problem = f", {server['problem']}" if server["problem"] else ""
    count, tools = len(server["held"]), counted(server["tools"], "tools")
    held_text = f", {count} held back (assistant tools held)" if count else ""
    return f"{server['name']}: {server['state']}, {tools}{held_text}{problem}"


def _breaker_text(breaker: Mapping[str, object]) -> str:
    wait = breaker["retry_after"]
    until = f", asked again in {ceil(wait)} s" if isinstance(wait, float) and wait else ""
    return f"{breaker['name']} {breaker['state']}{until}: {breaker['last_failure_error']}"


def _idle_time(script: AssistantScript) -> str:
    records = script.work.decisions.newest() if script.work is not None else []
    if not records:
        return "-"
    return span(script.clock.seconds() - max(record.at for record in records))


def _model(data: Brief) -> str:
    """The model's name, without its address or explanation; it may have a colon, as Ollama's do."""
    return re.split(": | via ", data.brain)[0] if data.has_brain else data.brain


def _spent(caps: Sequence[CapRow] | None) -> tuple[str, str]:
    if caps is None:
        return "?", "?"
    today = {row["name"]: row for row in caps}
    texts = []
    for name, figure in (("tokens_per_day", short), ("cost_per_day", money)):
        row = today[name]
        cap = f" / {figure(row['cap'])}" if row["cap"] else ""
        used = known_cost(figure(row["used"]), row["used"], row.get("unpriced_calls", 0))
        texts.append(used + cap)
    return texts[0], texts[1]


class _Listed(NamedTuple):
    """An assistant's row of the table, and its problems below it."""

    cells: tuple[object, ...]
    problems: list[str]


def _row(seen: Glance) -> _Listed:
    data, (tokens, money) = seen.status, _spent(seen.caps)
    about = (data.key, data.mood, _idle_time(seen.script), _model(data), tokens, money)
    breakers = ", ".join(f"{each['name']} {each['state']}" for each in data.degraded) or "ok"
    return _Listed((*about, breakers, data.questions), _problem_lines(seen))


def _problem_lines(seen: Glance) -> list[str]:
    """Problems that staff have to know about, with the commands that fix them."""
    data, key, memory = seen.status, seen.status.key, condition_of(seen.script)
    lines = [_lockout_text(data)] if data.emergency_stop else []
    mood = "silent" if not data.enabled else PAUSED if data.mood == PAUSED else ""
    if mood and not data.emergency_stop:
        lines.append(f"{key} is {mood}. {notices.TO_START.format(name=key)}")
    for problem, does in (
        (data.wrong_settings, "does nothing because a setting is wrong"),
        (data.ignored_settings, "ignores a wrong setting"),
    ):
        if problem:
            lines.append(f"{key} {does}. {_place_of(problem, key)}\n    {problem}")
    if data.location is None:
        lines.append(f"{key} is nowhere and needs a room.")
    if memory.state == FAILED:
        trouble = UNSEARCHABLE.format(problem=memory.problem)
        lines.append(f"{key}'s memory {trouble}. Look: aimemory {key}")
    return lines


def _place_of(problem: str, key: str) -> str:
    """Advice on where wrong settings are: in the game's files, the assistant's own, or both."""
    own = "" if problem.startswith("EVENNIA_AI_") else f"Look: assistant config {key}"
    if "EVENNIA_AI_" not in problem:
        return own
    advice = "It is in the game's settings; correct it there, then type: evennia reload"
    return f"{advice}. {own}" if own else advice


def _sentence(data: Status) -> str:
    """One line about the assistant's state, with the command to type if it cannot answer."""
    where = f"It stands in {data.location}" if data.location else "It is nowhere"
    waiting = f"{data.pending_events} wait" if data.pending_events else "nobody waits"
    asks = ", and it has a question: assistant questions" if data.questions else ""
    if data.emergency_stop:
        asks = f". To let it go on: assistant emergency clear {data.key}"
    elif not data.enabled or data.mood == PAUSED:
        asks = f". {notices.TO_START.format(name=data.key)}"
    return f"{data.key}: {data.mood}. {where}; {waiting} for an answer{asks}."


def status_lines(data: Status) -> list[str]:
    """The status of one assistant in detail."""
    lines = [
        _sentence(data),
        f"  where     {data.location or 'nowhere'}",
        f"  brain     {data.brain}",
        f"  used      {counted(data.calls, 'model calls')}, {counted(data.tokens, 'tokens')}",
        f"  today     {data.today} tokens (assistant budget {data.key})",
        f"  waiting   {data.pending_events}, {counted(data.questions, 'open questions')}",
        f"  errors    {data.consecutive_errors} in a row, stops itself at "
        f"{data.max_consecutive_errors}",
    ]
    if data.emergency_stop:
        lines.insert(1, f"  stopped   {_lockout_text(data)}")
    if data.wrong_settings:
        lines.insert(1, f"  wrong     {data.wrong_settings}")
    if data.ignored_settings:
        lines.append(f"  ignored   {data.ignored_settings}")
    if data.max_context_tokens:
        lines.append(f"  context   {_context(data.context_tokens, data.max_context_tokens)}")
    lines += [f"  cooling   {waiting}" for waiting in data.cooling]
    lines += [f"  breaker   {each['name']} {each['state']}" for each in data.breakers.values()]
    lines += [f"  endpoint  {use.base_url} {use.state}: {use.describe()}" for use in data.endpoints]
    if memory := _memory_text(data.memory):
        lines.append(f"  memory    {memory}")
    if workers := in_words(data.workers):
        lines.append(f"  workers   {workers}")
    lines += [f"  mcp       {_server_text(server)}" for server in data.mcp]
    return [*lines, *(f"  degraded  {_breaker_text(breaker)}" for breaker in data.degraded)]


class OverviewWords(WordCommand):
    """The subcommands that show the state of assistants."""

    @subcommand("assistant", is_for_all=True, is_told=False)
    def _overview(self, _rest: str) -> None:
        """Run `assistant` without a word."""
        if self.is_staff:
            self._list("")
        else:
            self._who_is_here()

    def _who_is_here(self) -> None:
        here = [s for s in operations.list_assistants() if self.is_here(s)]
        if not here:
            self.msg("No assistant is here. More: help assistant")
        for name in (literal(self.name_of(script)) for script in here):
            self.msg(
                f"{name} is here, an AI. To talk: whisper {name} = hello, or say @{name} hello"
            )

    @subcommand(
        "assistant list",
        "All assistants at a glance: what each is doing, how long ago it heard something, its "
        "model, how much of its caps it used today, which services fail, and how many questions "
        "wait. Problems are listed below, with what to type.",
    )
    def _list(self, rest: str) -> None:
        if not (self.may("list") and self.expect_nothing(rest)):
            return
        scripts = operations.list_assistants()
        if not scripts:
            self.msg("There is no assistant yet. Make one: assistant create <name>")
            return
        looking = operations.glances(scripts, _row)
        looking.addCallback(self._show_table).addErrback(self.show_fault)

    def _show_table(self, rows: Sequence[_Listed]) -> None:
        table = cropped_rows(HEAD, [row.cells for row in rows], WIDEST, LINE)
        wrong = [line for row in rows for line in row.problems]
        self.show_long("\n".join([table, *wrong, *broken_modules()]))

    @subcommand("assistant status [<name>]", "One assistant in detail.")
    def _status(self, name: str) -> None:
        if not self.may("status"):
            return
        script = self.pick(name)
        if script is not None:
            self.show_long("\n".join(status_lines(operations.status(script).data)))
