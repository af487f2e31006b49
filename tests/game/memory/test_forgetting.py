"""Forgetting a person: nothing of theirs is left, and everything of others stays."""

from typing import Any
from unittest import mock

import pytest
from django.db import connection
from evennia.utils import logger

from evennia_ai import approvals, operations
from evennia_ai.approvals import ending, store
from evennia_ai.core.hearing.inbox import MESSAGE, Event
from evennia_ai.core.memory.recollection import WORLD, place_audience
from evennia_ai.core.safety.questions import YES_NO, ApprovalRequest, Question
from evennia_ai.core.turn.compaction import summary_message
from evennia_ai.core.turn.conversation import OF, PRIVATE_TO, SAID_BY, user_message
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import lore
from evennia_ai.models import EntityProfile, Memory, StoredQuestion
from evennia_ai.operations.memory.own import KEPT
from evennia_ai.runtime import asked, state
from tests.game.memory.remembering_case import RememberingTest, where
from tests.game.support import says, whispers

# Each of these words was said only by Mira or only to her.
MARKS = ("xylophone", "quagmire", "zeppelin", "juniper", "kestrel", "obsidian", "marzipan")
TOMS = ("lighthouse", "harbour", "barnacle")
# Ada's questions arise from this message of a person who is none of those in the test.
ASKED = Event("e1", MESSAGE, "whisper", "#0", "Tom", "tell Mira", 1.0, 0, 0, 0.0).as_stored()


class BrokenError(Exception):
    """The error of a broken database."""


def broken(execute: Any, sql: str, *rest: Any) -> Any:
    """Let every deletion of a profile fail."""
    if "entityprofile" in sql and sql.startswith("DELETE"):
        raise BrokenError
    return execute(sql, *rest)


class ForgettingTest(RememberingTest):
    """Ada knows much of both Mira and Tom."""

    def setUp(self) -> None:
        super().setUp()
        self.ada_script.db.room_messages = "context"

    def talk(self) -> None:
        """Both talk with Ada in private and in public, and Mira is overheard."""
        note = completion(None, ("write_note", {"text": "Mira hides a zeppelin."}))
        heard = whispers("Your quagmire is safe.", "Mira")
        self.ask("whisper Ada = my xylophone and my quagmire", note, heard, person=self.mira)
        self.ask("say @ada I lost a juniper", says("I am sorry."), person=self.mira)
        self.type(self.mira, "say what a fine kestrel")
        self.ask("whisper Ada = where is the lighthouse?", whispers("By the harbour."))
        self.remember("Mira told of an obsidian", self.miras)
        self.remember("Mira and Tom met at the barnacle", self.toms, WORLD, tags=("Mira",))
        self.know(self.miras, "Mira", "likes marzipan")
        self.know(self.toms, "Tom", "is afraid of Mira")
        self.settle()

    def forget_mira(self) -> Any:
        result = operations.forget_everything(self.ada_script, self.mira)
        assert result.ok, result.message
        self.settle()
        return result

    def found(self, *words: str) -> dict[str, list[str]]:
        """Places where each of these words is still stored; words that are gone are left out."""
        places = {word: where(word, self.ada_script) for word in words}
        return {word: spots for word, spots in places.items() if spots}


