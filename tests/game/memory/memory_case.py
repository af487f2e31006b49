"""A test case of memory: memories put in by hand, a store that can fail, and time."""

from typing import Any

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import (
    WORLD,
    Recollection,
    Seeker,
    person_audience,
    place_audience,
)
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory import indexing, recalling, saving
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.mem0_store import Mem0Store, TableVectors
from evennia_ai.memory_store.port import ByWords, Hit, MemoryQuery
from evennia_ai.memory_store.table import Table
from evennia_ai.messages.incoming import id_of, person_of
from evennia_ai.runtime import services
from tests.game.support import GameTest


class FailingStore(Mem0Store):
    """The embedded store on the game's table, whose model can be down.

    Attributes:
        is_down: whether it raises.
        is_model_down: whether only the search by words works.
        calls: the names of the calls it got.
        before_add: called in the middle of an add.
    """

    def __init__(self) -> None:
        model, table = HashingEmbedder(), Table(is_shared=True)
        super().__init__(model, table, TableVectors(table, model.signature))
        self.is_down = self.is_model_down = False
        self.calls: list[str] = []
        self.before_add: Any = None

    def _asked(self, name: str) -> None:
        self.calls.append(name)
        if self.is_down:
            raise MemoryStoreError("the store was unplugged")

    def add(self, collection: int, items: Any) -> list[bytes]:
        self._asked("add")
        if self.before_add is not None:
            self.before_add()
        return super().add(collection, items)

    def search_words(self, sought: MemoryQuery) -> ByWords:
        self._asked("words")
        return super().search_words(sought)

    def search(self, sought: MemoryQuery) -> list[Hit]:
        self._asked("search")
        if self.is_model_down:
            raise MemoryStoreError("the model was unplugged")
        return super().search(sought)

    def remove(self, collection: int, keys: Any) -> None:
        self._asked("remove")
        super().remove(collection, keys)

    def keys(self, collection: int) -> set[str]:
        self._asked("keys")
        return super().keys(collection)


class MemoryTest(GameTest):
    """Ada, Tom and Mira, and memories of theirs.

    Attributes:
        store: the store of Ada's vectors, in memory.
    """

    def setUp(self) -> None:
        services.memory.cache_clear()
        self.addCleanup(services.memory.cache_clear)
        super().setUp()
        self.store = FailingStore()
        service = services.memory()
        service._store, service._open_store = None, lambda: self.store
        self.clock.advance(1_000_000)

    def id_of(self, person: Any) -> str:
        return person_of(person)

    def remember(self, text: str, audience: str = WORLD, *, person: Any = None, **more: Any) -> str:
        """Add a memory to Ada and to the index. Returns its key."""
        key = new_key()
        said_by = self.id_of(person) if person is not None else ""
        options = {"kind": "fact", "at": self.clock.seconds(), **more}
        memory = Recollection(key, text=text, audience=audience, person=said_by, **options)
        saving.save(self.ada_script, [memory])
        self.catch_up()
        return key

    def secret(self, text: str, person: Any, **more: Any) -> str:
        """Something that a person told Ada in private."""
        return self.remember(text, person_audience(self.id_of(person)), person=person, **more)

    def said_here(self, text: str, person: Any, **more: Any) -> str:
        """Something a person said in Ada's room."""
        here = place_audience("say", self.ada.location.dbref)
        return self.remember(text, here, person=person, **more)

    def search(self) -> Any:
        """Look for the boat Heron in Tom's name."""
        seeker = Seeker(self.id_of(self.tom), "whisper", is_private=True)
        return recalling.search(self.ada_script, "the boat Heron", seeker).result

    def catch_up(self) -> None:
        """Let the store take in everything that waits."""
        indexing.soon(self.ada_script)
        self.advance(0)

    def turn(self, body: str, *, source: str = "whisper", person: Any = None, **more: Any) -> Turn:
        """A turn for something that a person (Tom) says to Ada."""
        who = person or self.tom
        fields: dict[str, Any] = {
            "id": "e1",
            "kind": "message",
            "source": source,
            "sender_id": id_of(who),
            "sender_name": who.key,
            "body": body,
            "trust": 0.9,
            "rule": 3,
            "hops": 0,
            "at": self.clock.seconds(),
            "person": self.id_of(who),
            "place": self.ada.location.dbref if self.ada.location else "",
            **more,
        }
        return Turn(self.ada_script.work.epoch, (Event(**fields),))

    def in_store(self) -> set[str]:
        return Mem0Store.keys(self.store, self.ada_script.pk)

    def prompts(self) -> str:
        return "\n".join(str(message) for body in self.model.bodies for message in body["messages"])

    def waiting_rows(self) -> tuple[int, int]:
        """The numbers of Ada's memories that wait to be indexed, and to be removed."""
        status = indexing.status(self.ada_script)
        return status.waiting, status.removed
