"""The tools of memory and journal: what may be kept, who may read it, and what is refused."""

from typing import Any

from evennia_ai import operations
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.recollection import person_audience, place_audience
from evennia_ai.core.turn.turn import Turn
from evennia_ai.models import Memory
from evennia_ai.runtime import state
from evennia_ai.tool_execution import FOR_SMALL_MODELS
from evennia_ai.tools import REGISTRY
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import says
from tests.game.tools.tool_case import ToolTest

NO_CONSENT = "nothing of this talk may be remembered; go on without"
OURS = ("recall_memories", "store_memory")
JOURNAL = ("add_journal_entry", "read_journal", "search_journal")


class MemoryToolTest(MemoryTest, ToolTest):
    """Tools run by hand in turns for Tom and Mira."""

    def start(self, name: str, arguments: Any, turn: Turn | None = None, **more: Any) -> Any:
        """Begin a call, in a turn for a whisper of Tom's where none is given."""
        return super().start(name, arguments, turn or self.turn("hello"), **more)

    def aloud(self, body: str = "hello", person: Any = None) -> Turn:
        return self.turn(body, source="say", person=person, trust=0.7)

    def kept(self) -> Memory:
        memory = Memory.objects.filter(assistant=self.ada_script.pk).order_by("-id").first()
        assert memory is not None
        return memory

    def count(self) -> int:
        return Memory.objects.filter(assistant=self.ada_script.pk).count()


class TestStore(MemoryToolTest):
    def test_a_fact_is_kept(self) -> None:
        """Its audience are those who were there, and a search finds it from then on."""
        turn = self.aloud("the old mill burned down")
        text = self.told("store_memory", text="The old\nmill burned.", about="Mill", turn=turn)
        fact = self.kept()
        assert f"kept as [{fact.key[:8]}]" == text
        assert ("fact", "direct", 7, "heuristic", ["mill"], 0.7) == (
            fact.kind,
            fact.source_type,
            fact.importance,
            fact.importance_by,
            fact.tags,
            fact.trust,
        )
        assert (place_audience("say", self.room1.dbref), self.id_of(self.tom)) == (
            fact.audience,
            fact.person,
        )
        self.catch_up()
        assert {fact.key} == self.in_store()

    def test_what_was_told_in_private_is_kept_in_private(self) -> None:
        """This includes an open turn that holds something private."""
        aloud = self.aloud()
        aloud.hold(person_audience(aloud.event.person))
        for number, turn in enumerate((self.turn("hello"), aloud)):
            with self.subTest(number):
                self.told("store_memory", text=f"Tom owes {number} gold.", turn=turn)
                assert person_audience(self.id_of(self.tom)) == self.kept().audience

    def test_the_model_may_say_how_important(self) -> None:
        self.told("store_memory", text="The mill burned.", importance=9)
        assert (9, "llm") == (self.kept().importance, self.kept().importance_by)
        for wrong in (0, 11):
            with self.subTest(wrong):
                expected = f"importance is {wrong}; it must be 1 (trifle) to 10 (vital)"
                assert expected == self.refusal("store_memory", text="x", importance=wrong)

    def test_a_rumour_stays_one(self) -> None:
        """It has the trust of whoever said it, even if it was only overheard."""
        turn = self.turn("good evening")
        heard = Overheard("say", "#9", "Bob", "", "Mira stole the lamp", 0.4)
        turn.overheard = (heard,)
        self.told("store_memory", text="Mira stole a lamp.", turn=turn)
        assert 0.4 == self.kept().trust

    def test_what_it_sees_by_itself(self) -> None:
        """In a turn of its own it is an observation, known where the assistant is."""
        own = self.turn("what next?", kind="own", source="emit", sender_id="", place="")
        own.events = (own.event.__class__(**{**own.event.as_stored(), "person": ""}),)
        own.event = own.events[-1]
        self.told("store_memory", text="The lamp is out.", turn=own)
        here = place_audience("say", self.room1.dbref)
        assert ("observation", 0.8, here) == (
            self.kept().source_type,
            self.kept().trust,
            self.kept().audience,
        )
        self.ada.location = None
        expected = "nobody could ever be told that; there is no use in keeping it"
        assert expected == self.refusal("store_memory", text="It is dark.", turn=own)

    def test_what_is_refused(self) -> None:
        itself = "you keep nothing about yourself; write down what you learn of others"
        for text, expected in (
            (" \n\u200b", "there is nothing to write down"),
            ("x" * 501, "that has 501 characters; it may have 500 at most"),
            ("Ada is a pirate now.", itself),
            ("I am very helpful.", itself),
            ("Tom thinks the assistant is kind.", itself),
        ):
            with self.subTest(text[:20]):
                assert expected == self.refusal("store_memory", text=text)
        assert 0 == self.count()
        self.told("store_memory", text="x" * 500)

    def test_without_consent(self) -> None:
        """Consent lacks for this person, for the one it is about, or for this room."""
        state.write(self.ada_script, unremembered=[self.id_of(self.mira)])
        turn = self.turn("hello", person=self.mira)
        assert NO_CONSENT == self.refusal("store_memory", text="Mira bakes.", turn=turn)
        expected = "of whom that is about nothing may be remembered; go on without"
        assert expected == self.refusal("store_memory", text="Mira bakes.", about=" mira ")
        assert self.told("store_memory", text="Tom mends boats.", about="Tom")
        self.mira.key = "Zoe\u0308"
        assert expected == self.refusal("store_memory", text="Zoe bakes.", about="Zo\u00eb")
        self.room1.tags.add("ai_no_memory")
        assert NO_CONSENT == self.refusal("store_memory", text="The mill burned.")

    def test_the_same_is_kept_once(self) -> None:
        """A turn that is taken up again after a crash keeps nothing twice."""
        self.told("store_memory", text="The mill burned.")
        key = self.kept().key[:8]
        expected = f"you know that already: it is [{key}]"
        assert expected == self.refusal("store_memory", text=" The mill  burned.")
        self.told("store_memory", text="The mill burned.", turn=self.aloud())
        assert 2 == self.count()

    def test_what_no_longer_held_may_be_kept_again(self) -> None:
        self.told("store_memory", text="The mill burned.")
        Memory.objects.update(superseded_at=1.0)
        self.told("store_memory", text="The mill burned.")
        kept = Memory.objects.order_by("pk")
        assert [1.0, None] == list(kept.values_list("superseded_at", flat=True))

    def test_five_in_a_turn(self) -> None:
        """Entries of the journal count as well."""
        turn = self.turn("hello")
        turn.acts = ["store_memory", "add_journal_entry", "look"] * 2 + ["store_memory"]
        expected = "you wrote down 5 things in this turn; that is enough"
        assert expected == self.refusal("store_memory", text="x", turn=turn)
        assert expected == self.refusal("add_journal_entry", text="x", turn=turn)
        turn.acts.pop()
        assert self.told("store_memory", text="x", turn=turn)