class TestEverywhere(ForgettingTest):
    def test_nothing_of_hers_is_left(self) -> None:
        self.talk()
        assert set(MARKS) == set(self.found(*MARKS))
        result = self.forget_mira()
        assert {} == self.found(*MARKS)
        assert result.data.count >= 1
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        self.settle()
        assert {} == self.found(*MARKS)

    def test_what_a_restart_stored_goes_too(self) -> None:
        """Overheard speech is stored at shutdown only, and must be removed there too."""
        self.talk()
        self.type(self.mira, "say a fine kestrel indeed")
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        assert "kestrel" in str(state.read(self.ada_script, "overheard"))
        self.forget_mira()
        assert {} == self.found(*MARKS)

    def test_all_of_the_others_stays(self) -> None:
        """In other people's records Mira's name becomes "somebody"."""
        self.talk()
        toms = operations.export_known(self.ada_script, self.tom).data
        self.forget_mira()
        assert set(TOMS) == set(self.found(*TOMS))
        export = operations.export_known(self.ada_script, self.tom).data
        assert [row["text"].replace("Mira", "somebody") for row in toms.memories] == [
            row["text"] for row in export.memories
        ]
        assert "is afraid of somebody" == export.profile["attributes"][0]["text"]
        memory = Memory.objects.get(text__contains="barnacle")
        assert ["somebody"] == memory.tags
        texts = [m["content"] for m in export.conversation if m["role"] == "user"]
        assert ['Tom whispers to you (trust 0.9): "where is the lighthouse?"'] == [
            line for text in texts for line in text.splitlines() if "Tom" in line
        ]

    def test_why_and_the_log_of_tools_name_her_no_more(self) -> None:
        """Tom spoke of her aloud, and was answered aloud."""
        self.ask("say @ada is Mira in?", says("Mira is out."))
        self.forget_mira()
        shown = operations.why(self.ada_script, person=self.toms).message
        assert "is somebody in?" in shown
        log = str(state.read(self.ada_script, "execution_log"))
        assert (True, False) == ("somebody is out." in log, "Mira" in log)
        assert [] == operations.check_audit(self.ada_script).data

    def test_the_fact_has_a_number_and_no_word(self) -> None:
        self.talk()
        count = self.forget_mira().data.count
        (fact,) = self.facts("person_forgotten")
        assert (self.miras, count) == (fact["person"], fact["count"])

    def test_the_record_still_agrees_with_what_is_stored(self) -> None:
        """Removing her words from the log of tools leaves its check intact."""
        self.talk()
        self.forget_mira()
        result = operations.check_audit(self.ada_script)
        assert [] == result.data, result.message

    def test_what_stays_is_said(self) -> None:
        operations.set_muted(self.ada_script, self.mira, True)
        operations.set_remembered(self.ada_script, self.mira, False)
        assert KEPT in self.forget_mira().message
        assert self.miras in state.read(self.ada_script, "muted_by")
        assert self.miras in state.read(self.ada_script, "unremembered")

    def test_lore_of_that_name_stays_as_staff_wrote_it(self) -> None:
        """A player may be called like anything in it, and it is not theirs to change."""
        key = lore.add("Mira is a star.", keywords=["Mira"], audience=WORLD, at=0.0)
        Memory.objects.filter(key=key).update(assistant=self.ada_script.pk)
        self.forget_mira()
        entry = Memory.objects.get(key=key)
        assert ("Mira is a star.", ["Mira"]) == (entry.text, entry.tags)

    def test_twice_is_no_error(self) -> None:
        self.talk()
        self.forget_mira()
        assert 0 == self.forget_mira().data.count

    def test_what_was_concluded_goes_too(self) -> None:
        """Insights that cite a forgotten memory go, and so do insights that cite those."""
        mine = self.remember("a secret", self.miras)
        toms = self.remember("a lamp", self.toms)
        first = self.remember("insight one", "", WORLD, kind="insight", cites=(mine.key, toms.key))
        self.remember("insight two", "", WORLD, kind="insight", cites=(first.key,))
        self.remember("insight three", "", WORLD, kind="insight", cites=(toms.key,))
        assert 3 == self.forget_mira().data.count
        assert ["a lamp", "insight three"] == self.texts()

    def test_a_database_that_fails_forgets_nothing(self) -> None:
        self.talk()
        before = list(self.ada_script.work.history)
        with connection.execute_wrapper(broken), pytest.raises(BrokenError):
            operations.forget_everything(self.ada_script, self.mira)
        assert before == self.ada_script.work.history
        assert {*MARKS} == set(self.found(*MARKS))

    def test_what_she_worked_on_with_her(self) -> None:
        """Projects of her talks go; in other people's she becomes "somebody"."""
        slot = {"context": "", "status": "paused", "created_at": 0.0, "last_active": 0.0}
        slots = {
            "map": {**slot, "summary": "a xylophone", "person": self.miras, "is_private": False},
            "atlas": {**slot, "summary": "Mira's", "person": self.toms, "is_private": True},
        }
        note = {"number": 1, "text": "Mira was here", "person": "", "at": 0.0, "is_private": False}
        state.write(self.ada_script, projects={"active": "map", "slots": slots}, notes=[note])
        self.forget_mira()
        left = state.read(self.ada_script, "projects")["slots"]
        assert {"atlas": "somebody's"} == {key: each["summary"] for key, each in left.items()}
        assert ["somebody was here"] == [n["text"] for n in state.read(self.ada_script, "notes")]


