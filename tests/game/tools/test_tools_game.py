"""`execute_command`: nothing by default, and never more than what is on the list."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.test.utils import override_settings
from evennia.commands import cmdhandler
from evennia.commands.cmdparser import cmdparser
from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.utils.ansi import strip_ansi
from evennia.utils.eveditor import EvEditor
from evennia.utils.evmenu import EvMenu, ask_yes_no, get_input
from evennia.utils.evmore import EvMore
from evennia.utils.evtable import EvTable
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import formatEvent, globalLogPublisher

from evennia_ai.runtime import state
from evennia_ai.tools.commanding import tells_of_a_crash
from tests.game.tools.tool_case import ToolTest

RAN: list[tuple[str, str]] = []
SECRET = "password of the vault"


class CmdPolish(Command):
    """A harmless command."""

    key = "polish"
    aliases = ["+shine", "buff"]
    locks = "cmd:all()"

    def func(self) -> None:
        RAN.append((self.key, self.args.strip()))
        self.caller.msg(f"You polish |y{self.args.strip() or 'nothing'}|n.\nIt shines.")


class CmdPolishAll(CmdPolish):
    """A command whose name begins like the harmless one."""

    key = "polishall"
    aliases = ["polish all"]


class CmdBurn(CmdPolish):
    """A harmful command."""

    key = "burn"
    aliases = ["@burn down", "b"]


class CmdStaff(CmdPolish):
    """A command that the game keeps for its staff."""

    key = "staffonly"
    aliases = []
    locks = "cmd:perm(Admin)"


class CmdSlow(CmdPolish):
    """A command that ends when a test says so."""

    key = "slow"
    aliases = []
    waiting: list[Deferred[None]] = []

    def at_post_cmd(self) -> Deferred[None]:
        self.waiting.append(Deferred())
        return self.waiting[-1]


class CmdMute(CmdPolish):
    """A command that prints nothing."""

    key = "mutter"
    aliases = []

    def func(self) -> None:
        pass


class CmdNames(CmdPolish):
    """A command that lists the others."""

    key = "names"
    aliases = []

    def func(self) -> None:
        self.caller.msg(", ".join(sorted(command.key for command in self.cmdset)))


class CmdTable(CmdPolish):
    """A command that prints a table, as an object or with options."""

    key = "ledger"
    aliases = []

    def func(self) -> None:
        table = EvTable("Thing", "Price", table=[["wool"], ["3 coins"]])
        self.caller.msg((table, {"type": "shop"}) if self.args else table)


class CmdAlmanac(CmdPolish):
    """A command that prints more than a screen, through the pager."""

    key = "almanac"
    aliases = []

    def func(self) -> None:
        days = [f"day {number}" for number in range(100)]
        EvMore(self.caller, EvTable("Day", table=[days]) if self.args else "\n".join(days))


class CmdAsking(CmdPolish):
    """A command that waits for the typist: with a question, a menu or an editor."""

    key = "haggle"
    aliases = []

    def func(self) -> Any:
        if "menu" in self.args:
            EvMenu(self.caller, {"start": lambda caller: ("Buy?", [{"desc": "Yes"}])})
        elif "editor" in self.args:
            EvEditor(self.caller, key="offer")
        elif "yes" in self.args:
            ask_yes_no(self.caller, "Buy it?", yes_action="Yours.", no_action="A pity.")
        else:
            return self._ask()
        return None

    def _ask(self) -> Iterator[str]:
        answer = yield "Buy it for 3 coins?"
        RAN.append((self.key, answer))


class CmdNovel(CmdPolish):
    """A command that prints much."""

    key = "novel"
    aliases = []

    def func(self) -> None:
        for _ in range(500):
            self.caller.msg("It was a dark and stormy night.")


class CmdBroken(CmdPolish):
    """A command that fails inside, at the place that its arguments name.

    A failure after a `yield`, or of a Deferred, comes late.
    """

    key = "shatter"
    aliases = []

    def _break(self, place: str) -> None:
        if self.args.strip().startswith(place):
            raise KeyError(f"{SECRET} at {place}")

    def at_pre_cmd(self) -> Any:
        if "before" in self.raw_string:
            raise KeyError(SECRET)
        return fail(KeyError(SECRET)) if "deferred" in self.raw_string else None

    def parse(self) -> None:
        self._break("parse")

    def func(self) -> Any:
        self._break("func")
        if "late" in self.args:
            return fail(KeyError(SECRET))
        return self._steps() if "steps" in self.args else None

    def _steps(self) -> Iterator[float]:
        self._break("steps")
        yield 1.0

    def at_post_cmd(self) -> None:
        self._break("after")


class Commands(CmdSet):
    def at_cmdset_creation(self) -> None:
        harmless = (
            CmdPolish,
            CmdSlow,
            CmdMute,
            CmdNames,
            CmdTable,
            CmdAlmanac,
            CmdAsking,
            CmdNovel,
            CmdBroken,
        )
        for command in (*harmless, CmdPolishAll, CmdBurn, CmdStaff):
            self.add(command())


class OtherPolish(CmdSet):
    """A set in which the harmless name is an alias of something else."""

    key, priority, mergetype = "OtherPolish", 10, "Replace"

    def at_cmdset_creation(self) -> None:
        other = CmdBurn()
        other.set_aliases(["polish"])
        self.add(other)


def late_parser(line: str, cmdset: Any, caller: Any, **options: Any) -> Deferred[Any]:
    """The game's parser, returning a Deferred."""
    return succeed(cmdparser(line, cmdset, caller, **options))


