"""A line that begins with @name, and the help of the commands."""

from inspect import cleandoc

from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.utils.create import create_object

from evennia_ai.commands import AssistantCmdSet, CmdAssistant, say_to_assistant
from tests.game.listening import HearingTest


class CmdAda(Command):
    """A command of the game with an assistant's name."""

    key = "ada"

    def func(self) -> None:
        self.msg(f"ran with {self.args!r}")


# Python 3.13 and later remove the indentation of docstrings.
Unindented = type("Unindented", (CmdAssistant,), {"__doc__": cleandoc(CmdAssistant.__doc__ or "")})


class GameCmdSet(CmdSet):
    key = "GameCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdAda())


class TestAddress(HearingTest):
    def setUp(self) -> None:
        super().setUp()
        self.ada.aliases.add("keeper")
        self.tom.cmdset.add(AssistantCmdSet)
        self.forget()

    def test_it_is_said_aloud(self) -> None:
        """A line that begins with @ and a name or alias is said aloud, so everybody hears it."""
        for line in ("@ada hello", "@ADA, hello", "@keeper: hello", "@ada", "  @ada   hello "):
            with self.subTest(line=line):
                self.forget()
                self.type(self.tom, line)
                assert f'Tom says, "{line.strip()}"' == self.mira.seen[0]
                assert "2 direct_address trigger" == self.judged()

    def test_anything_else_is_an_unknown_command(self) -> None:
        brass = self.make("Brass", location=self.room2)[1]
        assert brass.location == self.room2
        for line in (
            "@adamant hello",
            "@brass hello",
            "@",
            "ada hello",
            "frobnicate",
            "@ada.example.org",
            "mail@ada",
        ):
            with self.subTest(line=line):
                self.forget()
                self.type(self.tom, line)
                assert [] == self.mira.seen
                (shown,) = self.tom.seen
                assert shown.startswith(f"Command '{line}' is not available.")

    def test_the_first_word_of_a_name_is_enough(self) -> None:
        """As with `say Otto, hello`, unless somebody else there is called so."""
        script, otto = self.make("Otto Gray", location=self.room1)
        self.type(self.tom, "@otto hello")
        assert 'Tom says, "@otto hello"' == self.mira.seen[0]
        assert "direct_address" == script.work.decisions.newest()[0].verdict.name
        for key, class_path in (
            ("Otto Lund", "tests.game.people.Person"),
            ("Otto", "tests.game.people.Person"),
        ):
            with self.subTest(other=key):
                other = create_object(class_path, key=key, location=self.room1)
                self.forget()
                self.type(self.tom, "@otto hello")
                assert [] == self.mira.seen
                other.delete()
        self.make("Otto Black", location=self.room1)
        self.forget()
        self.type(self.tom, "@otto hello")
        which = "@Otto Gray or @Otto Black"
        assert [f"Others here are called so, too. Type the whole name: {which}"] == self.tom.seen
        assert otto.location == self.room1

    def test_a_slip_is_answered_with_what_was_meant(self) -> None:
        """Our handling of unknown commands keeps Evennia's suggestions."""
        self.type(self.tom, "whispr Ada = hello")
        self.type(self.tom, "inventary")
        assert self.tom.seen[-1].endswith('Maybe you meant "inventory" or "aiinteract"?')
        self.type(self.tom, "qqqqqqqq {x} |r")
        assert self.tom.seen[-1].endswith('Type "help" for help.')
        assert "{x}" in self.tom.seen[-1]

    def test_a_command_of_that_name_is_not_hidden(self) -> None:
        self.tom.cmdset.add(GameCmdSet)
        self.type(self.tom, "@ada hello")
        assert ["ran with ' hello'"] == self.tom.seen
        assert [] == self.records()

    def test_without_a_room_nothing_is_said(self) -> None:
        self.tom.location = None
        self.type(self.tom, "@ada hello")
        assert self.tom.seen[-1].startswith("Command '@ada hello' is not available.")
        assert not say_to_assistant(self.account, "@ada hello")

    def test_a_thing_of_her_name_is_none_of_her(self) -> None:
        create_object("evennia.objects.objects.DefaultObject", key="Robot", location=self.room1)
        assert not say_to_assistant(self.tom, "@robot hello")

    def test_a_nick_of_the_players_own_still_works(self) -> None:
        self.tom.nicks.add("@ada", "say Dear @ada,")
        self.type(self.tom, "@ada")
        assert 'Tom says, "Dear @ada,"' == self.mira.seen[0]


class TestHelp(HearingTest):
    def test_players_read_their_part_and_staff_all(self) -> None:
        for command in (CmdAssistant(), Unindented()):
            for person, is_staff in ((self.tom, True), (self.mira, False)):
                shown = command.get_help(person, None)
                for word in ("assistant why", "assistant mute", "assistant forget"):
                    assert word in shown
                for word in ("emergency", "For staff", "assistant create", "assistant account"):
                    with self.subTest(command=command, person=person, word=word):
                        assert is_staff is (word in shown)

    def test_who_is_here_is_said_to_players(self) -> None:
        shown = self.assistant("", caller=self.mira)
        assert "Ada is here, an AI. To talk: whisper Ada = hello, or say @Ada hello" == shown
        self.ada.location = self.room2
        shown = self.assistant("", caller=self.mira)
        assert "No assistant is here. More: help assistant" == shown
        assert "is for staff" in self.assistant("status ada", caller=self.mira)
        assert "There is no 'assistant dance'" in self.call(
            CmdAssistant(), "dance", caller=self.mira
        )
