"""`assistant remove all`: nothing in the database names a class of ours, and the game goes on."""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from django.db import connection
from django.test.utils import override_settings
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils.create import create_object, create_script

from evennia_ai import operations
from evennia_ai.assistant_account import AssistantAccount
from evennia_ai.assistant_character import AssistantCharacter
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.commands.editing import open_editor
from evennia_ai.core.safety.budget import DAY
from evennia_ai.core.safety.questions import Choice
from evennia_ai.llm.scripted import completion
from evennia_ai.models import AccessToken, Memory, ModelCall, RecordedEvent
from evennia_ai.operations.assistants import leftovers, removing
from evennia_ai.operations.budget import spending
from evennia_ai.operations.rights import token_store
from tests.game.commands.ai_case import StaffCommandSet, StaffCommandTest
from tests.game.game_npcs import Guard
from tests.game.support import pump

SETTINGS = 'INSTALLED_APPS += ("evennia_ai",)\nEVENNIA_AI_MODEL = "small"\n'
SECRETS = '"""The game\'s secrets."""\nEVENNIA_AI_MODEL = "large"\n'
COMMANDS = """
from evennia_ai.commands import (
    AssistantCmdSet,
    AssistantAccountCmdSet as ForStaff,
)
from evennia import CmdSet

class CharacterCmdSet(CmdSet):
    def at_cmdset_creation(self):
        super().at_cmdset_creation()
        self.add(AssistantCmdSet)
        self.add(ForStaff())
"""
LINES = (
    "commands/broken.py:1",
    *(f"commands/default_cmdsets.py:{number}" for number in (2, 3, 4, 11, 12)),
    "server/conf/secret_settings.py:2",
    "server/conf/settings.py:1",
    "server/conf/settings.py:2",
)
TYPECLASSED = ("objects_objectdb", "accounts_accountdb", "scripts_scriptdb", "comms_channeldb")


class RemovingTest(StaffCommandTest):
    """Ada, Brass, and Bram who was adopted, in a game with its own files."""

    cmdsets = (StaffCommandSet, AssistantCmdSet)

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.enterContext(TemporaryDirectory()))
        policy = {"archive_folder": str(self.folder / "archive")}
        self.enterContext(override_settings(EVENNIA_AI_AUDIT_CONFIG=policy))
        self.enterContext(override_settings(GAME_DIR=str(self.folder)))
        (self.folder / "server/conf").mkdir(parents=True)
        (self.folder / "server/conf/settings.py").write_text(SETTINGS)
        (self.folder / "server/conf/secret_settings.py").write_text(SECRETS)
        (self.folder / "commands").mkdir()
        (self.folder / "commands/default_cmdsets.py").write_text(COMMANDS)
        (self.folder / "commands/broken.py").write_text("import evennia_ai.tools\nelse:\n")
        self.bram = create_object(Guard, key="Bram", location=self.room1)
        assert operations.adopt(self.bram).ok
        self.addCleanup(leftovers.clear_marks)

    def remove(self, line: str = "remove all", *answers: str) -> str:
        shown = [self.typed(f"assistant {line}"), *map(self.typed, answers)]
        return "\n".join(shown)

    def spend(self) -> None:
        self.ask("whisper Ada = hello", completion("Hello."))

    def names_of_ours(self) -> list[str]:
        """Rows of the game's own tables that name this package."""
        names = []
        with connection.cursor() as cursor:
            for table in TYPECLASSED:
                cursor.execute(f"SELECT * FROM {table}")
                names += [f"{table} {row}" for row in cursor.fetchall() if "evennia_ai" in str(row)]
            cursor.execute("SELECT db_key FROM typeclasses_tag WHERE db_key LIKE '%%ai_assis%%'")
            names += [row[0] for row in cursor.fetchall()]
            cursor.execute("SELECT db_key FROM server_serverconfig WHERE db_key LIKE '%%nnia_ai%%'")
            names += [row[0] for row in cursor.fetchall()]
        return names + [attribute.db_key for attribute in leftovers.pickled()]


