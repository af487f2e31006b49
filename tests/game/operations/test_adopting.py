"""`assistant adopt` and `assistant release`: NPCs of a game that have a mind for a while."""

from typing import Any
from unittest import mock

import pytest
from django.db import connection
from evennia.accounts.models import AccountDB
from evennia.contrib.tutorials.tutorial_world.mob import Mob
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultObject
from evennia.scripts.models import ScriptDB
from evennia.utils.create import create_account, create_channel, create_object

from evennia_ai import emergency, operations
from evennia_ai.assistant_character import AssistantMixin
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import RETURNED_LINE
from evennia_ai.operations.assistants import adoption, lifecycle, looks
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime import state
from tests.game.commands.ai_case import StaffCommandSet, StaffCommandTest
from tests.game.game_npcs import Guard, GuardCmdSet, Patrol
from tests.game.listening import OPEN
from tests.game.support import archive_folder, pump, says, whispers

RETURNED = RETURNED_LINE.replace("{name}", "Bram")
LINKED = {
    "objects_objectdb": "id",
    "objects_objectdb_db_attributes": "objectdb_id",
    "objects_objectdb_db_tags": "objectdb_id",
}


def rows_of(being: Any) -> dict[str, list[Any]]:
    """All database rows of a being, including its attributes' values."""
    rows: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for table, column in LINKED.items():
            cursor.execute(f"SELECT * FROM {table} WHERE {column} = %s ORDER BY id", [being.pk])
            rows[table] = cursor.fetchall()
        cursor.execute(
            "SELECT a.* FROM typeclasses_attribute a JOIN objects_objectdb_db_attributes l "
            "ON a.id = l.attribute_id WHERE l.objectdb_id = %s ORDER BY a.id",
            [being.pk],
        )
        rows["values"] = cursor.fetchall()
    return rows


class AdoptingTest(StaffCommandTest):
    """Bram, an NPC with everything that a game's object may have, stands in the room."""

    cmdsets = (StaffCommandSet, AssistantCmdSet)

    def setUp(self) -> None:
        super().setUp()
        self.folder = archive_folder(self)
        self.bram = self.guard("Bram")

    def guard(self, name: str) -> Any:
        """A guard with attributes, tags, aliases, locks, commands and a script."""
        guard = create_object(
            Guard,
            key=name,
            location=self.room1,
            home=self.room2,
            aliases=[f"captain {name}"],
            tags=[("watch", "guild")],
            attributes=[("desc", "A broad man."), ("mood", {"grim": [1, 2]})],
            locks="get:false();control:perm(Admin);look:all()",
        )
        guard.cmdset.add(GuardCmdSet, persistent=True)
        guard.scripts.add(Patrol, key="patrol")
        return guard

    def adopted(self, being: Any = None, name: str = "") -> Any:
        result = operations.adopt(being or self.bram, name, person=self.tom)
        assert result.ok, result.message
        self.answer_at_once(result.data.script)
        return result.data.script

    def refused(self, being: Any, *words: str, name: str = "") -> Any:
        """Check that adopting fails with these words and changes nothing; return the problem."""
        before, count = rows_of(being), ScriptDB.objects.count()
        result = operations.adopt(being, name, person=self.tom)
        assert not result.ok, being
        for word in words:
            assert word in result.message, result.message
        assert (before, count) == (rows_of(being), ScriptDB.objects.count())
        assert not isinstance(being, AssistantMixin)
        return result.problem


