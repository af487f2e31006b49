"""A game with a person of each rank, who type commands about an assistant in each state."""

from tempfile import TemporaryDirectory
from typing import Any

from django.test.utils import override_settings
from evennia.accounts.accounts import DefaultGuest
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.scripts.models import ScriptDB
from evennia.utils.create import create_account, create_object

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.game import STATE
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.operations.rights import ACTS, Right
from evennia_ai.runtime.rights import OF_THE_BODY
from tests.game.game_npcs import Guard
from tests.game.listening import HearingTest
from tests.game.people import Person
from tests.game.rights.command_rows import ANYBODY, LOCKED, MISSING, STOPPED, Row
from tests.game.support import pump

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
    if any(words in shown for words in REFUSALS):
        return REFUSED
    if "is not available" in shown:
        return UNKNOWN
    done = row.shows and any(words in shown for words in row.shows.split(" / "))
    return DONE if done else TOLD


def expected(row: Row, who: str, standing: str) -> str:
    """The outcome that a person should get for a line."""
    is_missing = standing == MISSING and row.is_of_one
    if row.act == ANYBODY:
        return (UNKNOWN if row.is_hidden else TOLD) if is_missing else _done_or_told(row, standing)
    has_right = who in MAY[ACTS[row.act]]
    if who not in STAFF and row.is_hidden:
        return UNKNOWN
    if is_missing:
        # Players are told first that a command is for staff; but a lock can let anybody stop.
        is_for_staff = who not in STAFF and "emergency" not in row.line
        return REFUSED if is_for_staff else TOLD
    return _done_or_told(row, standing) if has_right else REFUSED


def _done_or_told(row: Row, standing: str) -> str:
    return TOLD if standing in row.told else DONE


@override_settings(GUEST_ENABLED=True)
class CommandWorld(HearingTest):
    """Superuser, admin, two builders, a player and a guest, with accounts of their own."""

    def setUp(self) -> None:
        super().setUp()
        # Keep exports and archives away from the game's own files.
        folder = self.enterContext(TemporaryDirectory())
        self.enterContext(override_settings(GAME_DIR=folder))
        self.channel("Public", self.tom)
        bodies = {name: self._make_person(name) for name in PEOPLE}
        chosen = bodies[IN_CONTROL].account.id
        self.ada.locks.add(f"ai_control:perm(Admin) or pid({chosen})")
        brutus = create_object(Guard, key="Brutus", location=self.room1)  # staff may control it
        brutus.locks.add("edit:perm(Builder)")
        self._bodies = {name: body.pk for name, body in bodies.items()}
        self._people: dict[str, Any] = {}
        self.begin_part()

    def _make_person(self, name: str) -> Any:
        account = self._account(name)
        if name == GUEST:
            body = next(iter(account.characters))
            body.swap_typeclass(Person, clean_attributes=False)
            body.location = self.room1
        else:
            body = create_object(Person, key=name.title(), location=self.room1, home=self.room1)
        body.account = account
        return body

    def person_of_rank(self, name: str) -> Any:
        """The person, read when first needed."""
        if name not in self._people:
            body = self._people[name] = Person.objects.get(pk=self._bodies[name])
            # Nobody here has a client, so messages to an account would be lost.
            body.account.msg = body.msg
            body.cmdset.add(AssistantCmdSet)
            body.locks.cache_lock_bypass(body)
        return self._people[name]

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

    def put(self, standing: str) -> None:
        self.take_back()
        ChannelDB.objects.get(db_key="Public").get_log_filename = str  # it keeps no file
        self.use_scripted_model()
        self._people = {}
        if standing == STOPPED:
            operations.set_enabled(self.ada_script, False)
        elif standing == LOCKED:
            trigger_emergency_stop(self.ada_script, "dig, 4 times", cause=Cause.REPEAT)
        pump()

    def print_of(self) -> tuple[tuple[int, int], dict[str, str]]:
        """Everything stored of assistants, which a refused line must leave as it was."""
        counts = ScriptDB.objects.count(), AccountDB.objects.count()
        if self.ada_script.pk is None:
            return counts, {}
        return counts, {each.key: str(each.value) for each in self.ada_script.attributes.all()}

    def restore(self, before: tuple[tuple[int, int], dict[str, str]], standing: str) -> None:
        """Undo a line: unset changed settings, or, after any other change, begin anew."""
        counts, now = self.print_of()
        changed = {name for name in {*now, *before[1]} if now.get(name) != before[1].get(name)}
        if counts == before[0] and not changed & {*STATE, "enabled", *before[1]}:
            for name in changed:
                self.ada_script.attributes.remove(name)
            self.ada_script.work.drop_cached_settings()
        else:
            self.put(standing)

    def shown(self, who: str, row: Row, standing: str) -> str:
        person = self.person_of_rank(who)
        person.ndb.messages = []
        self.type(person, row.line.format(a=NOBODY if standing == MISSING else "Ada"))
        asks = (person.ndb._getinput, person.ndb._menutree, person.ndb._eveditor)
        if row.then and any(asks):
            self.type(person, row.then)
        return "\n".join(person.seen)
