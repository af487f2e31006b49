"""Facts that hold no more: of what was told first one way and then another, the later holds."""

import json
from datetime import UTC, datetime
from typing import Any

from evennia_ai import consolidation
from evennia_ai.core.memory import journal
from evennia_ai.core.memory.namesakes import former_name
from evennia_ai.core.memory.recollection import Seeker, person_audience
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import forgetting, profiles, reaching
from evennia_ai.memory.journal import search
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
from tests.game.consolidation.sleep_case import NightCase
from tests.game.consolidation.sleep_model import lines, told

DAY = 86_400.0
OPEN, SHUT = "The harbour is open.", "The harbour is shut."


def answer(*facts: dict[str, Any]) -> bytes:
    return completion(json.dumps(facts))


def fact(text: str, *entries: int, **more: list[int]) -> dict[str, Any]:
    return {"fact": text, "entries": [*entries], **more}


class SupersedingTest(NightCase):
    """Tom tells Ada things, and later other things."""

    def night(self, *facts: dict[str, Any], scores: int = 1) -> dict[str, Any]:
        self.model.answers.extend([completion("[]")] * scores + [answer(*facts)])
        consolidation.wake_up(self.ada_script, "a test")
        return self.sleep_through()

    def said(self, text: str, days: float = 1, **more: Any) -> str:
        """The key of what Tom says, after which days pass."""
        key = self.note(f"Tom said: {text}", **more)
        self.clock.advance(days * DAY)
        return key

    def row(self, text: str) -> Memory:
        (memory,) = [row for row in self.stored() if row.text.endswith(text)]
        return memory


class TestOneBatch(SupersedingTest):
    """Both facts stand in the same answer."""

    def test_the_later_one_holds(self) -> None:
        """The earlier fact and its entry stay for staff, with the time at which they ended."""
        self.said(OPEN)
        since = self.clock.seconds()
        self.said(SHUT)
        night = self.night(fact(OPEN, 1), fact(SHUT, 2, replaces_new=[1]))
        assert [SHUT] == self.holding("fact")
        assert [f"Tom said: {SHUT}"] == self.holding("journal")
        assert since == self.row(f"Tom said: {OPEN}").superseded_at
        assert [since] == [row.superseded_at for row in self.stored("fact") if row.text == OPEN]
        assert 1 == night["counts"]["facts replaced"]

    def test_by_the_days_of_their_entries(self) -> None:
        """The order in the answer, and which fact names the other, do not matter."""
        self.said(OPEN)
        self.said(SHUT)
        self.night(fact(SHUT, 2), fact(OPEN, 1, replaces_new=[1]))
        assert [SHUT] == self.holding("fact")

    def test_of_the_same_moment_the_one_that_says_so(self) -> None:
        """One of the two holds if both say so."""
        self.said(f"{OPEN} {SHUT}")
        self.night(fact(OPEN, 1, replaces_new=[2]), fact(SHUT, 1, replaces_new=[1]))
        assert [OPEN] == self.holding("fact")
        assert 1 == len(self.holding("journal"))

    def test_one_after_another(self) -> None:
        for text in ("It is red.", "It is blue.", "It is green."):
            self.said(text)
        self.night(
            fact("It is red.", 1),
            fact("It is blue.", 2, replaces_new=[1]),
            fact("It is green.", 3, replaces_new=[2]),
        )
        assert ["It is green."] == self.holding("fact")

    def test_a_rumour_takes_no_place(self) -> None:
        """A fact that is believed less is told beside the other, as hearsay."""
        self.said(OPEN, trust=0.9)
        self.said(SHUT, trust=0.3)
        self.night(fact(OPEN, 1), fact(SHUT, 2, replaces_new=[1]))
        assert [OPEN, SHUT] == self.holding("fact")

    def test_a_fact_that_is_not_kept_takes_no_place(self) -> None:
        """A fact about herself is dropped, and replaces nothing."""
        self.said(OPEN)
        self.said("Ada is shut.")
        self.night(fact(OPEN, 1), fact("Ada is shut.", 2, replaces_new=[1, 7]))
        assert [OPEN] == self.holding("fact")

    def test_the_model_is_shown_the_days(self) -> None:
        """It sees the days of entries and facts, and a word for a day becomes that day."""
        self.said("I sailed yesterday.")
        self.said("My mother comes next week.")
        self.night(fact("Tom sailed yesterday.", 1), fact("Tom's mother comes next week.", 2))
        first, second = (row.text for row in self.stored("fact"))
        asked = told(self.asked("facts")[0])
        assert '1 (Thursday 1 January 1970): "Tom said: I sailed yesterday."' in asked
        assert "Tom sailed on 31 December 1969." == first
        assert "Tom's mother comes in the week of 5 January 1970." == second
        self.said("Hm.")
        self.night()
        asked = told(self.asked("facts")[-1])
        assert "(Friday 2 January 1970): \"Tom's mother comes in the week of" in asked