class TestAdopt(AdoptingTest):
    def test_it_answers_and_stays_what_it_is(self) -> None:
        """Adopting changes no row of the game's object, which then talks."""
        before = rows_of(self.bram)
        shown = self.typed("assistant adopt bram")
        assert "Bram has a mind now. Try: whisper Bram = hello" in shown
        script = operations.find_assistant("bram")
        self.answer_at_once(script)
        self.ask("whisper bram = hello", whispers("Who goes there?"))
        assert 'Bram whispers: "Who goes there?"' in self.tom.heard_from(self.bram)
        self.ask("say captain bram, well?", says("Move along."))
        assert 'Bram says, "Move along."' in self.tom.heard_from(self.bram)
        assert before == rows_of(self.bram)
        assert self.bram.__class__ is Guard
        assert self.bram in Guard.objects.all()
        assert {"patrol", "Bram"} == {each.key for each in self.bram.scripts.all()}

    def test_that_it_is_an_ai_is_seen(self) -> None:
        self.adopted()
        assert "(Bram is an AI.)" in self.bram.get_display_desc(self.tom)
        assert "A broad man." == self.bram.db.desc
        with mock.patch.object(DefaultObject, "get_display_desc", return_value=None):
            assert "(Bram is an AI.)" == self.bram.get_display_desc(self.tom)

    def test_a_name_of_its_own(self) -> None:
        assert "Grim is Bram now" in self.typed("assistant adopt bram = Grim")
        script = operations.find_assistant("grim")
        self.answer_at_once(script)
        assert "Bram" == self.bram.key
        for line in ("say Grim, hello", "say Bram, hello", "say @grim hello"):
            self.ask(line, says("Yes."))
            assert 'Bram says, "Yes."' in self.tom.heard_from(self.bram), line
            self.forget()

    def test_a_restart_finds_it_again(self) -> None:
        script = self.adopted()
        number = self.bram.pk
        script.at_server_shutdown()
        script.ndb._task.stop()
        self.bram.assistant_script = None
        self.bram.flush_from_cache(force=True)
        fresh = ObjectDB.objects.get(pk=number)
        assert type(fresh) is Guard
        ScriptDB.objects.get(pk=script.pk).flush_from_cache(force=True)
        again = ScriptDB.objects.get(pk=script.pk)
        again.at_start()
        self.answer_at_once(again)
        self.ask("whisper bram = hello", whispers("Back."))
        assert 'Bram whispers: "Back."' in self.tom.heard_from(again.obj)

    def test_a_mob_that_is_no_character(self) -> None:
        ghost = create_object(Mob, key="ghost", location=self.room1)
        ghost.locks.add("control:perm(Builder)")
        before = rows_of(ghost)
        self.adopted(ghost, "Wisp")
        self.ask("whisper ghost = hello", whispers("Boo."))
        assert 'ghost whispers: "Boo."' in self.tom.heard_from(ghost)
        assert before == rows_of(ghost)
        assert operations.release(operations.find_assistant("wisp"), by="Tom").ok
        assert (before, Mob) == (rows_of(ghost), type(ghost))

    def test_a_thing_is_not_called_by_how_the_game_counts_it(self) -> None:
        """Evennia gives a thing that somebody looks at aliases such as "a lantern"."""
        lantern = create_object(DefaultObject, key="lantern", location=self.room1, aliases=["lamp"])
        script = self.adopted(lantern)
        self.type(self.tom, "look")
        assert {"lamp", "a lantern"} < {*lantern.aliases.all()}
        assert (["lamp"], ["lamp"]) == (
            looks.describe(script).data.aliases,
            looks.look_of(script)["aliases"],
        )
        script.work.ear = None  # as at the next beat
        for line, name in (("I want a lantern", "default"), ("hello lantern", "direct_address")):
            self.type(self.tom, f"say {line}")
            assert name == script.work.decisions.newest()[0].verdict.name

    def test_it_stays_at_its_post_and_builders_run_it(self) -> None:
        """A lock that the game sets on the being overrides our default locks."""
        script = self.adopted()
        assert not self.bram.access(self.bram, "tool_move", default=True)
        assert "" == str(self.bram.locks.get("tool_move"))
        assert operations.may_control(script, self.tom, is_staff=True)
        self.char2.permissions.clear()
        assert not operations.may_control(script, self.mira, is_staff=False)
        self.bram.locks.add("ai_control:false()")
        assert not operations.may_control(script, self.mira, is_staff=True)
        self.bram.locks.add("tool_move:true()")
        assert self.bram.access(self.bram, "tool_move", default=True)

    def test_it_is_on_record(self) -> None:
        script = self.adopted()
        entries = operations.audit_log(script, events=("adopted",)).data.entries
        assert [f"Bram ({self.bram.dbref}) is its body from now on"] == [
            entry["text"] for entry in entries
        ]
        assert "Tom" == entries[0]["details"]["by"]
        assert "assistant release Bram" in script.desc

    def test_what_breaks_in_the_middle_leaves_nothing(self) -> None:
        """Also no script in memory, nor a timer, which the test base would find."""
        before = rows_of(self.bram)
        with (
            mock.patch.object(adoption.audit, "record", side_effect=RuntimeError("disk full")),
            pytest.raises(RuntimeError, match="disk full"),
        ):
            operations.adopt(self.bram, person=self.tom)
        assert before == rows_of(self.bram)
        known = ScriptDB.get_all_cached_instances()
        assert "Bram" not in [each.key for each in known if isinstance(each, AssistantScript)]
        assert operations.adopt(self.bram, person=self.tom).ok


