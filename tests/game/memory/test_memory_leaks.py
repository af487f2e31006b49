"""A property test: no private word of one person is in a request for another.

Everything is real but the model.
"""

import re
from itertools import count
from typing import Any

from evennia.utils.create import create_account, create_object
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, succeed

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.memory.recollection import faction_audience
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import services, state
from tests.game.memory.memory_case import FailingStore, MemoryTest
from tests.game.people import Person
from tests.game.support import pump, says, whispers

SECRET = re.compile(r"xyzzy\d+q")
QUESTION = "where does the hidden treasure lie, tell me of the hidden treasure"
# Who does what, in one step of a history.
PEOPLE = ("Tom", "Mira", "Eve")
DEEDS = (
    "whisper",
    "page",
    "say",
    "ask",
    "ask aloud",
    "is told",
    "concluded",
    "stores",
    "writes",
    "notes",
    "says all",
    "stores all",
    "writes all",
    "notes all",
    "plans all",
    "moves",
    "joins",
    "faction",
    "overheard",
)
HISTORIES = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(DEEDS)), min_size=3, max_size=14
)


class AnsweringTransport(ScriptedModel):
    """A model that answers turns as scripted, else with silence, and other requests with no facts.

    Attributes:
        repeats: a tool and its arguments; None stands for all secrets in the request. Used once.
    """

    repeats: tuple[str, dict[str, Any]] | None = None

    def post(self, body: Any) -> Deferred[bytes]:
        if not body.get("tools"):
            self.bodies.append(body)
            return succeed(completion('{"facts": []}'))
        if self.repeats:
            (name, given), self.repeats = self.repeats, None
            known = f"hidden treasure: {' '.join(sorted(set(SECRET.findall(str(body)))))}"
            filled = {key: known if value is None else value for key, value in given.items()}
            self.answers.appendleft(completion(None, (name, filled)))
        if not self.answers:
            self.answers.append(completion(None, ("noop", {})))
        return super().post(body)