class TestRemoved(RemovingTest):
    def test_nothing_names_a_class_of_ours(self) -> None:
        operations.give_account(self.ada_script)
        operations.add_memory(self.ada_script, "The tide turns at noon.")
        token_store.make(self.account, "a script")
        open_editor(self.mira, self.ada_script, "persona", None)
        self.tom.cmdset.add("evennia_ai.commands.AssistantCmdSet", persistent=True)
        create_script(AssistantScript, key="stray", obj=self.mira)
        create_object(AssistantCharacter, key="a copy of Ada", location=self.room1)
        pump()
        assert self.names_of_ours()
        shown = self.remove("remove all", "yes")
        assert [] == self.names_of_ours()
        assert not operations.list_assistants()
        assert not ObjectDB.objects.filter(db_key="Ada").exists()
        assert not AccountDB.objects.filter(username="Ada").exists()
        assert (0, 0) == (AccessToken.objects.count(), Memory.objects.count())
        assert "Removed: 1 (Ada)." in shown
        assert "Released, and as they were before: Bram." in shown
        assert f"of the game: {', '.join(LINES)}; pip uninstall" in shown
        assert "What could not go" not in shown

    def test_adopted_beings_and_people_stay(self) -> None:
        """A guard is a guard without ears; a copied body becomes a character of the game."""
        copy = create_object(AssistantCharacter, key="a copy of Ada", location=self.room1)
        self.remove("remove all", "yes")
        assert Guard is type(self.bram)
        assert None is getattr(self.bram, "assistant_script", None)
        assert self.room1 == self.bram.location
        being = ObjectDB.objects.get(pk=copy.pk)
        assert not being.db_typeclass_path.startswith("evennia_ai")
        assert {self.tom, self.mira} <= set(self.room1.contents)

    def test_what_was_spent_stays_unless_it_is_said(self) -> None:
        """The ledger, lore and the record are the owner's to keep or to empty."""
        self.spend()
        operations.add_lore("The tide turns at noon.", keywords=["tide"])
        self.remove("remove all", "yes")
        assert ["The tide turns at noon."] == [each.text for each in Memory.objects.all()]
        assert ModelCall.objects.count()
        assert RecordedEvent.objects.filter(event="all_removed").exists()
        at = float(self.clock.seconds()) + 2 * DAY  # the day is over, so its sums are cached
        self.enterContext(mock.patch.object(spending, "reactor", mock.Mock(seconds=lambda: at)))
        assert 1 == spending.spending().data.whole["calls"]
        with self.assertNoLogs("evennia_ai.memory_store", "ERROR"):
            self.remove("remove all and records", "yes")
            pump()
        assert 0 == spending.spending().data.whole["calls"]
        tables = (ModelCall, RecordedEvent, Memory)
        assert [0, 0, 0] == [table.objects.count() for table in tables]

    def test_the_records_are_files(self) -> None:
        self.remove("remove all", "yes")
        names = {path.name.partition("-")[0] for path in (self.folder / "archive").iterdir()}
        assert {"ada", "bram"} == names

    def test_an_account_that_somebody_can_log_in_to_is_the_games(self) -> None:
        """It loses what made it the assistant's, and nothing else."""
        operations.give_account(self.ada_script)
        account = AssistantAccount.objects.get(username="Ada")
        account.set_password("lanterns-are-bright")
        account.save()
        self.remove("remove all", "yes")
        player = AccountDB.objects.get(username="Ada")
        assert not player.db_typeclass_path.startswith("evennia_ai")
        assert not player.attributes.has("assistant_body")


class TestAsked(RemovingTest):
    def test_once_with_what_will_go(self) -> None:
        """What stays is not counted, unless it is to be emptied."""
        self.spend()
        operations.add_memory(self.ada_script, "The lamp is lit.")
        operations.add_lore("The tide turns at noon.", keywords=["tide"])
        create_object(AssistantCharacter, key="a copy of Ada", location=self.room1)
        shown = self.remove()
        for words in (
            "Made plain characters of the game, which stay: 1 empty body.",
            "Deleted with their bodies: 1 (Ada).",
            "Taken out of characters and objects of the game, which stay: 1 (Bram).",
            "Deleted too: 2 memories",
            "assistant remove all and records",
        ):
            assert words in shown
        for stays in ("lore entry", "ledger call", "audit events"):
            assert stays not in shown
        assert "Nothing is removed." == self.typed("no").strip()
        assert 2 == len(operations.list_assistants())
        shown = self.remove("remove all and records", "no")
        for goes in ("2 memories", "1 lore entry", "ledger call", "audit events"):
            assert goes in shown

    def test_it_needs_an_owner(self) -> None:
        """Staff who control each single assistant may not remove all of them."""
        self.mira.permissions.add("Builder")
        self.ada.locks.add("ai_control:all();ai_delete:all()")
        (shown,) = self.of_mira("assistant remove all")
        assert "remove all needs" in shown
        assert 2 == len(operations.list_assistants())

    def test_one_of_them_is_removed_otherwise(self) -> None:
        assert "assistant delete <name>, or assistant release" in self.remove("remove ada")

    def test_not_while_somebody_is_in_a_body(self) -> None:
        self.account.puppet_object(self.session, self.ada)
        refused = removing.remove_all(by="Tom")
        assert "someone controls the body of Ada" in refused.message
        assert 2 == len(operations.list_assistants())

    def test_whoever_cannot_go_is_named_and_the_others_go(self) -> None:
        """An assistant whose body refuses is stopped; the same line works once that is mended."""
        result = operations.create_assistant("Golem", location=self.room1, typeclass=Unyielding)
        golem = result.data.character
        assert operations.give_account(result.data.script).ok
        done = removing.remove_all(by="Tom")
        assert not done.ok
        (left,) = done.data.left
        assert left.startswith("Golem (Golem is stopped, and could not be deleted")
        assert AccountDB.objects.filter(username="Golem").exists()
        assert ["Golem"] == [str(each.key) for each in operations.list_assistants()]
        golem.ndb.may_go = True
        assert removing.remove_all(by="Tom").ok
        assert [] == self.names_of_ours()

    def test_what_the_game_keeps_of_ours_is_named(self) -> None:
        """An attribute of the game is only named, not deleted; a mention in text is ignored."""
        self.mira.db.choice = Choice("yes")
        self.mira.db.notes = "evennia_ai.core.safety.questions is a module"
        done = removing.remove_all(by="Tom")
        (left,) = done.data.left
        assert left.startswith(f"the attribute 'choice' of Mira ({self.mira.dbref})")
        assert not ScriptDB.objects.filter(db_typeclass_path__startswith="evennia_ai").exists()


class Unyielding(AssistantCharacter):
    """A body that refuses to be deleted until `ndb.may_go` is set."""

    def at_object_delete(self) -> bool:
        return bool(self.ndb.may_go)
