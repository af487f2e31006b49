"""Examples of docs/asking.md, and of docs/extending.md for listening and locking, in a game."""

from typing import Any

from django.dispatch import Signal

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import signals
from tests.game.docs.test_documents import DOCS, snippet
from tests.game.support import says, whispers
from tests.game.tasks.errand_case import ErrandTest, reports_of


class TestExtendingSnippets(ErrandTest):
    def test_a_question_of_the_games(self) -> None:
        read = snippet("def read_the_board", of="asking")["read_the_board"]
        self.model.answers.append(reports_of("At |rnoon|n."))
        self.outcome(read(self.mira))
        assert ["The board says: At |rnoon|n."] == self.mira.seen
        assert "The board says: At ||rnoon||n." == self.mira.messages[0].raw
        self.model.answers.append(completion(None, ("noop", {})))
        self.outcome(read(self.mira))
        assert ("The board is blank.", []) == (self.mira.seen[-1], self.tom.seen)

    def test_an_instruction(self) -> None:
        ring = snippet("def ring_for_dinner", of="asking")["ring_for_dinner"]
        self.ada.locks.add("ai_control:perm(Builder)")
        self.model.answers.append(says("Dinner!"))
        self.outcome(ring(self.ada_script, self.tom))
        assert ['Ada says, "Dinner!"'] == self.mira.heard_from(self.ada)
        assert "the last thing it did was: say" in self.tom.seen[-1]
        ring(self.ada_script, self.mira)
        assert "You may not control Ada" in self.mira.seen[-1]

    def test_receivers(self) -> None:
        names = snippet("# world/logbook.py")
        self.addCleanup(signals.assistant_said.disconnect, names["write_down"])
        self.addCleanup(signals.assistant_stopped.disconnect, names["dim_the_lamps"])
        self.ask("say @ada hello", says("Good evening."))
        self.ask("whisper Ada = hello", whispers("A secret."))
        assert "Good evening." == self.room1.db.last_words
        operations.stop(self.ada_script, "fog")
        assert "fog (by itself)" == self.room1.db.why_dim

    def test_hooks(self) -> None:
        kind = snippet("# typeclasses/parrots.py")["Parrot"]
        script, parrot = self.make("Polly")
        for hook in ("at_assistant_said", "at_assistant_stopped"):
            setattr(parrot, hook, getattr(kind, hook).__get__(parrot))
        outgoing.say(parrot, "pieces of eight", hops=1)
        operations.stop(script, "fog")
        assert (3, True) == (parrot.db.words, "Polly tucks its head" in self.mira.seen[-1])

    def test_an_event_of_the_games_own(self) -> None:
        snippet("def note_feast")["note_feast"](self.ada_script, 12)
        assert [{"guests": 12}] == self.facts("feast_held")

    def test_locks(self) -> None:
        snippet("def belongs_to_the_guild")["belongs_to_the_guild"](self.ada)
        self.mira.tags.add("guild_master")
        assert [True, False] == [
            operations.may_control(self.ada_script, person, is_staff=False)
            for person in (self.mira, self.make_thing("lamp"))
        ]
        self.ask("whisper Ada = hello", whispers("Good evening."))
        assert {"give", "drop"}.isdisjoint(self.tools_of(0))

    def test_a_component(self) -> None:
        tell = snippet("def tell_of_the_weather")["tell_of_the_weather"]
        tell(self.ada_script, "fog")
        self.ask("whisper Ada = hello", whispers("Good evening."))
        assert f"The weather in {self.room1.key}: fog." in str(self.model.bodies[0]["messages"])

    def test_the_table_of_signals(self) -> None:
        text = (DOCS / "extending.md").read_text(encoding="utf-8")
        rows: dict[str, Any] = {
            cells[1].strip("` "): cells[2].strip("` ").split(", ")
            for line in text.splitlines()
            if (cells := line.split("|")) and len(cells) == 5
        }
        known = {name: thing for name, thing in vars(signals).items() if isinstance(thing, Signal)}
        assert set() == known.keys() - rows.keys()
        for row in signals.FROM_RECORD.values():
            (name,) = (name for name, thing in known.items() if thing is row.signal)
            assert sorted((*row.details, *row.fixed)) == sorted(rows[name])
        assert ["text", "source", "to", "is_private"] == rows["assistant_said"]