class TestQuestions(ForgettingTest):
    """Questions that Ada puts to people."""

    def test_an_answer_has_no_name_any_more(self) -> None:
        """Neither a closed question nor an answer that is not handled yet names her."""
        for number in (1, 2):
            key = f"tick {number} max_iterations"
            asking = ApprovalRequest(key, "safety.limit.max_iterations", "May MirasAccount go on?")
            store.begin(self.ada_script, Question(asking, number=number, event=ASKED))
        first, second = approvals.stored(self.ada_script)
        store.close(self.ada_script, first, "Mira answered no")
        ending.give(self.ada_script, second, YES_NO[0], self.mira)
        self.settle()
        self.forget_mira()
        assert "somebody answered no" == approvals.why_closed(1)
        (question,) = approvals.stored(self.ada_script)
        assert ("somebody", "May somebody go on?") == (question.by, question.asking.prompt)
        assert "tell somebody" == question.event["body"]
        assert "somebody answered yes" == approvals.why_closed(2)

    def test_what_it_asks_at_her_words_is_closed(self) -> None:
        """A question for another person stays, with its tool call unchanged."""
        call = {"tool": "dig", "arguments": {"name": "Mira's attic"}}
        hers = {**ASKED, "person": self.miras, "sender_name": "Mira", "body": "dig a xylophone"}
        for number, event in ((1, hers), (2, ASKED)):
            asking = ApprovalRequest(f"call {number}", "tool.dig", "may I dig?")
            store.begin(self.ada_script, Question(asking, number=number, call=call, event=event))
        assert self.found("xylophone")
        self.forget_mira()
        assert {} == self.found("xylophone")
        assert "forgotten" in approvals.why_closed(1)
        assert [(2, call)] == [(q.number, q.call) for q in approvals.stored(self.ada_script)]

    def test_one_that_is_damaged_keeps_nobody_from_being_forgotten(self) -> None:
        """An unreadable question may hold anybody's words, so it is deleted and logged once."""
        hers = {**ASKED, "person": self.miras, "sender_name": "Mira", "body": "dig a xylophone"}
        for number, event in ((1, hers), (2, ASKED), (3, ASKED)):
            asking = ApprovalRequest(f"tick {number}", "safety.limit.max_iterations", "may I?")
            store.begin(self.ada_script, Question(asking, number=number, event=event))
        for number, damaged in ((1, '{"a xylophone": '), (2, '{"event": 3}')):
            StoredQuestion.objects.filter(pk=number).update(question=damaged)
        asked.drop_copy(self.ada_script)
        lines: list[str] = []
        with mock.patch.object(logger, "log_err", lines.append):
            assert [3] == [question.number for question in approvals.stored(self.ada_script)]
            assert [3] == [question.number for _, question in store.everywhere()]
            self.forget_mira()
        assert {} == self.found("xylophone")
        assert [3] == [question.number for question in approvals.stored(self.ada_script)]
        assert [store.UNREADABLE] * 2 == [approvals.why_closed(number) for number in (1, 2)]
        assert [1, 1] == [sum(f"question {n} of" in line for line in lines) for n in (1, 2)]
        assert not any("xylophone" in line for line in lines)


