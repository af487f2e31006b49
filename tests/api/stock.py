"""Memories and lore for tests of the API, and the addresses that lead to them."""

import time
from typing import Any

from evennia_ai.core.memory.recollection import MemoryKind, Recollection, person_audience
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import EntityProfile, Memory
from tests.api.cases import LORE, MEMORY, MIRA, OWN

SAID = f"{1:032x}"
TOLD = f"{2:032x}"


def own_key(account: Any) -> str:
    return f"{1000 + (account.pk if account is not None else 0):032x}"


def own_number(account: Any) -> int:
    known = Memory.objects.filter(key=own_key(account)).values_list("pk", flat=True)
    return int(known[0]) if known else 999_999_999


def private_memory(key: str, being: Any, text: str) -> Recollection:
    person = person_of(being)
    return Recollection(
        key=key,
        kind=MemoryKind.FACT,
        text=text,
        audience=person_audience(person),
        person=person,
        place="#2",
        at=time.time(),
    )


def fill(script: Any, mira: Any, accounts: list[Any]) -> None:
    """Store one memory per account, one of Mira, and one piece of lore; delete all others.

    Without a script only the lore is stored.
    """
    Memory.objects.all().delete()
    EntityProfile.objects.all().delete()
    lore = Recollection(TOLD, MemoryKind.LORE, "The beacon is old.", "world", tags=("beacon",))
    rows.insert(rows.SHARED, [lore])
    if script is None:
        return
    own = [
        private_memory(own_key(account), account, f"{account.key} sails.") for account in accounts
    ]
    rows.insert(script.pk, [private_memory(SAID, mira, "Mira sails on Monday."), *own])
    EntityProfile.objects.create(
        assistant=script.pk,
        entity=person_of(mira),
        entity_type="player",
        name="Mira",
        attributes=[{"text": "fond of maps", "audience": "world", "at": 1.0}],
        meetings=1,
        first_at=1.0,
        last_at=1.0,
    )


def address(path: str, key: str, mira: Any, account: Any) -> str:
    """Fill in the placeholders of a case's address, as seen by the requesting account."""
    named = person_of(mira).replace("*#", "account-")
    for mark, value in (
        ("{key}", key),
        (MIRA, named),
        (MEMORY, SAID),
        (OWN, str(own_number(account))),
        (LORE, TOLD),
    ):
        path = path.replace(mark, value)
    return path
