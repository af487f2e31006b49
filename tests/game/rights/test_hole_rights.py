"""Rights: one per act, and a quelled account has only its character's."""

from typing import Any

from evennia_ai import operations
from evennia_ai.operations.assistants import looks
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import ACTS, refusal
from evennia_ai.runtime.rights import (
    OF_THE_BODY,
    Right,
    forms_of,
    is_owner,
    is_staff,
    lets,
    meets,
    seen,
)
from tests.game.rights.rights_case import RightsTest

RUNNING = ("start", "stop", "emergency stop", "tell", "goal", "sleep", "execute tool")
SETTING_UP = ("configure", "update", "clone", "channel", "raise budget", "archive audit")
KNOWING = ("change memories", "reset history", "export history")


class TestActs(RightsTest):
    """Each right has a lock of its own, such as `ai_control` and `ai_memory`."""

    def may(self, person: Any, *acts: str) -> list[str]:
        return [act for act in acts if refusal(act, person, self.ada_script) is None]

    def name(self, kind: str, person: Any) -> None:
        """Ann, an admin, types a lock that names this person."""
        account = person.account
        shown = self.read(self.ann, f"lock ada = {kind}:perm(Admin) or pid({account.id})")
        assert "Added lock" in shown, shown

    def test_hole_b11_a_player_who_runs_her_changes_no_memories_and_moves_her_nowhere(self) -> None:
        """`ai_control` alone gives a player running and configuring."""
        self.name("ai_control", self.pia)
        others = (*KNOWING, "move", "delete")
        every = (*RUNNING, *SETTING_UP, *others)
        assert [*RUNNING, *SETTING_UP] == self.may(self.pia, *every)
        refused = refusal("change memories", self.pia, self.ada_script)
        assert refused is not None
        wanted = "and the rights of staff, or a lock 'ai_memory' of its own."
        assert (ProblemKind.FORBIDDEN, True) == (refused.problem, refused.message.endswith(wanted))
        assert [] == self.may(self.bea, *every)
        assert [*every] == self.may(self.ann, *every)

    def test_hole_b11_each_right_has_a_lock_of_its_own(self) -> None:
        acts = {
            Right.CONFIGURE: SETTING_UP,
            Right.MEMORY: KNOWING,
            Right.MOVE: ("move",),
            Right.DELETE: ("delete",),
        }
        every = [act for each in (RUNNING, *acts.values()) for act in each]
        for right, named in acts.items():
            with self.subTest(right):
                self.name(right, self.pia)
                assert [*named] == self.may(self.pia, *every)
                assert not self.may(self.bea, *named)
                self.ada.locks.remove(right)
        assert set(ACTS.values()) == set(Right)

    def test_hole_b11_builders_have_all_by_default(self) -> None:
        """Without other locks `ai_control` is enough for staff."""
        acts = [act for act, right in ACTS.items() if right in OF_THE_BODY]
        assert acts == self.may(self.bea, *acts)
        assert [] == self.may(self.pia, *acts)

    def test_hole_b11_no_room_is_entered_whose_lock_forbids_it(self) -> None:
        """`teleport_here` must pass for both the mover and the body; an owner may ignore it."""
        rows = (
            (f"not id({self.bea.id})", self.bea, "You may not move anyone to Room2."),
            (f"not id({self.ada.id})", self.bea, "Ada may not be moved to Room2"),
            ("all()", self.bea, ""),
            (f"not id({self.ada.id})", self.ann, ""),
        )
        for lock, person, words in rows:
            with self.subTest(lock, person=person):
                self.ada.location = self.room1
                self.room2.locks.add(f"teleport_here:{lock}")
                moved = looks.update_assistant(
                    self.ada_script, location=self.room2, by=person.key, person=person
                )
                assert moved.message.startswith(words), moved.message
                assert (not words) is moved.ok
                assert (self.room2 if moved.ok else self.room1) == self.ada.location
        self.room2.locks.add("teleport_here:perm(Admin)")
        refused = operations.clone_assistant(
            self.ada_script, "Oriel", location=self.room2, person=self.bea
        )
        assert ("You may not move anyone to Room2.", None) == (
            refused.message,
            self.made("Oriel"),
        )

    def test_hole_b11_who_has_one_right_finds_the_words_for_it(self) -> None:
        """A player named by any of her locks is answered as staff is."""
        assert "is for staff" in self.read(self.pia, "assistant stop ada")
        self.name("ai_configure", self.pia)
        assert "You may not control Ada" in self.read(self.pia, "assistant stop ada")
        assert "persona is" in self.read(self.pia, "assistant config ada set persona Dry.")


class TestQuelled(RightsTest):
    """Bea's account is a builder's and quelled, her character is a player's."""

    def setUp(self) -> None:
        """Set Evennia's own mark; nobody plays her character."""
        super().setUp()
        self.account_of_bea = self.bea.account
        self.account_of_bea.attributes.add("_quell", True)
        self.bea.account = None

    def test_hole_b13_a_quelled_account_has_what_its_character_has(self) -> None:
        """Unquelled, all rights are back."""
        account = self.account_of_bea
        assert not is_staff(account)
        assert not meets(account, "Builder", self.ada)
        assert not meets(account, "perm(Builder)", self.ada)
        assert meets(account, "perm(Player)", self.ada)
        for act in ("status", "stop", "configure", "change memories"):
            assert refusal(act, account, self.ada_script) is not None, act
        account.attributes.remove("_quell")
        assert is_staff(account)
        assert refusal("stop", account, self.ada_script) is None

    def test_hole_b13_the_lesser_of_both_counts(self) -> None:
        """Evennia does so while puppeting; permissions outside the hierarchy count from both."""
        account = self.account_of_bea
        self.bea.permissions.add("Admin")
        self.bea.permissions.add("lamplighters")
        account.permissions.add("scribe")
        assert {"lamplighters", "scribe", "builder"} == set(seen(account).permissions.all())
        assert is_staff(account)
        assert not is_owner(account)
        account.attributes.remove("_last_puppet")
        assert ["scribe"] == seen(account).permissions.all()
        assert not lets(self.room1, account, "edit")

    def test_hole_b13_a_quelled_superuser_is_none(self) -> None:
        account = self.account_of_bea
        account.is_superuser = True
        account.save()
        account.locks.cache_lock_bypass(account)
        self.ada.locks.add("ai_control:false()")
        assert not is_owner(account)
        assert refusal("stop", account, self.ada_script) is not None
        account.attributes.remove("_quell")
        assert is_owner(account)
        assert refusal("stop", account, self.ada_script) is None

    def test_hole_b13_a_lock_that_names_the_account_goes_on(self) -> None:
        """Being named is no rank, so quelling does not remove it."""
        account = self.account_of_bea
        self.ada.locks.add(f"ai_control:pid({account.id})")
        assert refusal("stop", account, self.ada_script) is None
        assert account.id == seen(account).id

    def test_hole_b13_commands_honour_it_too(self) -> None:
        """A command may ask the account behind the character."""
        self.bea.account = self.account_of_bea
        shown = self.read(self.bea, "assistant emergency stop ada")
        assert "You may not control Ada" in shown
        assert self.bea in forms_of(self.bea)
        self.account_of_bea.attributes.remove("_quell")
        assert "Ada is stopped." in self.read(self.bea, "assistant emergency stop ada")