class TestTalk(ForgettingTest):
    def test_turns_know_whose_they_are(self) -> None:
        """Every message is marked with its person; the mark is never sent to a model."""
        self.talk()
        history = self.ada_script.work.history
        assert {self.toms, self.miras} == {message[OF] for message in history}
        sent = str([body["messages"] for body in self.model.bodies])
        assert f"'{OF}'" not in sent
        assert f"'{PRIVATE_TO}'" not in sent

    def test_talk_from_before_there_was_the_mark(self) -> None:
        """Unmarked messages are known by their wording; a summary loses single sentences."""
        act = {"role": "assistant", "content": None, "tool_calls": []}
        history = [
            summary_message("Tom came. Mira lost a juniper. It rained."),
            user_message('Mira says to you: "juniper"'),
            act,
            user_message('Meanwhile you noticed:\n- Mira said: "juniper"\n\nTom does: "bows"'),
        ]
        state.write(self.ada_script, conversation_history=history)
        self.ada_script.work.history = history
        self.forget_mira()
        assert [summary_message("Tom came. It rained."), user_message('Tom does: "bows"')] == (
            self.ada_script.work.history
        )

    def test_a_summary_of_her_talk_too(self) -> None:
        """It is no longer one of hers, and stays one of the others."""
        summary = summary_message("Tom came. Mira lost a juniper.")
        self.ada_script.work.history = [{**summary, SAID_BY: [self.toms, self.miras]}]
        self.forget_mira()
        assert [{**summary_message("Tom came."), SAID_BY: [self.toms]}] == (
            self.ada_script.work.history
        )

    def test_whatever_she_is_called(self) -> None:
        """She is known by her account, her characters and the name in her profile."""
        self.know(self.miras, "Old Mirabel", "knows the tide")
        room = place_audience("", self.room1.dbref)
        for name in ("Mira", "MirasAccount", "Old Mirabel"):
            self.remember(f"We saw {name} there, and Miranda", self.toms, room)
        self.forget_mira()
        assert ["We saw somebody there, and Miranda"] * 3 == self.texts()


class TestUnderWay(ForgettingTest):
    """A turn that is under way as its person is forgotten."""

    def test_her_answer_is_dropped(self) -> None:
        self.type(self.mira, "whisper Ada = my xylophone")
        assert 1 == len(self.model.waiting)
        self.forget_mira()
        assert ([], []) == (self.model.waiting, self.waiting())
        assert [] == self.mira.heard_from(self.ada)
        assert {} == self.found("xylophone")

    def test_in_the_middle_of_her_answer(self) -> None:
        """A tool that has run is neither repeated nor kept."""
        note = completion(None, ("write_note", {"text": "a xylophone"}))
        self.ask("whisper Ada = my xylophone", note, person=self.mira)
        assert 1 == len(self.model.waiting)
        self.forget_mira()
        assert {} == self.found("xylophone")
        assert not state.read(self.ada_script, "current_tool_call")

    def test_what_waits_is_answered(self) -> None:
        self.type(self.tom, "whisper Ada = busy")
        self.type(self.mira, "whisper Ada = hello")
        self.forget_mira()
        assert ["busy", "hello"] == [event.body for event in self.waiting()]
        self.model_answers(whispers("Yes?"))
        assert 'Ada whispers: "Yes?"' == self.tom.heard_from(self.ada)[-1]

    def test_somebody_elses_answer_that_holds_her_words(self) -> None:
        """The turn starts again without her words."""
        self.type(self.mira, "say what a fine kestrel")
        self.type(self.tom, "whisper Ada = hello")
        assert "kestrel" in str(self.model.bodies[-1]["messages"])
        self.forget_mira()
        assert "kestrel" not in str(self.model.bodies[-1]["messages"])
        self.model_answers(whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]
        assert {} == self.found("kestrel")

    def test_how_often_she_asked_still_counts(self) -> None:
        """Being forgotten must not reset a rate limit."""
        self.talk()
        turns = list(self.ada_script.work.senders.people[self.miras].turns)
        self.forget_mira()
        known = self.ada_script.work.senders.people[self.miras]
        assert (turns, 0, 0) == (known.turns, known.answered, known.refused)
        assert self.miras not in state.read(self.ada_script, "company")


class TestProfiles(ForgettingTest):
    def test_hers_is_gone_and_his_is_not(self) -> None:
        self.talk()
        self.forget_mira()
        left = EntityProfile.objects.filter(assistant=self.ada_script.pk)
        assert [self.toms] == list(left.values_list("entity", flat=True))

    def test_a_namesake_keeps_their_name(self) -> None:
        """In facts that they told, with tags, and in their profile; others' words mean her."""
        self.know(self.toms, "Mira", "Mira has a boat.")
        theirs = self.remember("Mira has a cat.", kind="fact", person=self.toms, tags=("Mira",))
        self.remember("Mira has a dog.", kind="fact", audience="world")
        self.forget_mira()
        theirs.refresh_from_db()
        assert ("Mira has a cat.", ["Mira"]) == (theirs.text, theirs.tags)
        assert "somebody has a dog." in self.texts()
        profile = EntityProfile.objects.get(entity=self.toms)
        assert ["Mira has a boat."] == [item["text"] for item in profile.attributes]
