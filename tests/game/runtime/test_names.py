"""Names that could be taken for an assistant's, and an assistant's that could for others'."""

from typing import Any
from unittest import mock

import evennia
import pytest
from django.conf import settings
from django.db import transaction
from django.test.utils import override_settings
from evennia import default_cmds
from evennia.accounts.accounts import DefaultAccount, DefaultGuest
from evennia.commands.default.account import CmdCharCreate
from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger
from evennia.utils.create import create_account, create_object
from evennia.utils.search import search_object
from evennia.utils.utils import class_from_module

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.errors import NameTakenError
from evennia_ai.operations import guarding, naming
from evennia_ai.operations.assistants.looks import update_assistant
from evennia_ai.operations.result import ProblemKind
from tests.game.listening import HearingTest
from tests.game.people import Person
from tests.game.support import pump
from tests.online import lines_shown

GOOD_PASSWORD = "lanterns-are-bright"
PLAYERS = override_settings(BASE_CHARACTER_TYPECLASS="tests.game.people.Person")
# Names that people would take for "Ada" or for its alias, "The Keeper".
DISGUISED = (
    "Ada",
    "aDA",
    "4da",
    "A.d-a",
    "@Ada",
    "A_D_A",
    "The  Keeper",
    "TheKeeper",
    "ThekeEper",
    "A|nda",
    "|[000Ad|ra",
    "Ada (an AI)",
    "[AI] 4da",
    "Ada, Tom",
    "Tom - The Keeper",
)


class CmdOwnWhisper(default_cmds.CmdWhisper):
    """Whisper, as this game has it."""

    aliases = ("wh",)


class GameCmdSet(default_cmds.CharacterCmdSet):
    """The command set that README's install makes: the game's commands, then ours."""

    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        self.add(CmdOwnWhisper())
        self.add(AssistantCmdSet)


@override_settings(CMDSET_CHARACTER="tests.game.runtime.test_names.GameCmdSet")
class NamesTest(HearingTest):
    """Ada is also called the keeper; Tom and Mira have our commands."""

    def setUp(self) -> None:
        super().setUp()
        self.ada.aliases.add("the keeper")
        for person in (self.tom, self.mira):
            person.cmdset.add_default(GameCmdSet)
        evennia.SESSION_HANDLER.data_out.reset_mock()
        self.forget()

    def type_apart(self, person: Any, line: str) -> None:
        """Type a line whose save is refused, within a savepoint of the test's transaction."""
        with transaction.atomic():
            self.type(person, line)

    def old_account(self, name: str) -> Any:
        """An account that had its name before an assistant took it."""
        account = create_account("Somebody", None, GOOD_PASSWORD)
        self.addCleanup(account.delete)
        type(account).objects.filter(pk=account.pk).update(username=name)
        account.__dict__["username"] = name  # Evennia has one instance in memory
        return account

    def old_character(self, name: str, **options: Any) -> Any:
        """A character that had its name before an assistant took it."""
        character = create_object(Person, key="Somebody", location=self.room1, **options)
        type(character).objects.filter(pk=character.pk).update(db_key=name)
        character.__dict__["db_key"] = name
        return character


