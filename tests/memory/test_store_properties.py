"""Searches agree with a plain look through the rows, in any order of events.

A search reads an index in memory. A row that stayed in it too long would tell what was forgotten,
corrected, or meant for others.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.mem0_store import Mem0Store
from evennia_ai.memory_store.port import Item, MemoryQuery
from tests.memory.store_support import MIA, OTHER, ROOM, TOM, WORLD, key, opened

AUDIENCES = (WORLD, ROOM, OTHER, TOM, MIA)
TRUSTS = (0.1, 0.5, 1.0)
# Each shares words with the query, so that it is found with or without a vector.
QUERY = "what gold does Tom owe the smith?"
TEXTS = tuple(f"Tom owes the smith gold for {thing}" for thing in ("a lamp", "nails", "his horse"))
ASSISTANTS, MOST = (1, 2), 12


@dataclass(frozen=True, slots=True)
class Plain:
    """A memory in the plain list."""

    assistant: int
    text: str
    audience: str
    trust: float
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """An event: it concerns one memory, or all of an assistant's."""

    act: str
    number: int
    text: str
    audience: str
    trust: float
    audiences: tuple[str, ...]


STEPS = st.builds(
    Step,
    st.sampled_from(
        ["insert", "insert", "insert", "change", "forget", "supersede", "hold", "index", "start"]
        + ["supersede", "hold"]
        + ["search"] * 3
    ),
    st.integers(0, MOST - 1),
    st.sampled_from(TEXTS),
    st.sampled_from(AUDIENCES),
    st.sampled_from(TRUSTS),
    st.lists(st.sampled_from(AUDIENCES), min_size=1, unique=True).map(tuple),
)


class Both:
    """The table with the store that reads it, and the plain list beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Mem0Store = opened("inline", folder)
        self.plain: dict[int, Plain] = {}
        self.gone: set[int] = set()

    def do(self, step: Step) -> None:
        """Apply an event to both."""
        if step.act == "start":
            self.store = opened("inline", self.folder)
        elif step.act == "index":
            self.index()
        elif step.act == "search":
            self.compare(step.audiences, step.trust)
        elif step.act == "insert":
            self.insert(step)
        elif step.number in self.plain:
            self.touch(step, self.plain[step.number])

    def insert(self, step: Step) -> None:
        """Store another memory; a key is never used again."""
        if step.number in self.plain or step.number in self.gone:
            return
        owner = ASSISTANTS[step.number % 2]
        memory = Recollection(key(step.number), "fact", step.text, step.audience, trust=step.trust)
        rows.insert(owner, [memory])
        self.plain[step.number] = Plain(owner, step.text, step.audience, step.trust)

    def touch(self, step: Step, before: Plain) -> None:
        """Change, remove, supersede or restore a memory."""
        owner, which = before.assistant, key(step.number)
        if step.act == "change":
            changed = {"text": step.text, "audience": step.audience, "trust": step.trust}
            assert rows.change(owner, which, **changed)
            self.plain[step.number] = replace(before, **changed)
        elif step.act == "forget":
            assert 1 == rows.remove(owner, [which])
            del self.plain[step.number]
            self.gone.add(step.number)
        elif step.act == "supersede":
            rows.supersede(owner, rows.of(owner, key=which), 1.0)
            self.plain[step.number] = replace(before, holds=False)
        else:
            rows.change(owner, which, superseded_at=None)
            self.plain[step.number] = replace(before, holds=True)

    def index(self) -> None:
        """Run indexing."""
        for owner in ASSISTANTS:
            unread, gone = rows.waiting(owner, MOST)
            rows.erase(owner, gone)
            items = [Item(row.key, row.text, row.audience, row.trust) for row in unread]
            rows.mark_indexed(owner, unread, self.store.signature, self.store.add(owner, items))

    def compare(self, audiences: tuple[str, ...], min_trust: float) -> None:
        """Compare searches by words and by meaning with the plain list."""
        for owner in ASSISTANTS:
            sought = MemoryQuery(owner, QUERY, audiences, MOST, min_trust)
            wanted = {
                key(number)
                for number, one in self.plain.items()
                if one.holds
                and one.assistant == owner
                and one.audience in audiences
                and one.trust >= min_trust
            }
            by_meaning = [hit.key for hit in self.store.search(sought)]
            by_words = [hit.key for hit in self.store.search_words(sought).hits]
            all_of_few = self.store.search_words(replace(sought, fits=MOST)).hits
            assert sorted(wanted) == sorted(by_meaning)
            assert sorted(wanted) == sorted(by_words)
            assert sorted(wanted) == sorted(hit.key for hit in all_of_few)


@given(st.lists(STEPS, min_size=60, max_size=100))
def test_a_search_finds_what_the_rows_say(database: None, steps: list[Step]) -> None:
    with TemporaryDirectory() as folder, transaction.atomic():
        both = Both(Path(folder))
        for step in steps:
            both.do(step)
        both.compare(AUDIENCES, 0.0)
        both.index()
        for audience in AUDIENCES:
            both.compare((audience,), 0.3)
        transaction.set_rollback(True)
