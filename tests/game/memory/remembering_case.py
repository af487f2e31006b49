"""A test case of people's rights: memories of Tom and Mira, and everything that is stored."""

import pickle
from base64 import b64decode
from typing import Any

from django.db import connection

from evennia_ai import audit
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience
from evennia_ai.memory import saving
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import services
from tests.game.commands.ai_case import StaffCommandSet, StaffCommandTest


class RememberingTest(StaffCommandTest):
    """Mira, a player with an account of her own, and Tom, who is staff; both have the commands."""

    cmdsets = (StaffCommandSet, AssistantCmdSet)

    def setUp(self) -> None:
        """Use an empty store, and give Mira an account."""
        services.memory.cache_clear()
        self.addCleanup(services.memory.cache_clear)
        super().setUp()
        self.mira.account = self.account2
        self.account2.username = "MirasAccount"
        self.account2.save()
        self.toms, self.miras = incoming.person_of(self.tom), incoming.person_of(self.mira)
        self.forget()

    def remember(self, text: str, person: str = "", audience: str = "", **more: Any) -> Memory:
        """Add a memory to Ada: a person's private one, else one of the room."""
        place = place_audience("", self.room1.dbref)
        memory = Recollection(
            key=new_key(),
            kind=more.pop("kind", "journal"),
            text=text,
            audience=audience or (person_audience(person) if person else place),
            person=person,
            at=self.clock.seconds(),
            **more,
        )
        saving.save(self.ada_script, [memory])
        self.settle()
        return Memory.objects.get(key=memory.key)

    def know(self, person: str, name: str, *attributes: str) -> EntityProfile:
        """Give Ada a profile of somebody."""
        known = [{"text": text, "audience": "world", "at": 0.0} for text in attributes]
        given = {"name": name, "attributes": known, "entity_type": "player"}
        profile, _ = EntityProfile.objects.update_or_create(
            assistant=self.ada_script.pk,
            entity=person,
            defaults=given,
            create_defaults={**given, "first_at": 0.0, "last_at": 0.0},
        )
        return profile

    def settle(self) -> None:
        """Run everything that waits for a moment: indexing, and writing the record."""
        self.advance(0)
        self.advance(1)

    def texts(self) -> list[str]:
        return list(rows.of(self.ada_script.pk).order_by("pk").values_list("text", flat=True))

    def answer(self, person: Any, line: str, *answers: str) -> str:
        person.ndb.messages = []
        for each in (line, *answers):
            self.type(person, each)
        self.settle()
        return "\n".join(person.seen)

    def facts(self, event: str) -> list[dict[str, Any]]:
        """The details of Ada's recorded events of a kind."""
        from_record = audit_rows(self.ada_script, event)
        return [dict(entry.details) for entry in from_record]


def audit_rows(script: Any, event: str) -> list[Any]:
    """Entries of a record, newest first."""
    audit.flush()
    return list(audit.application().page(script, limit=100, events=(event,)))


def stored() -> dict[str, list[str]]:
    """Every value of every table as text, by table; values packed by Evennia are unpacked."""
    texts: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            texts[table] = [_text(value) for row in cursor.fetchall() for value in row]
    return texts


def _text(value: Any) -> str:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, str) and value.startswith("gA"):  # a pickle in base64
        return repr(pickle.loads(b64decode(value)))
    return str(value)


def where(word: str, script: Any) -> list[str]:
    """The places that contain a word: tables, memory, and the store of vectors."""
    places = [table for table, texts in stored().items() if any(word in text for text in texts)]
    work = script.work
    places += [f"work.{name}" for name in work.__slots__ if word in _deep(getattr(work, name))]
    hits: list[Any] = []
    audiences = Memory.objects.values_list("audience", flat=True).distinct()
    services.memory().search(MemoryQuery(script.pk, word, tuple(audiences), 50)).addCallback(
        hits.extend
    )
    texts = rows.by_keys(script.pk, [hit.key for hit in hits])
    assert len(texts) == len(hits), "the store finds what nobody remembers"
    held = repr([vars(each) for each in _insides(services.memory())])
    return [*places, *(["the store"] if word in held else [])]


def _deep(value: Any) -> str:
    values = getattr(value, "people", None) or getattr(value, "by_place", None)
    judged = [*getattr(value, "judged", ()), *getattr(value, "passed", ())]
    return repr((value, values, judged))


def _insides(service: Any) -> list[Any]:
    """The store behind the service, if it is open."""
    store = service._store
    return [store] if store is not None else []