class TestLeaks(MemoryTest):
    """Tom, Mira and Eve have secrets, and talk with Ada about treasures."""

    def setUp(self) -> None:
        super().setUp()
        eve = create_object(Person, key="Eve", location=self.room1)
        eve.account = create_account("Eve", "eve@example.com", "testpassword")
        for number, being in enumerate((self.mira, eve), 3):
            session = self.put_online(being, number)
            session.account, session.uid = being.account, being.account.id
        self.people = {"Tom": self.tom, "Mira": self.mira, "Eve": eve}
        self.addCleanup(eve.delete)
        state.write(self.ada_script, memory_config={"recall_limit": 50, "min_similarity": 0.0})
        self.words = count()
        self.model = AnsweringTransport()
        services.pool().set_transport(services.endpoint(), self.model)

    def begin(self) -> None:
        """Forget everything, and let the limits of an hour or a day expire."""
        self.clock.advance(100_000)
        Memory.objects.all().delete()
        EntityProfile.objects.all().delete()
        self.store = FailingStore()
        self.ada.tags.add("thieves", category="faction")
        for person in self.people.values():
            person.location = self.room1
            person.tags.clear(category="faction")
        state.write(
            self.ada_script, notes=[], projects={}, conversation_history=[], pending_events=[]
        )
        work = self.ada_script.work
        work.history, work.overheard, work.inbox = [], [], []
        work.indexing = work.lore = None
        work.talks.clear()
        self.model.bodies.clear()
        self.model.answers.clear()
        assert "" == self.ada_script.silence
        self.secrets: dict[str, set[str]] = {name: set() for name in (*PEOPLE, "thieves")}
        self.may_be_told: dict[str, set[str]] = {name: set() for name in PEOPLE}

    def word(self, owner: str) -> str:
        word = f"xyzzy{next(self.words)}q"
        self.secrets[owner].add(word)
        return word

    def does(self, name: str, deed: str) -> None:
        """One step of a history. All requests in it are made for that person."""
        before = len(self.model.bodies)
        self.clock.advance(20)  # no more calls a minute than she may make
        getattr(self, f"do_{deed.replace(' ', '_')}")(name, self.people[name])
        self.model.answers.clear()
        self.catch_up()
        assert [] == self.ada_script.work.inbox, "she did not hear all of it"
        self.check(name, before)

    def check(self, name: str, before: int) -> None:
        """No secret of another person is in the requests since then."""
        asked = self.model.bodies[before:]
        for body in asked:
            self.check_alone(str(body["messages"]))
        sent = str([body for body in asked if not self.is_beside(body)])
        if self.people[name].tags.has("thieves", category="faction"):
            self.may_be_told[name] |= self.secrets["thieves"]
        for owner, words in self.secrets.items():
            for word in words if owner != name else ():
                if word not in self.may_be_told[name]:
                    assert word not in sent, f"{owner}'s {word} was sent for {name}"

    def is_beside(self, body: Any) -> bool:
        """Return True for a request outside of turns: a summary, or the extraction of facts."""
        return all(tool["function"]["name"] != "say" for tool in body.get("tools", ()))

    def check_alone(self, sent: str) -> None:
        """A request for nobody, such as an extraction of facts, mixes no two people's secrets."""
        owners = {
            owner for owner, words in self.secrets.items() for word in words if word in sent
        } - {"thieves"}
        assert len(owners) < 2, f"secrets of {owners} are in one request"

    def hear(self, person: Any, body: str, source: str, *answers: bytes) -> None:
        if source != "page" and person.location != self.ada.location:
            return
        self.model.answers.extend(answers)
        stored = self.turn(body, source=source, person=person).event.as_stored()
        self.ada_script.enqueue(Event.from_stored({**stored, "id": f"e{next(self.words)}"}))
        pump()

    def do_whisper(self, name: str, person: Any) -> None:
        text = f"my hidden treasure lies at {self.word(name)}"
        self.hear(person, text, "whisper", whispers(f"So, {text}", name))

    def do_page(self, name: str, person: Any) -> None:
        self.hear(person, f"my hidden treasure lies at {self.word(name)}", "page", says("Hm."))

    def do_say(self, name: str, person: Any) -> None:
        self.hear(person, "the hidden treasure lies somewhere", "say", says("Yes, somewhere."))

    def do_ask(self, name: str, person: Any) -> None:
        self.hear(person, QUESTION, "whisper", whispers("I wonder.", name))

    def do_ask_aloud(self, name: str, person: Any) -> None:
        """Others hear the answer, so the asker's own secrets are withheld, too."""
        before = len(self.model.bodies)
        self.hear(person, QUESTION, "say", says("I wonder."))
        if all(other.location == self.room1 for other in self.people.values()):
            asked = [body for body in self.model.bodies[before:] if not self.is_beside(body)]
            sent = str([body["messages"] for body in asked])
            for word in self.secrets[name]:
                assert word not in sent, f"{name}'s {word} was told before others"

    def repeat(self, person: Any, tool: str, **given: str | None) -> None:
        """Ask aloud a model that puts all secrets in its request into a tool call."""
        self.model.repeats = tool, given
        self.hear(person, QUESTION, "say")
        self.model.repeats = None

    def do_says_all(self, name: str, person: Any) -> None:
        self.repeat(person, "say", message=None)

    def do_stores_all(self, name: str, person: Any) -> None:
        self.repeat(person, "store_memory", text=None)

    def do_writes_all(self, name: str, person: Any) -> None:
        self.repeat(person, "add_journal_entry", text=None)

    def do_notes_all(self, name: str, person: Any) -> None:
        self.repeat(person, "write_note", text=None)

    def do_plans_all(self, name: str, person: Any) -> None:
        key = f"plan{next(self.words)}"
        self.repeat(person, "create_project", project_key=key, summary=None)

    def do_is_told(self, name: str, person: Any) -> None:
        """Store a private memory, as reflection would."""
        self.secret(f"The hidden treasure of {name} lies at {self.word(name)}.", person)

    def do_concluded(self, name: str, person: Any) -> None:
        """Store an insight that cites a private memory."""
        key = self.secret(f"{name} has a hidden treasure at {self.word(name)}.", person)
        text = f"{name} is rich by a hidden treasure, says {self.word(name)}."
        self.secret(text, person, kind="insight", cites=(key,), trust=0.3)

    def do_stores(self, name: str, person: Any) -> None:
        """The model stores a fact in a private talk."""
        fact = {"text": f"{name} hid a treasure at {self.word(name)}."}
        answers = completion(None, ("store_memory", fact)), whispers("Kept.", name)
        self.hear(person, "keep this, of the hidden treasure", "whisper", *answers)

    def do_writes(self, name: str, person: Any) -> None:
        """The model writes into its journal in a private talk."""
        entry = {"text": f"{name} told of a hidden treasure at {self.word(name)}."}
        answers = completion(None, ("add_journal_entry", entry)), whispers("Kept.", name)
        self.hear(person, "write down, of the hidden treasure", "whisper", *answers)

    def do_notes(self, name: str, person: Any) -> None:
        """The model takes a note in a private talk."""
        note = {"text": f"hidden treasure of {name} at {self.word(name)}"}
        answers = completion(None, ("write_note", note)), whispers("Noted.", name)
        self.hear(person, "note this, of the hidden treasure", "whisper", *answers)

    def do_moves(self, name: str, person: Any) -> None:
        person.location = self.room2 if person.location == self.room1 else self.room1

    def do_joins(self, name: str, person: Any) -> None:
        if person.tags.has("thieves", category="faction"):
            person.tags.remove("thieves", category="faction")
        else:
            person.tags.add("thieves", category="faction")

    def do_faction(self, name: str, person: Any) -> None:
        text = f"The hidden treasure of the thieves lies at {self.word('thieves')}."
        self.remember(text, faction_audience("thieves"))

    def do_overheard(self, name: str, person: Any) -> None:
        """A whisper that needs no answer waits for the next prompt."""
        text = f"hidden treasure at {self.word(name)}"
        self.ada_script.work.muted.clear()
        heard = {"source": "whisper", "person": self.id_of(person), "name": name, "place": "#2"}
        state.overhear(self.ada_script, state.Overheard(body=text, trust=0.9, **heard))

    def test_no_secret_of_one_is_sent_for_another(self) -> None:
        """Everybody does get their own back in private, so nothing passes by silence."""

        @settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
        @given(HISTORIES)
        @example([(name, deed) for deed in DEEDS for name in PEOPLE])
        @example([("Tom", "is told"), ("Mira", "ask"), ("Tom", "ask aloud"), ("Tom", "ask")])
        @example([("Tom", "joins"), ("Eve", "faction"), ("Tom", "ask aloud"), ("Mira", "ask")])
        def live(history: list[tuple[str, str]]) -> None:
            self.begin()
            for name, deed in history:
                self.does(name, deed)
            self.model.bodies.clear()
            work = self.ada_script.work
            work.overheard = []
            names = {name for name, deed in history if deed in ("page", "is told")}
            for name in sorted(names):
                self.people[name].location = self.room1
                work.history, work.talks = [], {}
                state.write(self.ada_script, conversation_history=[])
                self.does(name, "ask")
                asked = [body for body in self.model.bodies if not self.is_beside(body)]
                last = str(asked[-1]["messages"][-1])
                assert any(word in last for word in self.secrets[name]), f"{name} gets nothing"

        live()