class TestPlayers(NamesTest):
    def test_hole_a1_create_ada_pw(self) -> None:
        """The command `create` and the website's form both use this method."""
        for name in DISGUISED:
            account, errors = DefaultAccount.create(username=name, password=GOOD_PASSWORD)
            assert account is None, name
            assert "assistant" in " ".join(errors), errors

    def test_hole_a1_accounts_by_code_and_guests(self) -> None:
        count = DefaultAccount.objects.all_family().count()
        with pytest.raises(NameTakenError, match="Ada is an assistant of this game"):
            create_account("Ada", None, GOOD_PASSWORD)
        account, errors = DefaultGuest.create(username="Ada", password=GOOD_PASSWORD, guest=True)
        assert account is None
        assert errors
        assert count == DefaultAccount.objects.all_family().count()

    def test_hole_a1_an_account_is_not_renamed_so(self) -> None:
        """The refused name must not stay in memory either."""
        self.type(self.tom, "@name *TestAccount2 = Ada")
        assert "Ada is an assistant of this game" in self.tom.seen[-1]
        assert "TestAccount2" == self.account2.username
        self.account2.refresh_from_db()
        assert "TestAccount2" == self.account2.username
        self.account2.save()

    def test_hole_a1_charcreate(self) -> None:
        """The command and the website use different methods."""
        players = class_from_module(settings.BASE_CHARACTER_TYPECLASS)
        for name in DISGUISED:
            text = self.call(CmdCharCreate(), name, caller=self.account)
            assert "assistant" in text or "already exists" in text, text
            character, errors = players.create(name, self.account)
            assert character is None, name
            assert errors
        assert 0 == len(self.account.characters)

    @PLAYERS
    def test_hole_a1_a_character_is_not_renamed_so(self) -> None:
        self.mira.locks.add(f"puppet:pid({self.account2.id})")
        for line in ("@name mira = Ada", "@name mira = 4da", "@alias mira = ada,foe"):
            self.type_apart(self.tom, line)
            assert "an assistant of this game" in self.tom.seen[-1], line
        with pytest.raises(NameTakenError):
            self.mira.key = "The Keeper"
        assert ("Mira", []) == (self.mira.key, self.mira.aliases.all())
        self.mira.refresh_from_db()
        assert "Mira" == self.mira.key
        self.mira.aliases.add("foe")
        assert ["foe"] == self.mira.aliases.all()

    @PLAYERS
    def test_hole_a1_a_players_character_of_a_class_that_hears(self) -> None:
        """Where all characters have the mixin, a player's is no body of an assistant."""
        zoe = create_object("tests.game.game_bodies.Anybody", "Zoe", location=self.room1)
        self.addCleanup(zoe.delete)
        zoe.locks.add(f"puppet:pid({self.account2.id})")
        self.ada.aliases.add("astrolabe")
        with pytest.raises(NameTakenError), transaction.atomic():
            zoe.aliases.add("astrolabe")

    @PLAYERS
    def test_other_names_are_free(self) -> None:
        account, errors = DefaultAccount.create(username="Adam", password=GOOD_PASSWORD)
        self.addCleanup(account.delete)
        assert not errors
        self.mira.key = "Adalbert"
        self.mira.aliases.add("keeper of keys")
        assert "Adalbert" == self.mira.key

    def test_what_is_saved_costs_no_look(self) -> None:
        """Only a change of name is compared with the assistants'."""
        with self.statements() as taken:
            self.mira.location = self.room2
        assert not [query for query in taken if "ai_assistant" in query["sql"]]

    def test_a_new_name_is_compared_with_all_at_once(self) -> None:
        """Two queries however many assistants there are, and one more for a match."""
        _, brass = self.make("Brass")
        brass.aliases.add("The Smith")
        self.make("Edda")
        with self.assertNumQueries(2):
            assert naming.owner_of_name("Zoe") is None
        with self.assertNumQueries(3):
            owner = naming.owner_of_name("the-5mith")
        assert owner is not None
        assert ("Brass", "the smith") == (owner[0].key, owner[1])
        assert naming.owner_of_name("the-5mith", brass) is None

    def test_the_validator_is_in_the_list_once(self) -> None:
        """The app may be made ready more than once."""
        named = [each["NAME"] for each in settings.AUTH_USERNAME_VALIDATORS]
        assert 1 == named.count("evennia_ai.operations.guarding.NoNameOfAnAssistant")


