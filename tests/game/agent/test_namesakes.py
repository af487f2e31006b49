"""Two people who have one name in turns, and a renamed one: whom the model reads of."""

import time
from typing import Any

from evennia.utils.create import create_account, create_object

from evennia_ai.core.memory.recollection import place_audience
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import evidence
from evennia_ai.memory_store import rows
from tests.game.memory.remembering_case import RememberingTest
from tests.game.support import Person, says, whispers

ANOTHER = "(The Tom of these lines is another person than the Tom you meet later.)"


class NamesakesTest(RememberingTest):
    """Tom and Mira, and a person who can be anybody."""

    def setUp(self) -> None:
        super().setUp()
        self.ada_script.db.room_messages = "context"

    def newcomer(self, name: str, account: str = "newcomer") -> Any:
        """A new player in the room, online."""
        being = create_object(Person, key=name, location=self.room1, home=self.room1)
        being.account = create_account(account, f"{account}@example.com", "testpassword")
        self.put_online(being)
        return being

    def told(self) -> str:
        """All that the model was sent for the newest reply."""
        return "\n".join(str(message["content"]) for message in self.model.bodies[-1]["messages"])


class TestConversation(NamesakesTest):
    def test_a_player_with_the_name_of_a_deleted_one_is_somebody_else(self) -> None:
        self.ask("say @ada I hid a kestrel", says("I see."), person=self.mira)
        self.mira.delete()
        other = self.newcomer("Mira")
        self.ask("say @ada what did I hide?", says("You did not tell me."), person=other)
        assert 'hid a kestrel"\n' + ANOTHER.replace("Tom", "Mira") in self.told()

    def test_a_player_who_takes_a_name_that_was_given_up_is_somebody_else(self) -> None:
        self.ask("say @ada I hid a kestrel", says("I see."))
        self.tom.key, self.mira.key = "Tim", "Tom"
        self.ask("say @ada what did I hide?", says("You did not tell me."), person=self.mira)
        assert f'hid a kestrel"\n{ANOTHER}' in self.told()
        assert "Tim" not in self.told().replace("Tim is here", "")

    def test_a_fact_of_somebody_who_gave_up_the_name_is_told_as_that(self) -> None:
        self.ask("say @ada hello", says("Hello."))
        self.tom.key, self.mira.key = "Tim", "Tom"
        self.ask("say @ada hello", says("Hello."))
        self.remember(
            "Tom has a kestrel.", self.toms, place_audience("say", self.room1.dbref), kind="fact"
        )
        self.ask("say @ada what is my kestrel?", says("None."), person=self.mira)
        assert '"Tom has a kestrel." (of another person called Tom)' in self.told()

    def test_overheard_words_of_an_earlier_namesake_are_told_apart(self) -> None:
        self.type(self.mira, "say a fine kestrel")
        self.ask("say @ada hello", says("Hello."))
        self.mira.key = "Mara"
        other = self.newcomer("Mira")
        self.ask("say @ada what did I say?", says("Nothing."), person=other)
        assert ANOTHER.replace("Tom", "Mira") in self.told()

    def test_a_renamed_player_is_known_to_be_the_same_in_a_whisper_and_only_there(self) -> None:
        self.ask("say @ada I hid a kestrel", says("I see."), person=self.mira)
        self.mira.key = "Mara"
        self.ask("whisper ada = what did I hide?", whispers("A kestrel.", "Mara"), person=self.mira)
        assert 'hid a kestrel"\n(Mira is now called Mara.)' in self.told()
        for line in ("say @ada what did Mira hide?", "whisper ada = what did Mira hide?"):
            self.ask(line, says("A kestrel."))
            assert "now called" not in self.told()

    def test_history_tells_staff_of_namesakes(self) -> None:
        self.ask("say @ada I hid a kestrel", says("I see."), person=self.mira)
        self.mira.delete()
        other = self.newcomer("Mira")
        self.ask("say @ada I hid a juniper", says("I see."), person=other)
        lines = self.answer(self.tom, "history ada show").splitlines()
        at = next(number for number, line in enumerate(lines) if "kestrel" in line)
        assert ANOTHER.replace("Tom", "Mira") == lines[at + 1].strip()
        assert 1 == sum("another person" in line for line in lines)


