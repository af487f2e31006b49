"""A test case of nights: a clock that begins at midnight, a journal, and a model."""

from typing import Any

from django.test.utils import override_settings

from evennia_ai import consolidation
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience
from evennia_ai.memory import modes
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.runtime import services, state
from tests.game.consolidation.sleep_model import NightModel, kind_of
from tests.game.listening import HearingTest

QUARTER, HOUR = 900.0, 3600.0


@override_settings(TIME_ZONE="UTC")
class SleepCase(HearingTest):
    """Ada's nights last from two to six; it is midnight."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self._forget_store)
        self.model: NightModel = NightModel()
        services.pool().set_transport(services.endpoint(), self.model)
        self.set(sleep_schedule={"enabled": True}, compact_enabled=False)
        self.persons = {name: self.person(being) for name, being in self._people()}

    def _people(self) -> list[tuple[str, Any]]:
        return [("Tom", self.tom), ("Mira", self.mira)]

    def _forget_store(self) -> None:
        services.memory().close()
        services.memory.cache_clear()

    def beat(self, times: int = 1) -> None:
        """Fire her timer."""
        for _ in range(times):
            self.fire_timer()
            self.clock.advance(0)

    def sleep_through(self) -> dict[str, Any]:
        """Put her to sleep and run all the night's work. Returns the night's result."""
        consolidation.put_to_sleep(self.ada_script, "a test")
        for _ in range(100):
            if not state.read(self.ada_script, "consolidation_progress")["step"]:
                break
            self.beat()
        return state.read(self.ada_script, "last_night")

    def note(self, text: str, owner: str = "", **options: Any) -> str:
        """An entry of her journal: said here by Tom or, with an owner, in private."""
        person = self.persons[owner or options.pop("by", "Tom")]
        audience = person_audience(person) if owner else place_audience("say", self.room1.dbref)
        memory = Recollection(
            key=new_key(),
            kind=options.pop("kind", "journal"),
            text=text,
            audience=audience,
            person=person,
            place=self.room1.dbref,
            at=self.clock.seconds(),
            **options,
        )
        rows.insert(self.ada_script.pk, [memory])
        return memory.key

    def stored(self, *kinds: str) -> list[Memory]:
        memories = rows.of(self.ada_script.pk).order_by("id")
        return list(memories.filter(kind__in=kinds) if kinds else memories)

    def texts(self, *kinds: str) -> list[str]:
        return [row.text for row in self.stored(*kinds)]

    def holding(self, *kinds: str) -> list[str]:
        return [row.text for row in self.stored(*kinds) if row.superseded_at is None]

    @property
    def mode(self) -> str:
        """The mode by the database: "awake" or "asleep"."""
        return "asleep" if modes.is_asleep(self.ada_script) else "awake"

    def told_facts(self, event: str) -> list[Any]:
        return [facts for name, _, facts in self.recorded if name == event]


class NightCase(SleepCase):
    """Access to the model's calls and the night's progress."""

    def asked(self, kind: str) -> list[Any]:
        return [body for body in self.model.bodies if kind_of(body) == kind]

    @property
    def progress(self) -> dict[str, Any]:
        return state.read(self.ada_script, "consolidation_progress")

    def pause(self, seconds: float = QUARTER) -> None:
        """Let time pass in silence, and let her timer fire."""
        self.clock.advance(seconds)
        self.beat()

    @property
    def today(self) -> dict[str, Any]:
        """The stored counts of this day of what she does awake."""
        return state.read(self.ada_script, "facts_awake")

    @property
    def here(self) -> str:
        return place_audience("say", self.room1.dbref)