class TestRecall(MemoryToolTest):
    def test_what_is_found(self) -> None:
        """The turn becomes private by what only this person may know."""
        key = self.said_here("the old mill burned down", self.tom)
        aloud = self.aloud()
        text = self.told("recall_memories", query="the old mill burned down", turn=aloud)
        assert f'[{key[:8]}] "the old mill burned down"' in text
        assert not aloud.is_private
        self.secret("the lamp is under the stair", self.tom)
        turn = self.turn("hello")
        text = self.told("recall_memories", query="the lamp is under the stair", turn=turn)
        assert "under the stair" in text
        assert turn.is_private

    def test_nobody_is_told_anothers_secret(self) -> None:
        self.secret("the lamp is under the stair", self.tom)
        for turn in (self.turn("hello", person=self.mira), self.aloud()):
            with self.subTest(turn.event.source):
                text = self.told("recall_memories", query="the lamp under the stair", turn=turn)
                assert "you remember nothing about that" == text

    def test_nothing_found_is_not_the_same_as_not_looked(self) -> None:
        """The model is told when the store is down."""
        assert "you remember nothing about that" == self.told("recall_memories", query="dragons")
        self.secret("the lamp is under the stair", self.tom)
        self.store.is_down = True
        refusal = self.refusal("recall_memories", query="the lamp")
        assert refusal.startswith("your memory cannot be searched right now; ")

    def test_without_a_query(self) -> None:
        expected = "say in a few words what you want to know"
        assert expected == self.refusal("recall_memories", query=" ")