class TestRefused(AdoptingTest):
    """Beings that cannot have a mind, each told why."""

    def test_whoever_is_a_players(self) -> None:
        assert ProblemKind.CONFLICT is self.refused(self.mira, "Someone controls Mira's body")
        owner = create_account("Nell", "", "testpassword")
        listed, _ = owner.create_character(key="Nellie")
        self.refused(listed, "Nellie is a character of Nell's; adopt one of the game's own")
        owner.characters.remove(listed)
        listed.attributes.remove("creator_id")
        self.refused(listed, "Nellie is a character of Nell's")
        listed.locks.remove("puppet")
        self.adopted(listed, "Oswin")
        owner.db._playable_characters = [self.bram]
        self.refused(self.bram, "Bram is a character of Nell's")
        owner.db._playable_characters = []
        self.bram.db.creator_id = owner.pk
        self.refused(self.bram, "Bram is a character of Nell's")

    def test_what_staff_made_is_the_games(self) -> None:
        """Evennia lists an NPC among the characters of the account that created it."""
        self.typed(f"create/drop Oswin:{Guard.path}")
        oswin = ObjectDB.objects.get(db_key="Oswin")
        assert oswin in self.account.characters
        assert "Oswin has a mind" in self.typed("assistant adopt oswin")
        assert operations.release(operations.find_assistant("oswin")).ok
        self.account.db._last_puppet = oswin
        self.refused(oswin, "is a character of TestAccount's")
        self.account.db._last_puppet = self.tom
        oswin.db.prelogout_location = self.room1
        self.adopted(oswin)
        assert operations.release(operations.find_assistant("oswin")).ok
        result = operations.adopt(oswin, person=create_account("Nell", "", "testpassword"))
        assert "is a character of TestAccount's" in result.message

    def test_whatever_is_no_being(self) -> None:
        self.refused(self.room2, "is a room; adopt a character or an object")
        self.refused(self.exit, "is an exit; adopt a character or an object")
        result = operations.adopt(self.ada, person=self.tom)
        assert (ProblemKind.CONFLICT, "Ada is already an assistant: Ada.") == (
            result.problem,
            result.message,
        )
        assert "There is no character or object named 'nobody'" in self.typed(
            "assistant adopt nobody"
        )
        assert "Which character or thing" in self.typed("assistant adopt")
        create_object(DefaultObject, key="a large angry bear", location=self.room1)
        assert "Ursa is a large angry bear now" in self.typed("assistant adopt bear = Ursa")
        create_object(DefaultObject, key="Bram", location=self.room1)
        assert "Several have that name; give a number: Bram (" in self.typed("assistant adopt bram")
        assert "Bram has a mind" in self.typed(f"assistant adopt {self.bram.dbref}")

    def test_whom_one_has_no_say_over(self) -> None:
        """Staff need control of the being, and every permission that the being has."""
        self.account.is_superuser = False
        self.account.save()
        for person in (self.account, self.tom):
            person.permissions.clear()
        self.account.permissions.add("Builder")
        assert ProblemKind.FORBIDDEN is self.refused(
            self.bram, "needs its lock 'control' or 'edit'"
        )
        self.bram.locks.add("edit:perm(Builder)")
        self.bram.permissions.add("Admin")
        assert ProblemKind.FORBIDDEN is self.refused(self.bram, "it has the permission 'admin'")
        self.bram.permissions.clear()
        self.adopted()

    def test_players_may_not(self) -> None:
        shown = self.of_mira("assistant adopt bram")
        assert any("is for staff" in line for line in shown)
        assert operations.find_assistant("bram") is None

    def test_names_that_would_be_taken_for_others(self) -> None:
        """The rules of `create` apply, also to the being's own key and aliases."""
        self.refused(self.bram, "There is an assistant named Ada already", name="Ada")
        self.refused(self.bram, "There is a character named mira already", name="mira")
        self.refused(self.bram, "say is a command of the game", name="say")
        assert ProblemKind.CONFLICT is self.refused(
            self.bram, "looks like Ada", name="\u0410d\u0430"
        )
        self.bram.aliases.add("ada")
        self.refused(self.bram, "Bram is not adopted. There is an assistant named ada already")
        self.bram.aliases.remove("ada")
        two = create_object(Guard, key="a guard", location=self.room1)
        create_object(Guard, key="a guard", location=self.room2)
        self.refused(two, "There is a character named a guard already")
        self.adopted(two, "Grim")