class TestMemory(NamesakesTest):
    """What was said and known of an earlier Mira, in the room where the new one asks."""

    def setUp(self) -> None:
        super().setUp()
        # Memories have the assistant's times, and characters those of the game.
        self.clock.advance(time.time() - self.clock.seconds() - 1_000)

    def open_fact(self, text: str, person: str) -> None:
        """A fact that was derived from something said aloud."""
        self.remember(text, person, place_audience("", self.room1.dbref), kind="fact")

    def newcomer(self, name: str, account: str = "newcomer") -> Any:
        being = super().newcomer(name, account)
        self.clock.advance(2_000)
        return being

    def leave(self, being: Any) -> None:
        """Let a player leave for good; the conversation is over."""
        being.delete()
        self.ada_script.work.history = []

    def test_an_entry_and_facts_of_a_deleted_player_are_anothers(self) -> None:
        self.ask("say @ada I collect kestrels", says("I see."), person=self.mira)
        self.open_fact("Mira collects kestrels", self.miras)
        self.open_fact("Mira stole the kestrels", self.toms)
        self.leave(self.mira)
        other = self.newcomer("Mira")
        self.ask("say @ada do I collect kestrels?", says("No."), person=other)
        told = self.told()
        assert "- Another person called Mira said " in told
        for text in ("Mira collects kestrels", "Mira stole the kestrels"):
            assert f'"{text}" (of another person called Mira)' in told
        self.clock.advance(60)
        self.open_fact("Mira returned the kestrels", self.toms)
        self.ask("say @ada did I return the kestrels?", says("Yes."), person=other)
        assert '"Mira returned the kestrels"\n' in f"{self.told()}\n"

    def test_the_tools_say_so_too(self) -> None:
        self.open_fact("Mira collects kestrels", self.miras)
        self.leave(self.mira)
        other = self.newcomer("Mira")
        looked = completion(None, ("recall_memories", {"query": "kestrels"}))
        self.ask("say @ada do I collect kestrels?", looked, says("No."), person=other)
        assert ", of another person called Mira)" in self.told()

    def test_a_third_person_is_told_of_two_people(self) -> None:
        self.ask("say @ada I collect kestrels", says("I see."), person=self.mira)
        self.leave(self.mira)
        other = self.newcomer("Mira")
        self.ask("say @ada I collect kestrels and tea", says("I see."), person=other)
        self.ada_script.work.history = []
        self.clock.advance(2_000)
        self.ask("say @ada who collects kestrels?", says("Mira."))
        told = self.told()
        assert "- Another person called Mira said " in told
        assert "- Mira said " in told

    def test_of_a_name_in_the_conversation_and_one_in_a_memory_the_first_is_now(self) -> None:
        self.ask("say @ada I collect kestrels", says("I see."), person=self.mira)
        self.leave(self.mira)
        self.clock.advance(2_000)
        other = self.newcomer("Mira")
        self.ask("say @ada hello", says("Hello."), person=other)
        self.ask("say @ada who collects kestrels?", says("Mira."))
        assert "- Another person called Mira said " in self.told()

    def test_a_night_reads_of_two_people(self) -> None:
        for person in (self.mira, self.newcomer("Mira")):
            self.ask("say @ada I collect kestrels", says("I see."), person=person)
        shown = evidence.dated_memories(self.ada_script, rows.values(rows.of(self.ada_script.pk)))
        first, second = (item.text for item in shown)
        assert first.startswith('Another person called Mira said: "I collect kestrels"')
        assert second.startswith('Mira said: "I collect kestrels"')


