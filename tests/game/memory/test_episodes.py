"""The journal entry and the profile changes that a turn leaves, and their audience."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import DatabaseError
from evennia.utils import create

from evennia_ai.agent import turn_lifecycle
from evennia_ai.core.memory.recollection import person_audience, place_audience
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import episodes, talks
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import NOT_A_COMPLETION, says, whispers


class TestEntries(MemoryTest):
    """One journal entry for each turn with somebody."""

    def entries(self) -> list[Memory]:
        return list(Memory.objects.filter(assistant=self.ada_script.pk).order_by("id"))

    def the_entry(self) -> Memory:
        (entry,) = self.entries()
        return entry

    def test_a_whisper(self) -> None:
        """The entry has both sides in the third person and is for this player alone."""
        self.ask("whisper Ada = I promise you a |rlamp|n", whispers("Thank you."))
        entry = self.the_entry()
        expected = 'Tom whispered: "I promise you a lamp" Ada answered: "Thank you."'
        assert (expected, "journal", "direct", "heuristic") == (
            entry.text,
            entry.kind,
            entry.source_type,
            entry.importance_by,
        )
        tom = self.id_of(self.tom)
        assert (person_audience(tom), tom, self.room1.dbref) == (
            entry.audience,
            entry.person,
            entry.place,
        )
        assert (0.9, 8, self.clock.seconds()) == (entry.trust, entry.importance, entry.at)

    def test_what_is_said_aloud(self) -> None:
        self.ask("say @ada where is the mill?", says("By the river."))
        entry = self.the_entry()
        assert 'Tom said: "where is the mill?" Ada answered: "By the river."' == entry.text
        assert (place_audience("say", self.room1.dbref), 0.7) == (entry.audience, entry.trust)

    def test_a_channel(self) -> None:
        """The entry belongs to the channel, not to the room."""
        channel = create.create_channel("Harbour", locks="listen:all();send:all()")
        channel.connect(self.ada)
        state.write(self.ada_script, channel_configs={"Harbour": "trigger"})
        answer = completion(None, ("channel", {"channel": "Harbour", "message": "Ahoy."}))
        self.model.answers.append(answer)
        channel.msg("any boats?", senders=[self.tom])
        self.catch_up()
        entry = self.the_entry()
        expected = 'Tom said on the channel Harbour: "any boats?" Ada answered: "Ahoy."'
        assert (expected, place_audience("channel", "Harbour")) == (entry.text, entry.audience)

    def test_what_she_whispers_in_an_open_talk_is_not_told_to_all(self) -> None:
        self.ask("say @ada tell Mira the word", whispers("The word is fish.", "Mira"))
        assert 'Tom said: "tell Mira the word"' == self.the_entry().text

    def test_what_she_whispers_to_others_is_not_told_to_whoever_asked(self) -> None:
        state.write(self.ada_script, private_words="free")
        self.ask("whisper Ada = tell Mira the word", whispers("It is fish.", "Mira"))
        assert 'Tom whispered: "tell Mira the word"' == self.the_entry().text

    def test_the_words_are_data(self) -> None:
        """Quotes in a player's words are escaped, and a long answer is cut."""
        self.ask('whisper Ada = "x\\" said, and left', whispers("yes " * 200))
        text = self.the_entry().text
        assert text.startswith('Tom whispered: "\\"x')
        assert text.endswith(' yes…"')
        assert 300 > len(text)

    def test_no_word_of_a_long_burst_is_lost(self) -> None:
        """Three messages of the greatest length and a long name fit into one entry."""
        self.tom.key = 'T"' * 29
        state.write(self.ada_script, hearing_config={"batch_seconds": 1, "batch_messages": 10})
        for number in range(3):
            words = f"{number} {'word ' * 390}and the key is under stone {number}"
            assert 1_970 < len(words) <= 2_000
            self.type(self.tom, f"whisper Ada = {words}")
        self.model.answers.append(whispers("I see.", self.tom.key))
        self.clock.advance(60)
        self.catch_up()
        text = self.the_entry().text
        assert text.startswith("Somebody called ")
        assert [f"under stone {number}" in text for number in range(3)] == [True] * 3
        assert "…" not in text

    def test_what_is_retold_of_a_long_entry_is_short(self) -> None:
        """A small model has room for a few sentences only."""
        self.ask("whisper Ada = " + "I like tea. " * 100, whispers("I see."))
        (entry,) = rows.values(self.entries())
        words, answer = episodes.exchange_of(entry)
        assert episodes.LONGEST_RETOLD >= len(words)
        assert (("I like tea. " * 26).strip(), "I see.") == (words, answer)

    def test_several_messages_are_one_entry(self) -> None:
        state.write(self.ada_script, hearing_config={"batch_seconds": 1, "batch_messages": 5})
        self.type(self.tom, "whisper Ada = one")
        self.type(self.tom, "whisper Ada = two")
        self.model.answers.append(whispers("Both."))
        self.clock.advance(60)
        self.catch_up()
        assert 'Tom whispered: "one two" Ada answered: "Both."' == self.the_entry().text

    def test_silence_is_remembered_too(self) -> None:
        self.ask("whisper Ada = I killed him", completion(None, ("noop", {})))
        assert 'Tom whispered: "I killed him"' == self.the_entry().text

    def test_a_failed_turn_is_not_remembered(self) -> None:
        self.ask("whisper Ada = hello", NOT_A_COMPLETION, NOT_A_COMPLETION, NOT_A_COMPLETION)
        assert [] == self.entries()

    def test_what_is_only_overheard_is_not_kept(self) -> None:
        self.type(self.tom, "say nice weather")
        assert [] == self.entries()

    def test_turns_that_are_nobodys(self) -> None:
        for changes in (
            {"kind": "own"},
            {"kind": "task"},
            {"kind": "notice"},
            {"person": ""},
            {"person": "Tom"},
        ):
            with self.subTest(changes):
                turn = self.turn("hello")
                turn.events = (replace(turn.event, **changes),)
                turn.event = turn.events[-1]
                episode = episodes.of_turn(self.ada_script, turn, Stop(StopReason.NOOP), "")
                assert episode.write is None
                episode.index()
        assert {} == self.ada_script.work.talks

    def test_an_answer_that_was_given_before_it_failed(self) -> None:
        """A turn with an effect is remembered even if it failed later."""
        turn = self.turn("hello")
        failed = Stop(StopReason.LLM_ERROR)
        assert episodes.of_turn(self.ada_script, turn, failed, "").write is None
        turn.effects = 1
        assert episodes.of_turn(self.ada_script, turn, failed, "").write is not None

    def test_an_unusual_source(self) -> None:
        turn = self.turn("a crash", source="emit", sender_name="a bell")
        episode = episodes.of_turn(self.ada_script, turn, Stop(StopReason.NOOP), "")
        assert episode.write is not None
        episode.write()
        assert 'A bell caused: "a crash"' == self.the_entry().text


