"""Typing errors, which are answered with the right way to type a command."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test.utils import override_settings

from evennia_ai import audit
from evennia_ai.commands import CmdAssistant
from evennia_ai.commands.words import Subcommand
from evennia_ai.operations.naming import words_of_the_game
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump
from tests.recorded import record_of

TOLD = [name for name, word in CmdAssistant.words.items() if name and word.is_told]


class OwnersCommand(CmdAssistant):
    """A game's own command, for admins only."""

    key = "keeper"
    locks = "cmd:all();staff:perm(Admin)"


class TestWrongly(GameTest):
    def test_each_says_how_it_is_typed(self) -> None:
        for line in (
            *(
                "list all",
                "status edda",
                "status ada now",
                "questions ada",
                "mute edda",
                "why edda",
            ),
            *("clone", "clone ada", "clone ada =", "clone edda = brass", "delete", "delete edda"),
            *("create =", "start edda", "stop ada brass", "emergency", "emergency pause ada"),
            *("config ada dance", "config ada set", "config ada set tick_rate", "config ada unset"),
            *("config ada set tick_rat 5", "config ada set tick_rate soon", "config edda show"),
            *("config ada show tick_rat", "config ada unset tick_rat"),
            *("messaging ada dance", "messaging ada room", "messaging ada room loudly"),
            *("messaging ada channel public", "messaging edda", "channel ada", "account edda"),
            *("tell", "tell ada", "tell edda dance", "answer", "answer 1", "answer one yes"),
            *("breakers ada reset", "breakers ada reset none", "breakers ada mend", "tools edda"),
            *("usage edda", "check edda", "budget ada raise", "budget edda", "goal ada dance"),
            *("prompt ada dance", "component ada set", "template ada set", "context ada dance"),
            *("component ada edit", "template ada edit", "context ada edit", "forget me edda"),
        ):
            word = line.partition(" ")[0]
            with self.subTest(line):
                assert f"Usage: {CmdAssistant.words[word].how}" in self.assistant(line)

    def test_what_was_meant_is_guessed(self) -> None:
        self.make("Old Tom")
        for line, expected in (
            (
                "statsu ada",
                "There is no 'assistant statsu'. Did you mean status or start? Type: help",
            ),
            (
                "/conifg ada",
                "There is no 'assistant conifg'. Did you mean config? Type: help assistant",
            ),
            (
                "status adda",
                "There is no assistant named adda. Did you mean Ada? There are: Ada, O",
            ),
            ("status old tim", "There is no assistant named old tim. Did you mean Old Tom?"),
            ("pause ada", "There is no 'assistant pause'. Did you mean stop? Type: help"),
            ("move ada", "There is no 'assistant move'. Did you mean tel <name> = <place>?"),
            ("config ada persona Old.", "Type show or set before persona.\nUsage: assistant con"),
        ):
            with self.subTest(line):
                assert self.assistant(line).startswith(expected)

    def test_the_beginning_of_a_name_is_enough(self) -> None:
        """What follows the beginning of a name counts too; if it fits two, nothing is guessed."""
        self.make("Otto Gray")
        whole = self.assistant("config Otto Gray tick_rate")
        assert "tick_rate" in whole
        assert whole == self.assistant("config otto tick_rate")
        for line, expected in (
            ("memory off otto", "Otto Gray will remember nothing new about you."),
            ("forget 3 otto", "Otto Gray has no memory 3 about you."),
            ("forget everything otto", "Otto Gray forgets nothing."),
        ):
            assert expected in self.assistant(line, self.mira)
        self.make("Otto Black")
        for line in ("status otto", "forget everything otto"):
            assert self.assistant(line).startswith("There is no assistant named otto.")

    def test_every_word_that_is_meant_exists(self) -> None:
        """Some are Evennia's own commands."""
        meant = {line.split()[0] for line in CmdAssistant.meant.values()}
        evennias = {word.removeprefix("@") for word in words_of_the_game()}
        assert meant <= {*CmdAssistant.words, *evennias}
        assert not {*CmdAssistant.meant} & {*CmdAssistant.words}

    def test_players_are_not_offered_words_of_staff(self) -> None:
        assert "There is no 'assistant clne'. Type: help assistant" == self.assistant(
            "clne", self.mira
        )
        assert "There is no 'assistant rename'. Type: help assistant" == self.assistant(
            "rename", self.mira
        )
        assert "'assistant clone' is for staff. Type: help assistant" == self.assistant(
            "clone ada = brass", self.mira
        )
        assert "status" not in self.assistant("help", self.mira)
        assert "There is no 'assistant status'" in self.assistant("help status", self.mira)

    def test_a_switch_that_there_is_not_is_said(self) -> None:
        """Evennia's MuxCommand would ignore it."""
        assert "There is no 'assistant dance'" in self.assistant("/dance ada")
        assert "There is no assistant named dance ada." in self.assistant("/start/dance ada")
        assert state.read(self.ada_script, "enabled")

    def test_many_names_are_cut(self) -> None:
        for number in range(21):
            self.make(f"Maid {number:02}")
        shown = self.assistant("status nobody")
        assert "Maid 18 and 2 more." in shown
        assert "Maid 19" not in shown

    def test_a_word_of_other_packages_leads_to_ours(self) -> None:
        """The word is not in the help."""
        assert "More: help aimemory." in self.assistant("/rag ada")
        for shown in (self.assistant("help"), CmdAssistant().get_help(self.tom, None)):
            assert " rag" not in shown


