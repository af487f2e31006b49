"""Games whose own commands have the names of ours."""

from inspect import cleandoc
from typing import Any, ClassVar
from unittest import mock

import pytest
from django.test import override_settings
from evennia import Command, default_cmds
from evennia.commands.cmdhandler import CMD_NOMATCH
from evennia.utils import logger

from evennia_ai.apps import check_settings
from evennia_ai.commands import AssistantCmdSet, CmdAddress, name_clashes
from evennia_ai.commands.cmdset import COMMANDS
from evennia_ai.commands.words import WIDTH
from evennia_ai.core.hearing.perception import Source
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.naming import WORDS, command_names
from tests.game.listening import HearingTest
from tests.game.support import pump, says


class Own(Command):
    """A command of the game that shows its input unchanged."""

    arg_regex = None

    def func(self) -> None:
        self.caller.msg(f"[{self.cmdstring}]{self.args}|")


class CmdTell(Own):
    """Say something to one other person, as in a DIKU game: tell bob hi."""

    key = "tell"
    aliases: ClassVar[list[str]] = ["reply"]


class CmdHistory(Own):
    """Show what was said on channels."""

    key = "@history"


class CmdSay(Own):
    """Speech in a form of the game's own, of which Evennia's marks are kept."""

    key = "say"
    aliases: ClassVar[list[str]] = ['"']

    def func(self) -> None:
        words = self.args.strip()
        for being in self.caller.location.contents:
            line = f"{self.caller.key} mumbles: {words}"
            being.msg((line, {"type": "say", "speech": words}), from_obj=self.caller)


class CmdOwnWhisper(Own):
    """Whisper in one's own way."""

    key = "whisper"


class CmdHush(Own):
    """Be quiet."""

    key = "hush"


class OwnCmdSet(default_cmds.CharacterCmdSet):
    """A set with commands of the game before and after ours."""

    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        for command in (CmdTell, CmdHistory, CmdSay):
            self.add(command())
        self.add(AssistantCmdSet)
        for command in (CmdOwnWhisper, CmdHush):
            self.add(command())


CLASHES = (
    ("history", CmdHistory, "that of assistants is called aihistory"),
    ("hush", CmdHush, "type: assistant hush. Another name for it: EVENNIA_AI_COMMAND_NAMES"),
    ("tell", CmdTell, "that of assistants is called page only"),
    ("whisper", CmdOwnWhisper, "it finds whom it finds"),
)
OWN = ("tell", "@history", "say", "whisper", "hush")


def words_of(cmdset: Any) -> set[str]:
    return set(cmdset.get_all_cmd_keys_and_aliases())


@override_settings(CMDSET_CHARACTER="tests.game.commands.test_own_commands.OwnCmdSet")
class TestOwnCommands(HearingTest):
    def setUp(self) -> None:
        super().setUp()
        self.tom.cmdset.remove_default()
        self.tom.cmdset.add_default(OwnCmdSet)
        self.account.puppet_object(self.session, self.tom)
        self.forget()

    def typed(self, line: str) -> list[str]:
        self.forget()
        self.tom.execute_cmd(line, session=self.session)
        pump()
        return list(self.tom.seen)

    def test_each_of_them_is_there_as_it_was(self) -> None:
        for word, kind in zip(
            OWN, (CmdTell, CmdHistory, CmdSay, CmdOwnWhisper, CmdHush), strict=True
        ):
            assert kind is type(self.tom.cmdset.current.get(word)), word

    def test_they_get_what_is_typed_to_the_letter(self) -> None:
        for line, shown in (
            ("tell bob hi", "[tell] bob hi|"),
            ("reply  no, = you", "[reply]  no, = you|"),
            ("history", "[history]|"),
            ("history ada", "[history] ada|"),
            ("whisper ada = hm", "[whisper] ada = hm|"),
            ("hush ada", "[hush] ada|"),
        ):
            assert [shown] == self.typed(line), line
        assert [] == self.bodies()

    def test_speech_in_the_games_own_way_reaches_her(self) -> None:
        """A line that begins with @name uses the game's `say`."""
        assert ["Tom mumbles: what a day"] == self.typed("say what a day")
        self.model.answers.append(says("Hello."))
        assert "Tom mumbles: @ada hello" in self.typed("@ada hello")
        assert (Source.SAY, "@ada hello") == (self.heard().source, self.heard().body)

    def test_ours_are_still_there_after_assistant(self) -> None:
        """`history` has a name of its own, too."""
        self.typed("assistant page ada = hello")
        assert (Source.PAGE, "hello") == (self.heard().source, self.heard().body)
        self.typed("assistant hush ada 5")
        assert [self.room1.dbref] == list(self.stored("hushed"))
        self.typed("assistant unhush ada")
        assert [] == list(self.stored("hushed"))
        for line in ("assistant history ada", "aihistory ada"):
            assert any("conversation" in shown for shown in self.typed(line)), line

    def test_those_after_assistant_keep_their_rights(self) -> None:
        self.mira.cmdset.add_default(OwnCmdSet)
        for word in ("history", "aiexec", "aimemory"):
            self.forget()
            self.type(self.mira, f"assistant {word} ada")
            assert [f"'assistant {word}' is for staff. Type: help assistant"] == self.mira.seen

    def test_clashes_are_told(self) -> None:
        """They are logged once, and shown by `assistant check`."""
        name_clashes._LastFit.asked = ()
        with mock.patch.object(logger, "log_warn") as log:
            OwnCmdSet()
            OwnCmdSet()
        lines = [call.args[0].removeprefix("[assistant] ") for call in log.call_args_list]
        assert 4 == len(lines)
        for line, (word, kind, instead) in zip(lines, CLASHES, strict=True):
            own = f"{kind.__module__}.{kind.__name__}"
            assert line.startswith(f"The game has a command {word} of its own ({own}), which stays")
            assert instead in line
        shown = self.typed("assistant check")
        assert lines == shown[: len(lines)]

    def test_a_word_may_be_called_otherwise(self) -> None:
        """An empty name leaves the command out."""
        names = {"history": "talks", "hush": "shush", "page": "", "aiexec": "handle"}
        with override_settings(EVENNIA_AI_COMMAND_NAMES=names):
            words = words_of(OwnCmdSet())
            assert {"talks", "aihistory", "shush", "unhush", "handle"} <= words
            assert not {"page", "aiexec"} & words
            assert CmdHush is type(OwnCmdSet().get("hush"))
            assert ("The game has a command hush",) not in name_clashes.clashes()

    def test_help_has_the_words_of_the_game(self) -> None:
        with override_settings(EVENNIA_AI_COMMAND_NAMES={"hush": "shush", "aimemory": "mind"}):
            commands = {command.key: command for command in OwnCmdSet()}
        for word, text, untold in (
            ("shush", "shush [<name>] [<minutes>]", " hush"),
            ("aihistory", "aihistory reset [<name>]", " history"),
            ("mind", "recorded: mind ada show 12 reveal", "aimemory"),
            ("assistant", "help aihistory, help mind", "help history"),
        ):
            shown, entry = str(commands[word].__doc__), commands[word].search_index_entry
            assert text in " ".join(shown.split())
            assert untold not in shown
            assert (word, shown) == (entry["key"], entry["text"])
        assert commands["aihistory"].how.startswith("aihistory [<name>]")

    def test_a_wrong_line_is_explained_by_words_that_are_ours(self) -> None:
        shown = self.typed("assistant history Ada nonsense")
        assert "Usage: assistant history [<name>]" in str(shown)
        assert ", history" not in str(shown)