class TestRelease(AdoptingTest):
    def test_it_is_exactly_as_before(self) -> None:
        watch, gossip = (create_channel(key, locks=OPEN) for key in ("Watch", "Gossip"))
        watch.connect(self.bram)
        before = rows_of(self.bram)
        script = self.adopted()
        operations.set_channel(script, "Gossip", "trigger")
        assert gossip.subscriptions.has(self.bram)
        self.ask("whisper bram = hello", whispers("Hm."))
        assert "Release Bram? Bram stays as it was" in self.typed("assistant release bram")
        assert "Bram stays as it was." in self.typed("no")
        assert operations.find_assistant("bram") is script
        self.typed("assistant release bram")
        assert "Bram is released: Bram is as it was before; the audit log is in" in self.typed(
            "yes"
        )
        assert before == rows_of(self.bram)
        assert type(self.bram) is Guard
        assert ["patrol"] == [each.key for each in self.bram.scripts.all()]
        assert (True, False) == tuple(
            channel.subscriptions.has(self.bram) for channel in (watch, gossip)
        )
        assert 1 == len(list(self.folder.iterdir()))
        assert operations.find_assistant("bram") is None

    def test_it_hears_nothing_afterwards(self) -> None:
        """A turn under way is dropped, and the asker is told."""
        script = self.adopted()
        self.type(self.tom, "whisper bram = hello")
        assert operations.release(script, by="Tom").ok
        pump()
        assert RETURNED in " ".join(self.tom.heard_from(self.bram))
        self.forget()
        self.type(self.tom, "whisper bram = hello")
        assert [] == self.tom.heard_from(self.bram)
        assert "A broad man." == self.bram.get_display_desc(self.tom)
        self.adopted()

    def test_who_was_made_is_deleted_instead(self) -> None:
        """Adopted assistants are released, created ones deleted; each refusal names the other."""
        assert "Ada was made with its body" in self.typed("assistant release ada")
        script = self.adopted()
        result = lifecycle.delete_assistant(script, by="Tom")
        assert (False, ProblemKind.CONFLICT) == (result.ok, result.problem)
        assert "take its mind away: assistant release Bram" in result.message
        assert self.bram.pk is not None

    def test_a_hook_that_refuses_leaves_it_whole(self) -> None:
        script = self.adopted()
        script.at_script_delete = lambda: False
        result = operations.release(script, by="Tom")
        assert ProblemKind.UNAVAILABLE is result.problem
        assert "Bram is stopped, and could not be released" in result.message
        assert self.bram.assistant_script is script
        assert isinstance(self.bram, AssistantMixin)
        del script.at_script_delete
        assert operations.release(script, by="Tom").ok

    def test_who_may(self) -> None:
        self.adopted()
        self.bram.locks.add("ai_delete:false()")
        assert "You may not control Bram" in self.typed("assistant release bram")
        assert operations.find_assistant("bram") is not None