class TestStaff(NamesTest):
    @PLAYERS
    def test_an_alias_that_a_new_assistant_shares_alarms_nobody(self) -> None:
        """Its body has no script yet when it gets its aliases."""
        self.ada.aliases.add("keeper")
        made = operations.create_assistant("Edda", location=self.room1, aliases=["keeper"])
        assert made.ok
        assert [] == self.sent_to_staff()

    @PLAYERS
    def test_hole_a1_staff_are_told(self) -> None:
        """A character of a class that is not the players' is made all the same."""
        keeper = create_object(DefaultCharacter, key="4da", location=self.room1)
        assert "4da" == keeper.key
        text = self.sent_to_staff()[-1]
        assert "a DefaultCharacter (a new one) called 4da has a name like the assistant Ada" in text
        assert "Rename one of them" in text
        keeper.aliases.add("the keeper")
        assert f"({keeper.dbref}) called the keeper has a name like" in self.sent_to_staff()[-1]

    def test_hole_a1_a_body_is_not_copied_under_its_name(self) -> None:
        """Evennia's `copy` would make a second body with a second script."""
        before = AssistantScript.objects.count()
        for name in ("Ada", "4da"):
            self.type(self.tom, f"copy ada = {name}")
        assert [self.ada] == list(search_object("Ada"))
        assert (before, 0) == (AssistantScript.objects.count(), len(search_object("4da")))

    def test_hole_a1_clashes_from_before_are_told(self) -> None:
        """Names from before are reported and not changed."""
        impostor, account = self.old_character("Ada"), self.old_account("A.da")
        with override_settings(GUEST_LIST=["Guest1", "The Keeper"]):
            log: list[str] = []
            with mock.patch.object(logger, "log_warn", log.append):
                guarding.report_clashes()
            clashes = guarding.find_clashes()
        assert [
            f"the character Ada ({impostor.dbref}) has a name like the assistant Ada; people may "
            "take one for the other.",
            "the account A.da has a name like the assistant Ada; people may take one for the "
            "other.",
            "the guest The Keeper of GUEST_LIST has a name like the assistant Ada; people may take "
            "one for the other.",
        ] == clashes
        assert all(any(line in shown for shown in log) for line in clashes)
        guarding.greet_staff(self.account)
        assert any(f"character Ada ({impostor.dbref})" in line for line in self.sent_to_staff())
        self.type(self.tom, "assistant check ada")
        assert any(f"character Ada ({impostor.dbref})" in line for line in self.tom.seen)
        assert ("Ada", "A.da") == (impostor.key, account.username)
        account.save()
        impostor.save()

    def test_nobody_is_told_of_nothing(self) -> None:
        """Players never hear of a clash, and staff only where there is one."""
        guarding.report_clashes()
        guarding.greet_staff(self.account)
        self.old_character("Ada")
        guarding.report_clashes()
        guarding.greet_staff(self.account2)
        assert [] == self.sent_to_staff()


class TestAssistants(NamesTest):
    # Evennia's logger calls it, which Python 3.12 advises against.
    @pytest.mark.filterwarnings("ignore:datetime.datetime.utcfromtimestamp:DeprecationWarning")
    def test_a_broken_command_set_keeps_no_name_back(self) -> None:
        """Evennia starts without such a command set, and so do we."""
        with override_settings(CMDSET_ACCOUNT="tests.game.no_such_module.AccountCmdSet"):
            assert operations.create_assistant("Edda").ok
            assert not operations.create_assistant("whisper").ok

    def test_hole_a1_no_assistant_passes_for_somebody(self) -> None:
        for name, why in (
            ("SYSTEM", "would be taken for the game itself or its staff (system)"),
            ("Serv3r", "would be taken for the game itself or its staff (server)"),
            ("\u0410dmin", "would be taken for the game itself or its staff (admin)"),
            ("T0m", "looks like Tom, the name of a character"),
            ("Test Account2", "looks like TestAccount2, the name of an account"),
            ("4da", None),
            ("T|nom", "The name Tom holds a colour code"),
            ("A|rda", "The name Ada holds a colour code"),
            ("A4ada", ""),
        ):
            result = operations.create_assistant(name)
            if why == "":
                assert result.ok, result.message
            else:
                assert not result.ok, name
                assert (why or "does not begin") in result.message
        with override_settings(GUEST_LIST=["Guest1"]):
            assert "a guest named Guest1" in operations.create_assistant("Guest1").message

    def test_hole_a1_nor_by_an_alias(self) -> None:
        """An alias that it has already may stay."""
        result = operations.create_assistant("Edda", aliases=["M1ra"])
        assert (ProblemKind.CONFLICT, True) == (result.problem, "looks like Mira" in result.message)
        later = update_assistant(self.ada_script, aliases=["the keeper", "TOM"])
        assert "There is a character named TOM already" in later.message
        assert update_assistant(self.ada_script, aliases=["the keeper", "adda"]).ok

    def test_hole_a1_nor_by_another_name_for_its_body(self) -> None:
        for line, why in (
            ("@name ada = Server", "would be taken for the game itself"),
            ("@name ada = Mira", "There is a character named Mira already"),
            ("@alias ada = m1ra", "looks like Mira"),
        ):
            self.type_apart(self.tom, line)
            assert why in self.tom.seen[-1], line
        assert "Ada" == self.ada.key
        self.type(self.tom, "@name ada = Adela;addie")
        assert ("Adela", True) == (self.ada.key, "addie" in self.ada.aliases.all())