class TestExecuteCommand(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        RAN.clear()
        self.ada.cmdset.add(Commands)
        self.allow("Polish", "look", "staffonly", "slow", "mutter", "novel", "shatter")

    def allow(self, *keys: str) -> None:
        state.write(self.ada_script, command_allowlist=keys)

    def test_by_default_nothing_is_allowed(self) -> None:
        expected = "you are allowed none: your owner put nothing on command_allowlist"
        for empty in ((), [""], ""):
            with self.subTest(empty):
                state.write(self.ada_script, command_allowlist=empty)
                assert expected == self.refusal("execute_command", command="look")

    def test_an_allowed_command_runs_and_is_heard(self) -> None:
        for line in ("polish lamp", "POLISH lamp", "@polish lamp", "buff lamp", "+shine lamp"):
            with self.subTest(line):
                RAN.clear()
                text = self.told("execute_command", command=f" {line} ")
                assert 'the game answers "You polish lamp.\\nIt shines."' == text
                assert [("polish", "lamp")] == RAN
        assert self.ada_script.work.capture is None

    def test_a_single_name_is_a_list(self) -> None:
        """An owner who forgot the brackets meant that one command."""
        state.write(self.ada_script, command_allowlist="polish")
        assert self.told("execute_command", command="polish")
        assert "you may use polish" in self.refusal("execute_command", command="burn")

    def test_stock_commands(self) -> None:
        assert "Room" in self.told("execute_command", command="look")
        self.allow("names")
        assert "burn" in self.told("execute_command", command="names")

    def test_an_alias_on_the_list_is_explained(self) -> None:
        self.allow("l")
        expected = (
            "l is the command look here, and your owner did not put look on command_allowlist"
        )
        assert expected == self.refusal("execute_command", command="l")

    def test_an_exit_with_the_name_of_an_allowed_command_leads_nowhere(self) -> None:
        """An exit's command comes before the game's own, and goes past the lock `tool_move`."""
        self.exit.key = "look"
        expected = "look is an exit here, and you are not allowed to move"
        assert expected == self.refusal("execute_command", command="look")
        assert self.room1 == self.ada.location
        self.ada.locks.add("tool_move:true()")
        assert self.do("execute_command", command="look")[0]
        assert self.room2 == self.ada.location

    def test_a_table_is_read_as_it_is_shown(self) -> None:
        """Evennia makes text of it only on its way to a client."""
        self.allow("ledger")
        for line in ("ledger", "ledger all"):
            with self.subTest(line):
                text = self.told("execute_command", command=line)
                assert "wool" in text
                assert "3 coins" in text

    def test_what_a_pager_shows_is_read(self) -> None:
        """Evennia's pager shows nothing to a body without a session."""
        self.allow("help", "almanac", "polish")
        assert "Help for polish" in strip_ansi(self.told("execute_command", command="help polish"))
        for line in ("almanac", "almanac table"):
            with self.subTest(line):
                text = self.told("execute_command", command=line)
                assert "day 0" in text
                assert "day 20" in text
        assert not self.ada.ndb._more
        assert "You polish lamp." in self.told("execute_command", command="polish lamp")

    def test_a_command_that_asks_back_is_left(self) -> None:
        """The question or the menu would take each later command for its answer."""
        self.allow("haggle", "polish")
        asked = {"": "Buy it for 3 coins?", "menu": "Buy?", "yes": "Buy it?", "editor": "offer"}
        for kind, question in asked.items():
            line = f"haggle {kind}".rstrip()
            with self.subTest(line):
                text = self.refusal("execute_command", command=line)
                assert text.startswith("the command haggle asks back, which you cannot answer: ")
                assert question in strip_ansi(text)
                assert "You polish lamp." in self.told("execute_command", command="polish lamp")
        get_input(self.ada, "And now?", lambda *_: None)  # as of a command after a pause
        assert "You polish lamp." in self.told("execute_command", command="polish lamp")
        assert [("polish", "lamp")] * 5 == RAN

    def test_a_pager_of_somebody_else_is_evennias(self) -> None:
        """A player gets pages, and a body that runs no command nothing, as ever."""
        EvMore(self.ada, "tide table")
        assert not self.ada.ndb._more
        EvMore(self.tom, "tide table\n" * 100, session=self.session)
        assert 1 < self.tom.ndb._more._npages

    def test_hole_c18_a_defect_of_a_command_is_for_the_log(self) -> None:
        """The model reads one plain sentence, and staff the cause."""
        expected = (
            "the command shatter failed inside; staff can read why in the log. Do something else"
        )
        logged: list[str] = []
        observer = lambda event: logged.append(formatEvent(event) or "")  # noqa: E731
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        for place in ("before", "deferred", "parse", "func", "late", "steps", "after"):
            with self.subTest(place):
                logged.clear()
                line = f"shatter {place} words-of-the-model"
                assert expected == self.refusal("execute_command", command=line)
                log = "\n".join(logged)
                assert SECRET in log
                assert "the command shatter failed inside" in log
                assert "words-of-the-model" not in log
        assert self.ada_script.work.capture is None
        assert self.told("execute_command", command="shatter nothing")

    @pytest.mark.filterwarnings("ignore:datetime.datetime.utcfromtimestamp:DeprecationWarning")
    def test_hole_c18_what_the_game_shows_of_its_own_crash(self) -> None:
        """Evennia itself prints a traceback here, which the model must not read."""
        told = tells_of_a_crash(["\nTraceback (most recent call last):\n  File x\nKeyError"])
        assert told
        assert not tells_of_a_crash(["A painting: Traceback (most recent call last)."])
        with mock.patch.object(cmdhandler, "_COMMAND_RECURSION_LIMIT", 0):
            text = self.refusal("execute_command", command="polish lamp")
        assert "the command polish failed inside" in text

    def test_what_is_not_on_the_list(self) -> None:
        refused = "you are not allowed the command "
        for line, key in (
            ("burn lamp", "burn"),
            ("BURN lamp", "burn"),
            ("b lamp", "burn"),
            ("@burn lamp", "burn"),
            ("+burn lamp", "burn"),
            ("/burn lamp", "burn"),
            ("&@+burn lamp", "burn"),
            ("burn down lamp", "burn"),
            ("burn-1 lamp", "burn"),
            ("polishall", "polishall"),
            ("polish all", "polishall"),
            ("get Obj", "get"),
            ("grab Obj", "get"),
            ("north polish", ""),
            ("polis lamp", ""),
            ("pol lamp", ""),
            ("bur lamp", ""),
        ):
            with self.subTest(line):
                refusal = self.refusal("execute_command", command=line)
                expected = f"{refused}{key};" if key else "no command is called like"
                assert expected in refusal
                assert [] == RAN

    def test_several_lines_and_several_commands(self) -> None:
        refused = "give one command, on one line, without ;"
        for sign in (*"\n\r\v\f\x1c\x85\u2028\u2029\t\x00\x1b\u200b\u202e", ";", "\r\n", " ; "):
            with self.subTest(sign):
                line = f"polish lamp{sign}burn lamp"
                assert refused == self.refusal("execute_command", command=line)
        assert [] == RAN

    def test_nicks_are_seen_through(self) -> None:
        """The line that a nick makes is judged, and later nicks are not applied to it."""
        self.ada.nicks.add("polish $1", "burn $1", category="inputline")
        refused = "you are not allowed the command burn"
        assert refused in self.refusal("execute_command", command="polish lamp")
        self.ada.nicks.remove("polish $1", category="inputline")
        self.ada.nicks.add("polish $1", "look;burn $1", category="inputline")
        expected = "give one command, on one line, without ;"
        assert expected == self.refusal("execute_command", command="polish lamp")
        self.ada.nicks.remove("polish $1", category="inputline")
        self.ada.nicks.add("rub $1", "polish $1", category="inputline")
        assert "You polish lamp." in self.told("execute_command", command="rub lamp")
        self.ada.nicks.add("lamp", "burn", category="inputline")
        self.told("execute_command", command="polish lamp")
        assert {"polish"} == {key for key, _ in RAN}

    def test_another_command_by_an_allowed_name(self) -> None:
        """A command set may give the allowed name to another command."""
        self.ada.cmdset.add(OtherPolish)
        expected = "polish is the command burn here, and your owner did not put burn on"
        assert expected in self.refusal("execute_command", command="polish x")
        assert [] == RAN

    def test_her_own_locks_count(self) -> None:
        """She cannot run the staff's commands, list or no list."""
        expected = 'no command is called like "staffonly"'
        assert expected == self.refusal("execute_command", command="staffonly")
        self.ada.permissions.add("Admin")
        assert self.told("execute_command", command="staffonly")

    def test_a_parser_of_the_games_own(self) -> None:
        with override_settings(COMMAND_PARSER=f"{__name__}.late_parser"):
            assert self.told("execute_command", command="polish lamp")
            assert "command burn" in self.refusal("execute_command", command="burn lamp")

    def test_lines_that_are_none(self) -> None:
        for line in ("", "   ", "polish " + "x" * 200):
            with self.subTest(line):
                expected = "a command has 1 to 200 characters"
                assert expected == self.refusal("execute_command", command=line)

    def test_not_while_a_player_is_in_her_body(self) -> None:
        """The player's rights would count then."""
        self.account.puppet_object(self.session, self.ada)
        expected = "you do not do that while a player is in your body"
        assert expected == self.refusal("execute_command", command="polish lamp")
        self.account.puppet_object(self.session, self.tom)
        assert [] == RAN

    def test_output_is_bounded(self) -> None:
        assert 1700 > len(self.told("execute_command", command="novel"))
        expected = "done; the game said nothing"
        assert expected == self.told("execute_command", command="mutter")

    def test_a_command_that_waits(self) -> None:
        """It is cut off when it takes too long; then she hears as before."""
        for is_ending in (True, False):
            with self.subTest(is_ending):
                outcomes: list[Any] = []
                started = self.start("execute_command", {"command": "slow lamp"})
                started.addBoth(outcomes.append)
                assert [] == outcomes
                if is_ending:
                    CmdSlow.waiting[-1].callback(None)
                    assert "You polish lamp." in outcomes[0].text
                else:
                    self.clock.advance(30)
                    expected = "execute_command took longer than 30 s"
                    assert expected == outcomes[0].getErrorMessage()
                assert self.ada_script.work.capture is None

    def test_of_two_commands_that_wait_the_first_may_end_first(self) -> None:
        """As a turn's and one typed by staff: after both she hears as before."""
        outcomes: list[Any] = []
        for thing in ("lamp", "bell"):
            started = self.start("execute_command", {"command": f"slow {thing}"})
            started.addBoth(outcomes.append)
        for waiting in CmdSlow.waiting[-2:]:
            waiting.callback(None)
        lines = [outcome.text.splitlines()[0] for outcome in outcomes]
        assert ["lamp" in lines[0], "bell" in lines[1]] == [True, True]
        assert self.ada_script.work.capture is None
