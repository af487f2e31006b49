"""Body rights: whoever may run an assistant cannot relock, force or puppet its body."""

from typing import Any

from evennia.scripts.scripts import DefaultScript
from evennia.utils.create import create_object, create_script

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.lockout import State
from evennia_ai.emergency import state_of
from tests.game.people import AttentivePerson
from tests.game.rights.rights_case import RightsTest


class TestRelocking(RightsTest):
    """Evennia's own commands, typed by a builder whom the lock lets run Ada."""

    def refuse_all(self) -> None:
        """Check that Bea can relock, force and puppet nothing, but still run Ada."""
        before = str(self.ada.locks)
        for lock in ("edit", "puppet", "control", "delete", "ai_control"):
            shown = self.read(self.bea, f"lock ada = {lock}:perm(Builder)")
            assert "You are not allowed to do that." in shown, shown
        assert before == str(self.ada.locks)
        shown = self.read(self.bea, "force ada = say I am forced.")
        assert "You don't have permission to force" in shown, shown
        assert not self.mira.heard_from(self.ada)
        session = self.come_online(self.bea.account)
        self.bea.account.execute_cmd("ic ada", session=session)
        assert self.ada.account is None
        assert "Ada is stopped." in self.read(self.bea, "assistant emergency stop ada")
        assert "stop cleared" in self.read(self.bea, "assistant emergency clear ada")

    def test_hole_b9_who_runs_an_assistant_relocks_forces_and_puppets_nothing(self) -> None:
        self.refuse_all()

    def test_hole_b9_who_may_not_delete_her_deletes_not_her_script_either(self) -> None:
        """Evennia's `scripts/delete` asks no lock; other scripts are deleted as before."""
        number = self.ada_script.id
        lines = [f"scripts/{word} #{number}" for word in ("stop", "pause", "delete")]
        by_class = "scripts/delete assistant_script.AssistantScript"
        for line in (*lines, "scripts/delete ada =", by_class):
            shown = self.read(self.bea, line)
            assert "Nothing is done: Ada is an assistant." in shown, (line, shown)
        assert AssistantScript.objects.filter(id=number, db_is_active=True).exists()
        for kind in (DefaultScript, AssistantScript):  # the second is not an assistant of the game
            other = create_script(kind, key="tides", autostart=False)
            assert "Deleted" in self.read(self.bea, f"scripts/delete #{other.id}")
            assert other.pk is None

    def test_hole_b9_nor_in_a_game_of_an_older_version(self) -> None:
        """Its lock `control` named builders; the next start moves that to `ai_control`."""
        self.as_before()
        shown = self.read(self.bea, "lock ada = edit:perm(Builder)")
        assert "Added lock 'edit:perm(Builder)' to Ada." in shown, shown
        self.as_before()
        self.begin_anew(self.ada_script)
        self.refuse_all()

    def test_hole_b9_its_maker_and_admins_have_evennias_rights(self) -> None:
        self.read(self.bea, "assistant create Edda = Edda sorts maps.")
        edda = self.made("Edda").obj
        own = f"pid({self.bea.account.id}) or perm(Admin)"
        assert [f"control:{own}", f"delete:{own}"] == [
            edda.locks.get(kind) for kind in ("control", "delete")
        ]
        assert "puppet:perm(Admin)" == edda.locks.get("puppet")
        for person, may in ((self.bea, True), (self.ann, True), (self.bob, False)):
            shown = self.read(person, "lock edda = view:all()")
            assert may is ("Added lock" in shown), (person, shown)


class TestSorting(RightsTest):
    """Migration of the locks of older games at their start."""

    def locks(self) -> tuple[str, str]:
        return self.ada.locks.get("ai_control"), self.ada.locks.get("control")

    def test_hole_b9_whom_an_owner_named_stays_named(self) -> None:
        """Nothing is loosened: Evennia's own right is left to admins only."""
        rows = (
            ("perm(Builder)", "perm(Admin)"),
            ("perm(Admin) or pid(12)", "perm(Admin)"),
            ("id(5)", "id(5) and perm(Admin)"),
            ("false()", "false() and perm(Admin)"),
        )
        for old, own in rows:
            with self.subTest(old):
                self.as_before(old)
                self.begin_anew(self.ada_script)
                assert (f"ai_control:{old}", f"control:{own}") == self.locks()

    def test_hole_b9_once_and_cheaply(self) -> None:
        self.as_before()
        self.begin_anew(self.ada_script)
        before = str(self.ada.locks)
        self.ada_script.at_pause()
        with self.statements() as queries:
            self.ada_script.at_start()
        assert before == str(self.ada.locks)
        sql = [each["sql"] for each in queries.captured_queries]
        assert not [each for each in sql if each.startswith("UPDATE") and "lock_storage" in each]

    def test_hole_b9_an_owners_own_lock_is_left(self) -> None:
        """A body that has both locks has been set up by its owner."""
        self.ada.locks.add("ai_control:id(5);control:perm(Builder)")
        self.begin_anew(self.ada_script)
        assert ("ai_control:id(5)", "control:perm(Builder)") == self.locks()

    def test_hole_b9_a_body_that_somebody_made_by_hand_stays_theirs(self) -> None:
        """Evennia's `create` gives `control` and `delete` to its caller."""
        body = create_object(AttentivePerson, key="Cora", location=self.room1)
        own = f"id({self.bea.id}) or perm(Admin)"
        body.locks.add(f"control:{own};delete:{own}")
        tags = [("ai_assistant:cora", "system"), ("ai_assistant", "system")]
        script: Any = create_script(AssistantScript, key="Cora", obj=body, tags=tags)
        self.begin_anew(script)
        assert f"control:{own}" == body.locks.get("control")
        assert "Cora is stopped." in self.read(self.bea, "assistant emergency stop cora")
        lacks = f"You may not control Cora: that needs its lock 'control:{own}'."
        assert lacks == self.read(self.bob, "assistant emergency clear cora")
        assert State.STOPPED is state_of(script)
        assert operations.may_control(script, self.ann, is_staff=True)
