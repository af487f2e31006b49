"""The subcommands of `assistant` for maintenance: check, usage, budget, breakers, tools, peers."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands import game_commands, name_clashes
from evennia_ai.commands.tables import CHECK_FAILED, allowed, cropped_rows, report_lines
from evennia_ai.commands.words import WIDTH, WordCommand, subcommand
from evennia_ai.core.text.words import counted, first_few
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript, Result, control, guarding
from evennia_ai.operations.budget.caps import MOST_PLAYERS, budget_of
from evennia_ai.operations.budget.players import budget_of_player, find_player
from evennia_ai.operations.budget.raising import raise_budget, raise_player_budget
from evennia_ai.operations.budget.usage import cost_text, usage
from evennia_ai.operations.control import BreakerRow
from evennia_ai.operations.conversation.hearing import check_hearing
from evennia_ai.operations.models.choosing import Report, loading_hint
from evennia_ai.operations.monitoring import database_files
from evennia_ai.operations.peers import overview
from evennia_ai.operations.settings.checks import doubts, problems_of_game
from evennia_ai.operations.tools import held_back, running

RESET = "reset"
GAME, PLAYER = "game", "player"
HELD, ALLOW = "held", "allow"
OPEN_FILE = "Other users of this machine can read {0}, which holds passwords. Type: chmod 600 {0}"


def _breaker_row(breaker: BreakerRow) -> tuple[object, ...]:
    wait = breaker.get("retry_after")
    until = f"{wait:.0f} s" if wait else ""
    failed = breaker.get("last_failure_error") or ""
    return breaker["name"], breaker["scope"], breaker["state"], until, failed


def _player_in(name: str) -> str:
    """The player's name in "player tom", else "": a lone "player" is an assistant's."""
    word, _, player = name.strip().partition(" ")
    return player.strip() if word.casefold() == PLAYER else ""


def usage_lines(used: Result) -> list[str]:
    """Usage as lines: by period, by player and by tool."""
    data = used.data
    lines = [used.message]
    for span, total in data.totals.items():
        tokens = f"{counted(total['calls'], 'calls')}, {total['tokens']:,} tokens"
        lines.append(f"  {span:<9} {tokens}, {cost_text(total)}")
    shares = [
        f"{row['name'] or row['person'] or 'nobody'} {row['share']:.0%}" for row in data.by_player
    ]
    lines.append(f"  {'by':<9} {first_few(shares, MOST_PLAYERS) or 'nobody yet'} (this month)")
    called = sorted(data.tools.items(), key=lambda item: -item[1]["calls"])
    rows = [(name, each["calls"], each["errors"], each["ms"]) for name, each in called]
    if rows:
        lines.append(cropped_rows(("Tool", "Calls", "Errors", "ms"), rows, (30, 8, 8, 10), WIDTH))
    return lines


class UpkeepWords(WordCommand):
    """The subcommands about health, usage and budget."""

    @subcommand(
        "assistant check [<name>]",
        "Tests the model of an assistant, or the game's, with real requests: does it answer, call "
        "tools, read long prompts, and how fast. Also says whether it hears what is said here, who "
        "else has a similar name, and which command names the game uses itself.",
    )
    def _check(self, name: str) -> None:
        script = None
        if not self.may("check") or (name and (script := self.pick(name)) is None):
            return
        for line in guarding.find_clashes(script):
            self.msg(literal(f"{line} {guarding.ADVICE}"))
        for line in (*name_clashes.clashes(), *problems_of_game()):
            self.msg(literal(line))
        self._show_hearing(script)
        for line in map(OPEN_FILE.format, database_files.readable_by_others()):
            self.msg(literal(line))
        try:
            loading, checked = loading_hint(script), operations.check_model(script)
        except ConfigurationError as error:
            self.msg(literal(f"The model is not set up: {error}"))
            return
        self.msg(literal(f"Asking the model; this takes a moment. {loading}".rstrip()))
        checked.addCallback(self._show_report).addErrback(self.show_fault, CHECK_FAILED)

    def _show_hearing(self, script: AssistantScript | None) -> None:
        """Show whether an assistant, or each one here, hears people, and doubtful settings."""
        scripts = operations.list_assistants()
        # With the caller's merged set, so that commands of the room and of objects count too.
        usable = self.cmdset.commands if self.cmdset is not None else game_commands.all_commands()
        own = game_commands.own_speech(usable)
        for each in [script] if script is not None else filter(self.is_here, scripts):
            self.show(check_hearing(each, own))
            for line in doubts(each):
                self.msg(literal(line))

    def _show_report(self, report: Report) -> None:
        self.msg(literal("\n".join(report_lines(report, "Fix what says NO first."))))

    @subcommand(
        "assistant peers [<account>]",
        "Outside agents that gave tasks to assistants, with the state and cost of these tasks; and "
        "agents that assistants may give tasks to. The text of a task is private; `assistant why "
        "<name> <number>` has the rest.",
    )
    def _peers(self, rest: str) -> None:
        """Run `peers` or `peers <account>`."""
        if self.may("peers"):
            message = overview.list_peers(rest.strip()).message
            more = "" if rest.strip() else f"\n\n{overview.list_remotes().message}"
            self.show_long(message + more)

    @subcommand(
        "assistant usage [<name>]",
        "Model calls, tokens and tools used, and by whom. Its newest tool calls: aiexec <name> log",
    )
    def _usage(self, name: str) -> None:
        script = self.pick(name) if self.may("usage") else None
        if script is not None:
            self.show_long("\n".join(usage_lines(usage(script))))

    @subcommand(
        "assistant breakers [<name>], assistant breakers <name> reset <breaker>",
        "Services and tools that failed so often that they are not used for a while. Reset tries "
        "one again at once.",
    )
    def _breakers(self, rest: str) -> None:
        script, rest = self.whose(rest, (RESET,))
        if script is None:
            return
        verb, _, name = rest.partition(" ")
        if not verb:
            if self.may("show breakers", script):
                self._show_breakers(script)
        elif verb.casefold() == RESET and name.strip():
            self._reset_breaker(script, name.strip())
        else:
            self.show_usage()

    def _show_breakers(self, script: AssistantScript) -> None:
        rows = control.breakers(script).data.breakers
        head = ("Breaker", "Of", "State", "Asked again", "Failed last with")
        table = cropped_rows(head, list(map(_breaker_row, rows)), (36, 9, 9, 11, 0), self.width)
        self.show_long(table if rows else f"{script.key} has used no service yet.")

    def _reset_breaker(self, script: AssistantScript, name: str) -> None:
        breaker = control.find_breaker(script, name)
        is_of_game = breaker.ok and breaker.data["scope"] == GAME
        act = "reset breaker of the game" if is_of_game else "reset breaker"
        if not self.may(act, script):
            return
        if breaker.ok:
            self.show(control.reset_breaker(script, name, by=self.by))
        else:
            self.show_usage(breaker.message)

    @subcommand(
        "assistant tools [<name>], assistant tools held, assistant tools allow <tool> | <server> = "
        "<mark>",
        "All tools, and which of them it may use. A tool of an MCP server that is new or has "
        "changed is held back: `held` shows what changed, and an owner of the game allows it with "
        "its mark.",
    )
    def _tools(self, rest: str) -> None:
        """Run `tools ada`, `tools held`, `tools allow almanac__tide = <mark>`."""
        word, _, more = rest.partition(" ")
        if word.casefold() == HELD and not more:
            if self.may("show tools"):
                self.show_long(held_back.held_tools().message)
        elif word.casefold() == ALLOW and "=" in more:
            name, _, mark = (part.strip() for part in more.partition("="))
            if self.may("allow remote tools"):
                self.show(held_back.allow_tools(name, mark, by=self.by))
        else:
            self._tools_of(rest)

    def _tools_of(self, name: str) -> None:
        script = self.pick(name) if self.may("show tools") else None
        if script is None:
            return
        rows = [
            (tool["name"], allowed(tool), " ".join(tool["description"].split()))
            for tool in running.list_tools(script).data.tools
        ]
        head = ("Tool", "Allowed", "What it does")
        more = f"More about one: aiexec {script.key} <tool> ?"
        self.show_long(f"{cropped_rows(head, rows, (28, 9, 0), self.width)}\n{more}")

    @subcommand("assistant rag [<name>]", is_told=False)
    def _rag(self, name: str) -> None:
        """Show the memory. People who know other packages look for this word."""
        script = self.pick(name) if self.may("show memories") else None
        if script is not None:
            more = "More: help aimemory. What everybody may be told: aimemory lore"
            self.show_long(f"{operations.memory_status(script).message}\n{more}")

    @subcommand(
        "assistant budget [<name>], assistant budget game, assistant budget player <player>, "
        "assistant budget <name> | game | player <player> raise <cap> <amount>",
        "Tokens and money used, by whom, and the caps. Raise allows more until the day or month of "
        "that cap ends; 0 takes back what was allowed.",
    )
    def _budget(self, rest: str) -> None:
        """Run `budget`, `budget ada`, `budget player tom`, `budget game raise cost_per_day 1`."""
        words = rest.split()
        # Not the first word, which is a name and may be "Raise".
        if "raise" in (word.casefold() for word in words[1:]):
            self._raise_budget(words)
        elif not self.may("usage"):
            return
        elif rest.casefold() == GAME:
            self.show(budget_of(None))
        elif player := _player_in(rest):
            match = find_player(player)
            self.show(budget_of_player(match.data) if match.ok else match)
        elif (script := self.pick(rest)) is not None:
            self.show(budget_of(script))

    def _raise_budget(self, words: list[str]) -> None:
        if len(words) < 4 or words[-3].casefold() != "raise":
            self.show_usage()
            return
        name, cap, amount = " ".join(words[:-3]), words[-2].casefold(), words[-1]
        if player := _player_in(name):
            self._raise_budget_of(player, cap, amount)
            return
        is_of_game = name.casefold() == GAME
        script = None if is_of_game else self.pick_for(name, "raise budget")
        if script is not None or (is_of_game and self.may("raise budget of the game")):
            self.show(raise_budget(script, cap, amount, self.by))

    def _raise_budget_of(self, player: str, cap: str, amount: str) -> None:
        if self.may("raise budget of a player"):
            match = find_player(player)
            self.show(raise_player_budget(match.data, cap, amount, self.by) if match.ok else match)
