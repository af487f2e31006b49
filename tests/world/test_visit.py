"""A visit to the demo world: the screen, the first look, the welcome, the help."""

import evennia
from django.conf import settings
from evennia import DefaultAccount
from evennia.help.filehelp import FileHelpStorageHandler
from evennia.utils.ansi import strip_ansi
from evennia.utils.create import create_object

from evennia_ai.assistant_character import AssistantCharacter
from evennia_ai.commands import AssistantCmdSet
from tests.world.support import LibraryTest, find
from world.commands import CharacterCmdSet
from world.connection_screens import CONNECTION_SCREEN
from world.help_entries import HELP_ENTRY_DICTS

HINT = "(You can talk to Ada: whisper ada = hello, or say @ada hello.)"


class TestNewcomer(LibraryTest):
    """The first minute of somebody who has just made an account."""

    def setUp(self) -> None:
        """Create Tom's account."""
        super().setUp()
        self.tom, errors = DefaultAccount.create(username="Tom", password="lanterns-are-bright")
        assert not errors

    def tearDown(self) -> None:
        """Delete Tom's account before Evennia's own go."""
        self.tom.delete()
        super().tearDown()

    def _arrive(self) -> str:
        """The text that Tom's client gets at his login, without colours."""
        sent = evennia.SESSION_HANDLER.data_out
        sent.reset_mock()
        evennia.SESSION_HANDLER.login(self.session, self.tom, force=True, testmode=True)
        texts = [call.kwargs["text"] for call in sent.call_args_list if "text" in call.kwargs]
        return strip_ansi("\n".join(text if isinstance(text, str) else text[0] for text in texts))

    def test_the_first_look_names_ada_and_how_to_talk(self) -> None:
        seen = self._arrive()
        assert "The Reading Room" in seen
        assert "Ada, the keeper (an AI), sorts cards behind the desk." in seen
        assert HINT in seen

    def test_the_welcome_is_said_once(self) -> None:
        assert "Try: whisper ada = what is this place?" in self._arrive()
        self.tom.unpuppet_object(self.session)
        assert "You are new here" not in self._arrive()

    def test_the_welcome_waits_for_somebody_to_talk_to(self) -> None:
        """Nobody is told to talk to an assistant who is not there."""
        find("Ada").location = find("lamp_room")
        assert "You are new here" not in self._arrive()
        find("Ada").location = find("reading_room")
        self.tom.unpuppet_object(self.session)
        assert "You are new here" in self._arrive()


class TestLook(LibraryTest):
    def _look(self, key: str) -> str:
        return strip_ansi(find(key).return_appearance(self.char1))

    def test_the_hint_follows_who_is_present(self) -> None:
        assert HINT in self._look("reading_room")
        assert "whisper brass = hello" in self._look("workshop")
        assert "You can talk" not in self._look("lamp_room")

    def test_two_are_named_together(self) -> None:
        find("Brass").location = find("reading_room")
        assert "(You can talk to Ada or Brass: whisper ada = hello" in self._look("reading_room")

    def test_a_post_is_shown_only_where_it_is_true(self) -> None:
        """An assistant who walked off is listed like anybody else."""
        find("Ada").location = find("lamp_room")
        seen = self._look("lamp_room")
        assert "sorts cards" not in seen
        assert "Characters: Ada" in seen

    def test_an_assistant_at_its_post_is_not_listed_twice(self) -> None:
        assert 2 == self._look("reading_room").count("Ada")

    def test_an_assistant_is_not_told_to_talk_to_itself(self) -> None:
        """The model reads neither the advice nor itself in the look of its room."""
        seen = strip_ansi(find("Ada").at_look(find("reading_room")))
        assert "Lamplight pools" in seen
        assert "Ada" not in seen

    def test_an_assistant_from_elsewhere_is_named_too(self) -> None:
        """A name of two words is called by its alias."""
        edda = create_object(
            AssistantCharacter, key="Old Edda", location=find("lamp_room"), aliases=["edda"]
        )
        seen = self._look("lamp_room")
        assert "You can talk to Old Edda: whisper edda = hello, or say @edda hello." in seen
        assert f"Characters: {edda.key}" in seen


def test_the_assistants_commands_are_at_hand() -> None:
    names = {command.key for command in CharacterCmdSet()}
    assert {command.key for command in AssistantCmdSet()} <= names
    assert "whisper" in names


def test_help_entries_load() -> None:
    entries = {entry.key: entry for entry in FileHelpStorageHandler().all()}
    assert {"talking", "library", "worldbuilding"} <= entries.keys()
    assert "whisper ada = " in entries["talking"].entrytext
    assert "perm(Builder)" in entries["worldbuilding"].lock_storage


def test_help_names_are_free() -> None:
    """A command or a category of the same name would hide the entry."""
    commands = list(CharacterCmdSet())
    taken = {name for command in commands for name in (command.key, *command.aliases)}
    taken |= {command.help_category.lower() for command in commands}
    assert not taken & {
        name for entry in HELP_ENTRY_DICTS for name in (entry["key"], *entry["aliases"])
    }


def test_the_screen_fits_and_says_what_to_type() -> None:
    lines = strip_ansi(CONNECTION_SCREEN).splitlines()
    assert 79 >= max(len(line) for line in lines)
    assert any("create <name> <password>" in line for line in lines)
    assert any("connect <name> <password>" in line for line in lines)


def test_the_settings_use_this_world() -> None:
    assert "world.rooms.Room" == settings.BASE_ROOM_TYPECLASS
    assert "world.characters.Character" == settings.BASE_CHARACTER_TYPECLASS
    assert "world.commands.CharacterCmdSet" == settings.CMDSET_CHARACTER
    assert "world.connection_screens" == settings.CONNECTION_SCREEN_MODULE
    assert "world.help_entries" in settings.FILE_HELP_ENTRY_MODULES
