"""People and places of a bundle: numbers in the file, ids in each of the two games.

A person who is not mapped to an account of this game is a stranger, with an id that nobody here has
or can get; what is private to a stranger can be read by staff alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from secrets import token_hex

from django.db.models import Q
from django.db.models.functions import Lower
from evennia.accounts.models import AccountDB

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.recollection import (
    NOBODY,
    NOWHERE,
    WORLD,
    person_audience,
    place_audience,
)
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile
from evennia_ai.operations.bundles.file import OF_AUDIENCE, ref_of
from evennia_ai.operations.bundles.parts import Who
from evennia_ai.operations.naming import BODY_OF_ACCOUNT
from evennia_ai.runtime import state

STRANGERS = "strangers"
AWAY = "@away-"  # begins the id of a stranger; no id of Evennia's begins like this
LONGEST_NAME = 100
# Names in one statement. Each is a parameter or two, and SQLite takes 32,766 of these.
AT_ONCE = 5_000
PERSONS = frozenset(OF_AUDIENCE)


class Numbers:
    """Numbers for an assistant's people and places, given out in the order of their first use."""

    def __init__(self, script: AssistantScript) -> None:
        self._strangers: Mapping[str, Mapping[str, str]] = state.read(script, STRANGERS)
        rows = EntityProfile.objects.filter(assistant=script.pk).values_list("entity", "name")
        self._names = dict(rows)
        self._numbers: dict[str, int] = {}
        self._channels: dict[str, str] = {}
        self.who: list[dict[str, str]] = []

    def person(self, person: str) -> int | None:
        """The number of a person ("*#3"), None for nobody."""
        if not person:
            return None
        away = person.startswith(AWAY)
        audience = f"person:{person[1:]}" if away else person_audience(person)
        return None if audience == NOBODY else self._number(audience, person)

    def place(self, place: str) -> int | None:
        """The number of a room ("#2") or of a channel by its name, None for none."""
        if not place:
            return None
        if place.startswith(AWAY):
            kind = self._strangers.get(place, {}).get("kind", "room")
            return self._number(f"{kind}:{place[1:]}", place)
        if place.startswith("#"):
            audience = place_audience("", place)
            return None if audience == NOWHERE else self._number(audience, place)
        audience = place_audience("channel", place)
        self._channels[audience] = place
        return self._number(audience, place)

    def audience(self, audience: str, person: str = "", place: str = "") -> str:
        """An audience in the form of the file.

        Args:
            person, place: of the same memory; they give the audience's number a name.
        """
        if audience == WORLD:
            return WORLD
        if audience in (NOBODY, NOWHERE):
            return "nobody"
        self.person(person)
        self.place(place)
        return f"{audience.partition(':')[0]}:{self._number(audience, '')}"

    def _number(self, audience: str, given: str) -> int:
        if audience not in self._numbers:
            self.who.append(self._who(audience, given))
            self._numbers[audience] = len(self.who)
        return self._numbers[audience]

    def _who(self, audience: str, given: str) -> dict[str, str]:
        scope, _, own = audience.partition(":")
        stranger = self._strangers.get(f"@{own}")
        if stranger is not None:
            return {"kind": stranger["kind"], "name": stranger["name"]}
        kind = own.partition("-")[0] if scope == "person" else scope
        kind = kind if kind in PERSONS or scope != "person" else "mask"
        return {"kind": kind, "name": one_line(self._name(kind, own, given), LONGEST_NAME)}

    def _name(self, kind: str, own: str, given: str) -> str:
        number = own.rpartition("-")[2]
        if kind == "channel":
            return given
        being = None
        if kind in ("account", "object", "room") and number.isdecimal():
            being = incoming.find_being(f"*#{number}" if kind == "account" else f"#{number}")
        if being is not None:
            return str(being.key)
        # Of a deleted account only its character's name is left, which a player chose freely: as
        # an account's name it would point at whoever has that name in the other game.
        return "" if kind == "account" else str(self._names.get(f"#{number}", ""))


class Ids:
    """Ids in this game for a file's people and places.

    Args:
        same: accounts of this game by the number of the person in the file.
    """

    def __init__(self, who: Sequence[Who], same: Mapping[int, AccountDB]) -> None:
        self._same = {number: incoming.id_of(account) for number, account in same.items()}
        self.strangers: dict[str, dict[str, str]] = {}
        self._away: dict[int, str] = {}
        for number, each in enumerate(who, 1):
            if number not in self._same:
                self._away[number] = f"{AWAY}{token_hex(12)}"
                self.strangers[self._away[number]] = {"kind": each.kind, "name": each.name}

    def id_of(self, ref: int | None) -> str:
        """The id of a person or a place, "" for none."""
        return self._same.get(ref) or self._away[ref] if ref else ""

    def audience_of(self, audience: str) -> str:
        """An audience of the file in the form of this game."""
        ref = ref_of(audience)
        if not ref:
            return WORLD if audience == WORLD else NOBODY
        if ref in self._same:
            return person_audience(self._same[ref])
        return f"{audience.partition(':')[0]}:{self._away[ref][1:]}"


def accounts_alike(who: Sequence[Who]) -> dict[int, AccountDB]:
    """Accounts of this game with the name of an account in a file, by number in the file.

    They are only candidates: an equal name does not make them the same person.
    """
    known = players(who)
    accounts = accounts_named(who[number - 1].name for number in known.values())
    return {number: accounts[name] for name, number in known.items() if name in accounts}


def players(who: Sequence[Who]) -> dict[str, int]:
    """Numbers of a file's accounts by name in lower case, without names that occur twice."""
    pairs = [
        (_lower(each.name), number) for number, each in enumerate(who, 1) if each.kind == "account"
    ]
    count = Counter(name for name, _ in pairs)
    return {name: number for name, number in pairs if name and count[name] == 1}


def accounts_named(names: Iterable[str]) -> dict[str, AccountDB]:
    """Accounts of players by name in lower case; assistants' own accounts are left out.

    A name that two accounts have in different case is ambiguous, and left out. Thousands of names
    share a statement, since each statement reads the whole table.
    """
    distinct_names = sorted({name.strip() for name in names} - {""})
    accounts, twice = dict[str, AccountDB](), set[str]()
    people = AccountDB.objects.exclude(db_attributes__db_key=BODY_OF_ACCOUNT)
    people = people.alias(lower=Lower("username"))
    for start in range(0, len(distinct_names), AT_ONCE):
        some = distinct_names[start : start + AT_ONCE]
        # SQLite lowers only A to Z; names with other letters are found in their exact case.
        alike = Q(lower__in=[_lower(name) for name in some]) | Q(username__in=some)
        for account in people.filter(alike):
            name = _lower(str(account.username))
            if accounts.setdefault(name, account) != account:
                twice.add(name)
    return {name: account for name, account in accounts.items() if name not in twice}


def _lower(name: str) -> str:
    return name.strip().casefold()
