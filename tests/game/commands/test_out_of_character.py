"""Commands about assistants, typed by accounts that puppet no character."""

import evennia
from django.test.utils import override_settings
from evennia import default_cmds

from evennia_ai import operations
from evennia_ai.commands import AssistantAccountCmdSet, AssistantCmdSet
from evennia_ai.messages import incoming
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump
from tests.online import lines_shown

NO_SUCH = "is not available"
MULTIPLE = "There were multiple matches"


class CharacterSet(default_cmds.CharacterCmdSet):
    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        self.add(AssistantCmdSet)


class AccountSet(default_cmds.AccountCmdSet):
    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        self.add(AssistantAccountCmdSet)


class OutOfCharacterTest(GameTest):
    """Tom's account, an admin's, whose session puppets nobody."""

    def setUp(self) -> None:
        super().setUp()
        self.account.cmdset.add_default(AccountSet)
        self.tom.cmdset.add_default(CharacterSet)
        self.account.unpuppet_object(self.session)
        assert self.session.puppet is None

    def typed(self, line: str) -> str:
        evennia.SESSION_HANDLER.data_out.reset_mock()
        self.session.execute_cmd(line)
        pump()
        return "\n".join(lines_shown()).strip()


class TestOutOfCharacter(OutOfCharacterTest):
    def test_an_emergency_stop_is_cleared(self) -> None:
        """The record names the account."""
        assert "Ada is stopped." in self.typed("assistant emergency stop ada")
        assert state.read(self.ada_script, "emergency_stop")
        self.typed("assistant emergency clear ada")
        assert not state.read(self.ada_script, "emergency_stop")
        self.typed("assistant emergency stop all")
        assert state.read(self.ada_script, "emergency_stop")
        self.typed("history reset ada")
        assert not state.read(self.ada_script, "emergency_stop")
        self.typed("assistant emergency stop")
        self.typed("history ada reset")
        assert not state.read(self.ada_script, "emergency_stop")
        assert self.account.key in self.typed("aiaudit ada")

    def test_all_that_needs_no_body_is_there(self) -> None:
        """Where no assistant is named, the only one is meant."""
        rows = {
            "assistant": "Ada",
            "assistant status": "Ada",
            "assistant why": "Ada",
            "assistant budget": "Ada",
            "assistant questions": "There are no questions for you.",
            "assistant usage": "Ada",
            "assistant tools": "say",
            "assistant config ada": "Ada",
            "assistant prompt ada": "Ada",
            "assistant memory": "Ada",
            "assistant help emergency": "assistant emergency stop",
            "assistant hush": "No assistant is here.",
            "assistant check ada": "Ada hears",
            "history ada": "Ada",
            "aihistory": "Ada",
            "aiexec ada": "Ada has",
            "aigoal ada": "Ada",
            "aimemory ada": "Ada",
            "aiinteract ada": "Ada",
            "aisetup/status ada": "Ada",
            "help assistant": "Help for assistant",
        }
        for line, answer in rows.items():
            with self.subTest(line=line):
                shown = self.typed(line)
                assert answer in shown
                assert NO_SUCH not in shown
                assert "Traceback" not in shown

    def test_one_is_made_and_deleted(self) -> None:
        """It is in no room, since there is no caller's room."""
        assert "in no room" in self.typed("assistant create Edda = Edda is brief.")
        edda = operations.find_assistant("Edda")
        assert edda is not None
        assert "Delete Edda?" in self.typed("assistant delete edda")
        self.typed("yes")
        assert operations.find_assistant("Edda") is None

    def test_a_mute_holds_for_all_characters(self) -> None:
        self.typed("assistant mute ada")
        self.account.puppet_object(self.session, self.tom)
        assert {incoming.person_of(self.tom)} == self.ada_script.work.muted

    def test_what_needs_a_body_is_not_there(self) -> None:
        """Commands of the character's set are not available."""
        for line in ("hush ada", "whisper ada = hello", "@ada hello"):
            assert NO_SUCH in self.typed(line)

    def test_others_may_no_more_than_in_character(self) -> None:
        self.typed("assistant emergency stop ada")
        self.account.permissions.clear()
        self.account.is_superuser = False
        assert "You may not" in self.typed("assistant emergency clear ada")
        assert state.read(self.ada_script, "emergency_stop")
        assert NO_SUCH in self.typed("history reset ada")


class TestBoth(OutOfCharacterTest):
    """In character, both command sets are merged."""

    def test_in_character_the_character_acts(self) -> None:
        """Each name is one command, with the character as its caller."""
        self.account.puppet_object(self.session, self.tom)
        for line in ("assistant", "history ada", "aiaudit ada", "hush ada", "aisetup"):
            shown = self.typed(line)
            assert MULTIPLE not in shown
            assert NO_SUCH not in shown
        assert "stopped by Tom" in self.typed("assistant emergency stop ada")
        self.typed("assistant create Edda")
        edda = operations.find_assistant("Edda")
        assert self.tom.location == edda.obj.location

    @override_settings(MULTISESSION_MODE=2)
    def test_two_sessions_of_one_account(self) -> None:
        """Mode 2 lets each session be in or out of character."""
        assert NO_SUCH in self.typed("hush ada")
        self.account.puppet_object(self.session, self.tom)
        assert "Ada" in self.typed("hush ada")
        self.account.unpuppet_object(self.session)
        assert "Ada" in self.typed("assistant status ada")