class TestAnotherNight(SupersedingTest):
    """The earlier fact is known from a night before."""

    def both(self, **more: Any) -> None:
        """Let one fact be told, and the other a night later."""
        self.said(OPEN, **more)
        self.night(fact(OPEN, 1))
        self.said(SHUT)
        self.night(fact(SHUT, 1, replaces=[1]))

    def test_what_was_known_and_its_entry_are_over(self) -> None:
        self.both()
        assert ([SHUT], [f"Tom said: {SHUT}"]) == (self.holding("fact"), self.holding("journal"))
        assert [SHUT] == lines(self.asked_again(), "Known already")

    def test_what_much_talk_is_about(self) -> None:
        """The known fact is shown to the model even if many entries are more alike."""
        self.note(OPEN, kind="fact")
        for number in range(5):
            self.note(f"Cat {number} is in the attic.", kind="fact")
        for number in range(30):
            self.note(f"Tom said: {SHUT} {number}")
        self.night(fact(SHUT, 1))
        assert OPEN in lines(self.asked("facts")[0], "Known already")

    def asked_again(self) -> Any:
        self.said("Hm.")
        self.night()
        return self.asked("facts")[-1]

    def test_and_what_was_concluded_from_it(self) -> None:
        self.said(OPEN)
        self.night(fact(OPEN, 1))
        (known,) = self.stored("fact")
        self.note("Ships come.", kind="insight", cites=(known.key,))
        self.said(SHUT)
        self.night(fact(SHUT, 1, replaces=[1]))
        assert [] == self.holding("insight")

    def test_and_what_is_known_of_whoever_said_it(self) -> None:
        """The same point in a profile ends for the same audience, and stays for another."""
        alone = person_audience(self.persons["Tom"])
        profiles.meet(self.ada_script, self.persons["Tom"], "Tom")
        known = [{"text": OPEN, "audience": who, "at": 0.0} for who in (self.here, alone)]
        EntityProfile.objects.update(attributes=known)
        self.both()
        left = profiles.of(self.ada_script, self.persons["Tom"]).attributes
        assert [alone] == [item["audience"] for item in left]

    def test_and_what_a_profile_says_of_it_in_other_words(self) -> None:
        """A portrait says "has a cat" where the fact says "Tom has a cat."."""
        profiles.meet(self.ada_script, self.persons["Tom"], "Tom")
        texts = ("has a cat named Misty", "has a cat named Ruby", "fears the harbour")
        known = [{"text": text, "audience": self.here, "at": 0.0} for text in texts]
        EntityProfile.objects.update(attributes=known)
        self.said("My cat is Misty.")
        self.night(fact("Tom has a cat named Misty.", 1))
        self.said("My cat is Ruby.")
        self.night(fact("Tom has a cat named Ruby.", 1, replaces=[1]))
        left = profiles.of(self.ada_script, self.persons["Tom"]).attributes
        assert [*texts[1:]] == [item["text"] for item in left]

    def test_what_holds_again(self) -> None:
        self.both()
        self.said("The harbour is open again.")
        self.night(fact(OPEN, 1, replaces=[1]))
        assert [OPEN] == self.holding("fact")

    def test_what_is_said_anew_and_over_in_one_answer(self) -> None:
        """The fact from before ends with the new one of the same words."""
        self.said(OPEN)
        self.night(fact(OPEN, 1))
        self.said(f"{OPEN} Since long.")
        self.said(SHUT)
        self.night(fact(OPEN, 1), fact(SHUT, 2, replaces_new=[1]))
        assert [SHUT] == self.holding("fact")

    def test_older_words_take_no_place(self) -> None:
        """An entry that waited is itself outdated by a fact from later."""
        early = self.said(OPEN)
        Memory.objects.filter(key=early).update(is_consolidated=True)
        self.said(SHUT)
        self.night(fact(SHUT, 1))
        Memory.objects.filter(key=early).update(is_consolidated=False)
        self.night(fact(OPEN, 1, replaces=[1]))
        assert ([SHUT], [f"Tom said: {SHUT}"]) == (self.holding("fact"), self.holding("journal"))

    def test_what_people_wrote_stays(self) -> None:
        self.said(OPEN)
        self.night(fact(OPEN, 1))
        (entry,) = self.stored("journal")
        Memory.objects.filter(pk=entry.pk).update(importance_by="manual")
        self.said(SHUT)
        self.night(fact(SHUT, 1, replaces=[1]))
        assert [SHUT] == self.holding("fact")
        assert 2 == len(self.holding("journal"))

    def test_put_right_by_hand_it_holds(self) -> None:
        self.both()
        (old,) = [row for row in self.stored("fact") if row.text == OPEN]
        reaching.correct(self.ada_script, old, text="The harbour is half open.")
        assert {SHUT, "The harbour is half open."} == set(self.holding("fact"))

    def test_whoever_is_forgotten_is_forgotten_there_too(self) -> None:
        self.both()
        forgetting.forget_person(self.ada_script, self.persons["Tom"])
        assert [] == self.texts()

    def test_who_reads_the_journal_is_told_since_when(self) -> None:
        self.both()
        seeker = Seeker(self.persons["Tom"], "say", self.room1.dbref)
        entries = search(self.ada_script, seeker, "harbour", 5)
        config, now = state.memory_config(self.ada_script), datetime.now(UTC)
        shown = journal.lines(entries, config, now, {})
        assert ["no longer so since 1970-01-02" in line for line in shown.splitlines()] == [
            OPEN in line for line in shown.splitlines()
        ]


