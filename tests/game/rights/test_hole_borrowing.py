"""Borrowed powers: by order an assistant does nothing that the giver may not do as well."""

from typing import Any

import evennia
from django.test import override_settings
from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime import state
from tests.game.rights.rights_case import RightsTest
from tests.game.support import pump, says, whispers
from tests.recorded import record_of

BOOT = "aiexec ada execute_command boot Tom"
RUNG: list[str] = []


class CmdRing(Command):
    """A command that anybody may type, and that checks a permission in its own code."""

    key = "ring"
    locks = "cmd:all()"

    def func(self) -> None:
        if self.caller.check_permstring("Admin"):
            RUNG.append(str(self.caller.key))
        else:
            self.caller.msg("The rope is out of your reach.")


class RingSet(CmdSet):
    def at_cmdset_creation(self) -> None:
        self.add(CmdRing())


# Tools of other tests' games are registered as well, and count.
@override_settings(EVENNIA_AI_MAX_TOOLS_OFFERED=100)
class TestByHand(RightsTest):
    """Ada is an admin and may boot, ring and set descriptions; Bea and Bob may run her."""

    def setUp(self) -> None:
        super().setUp()
        self.account.key = "Tom"
        self.ada.permissions.add("Admin")
        self.ada.cmdset.add(RingSet)
        self.ada.locks.add(f"ai_control:perm(Builder) or pid({self.pia.account.id})")
        allowed = ["boot", "ring"]
        self.set(command_allowlist=allowed, attribute_allowlist=["desc"])
        RUNG.clear()

    def booted(self) -> bool:
        return bool(evennia.SESSION_HANDLER.disconnect.called)

    def test_hole_b10_a_builder_boots_nobody_by_her_hand(self) -> None:
        """Bea may run Ada, but may not boot."""
        shown = self.read(self.bea, BOOT)
        assert "by order of Bea you may do no more than Bea may" in shown, shown
        assert not self.booted()
        shown = self.read(self.ann, BOOT)
        assert self.booted()
        # Evennia's own `boot` ends by logging the caller's address, and no session typed it.
        assert "Ada: the command boot failed inside" in shown, shown

    def test_hole_b10_a_command_that_asks_for_itself_sees_both(self) -> None:
        """While it runs, a permission check on her body passes only if the giver has it too."""
        shown = self.read(self.bea, "aiexec ada execute_command ring")
        assert "out of your reach" in shown, shown
        assert ["admin"] == self.ada.permissions.all()
        self.read(self.ann, "aiexec ada execute_command ring")
        assert ["Ada"] == RUNG

    def test_hole_b10_a_target_and_its_attributes_ask_both(self) -> None:
        self.room1.locks.add("edit:perm(Admin)")
        line = 'aiexec ada set_attribute {"target": "here", "name": "desc", "value": "Ruins."}'
        self.room1.db.desc = "A hall."
        assert "no more than Bea may" in self.read(self.bea, line)
        assert "A hall." == self.room1.db.desc
        assert "desc of" in self.read(self.ann, line)
        assert "Ruins." == self.room1.db.desc
        self.room1.locks.add("edit:perm(Builder)")
        self.room1.attributes.get("desc", return_obj=True).locks.add("attredit:perm(Admin)")
        assert "no more than Bea may" in self.read(self.bea, line)

    def test_hole_b10_locks_of_exits_things_and_tools_ask_both(self) -> None:
        """Each lock lets Ada pass, by id or rank, but not Bea."""
        crown = create_object("evennia.objects.objects.DefaultObject", "crown", self.room1)
        crown.locks.add(f"get:id({self.ada.id})")
        vault = create_object("evennia.objects.objects.DefaultRoom", "Vault")
        door = create_object(
            "evennia.objects.objects.DefaultExit", "door", self.room1, destination=vault
        )
        door.locks.add(f"traverse:id({self.ada.id})")
        self.ada.locks.remove("tool_move")
        for line in ("get item = crown", "move exit = door"):
            assert "Bea may not do that" in self.read(self.bea, f"aiexec ada {line}"), line
        assert (self.room1, self.room1) == (crown.location, self.ada.location)
        self.ada.locks.add("tool_say:perm(Admin)")
        refused = "You may not use say by Ada: the lock 'tool_say' of the body forbids it."
        assert refused == self.read(self.bea, "aiexec ada say Hello.")
        assert "Ada: said" in self.read(self.ann, "aiexec ada say Hello.")

    def test_hole_b10_what_she_is_told_to_do_is_an_order_too(self) -> None:
        """`assistant tell` is limited in the same way as `aiexec`."""
        for person, is_done in ((self.bea, False), (self.ann, True)):
            boots = completion(None, ("execute_command", {"command": "boot Tom"}))
            reports = completion(None, ("report", {"message": "I tried."}))
            self.model.answers.extend([boots, reports])
            self.read(person, "assistant tell ada boot Tom")
            self.advance(1)
            assert is_done is self.booted(), person
            self.model.answers.clear()

    def test_hole_b10_over_the_operations_too(self) -> None:
        """REST refuses it in the same way, for a player whom her lock names."""
        given = {"command": "boot Tom"}
        got: list[Any] = []
        running = operations.execute_tool(
            self.ada_script, "execute_command", given, person=self.pia.account
        )
        running.addCallback(got.append)
        pump()
        assert (False, ProblemKind.FORBIDDEN) == (got[0].ok, got[0].problem)
        assert "no more than Pia may" in got[0].message
        assert not self.booted()

    def test_hole_b10_what_players_ask_for_in_talk_is_hers_to_do(self) -> None:
        """The owner's allowlist is meant for players' requests.

        A whispered request still runs no command, since whispered words must not enter one.
        """
        self.put_online(self.pia, 3)
        rings = completion(None, ("execute_command", {"command": "ring"}))
        self.ask(
            "whisper Ada = please ring the bell", rings, whispers("Aloud.", "Pia"), person=self.pia
        )
        assert [] == RUNG
        self.ask("say @ada please ring the bell", rings, says("It rings."), person=self.pia)
        assert ["Ada"] == RUNG

    def test_hole_b10_no_channel_is_heard_that_its_person_may_not_hear(self) -> None:
        channel = evennia.create_channel("Council", locks="listen:perm(Admin);send:all()")
        line = "assistant channel ada Council = context"
        assert "You may not listen to Council" in self.read(self.bea, line)
        assert not channel.subscriptions.has(self.ada)
        assert "Ada listens to Council: context." in self.read(self.ann, line)


