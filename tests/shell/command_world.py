"""A game with one of each kind of person, who type lines about one assistant in each state."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from django.test.utils import override_settings
from evennia.accounts.accounts import DefaultGuest
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.utils.create import create_account, create_object

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.game import STATE
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.operations.rights import ACTS, Right
from evennia_ai.runtime.rights import OF_THE_BODY
from tests.shell.command_rows import ANYBODY, LOCKED, MISSING, STOPPED, Row
from tests.shell.game_npcs import Guard
from tests.shell.listening import HearingTest
from tests.shell.people import Person
from tests.shell.support import pump

SUPERUSER, ADMIN, IN_CONTROL = "superuser", "admin", "builder in control"
BUILDER, PLAYER, GUEST = "builder", "player", "guest"
PEOPLE = (SUPERUSER, ADMIN, IN_CONTROL, BUILDER, PLAYER, GUEST)
STAFF = (SUPERUSER, ADMIN, IN_CONTROL, BUILDER)
PERMISSIONS = {ADMIN: "Admin", IN_CONTROL: "Builder", BUILDER: "Builder", PLAYER: "Player"}
MAY = {
    ANYBODY: PEOPLE,
    Right.STAFF: STAFF,
    **dict.fromkeys(OF_THE_BODY, (SUPERUSER, ADMIN, IN_CONTROL)),
    Right.OWNER: (SUPERUSER, ADMIN),
}
NOBODY = "Edda"

DONE, REFUSED, TOLD, UNKNOWN = "done", "refused", "told", "no such command"
REFUSALS = ("You may not control", "You may not do that", "You may not raise", "is for staff.")


def outcome_of(shown: str, row: Row) -> str:
    """What a person got, by what was read."""
    if any(words in shown for words in REFUSALS):
        return REFUSED
    if "is not available" in shown:
        return UNKNOWN
    done = row.shows and any(words in shown for words in row.shows.split(" / "))
    return DONE if done else TOLD


def expected(row: Row, who: str, standing: str) -> str:
    """What a person should get for a line, by what the line needs."""
    is_missing = standing == MISSING and row.is_of_one
    if row.act == ANYBODY:
        return (UNKNOWN if row.is_hidden else TOLD) if is_missing else _done_or_told(row, standing)
    has_right = who in MAY[ACTS[row.act]]
    if who not in STAFF and row.is_hidden:
        return UNKNOWN
    if is_missing:
        # Players learn first that a word is for staff; but a lock can name anybody for a stop.
        is_for_staff = who not in STAFF and "emergency" not in row.line
        return REFUSED if is_for_staff else TOLD
    return _done_or_told(row, standing) if has_right else REFUSED


def _done_or_told(row: Row, standing: str) -> str:
    return TOLD if standing in row.told else DONE


@override_settings(GUEST_ENABLED=True)
class CommandWorld(HearingTest):
    """Superuser, admin, two builders, a player and a guest, with accounts of their own."""

    def setUp(self) -> None:
        """All are in the room; one of the builders has a say over Ada."""
        super().setUp()
        # What is exported and archived goes nowhere near the game's own files.
        folder = self.enterContext(TemporaryDirectory())
        self.enterContext(override_settings(GAME_DIR=folder))
        self.channel("Public", self.tom)
        self.use_scripted_model()
        self.people = {name: self._person(name) for name in PEOPLE}
        self.make_ada()

    def _person(self, name: str) -> Any:
        account = self._account(name)
        if name == GUEST:
            body = next(iter(account.characters))
            body.swap_typeclass(Person, clean_attributes=False)
            body.location = self.room1
        else:
            body = create_object(Person, key=name.title(), location=self.room1, home=self.room1)
        body.account = account
        # Nobody here has a client, so what an account is told would go nowhere.
        account.msg = body.msg
        body.cmdset.add(AssistantCmdSet)
        body.locks.cache_lock_bypass(body)
        return body

    def _account(self, name: str) -> Any:
        if name == GUEST:
            account, errors = DefaultGuest.authenticate(ip="127.0.0.1")
            assert account is not None, errors
            return account
        account = create_account(f"The {name}", "", "lanterns-are-bright")
        account.permissions.clear()
        if name == SUPERUSER:
            account.is_superuser = True
            account.save()
        else:
            account.permissions.add(PERMISSIONS[name])
        return account

    def make_brutus(self) -> None:
        """A guard of the game's, over whom staff have a say."""
        if not ObjectDB.objects.filter(db_key="Brutus").exists():
            brutus = create_object(Guard, key="Brutus", location=self.room1)
            brutus.locks.add("edit:perm(Builder)")

    def make_ada(self) -> None:
        """Ada as new; whom her lock names is the same each time."""
        self.end_all()
        self.make_brutus()
        AccountDB.objects.filter(username__in=("Ada", "Oriel")).delete()
        self.ada_script, self.ada = self.make("Ada")
        self.ada_script.clock = self.clock
        chosen = self.people[IN_CONTROL].account.id
        self.ada.locks.add(f"ai_control:perm(Admin) or pid({chosen})")

    def put(self, standing: str) -> None:
        """Bring Ada into a state."""
        if standing == STOPPED:
            operations.set_enabled(self.ada_script, False)
        elif standing == LOCKED:
            trigger_emergency_stop(self.ada_script, "dig, 4 times", cause=Cause.REPEAT)
        pump()

    def print_of(self) -> tuple[tuple[int, int], dict[str, str]]:
        """All that is stored of assistants: what a refused line leaves as it was."""
        counts = AssistantScript.objects.count(), AccountDB.objects.count()
        if self.ada_script.pk is None:
            return counts, {}
        return counts, {each.key: str(each.value) for each in self.ada_script.attributes.all()}

    def restore(self, before: tuple[tuple[int, int], dict[str, str]], standing: str) -> None:
        """Let everything be as before: a setting is unset, and for all else Ada is made anew."""
        counts, kept = self.print_of()
        changed = {name for name in {*kept, *before[1]} if kept.get(name) != before[1].get(name)}
        if counts == before[0] and not changed & {*STATE, "enabled", *before[1]}:
            for name in changed:
                self.ada_script.attributes.remove(name)
            self.ada_script.work.drop_cached_settings()
        else:
            self.make_ada()
            self.put(standing)

    def shown(self, who: str, row: Row, standing: str) -> str:
        """What a person reads who types a line."""
        person = self.people[who]
        person.ndb.messages = []
        self.type(person, row.line.format(a=NOBODY if standing == MISSING else "Ada"))
        asks = (person.ndb._getinput, person.ndb._menutree, person.ndb._eveditor)
        if row.then and any(asks):
            self.type(person, row.then)
        return "\n".join(person.seen)