class TestFormerNames(NamesakesTest):
    """Mira, known for an hour, is now called Mara."""

    def setUp(self) -> None:
        super().setUp()
        self.ask("whisper ada = I collect kestrels", whispers("I see.", "Mira"), person=self.mira)
        self.meet_later()
        self.mira.key = "Mara"

    def meet_later(self) -> None:
        self.ada_script.work.history = []
        self.clock.advance(4_000)

    def talk(self, way: str, person: Any = None) -> str:
        """Say hello to Ada, twice, and return what the model was told the second time."""
        for _ in range(2):
            self.meet_later()
            self.ask(f"{way} hello Ada", says("Hello."), person=person or self.mira)
        return self.told()

    def test_the_model_is_told_only_in_a_talk_with_her_alone(self) -> None:
        assert "was called Mira until 1 January 1970" in self.talk("whisper ada =")
        assert "was called" not in self.talk("say")
        assert "was called" not in self.talk("say", self.tom)
        assert "was called" not in self.talk("whisper ada =", self.tom)

    def test_her_open_words_are_hers_in_a_talk_with_her_alone(self) -> None:
        place = place_audience("", self.room1.dbref)
        self.remember('Mira said: "I own a zeppelin"', self.miras, place)
        self.ask("whisper ada = what of my zeppelin?", whispers("Hm.", "Mara"), person=self.mira)
        assert "- Mara, then called Mira, said today" in self.told()
        self.ask("say @ada what of my zeppelin?", says("Hm."), person=self.mira)
        assert "then called" not in self.told()

    def test_she_sees_it_may_forget_it_and_export_has_it(self) -> None:
        self.talk("whisper ada =")
        assert "was called Mira until" in self.answer(self.mira, "assistant memory")
        assert "was called Mira until" in self.answer(self.mira, "assistant memory export")
        self.answer(self.mira, "assistant forget everything", "yes")
        assert "was called" not in self.answer(self.mira, "assistant memory")
        assert "was called" not in self.talk("whisper ada =")

    def test_staff_find_her_by_the_former_name_until_somebody_else_has_it(self) -> None:
        self.talk("whisper ada =")
        assert "was called Mira" in self.answer(self.tom, "aimemory ada profiles mira reveal")
        self.newcomer("Mira")
        assert "knows nobody by" in self.answer(self.tom, "aimemory ada profiles mira")

    def test_forgetting_her_reaches_the_former_name(self) -> None:
        self.remember("Mira stole a zeppelin", self.toms)
        self.talk("whisper ada =")
        self.answer(self.mira, "assistant forget everything", "yes")
        assert "somebody stole a zeppelin" in self.texts()

    def test_forgetting_her_spares_the_entries_of_who_has_the_name_now(self) -> None:
        self.talk("whisper ada =")
        other = self.newcomer("Mira")
        self.ask("say @ada I own a zeppelin", says("I see."), person=other)
        self.answer(self.mira, "assistant forget everything", "yes")
        assert any(text.startswith('Mira said: "I own a zeppelin"') for text in self.texts())

    def test_another_character_of_the_player_is_no_new_name(self) -> None:
        self.mira.key = "Mira"
        other = create_object(Person, key="Mona", location=self.room1, home=self.room1)
        self.account2.characters.add(self.mira)
        self.account2.characters.add(other)
        other.account = self.account2
        self.put_online(other)
        assert "was called" not in self.talk("whisper ada =", other)

    def test_who_takes_the_name_later_is_not_meant_by_what_was_known_before(self) -> None:
        self.remember("Mira stole a zeppelin", "*#99", place_audience("", self.room1.dbref))
        self.meet_later()
        self.ask("whisper ada = hello", whispers("Hello."))
        self.meet_later()
        self.tom.key = "Mira"
        self.talk("whisper ada =", self.tom)
        self.meet_later()
        self.ask("say @ada what of the zeppelin?", says("Hm."))
        assert '"Mira stole a zeppelin" (of another person called Mira)' in self.told()