class TestHelp(GameTest):
    def test_each_word_is_in_the_help(self) -> None:
        """Each command in the help exists, too."""
        text = CmdAssistant.__doc__ or ""
        lines = [line.strip() for line in text.splitlines()]
        typed = [line.removeprefix("assistant ") for line in lines if line.startswith("assistant ")]
        named = {word for line in typed for word in line.split() if word in CmdAssistant.words}
        assert set(TOLD) - {"init", "list"} <= named
        assert "[list]" in text
        assert not [
            line for line in typed if line.split()[0].isalpha() and line.split()[0] not in TOLD
        ]

    def test_each_word_is_explained(self) -> None:
        for name in TOLD:
            with self.subTest(name):
                shown = self.assistant(f"help {name.upper()}")
                assert f"Usage: {CmdAssistant.words[name].how}" in shown
                assert CmdAssistant.words[name].text[:20] in shown

    def test_who_controls_one_reads_the_part_for_staff(self) -> None:
        """A player whom a lock names may use commands of staff."""
        assert "For staff" not in CmdAssistant().get_help(self.mira, None)
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        assert "For staff" in CmdAssistant().get_help(self.mira, None)
        assert "Ada is silent. To let it answer: assistant start Ada" == self.assistant(
            "stop ada", self.mira
        )
        assert "You may not do that: status needs perm(Builder)." == self.assistant(
            "status ada", self.mira
        )


class TestInWhoseName(GameTest):
    def test_what_is_done_is_recorded_as_done_in_the_game(self) -> None:
        events = record_of(self)
        self.assistant("emergency stop ada", self.mira)
        facts = {"act": "emergency stop", "by": "Mira", "via": "game"}
        assert [("control_refused", "Ada", facts)] == events
        assert "" == audit.actor().by

    def test_a_command_that_asks_acts_in_its_callers_name_before_and_after(self) -> None:
        """While it waits for the answer, others act."""
        names: list[str] = []

        def ask(command: Any, _rest: str) -> Iterator[str]:
            names.append(audit.actor().by)
            answer = yield from command.confirm("Really?")
            names.append(f"{audit.actor().by} {answer}")

        words = {"ask": Subcommand(ask, "asking ask", is_for_all=True)}
        command = type("Asking", (CmdAssistant,), {"key": "asking", "words": words})
        for answer, is_yes in (("Yes", True), ("y", True), ("no", False), ("", False)):
            names.clear()
            self.call(command(), "ask", inputs=[answer])
            assert ["Tom", f"Tom {is_yes}"] == names
        assert "" == audit.actor().by

    def test_a_setting_says_who_is_staff(self) -> None:
        with override_settings(EVENNIA_AI_STAFF_LOCK="all()"):
            assert "Ada: awake" in self.assistant("status ada", self.mira)
        with override_settings(EVENNIA_AI_STAFF_LOCK="false()"):
            self.account.is_superuser = False
            self.account.locks.cache_lock_bypass(self.account)
            self.tom.locks.cache_lock_bypass(self.tom)
            assert "You may not do that: status needs false()." == self.assistant("status ada")

    def test_a_games_own_lock_goes_before_the_setting(self) -> None:
        """A subclass with a lock `staff` keeps it, also for its help."""
        self.ada.locks.add("ai_control:false()")
        self.account2.permissions.add("Builder")
        shown = self.call(OwnersCommand(), "status ada", caller=self.mira)
        assert "'keeper status' is for staff. Type: help keeper" == shown
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        shown = self.call(OwnersCommand(), "status ada", caller=self.mira)
        assert "You may not do that: status needs the lock staff:perm(Admin)." == shown
        self.account2.permissions.add("Admin")
        assert "Ada: awake" in self.call(OwnersCommand(), "status ada", caller=self.mira)

    def test_what_breaks_is_said(self) -> None:
        """Evennia shows and logs what is raised; afterwards nobody acts in the caller's name."""
        broken = Subcommand(lambda command, rest: 1 / 0, "broken")  # type: ignore[arg-type,return-value]
        command = type("Broken", (CmdAssistant,), {"words": {"break": broken}, "key": "broken"})()
        with pytest.raises(ZeroDivisionError):
            self.call(command, "break")
        pump()
        assert "" == audit.actor().by