class TestJournal(MemoryToolTest):
    def test_an_entry(self) -> None:
        text = self.told("add_journal_entry", text="I saw Tom dig.", tags=["Secret", " secret"])
        entry = self.kept()
        assert f"written down as [{entry.key[:8]}]" == text
        assert ("journal", "observation", ["secret"], 8, 0.8) == (
            entry.kind,
            entry.source_type,
            entry.tags,
            entry.importance,
            entry.trust,
        )
        self.told("add_journal_entry", text="Tom digs for gold.", source="inference")
        assert ("inference", 0.6, 5) == (
            self.kept().source_type,
            self.kept().trust,
            self.kept().importance,
        )
        expected = "you keep nothing about yourself; write down what you learn of others"
        assert expected == self.refusal("add_journal_entry", text="Ada digs well.")

    def test_reading(self) -> None:
        """It shows the newest entries that this turn may know, the oldest of them first."""
        for number in range(4):
            self.said_here(f"thing {number}", self.tom, kind="journal")
        self.secret("a secret", self.tom, kind="journal")
        self.secret("another's", self.mira, kind="journal")
        self.remember("no entry", kind="fact")
        aloud = self.aloud()
        lines = self.told("read_journal", limit=2, turn=aloud).splitlines()
        assert ["thing 2", "thing 3"] == [line.split('"')[1] for line in lines]
        assert not aloud.is_private
        turn = self.turn("hello")
        assert 5 == len(self.told("read_journal", turn=turn).splitlines())
        assert turn.is_private
        assert 1 == len(self.told("read_journal", limit=-3).splitlines())

    def test_words_of_all_languages_are_found_in_any_case(self) -> None:
        """SQLite itself ignores case only for A to Z."""
        self.said_here("Äpfel sind reif.", self.tom, kind="journal")
        assert "Äpfel sind reif." in self.told("search_journal", words="äpfel")
        assert 1 == operations.list_memories(self.ada_script, text="äPFEL").data.count
        self.ask("say Ada, Äpfel?", says("Übermorgen."))
        for words in ("äpfel", "ÜBERMORGEN"):
            assert 1 == len(operations.trace(self.ada_script, words=words).data.messages), words

    def test_an_empty_journal(self) -> None:
        assert "your journal holds nothing that belongs here" == self.told("read_journal")
        expected = "no entry that belongs here holds any of these words"
        assert expected == self.told("search_journal", words="mill")

    def test_searching_in_other_scripts(self) -> None:
        """In whatever case their letters are."""
        for text, words in (
            ("Мира печёт хлеб.", "мира"),
            ("Übermorgen kommt das Schiff.", "ÜBERMORGEN"),
            ("三毛猫は屋根裏にいる。", "三毛猫がどこ"),
            ("黒い犬は庭にいる。", "犬"),
        ):
            with self.subTest(text):
                self.told("add_journal_entry", text=text)
                assert text in self.told("search_journal", words=words)

    def test_searching(self) -> None:
        """The best match comes first; one's own secrets are found only in private."""
        self.said_here("the mill", self.tom, kind="journal")
        self.said_here("the mill burned", self.mira, kind="journal")
        self.secret("under the mill", self.mira, kind="journal")
        answer = self.told("search_journal", words="burned MILL, ok?").splitlines()
        assert ["the mill burned", "the mill"] == [line.split('"')[1] for line in answer]
        turn = self.turn("hello", person=self.mira)
        assert "under the mill" in self.told("search_journal", words="mill", turn=turn)
        elsewhere = self.turn("hello", place="#99")
        answer = self.told("search_journal", words="mill", turn=elsewhere)
        assert ["the mill"] == [line.split('"')[1] for line in answer.splitlines()]
        expected = "say in words of three letters or more what you look for"
        assert expected == self.refusal("search_journal", words="a b")

    def test_somebody_unknown_reads_what_is_open(self) -> None:
        """A turn without a person knows what the room knows."""
        self.said_here("the mill", self.tom, kind="journal")
        own = self.turn("what next?", kind="own", source="emit")
        assert "the mill" in self.told("read_journal", turn=own)


class TestOffer(MemoryToolTest):
    def test_small_models_are_not(self) -> None:
        assert not FOR_SMALL_MODELS.intersection((*OURS, *JOURNAL, "create_project"))

    def test_all_tools_fit_into_what_is_offered(self) -> None:
        """A capable model is shown all of ours at once, except those for agents elsewhere."""
        elsewhere = {"attach_data", "attach_file"}
        ours = [
            name
            for name, tool in REGISTRY.items()
            if tool.module.startswith("evennia_ai.") and name not in elsewhere
        ]
        assert 40 >= len(ours)