class TestWhispers(NamesTest):
    """Whispers where a character of an older game has the assistant's name."""

    def test_hole_a1_whisper_ada_hello(self) -> None:
        """The line of README reaches the assistant, and the answer says how to reach the other."""
        impostor = self.old_character("Ada")
        self.type(self.mira, "whisper ada = hello")
        assert ["hello"] == self.bodies()
        assert [] == [line for line in impostor.seen if "hello" in line]
        text = self.mira.seen[-1]
        assert "That went to Ada, the assistant." in text
        assert "whisper ada-2 = <message>" in text
        self.type(self.mira, "whisper ada-2 = are you she?")
        assert any("are you she?" in line for line in impostor.seen)
        assert ["hello"] == self.bodies()

    def test_hole_a1_an_alias_and_several_at_once(self) -> None:
        self.old_character("nobody else").aliases.add("the keeper")
        self.type(self.tom, "whisper The Keeper, mira = hello")
        assert ["hello"] == self.bodies()
        assert any('Tom whispers: "hello"' in line for line in self.mira.seen)

    def test_the_games_own_command_does_the_rest(self) -> None:
        """The help and aliases of the game's command stay, too."""
        own = self.tom.cmdset.current.get("whisper")
        assert isinstance(own, CmdOwnWhisper)
        assert CmdOwnWhisper.__doc__ == own.__doc__
        self.type(self.tom, "whisper ada = hello")
        self.type(self.tom, "wh mira = you too")
        assert ["hello"] == self.bodies()
        assert any("you too" in line for line in self.mira.seen)
        self.forget()
        self.type(self.tom, "whisper ada")
        assert ["Usage: whisper <character> = <message>"] == self.tom.seen


class TestPages(NamesTest):
    """Pages, whose names are those of accounts."""

    def setUp(self) -> None:
        super().setUp()
        self.account.puppet_object(self.session, self.tom)
        self.forget()

    def page(self, line: str) -> str:
        """The text that Tom's client shows after this line."""
        evennia.SESSION_HANDLER.data_out.reset_mock()
        self.tom.execute_cmd(line, session=self.session)
        pump()
        return "\n".join(lines_shown())

    def test_hole_a1_page_ada_my_secret(self) -> None:
        """A page for the player is typed with a star."""
        namesake = self.old_account("Ada")
        text = self.page("page ada = my secret")
        self.page("page ada another one")
        assert ["my secret", "another one"] == self.bodies()
        assert not namesake.receiver_account_set.exists()
        assert "page *Ada = <message>" in text
        for line in ("page *ada = for the player", "page *ada this too"):
            self.page(line)
        texts = [message.message for message in namesake.receiver_account_set.all()]
        assert ["for the player", "this too"] == sorted(texts)
        assert 2 == len(self.bodies())

    def test_by_an_alias(self) -> None:
        self.page("page the keeper = hello")
        assert ["hello"] == self.bodies()