class TestNamesakes(SupersedingTest):
    """Two players are called Tom, one after the other; a third speaks of them."""

    MISTY, RUBY = "Tom's cat is Misty.", "Tom's cat is Ruby."

    def setUp(self) -> None:
        super().setUp()
        self.persons["Kay"] = "*#99"
        self.meet("Tom", "Tom")
        self.meet("Mira", "Tom")

    def meet(self, person: str, name: str) -> None:
        profiles.meet(self.ada_script, self.persons[person], name)

    def told_by(self, first: str, second: str, *, nights: int = 1) -> list[str]:
        """The facts that hold after two people told them, in one night or in two."""
        self.said(self.MISTY, by=first)
        if nights == 1:
            self.said(self.RUBY, by=second)
            self.night(fact(self.MISTY, 1), fact(self.RUBY, 2, replaces_new=[1]))
        else:
            self.night(fact(self.MISTY, 1))
            self.said(self.RUBY, by=second)
            self.night(fact(self.RUBY, 1, replaces=[1]))
        return self.holding("fact")

    def test_what_each_says_of_themselves_holds(self) -> None:
        """So it is within one batch; their entries and attributes stay, too."""
        assert [self.MISTY, self.RUBY] == self.told_by("Tom", "Mira")
        assert 2 == len(self.holding("journal"))

    def test_in_another_night_as_well(self) -> None:
        assert [self.MISTY, self.RUBY] == self.told_by("Tom", "Mira", nights=2)

    def test_a_third_may_have_meant_the_other(self) -> None:
        assert [self.MISTY, self.RUBY] == self.told_by("Kay", "Mira", nights=2)

    def test_by_a_name_that_was_given_up(self) -> None:
        alone, until = person_audience(self.persons["Tom"]), former_name("Tom", "1 January 1970")
        given_up = {"text": until, "audience": alone, "at": 0.0}
        of_tom = EntityProfile.objects.filter(entity=self.persons["Tom"])
        of_tom.update(name="Tim", attributes=[given_up])
        self.tom.key = "Tim"
        assert [self.MISTY, self.RUBY] == self.told_by("Tom", "Mira", nights=2)

    def test_by_another_character_of_the_player(self) -> None:
        """The profile has the name of the character met last."""
        self.meet("Tom", "Tim")
        assert [self.MISTY, self.RUBY] == self.told_by("Tom", "Mira", nights=2)

    def test_ones_own_later_words_replace_the_earlier(self) -> None:
        assert [self.RUBY] == self.told_by("Mira", "Mira", nights=2)

    def test_where_one_has_the_name_others_may_correct_it(self) -> None:
        self.meet("Mira", "Mira")
        assert [self.RUBY] == self.told_by("Tom", "Kay", nights=2)

    def test_what_names_neither_is_replaced_as_ever(self) -> None:
        self.said(OPEN)
        self.said(SHUT, by="Mira")
        self.night(fact(OPEN, 1), fact(SHUT, 2, replaces_new=[1]))
        assert [SHUT] == self.holding("fact")