class TestClones(RightsTest):
    def setUp(self) -> None:
        super().setUp()
        self.ada.permissions.add("Admin")
        self.ada.locks.add(
            "ai_control:perm(Builder) or id(5);edit:all();control:all();delete:all()"
        )
        self.set(command_allowlist=["boot"], attribute_allowlist=["desc"], persona="Dry.")
        self.facts = record_of(self)

    def told(self, event: str) -> dict[str, Any]:
        return next(facts for name, whom, facts in self.facts if (name, whom) == (event, "Oriel"))

    def test_hole_b10_a_copy_has_no_powers_that_no_owner_gave_it(self) -> None:
        """Lists, permissions and locks that give power over the body are not copied."""
        shown = self.read(self.bea, "assistant clone ada = Oriel")
        assert "Without command_allowlist and attribute_allowlist: an owner gives these." in shown
        oriel = self.made("Oriel")
        lists = [state.read(oriel, name) for name in ("command_allowlist", "attribute_allowlist")]
        assert [(), (), "Dry."] == [*map(tuple, lists), state.read(oriel, "persona")]
        assert [] == oriel.obj.permissions.all()
        own = f"control:pid({self.bea.account.id}) or perm(Admin)"
        assert (own, "edit:perm(Admin)") == (
            oriel.obj.locks.get("control"),
            oriel.obj.locks.get("edit"),
        )
        assert "ai_control:perm(Builder) or id(5)" == oriel.obj.locks.get("ai_control")
        assert {} == self.told("AssistantCreated")["begun_with"]
        left_out = ["command_allowlist", "attribute_allowlist"]
        assert left_out == self.told("copied")["left_out"]

    def test_hole_b10_the_record_begins_with_what_an_owner_copied(self) -> None:
        """The first entry names the copied powers and their source."""
        self.read(self.ann, "assistant clone ada = Oriel")
        powers = {"command_allowlist": ["boot"], "attribute_allowlist": ["desc"]}
        assert {"powers": powers} == self.told("AssistantCreated")["begun_with"]
        assert ("Ada", []) == (self.told("copied")["source"], self.told("copied")["left_out"])
        assert "Ann" == self.told("AssistantCreated")["by"]