class CmdUnknown(Own):
    """The game's answer to unknown commands."""

    key = CMD_NOMATCH


class CmdSetForUnknown(default_cmds.CharacterCmdSet):
    """A set in which the game has a command for unknown lines."""

    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        self.add(CmdUnknown())
        self.add(AssistantCmdSet)


class TestStock(HearingTest):
    """A game with Evennia's commands alone."""

    def test_all_words_are_ours(self) -> None:
        """`tell` is the alias of Evennia's own `page`."""
        assert {*WORDS, "aisetup", "aihistory", "unhush", "tell"} <= words_of(AssistantCmdSet())
        assert () == name_clashes.clashes()

    def test_unknown_lines_stay_the_games(self) -> None:
        """The clash report says how to answer `@ada hello` from the game's command."""
        path = f"{CmdSetForUnknown.__module__}.{CmdSetForUnknown.__name__}"
        with override_settings(CMDSET_CHARACTER=path):
            kinds = [type(each) for each in CmdSetForUnknown().get_system_cmds()]
            assert CmdUnknown in kinds
            assert CmdAddress not in kinds
            assert any(
                "evennia_ai.commands.say_to_assistant" in line for line in name_clashes.clashes()
            )
        AssistantCmdSet()

    def test_page_has_no_alias_that_the_games_page_has_not(self) -> None:
        """Without Evennia's page, nobody answers to `tell`."""
        with override_settings(
            CMDSET_ACCOUNT="evennia.commands.default.cmdset_session.SessionCmdSet"
        ):
            words = words_of(AssistantCmdSet())
        assert "page" in words
        assert "tell" not in words


@pytest.mark.parametrize(
    "kind", [each for each in COMMANDS if each.auto_help], ids=lambda kind: kind.key
)
def test_no_line_of_help_is_longer_than_a_telnet_window(kind: Any) -> None:
    """The window has 78 columns, and Evennia does not wrap help."""
    assert [] == [line for line in cleandoc(kind.__doc__).splitlines() if len(line) > WIDTH]


def test_every_command_can_be_called_otherwise() -> None:
    assert set(WORDS) == {kind.key for kind in COMMANDS} - {"__nomatch_command"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["history"], "EVENNIA_AI_COMMAND_NAMES is ['history']; it must be a mapping such as"),
        ({"histroy": "x"}, "has 'histroy', which is not a command; there are assistant, history,"),
        ({"history": 7}, "EVENNIA_AI_COMMAND_NAMES['history'] is 7; it must be one word, or ''"),
        ({"history": "my talks"}, "['history'] is 'my talks'; it must be one word, or ''"),
        ({"history": "hush"}, "EVENNIA_AI_COMMAND_NAMES gives two commands the name 'hush'"),
    ],
)
def test_a_wrong_setting_is_told(given: Any, told: str) -> None:
    """`evennia check` tells it, and the commands keep their names."""
    with override_settings(EVENNIA_AI_COMMAND_NAMES=given):
        with pytest.raises(ConfigurationError) as raised:
            command_names()
        assert told in str(raised.value)
        assert [str(raised.value)] == [message.msg for message in check_settings(None)]
        with mock.patch.object(logger, "log_err"):
            assert set(WORDS) <= words_of(AssistantCmdSet())