class TestLostBody(AdoptingTest):
    def test_it_keeps_what_it_knows_and_goes_on_in_another(self) -> None:
        """It is locked without a body, also after a restart, and keeps settings, talk and locks."""
        script = self.adopted(name="Grim")
        state.write(script, persona="Grim counts his keys.")
        self.ask("whisper bram = hello", whispers("Hm."))
        talk = state.read(script, "conversation_history")
        self.bram.locks.add("ai_configure:perm(Admin)")
        self.type(self.tom, "whisper bram = are you there?")
        assert self.bram.delete()
        pump()
        assert RETURNED in " ".join(self.tom.seen)
        assert any("Grim has lost its body" in line for line in self.sent_to_staff())
        assert script.obj is None
        assert Cause.BODY is emergency.lockout_of(script).cause
        script.at_server_shutdown()
        script.at_start()
        pump()
        assert "locked body" in self.typed("assistant status grim")
        assert "To let it go on: assistant adopt <npc> = Grim\n" in self.typed("assistant")
        assert "has no body, and does nothing" in self.typed("assistant emergency clear grim")
        assert "give it one: assistant adopt <npc> = Grim" in self.typed("assistant start grim")
        body = self.guard("Oswin")
        assert "Grim is Oswin now" in self.typed("assistant adopt oswin = grim")
        assert talk == state.read(script, "conversation_history")
        assert "Grim counts his keys." == state.read(script, "persona")
        assert "ai_configure:perm(Admin)" == script.locks.get("ai_configure")
        self.forget()
        self.ask("whisper oswin = hello", whispers("New boots."))
        assert 'Oswin whispers: "New boots."' in self.tom.heard_from(body)

    def test_every_word_about_it_has_an_answer(self) -> None:
        """Every staff command works on an assistant without a body, which can still be deleted."""
        script = self.adopted()
        self.bram.delete()
        words = (
            "status bram", "config bram", "why bram", "usage bram", "tools bram", "prompt bram",
            "budget bram", "memory bram", "start bram", "stop bram", "emergency stop bram",
            "emergency clear bram", "messaging bram", "goal bram", "tell bram wave", "context bram",
            "template bram", "component bram", "channel bram Public = trigger", "mute bram",
            "channel bram Public = leave",
            "account bram", "breakers bram", "clone bram = Bert", "list", "release bram",
        )  # fmt: skip
        others = ("history bram", "aiaudit bram", "aimemory bram", "aiinteract bram", "hush bram",
                  "aiexec bram look", "page bram = hello")  # fmt: skip
        create_channel("Public")
        for line in (*(f"assistant {word}" for word in words), *others):
            shown = self.typed(line)
            assert shown, line
            assert "Traceback" not in shown, f"{line}: {shown}"
        assert not AccountDB.objects.filter(username="Bram").exists()
        assert operations.release(script).problem is ProblemKind.CONFLICT
        assert lifecycle.delete_assistant(script, by="Tom").ok

    def test_who_may_give_it_another(self) -> None:
        """The locks of the lost body decide."""
        script = self.adopted(name="Grim")
        self.bram.locks.add("ai_configure:false()")
        self.bram.delete()
        self.account.is_superuser = False
        self.account.save()
        self.tom.locks.cache_lock_bypass(self.tom)
        oswin = self.guard("Oswin")
        oswin.locks.add("control:all()")
        assert ProblemKind.FORBIDDEN is self.refused(oswin, "You may not control Grim", name="Grim")
        assert script.obj is None

    def test_one_that_was_made_keeps_it_too(self) -> None:
        """A created assistant outlives its deleted body too, and can adopt another."""
        self.ada.delete()
        pump()
        script = self.ada_script
        assert script.pk is not None
        assert "ai_control:perm(Builder)" == script.locks.get("ai_control")
        assert operations.adopt(self.bram, "ada", person=self.tom).ok
        assert script is self.bram.assistant_script

    def test_a_deletion_that_the_game_refuses_takes_nothing(self) -> None:
        script = self.adopted()
        self.bram.db.is_kept = True
        assert not self.bram.delete()
        assert self.bram is script.obj
        self.ask("whisper bram = hello", whispers("Still here."))
        assert 'Bram whispers: "Still here."' in self.tom.heard_from(self.bram)

    def test_one_with_a_body_gets_no_second(self) -> None:
        self.adopted(name="Grim")
        self.refused(self.guard("Oswin"), "There is an assistant named Grim", name="Grim")