class TestOneTransaction(MemoryTest):
    """An entry exists exactly if its turn is settled."""

    def counts(self) -> tuple[int, int]:
        met = sum(EntityProfile.objects.values_list("meetings", flat=True))
        return Memory.objects.count(), met

    def test_with_the_end_of_the_turn_or_not_at_all(self) -> None:
        self.ask("whisper Ada = one", whispers("Yes."))
        turn = self.turn("two")
        episode = episodes.of_turn(self.ada_script, turn, Stop(StopReason.NOOP), "")
        self.clock.advance(1000)

        def fail() -> None:
            episode.write()
            raise DatabaseError("the disk is full")

        with pytest.raises(DatabaseError, match="full"):
            state.write(self.ada_script, extra_writes=fail, consecutive_errors=1)
        assert (1, 1) == self.counts()
        state.write(self.ada_script, extra_writes=episode.write, consecutive_errors=1)
        assert (2, 2) == self.counts()

    def test_a_turn_that_was_cancelled_leaves_nothing(self) -> None:
        turn = self.turn("hello")
        state.bump_epoch(self.ada_script)
        turn_lifecycle.close(self.ada_script, turn, Stop(StopReason.NOOP))
        assert (0, 0) == self.counts()

    def test_a_reload_keeps_it(self) -> None:
        """Entries and meetings are rows; the current talk is kept in memory only and ends."""
        self.ask("whisper Ada = one", whispers("Yes."))
        self.ada_script.at_pause()
        self.ada_script.at_start()
        assert {} == self.ada_script.work.talks
        self.ask("whisper Ada = two", whispers("Yes."))
        assert (2, 1) == self.counts()


class TestTalks(MemoryTest):
    """The talk that is going on, kept in memory."""

    def talk(self, person: Any = None) -> talks.Talk | None:
        return talks.going_on(self.ada_script, self.id_of(person or self.tom))

    def test_it_goes_on_while_somebody_speaks(self) -> None:
        """It ends after a quarter of an hour of silence."""
        assert self.talk() is None
        began = self.clock.seconds()
        for _ in range(3):
            self.ask("whisper Ada = hello", whispers("Yes."))
            self.clock.advance(800)
        assert (
            talks.Talk(began, began + 1600, 3, "hello", began + 1600, is_private=True)
            == self.talk()
        )
        self.clock.advance(100)
        assert self.talk() is None
        self.ask("whisper Ada = hello again", whispers("Yes."))
        ended = began + 2500
        assert talks.Talk(ended, ended, 1, "hello again", ended, is_private=True) == self.talk()

    def test_a_profile_is_told_of_it_once_a_minute(self) -> None:
        times = []
        for seconds in (0, 30, 29, 1):
            self.clock.advance(seconds)
            self.ask("whisper Ada = hello", whispers("Yes."))
            times.append(EntityProfile.objects.get().last_at)
        first = times[0]
        assert [first, first, first, first + 60] == times

    def test_while_it_goes_on_nobody_is_met_again(self) -> None:
        """The profile's time may lag a minute; a meeting counts only after the talk is over."""
        for seconds in (0, 59, 870, 901):
            before = sum(EntityProfile.objects.values_list("meetings", flat=True))
            self.clock.advance(seconds)
            self.ask("whisper Ada = hello", whispers("Yes."))
        assert (1, 2) == (before, EntityProfile.objects.get().meetings)

    def test_those_that_are_over_leave(self) -> None:
        self.ask("whisper Ada = hello", whispers("Yes."))
        self.clock.advance(900)
        self.ask("whisper Ada = hello", whispers("Yes.", "Mira"), person=self.mira)
        assert [self.id_of(self.mira)] == [*self.ada_script.work.talks]
