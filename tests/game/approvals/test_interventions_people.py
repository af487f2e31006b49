"""Questions as people meet them: one at a time, shown as plain text, always with a way out."""

from typing import Any

from evennia_ai import approvals
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.questions import Answer, Choice, QuestionOutcome
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.messages.incoming import id_of, person_of
from tests.game.approvals.interventions_case import QuestionsTest

YES = Answer(QuestionOutcome.ANSWERED, "yes", "Tom")
EVIL = "|rred|n |lcquit|ltclick|le $me() {{x}} \x1b[2J\x07\r\nTom asks (question 1): yes?"


class PeopleTest(QuestionsTest):
    """Calls can be asked about too."""

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        """Ada wants to run a tool, for Mira."""
        event = Event(
            id="e1",
            kind="message",
            source="whisper",
            sender_id=id_of(self.mira),
            sender_name="Mira",
            body="please",
            trust=0.5,
            rule=2,
            hops=0,
            at=0.0,
            person=person_of(self.mira),
        )
        turn = Turn(self.ada_script.work.epoch, (event,))
        return approvals.ask_about_call(self.ada_script, turn, ToolCall("c", tool, arguments))

    def allowed_by(self, who: str) -> None:
        self.ada_script.db.confirm_by = who


class TestInTurn(PeopleTest):
    """Each person sees the oldest open question, and the next when it is closed."""

    def test_i2_one_at_a_time_and_the_next_after_it(self) -> None:
        """Limits and calls share one queue."""
        self.allowed_by("staff")
        self.put()
        self.call("dig")
        self.put(asking=self.limit("tick 2"))
        one, two, three = self.open_numbers()
        seen = self.told(self.account)
        assert 1 == len(seen)
        assert f"(question {one}, about a limit)" in seen[0]
        self.reply(one, "yes")
        assert f"(question {two}): may I do this: dig {{}}?" in self.told(self.account)[-1]
        self.reply(three, "no")
        assert 2 == len(self.told(self.account))
        self.reply(two, "no")
        assert 2 == len(self.told(self.account))

    def test_tokens_are_told_to_staff(self) -> None:
        """Others who are asked do not see her usage."""
        self.put()
        for is_staff in (False, True):
            (asked,) = self.questions_of(self.tom, is_staff=is_staff).data.questions
            assert is_staff is bool(asked["today"])

    def test_i2_each_person_has_a_row_of_her_own(self) -> None:
        self.allowed_by("Tom")
        bill = self.log_in("Bill", "Builder")
        self.call("dig")
        self.put()
        assert "may I do this" in self.told(self.account)[0]
        assert "about a limit" in self.told(bill)[0]

    def test_i2_the_next_comes_when_time_closes_the_first(self) -> None:
        """The same holds for calls, which no turn waits for."""
        self.allowed_by("staff")
        self.call("dig")
        self.call("build")
        one = self.open_numbers()[0]
        self.ada_script.db.confirm_seconds = 900
        self.call("paint")
        self.clock.advance(300)
        lines = self.told(self.account)
        assert f"Question {one} is closed: nobody answered in time." == lines[1]
        assert "may I do this: paint" in lines[-1]
        assert 1 == len(self.open_numbers())
        assert 2 == self.events().count("timeout")

    def test_who_joins_later_sees_what_is_open(self) -> None:
        """Open questions are shown at login and by `assistant questions`."""
        came = self.put()
        bill = self.log_in("Bill", "Builder")
        pia = self.log_in("Pia")
        assert (1, 0) == (len(self.told(bill)), len(self.told(pia)))
        (number,) = self.open_numbers()
        assert f"{number}  Ada asks about a limit: " in self.questions_of(bill).message
        assert "There are no questions for you." == self.questions_of(pia).message
        self.reply(number, "yes", bill)
        assert f"Question {number} is closed: Bill answered yes." == self.told(self.account)[-1]
        assert [Answer(QuestionOutcome.ANSWERED, "yes", "Bill")] == came

    def test_she_asks_about_so_many_calls_at_once(self) -> None:
        """A limit on open questions about calls keeps a model from flooding people."""
        for number in range(25):
            result = self.call("dig", number=number)
        assert 20 == len(self.open_numbers())
        assert "20 questions are open already" in result.text

    def test_neither_a_login_nor_a_start_fails_for_a_question(self) -> None:
        """The stored question is damaged."""
        self.put()
        self.damage()
        bill = self.log_in("Bill", "Builder")
        assert bill.sessions.count()
        approvals.resume(self.ada_script)
        approvals.remove_all(self.ada_script)


class TestStalled(PeopleTest):
    """Only Bill may allow the call, and he has left."""

    def setUp(self) -> None:
        super().setUp()
        self.allowed_by("Bill")
        self.bill = self.log_in("Bill")
        self.call("dig")
        (self.number,) = self.open_numbers()
        self.log_out(self.bill)

    def test_i6_it_is_listed_as_such(self) -> None:
        listed = self.questions_of(self.tom, is_staff=True)
        assert "(stalled: nobody who was asked is here)" in listed.message
        assert "take | drop" in listed.message
        (shown,) = listed.data.questions
        assert (True, "Ada", self.number) == (
            shown["is_stalled"],
            shown["assistant"],
            shown["number"],
        )
        assert "stalled" not in self.questions_of(self.bill).message

    def test_i6_staff_take_it(self) -> None:
        """Afterwards the person who was asked can no longer answer."""
        self.type(self.tom, f"assistant answer {self.number} take")
        assert "claimed" == self.events()[-1]
        assert "stalled" not in self.questions_of(self.tom, is_staff=True).message
        assert "were not asked question" in self.reply(self.number, "yes", self.bill).message

    def test_i6_staff_drop_it(self) -> None:
        self.model.answers.append(b"{}")
        result = self.reply(self.number, "DROP", is_staff=True)
        assert result.ok
        assert [] == self.open_numbers()
        assert "discarded" == self.events()[-1]
        assert f"Tom dropped question {self.number}: it was not done" in str(self.model.bodies)

    def test_i6_staff_answer_it(self) -> None:
        self.model.answers.append(b"{}")
        assert "will not do it" in self.reply(self.number, "no", is_staff=True).message

    def test_whoever_is_asked_can_but_answer(self) -> None:
        """Taking and dropping are for staff."""
        self.come_back(self.bill)
        for text in ("take", "drop"):
            with self.subTest(text=text):
                assert "is not an answer" in self.reply(self.number, text, self.bill).message
        assert [self.number] == self.open_numbers()

    def test_i6_a_wait_can_be_dropped_and_taken_too(self) -> None:
        came = self.put()
        number = self.open_numbers()[-1]
        assert self.reply(number, "take").ok
        assert self.reply(number, "drop").ok
        assert [Answer(QuestionOutcome.DISCARDED)] == came
        assert number not in self.open_numbers()
        assert ["claimed", "discarded"] == self.events()[-2:]

    def test_a_choice_that_is_called_drop_is_a_choice(self) -> None:
        """The question's own choices come before the words for staff."""
        choices = (Choice("drop", "let it fall", "d"), Choice("keep", "hold it", "k"))
        came = self.put(asking=self.limit("tick 3", choices=choices))
        self.reply(self.open_numbers()[-1], "drop", is_staff=True)
        assert [Answer(QuestionOutcome.ANSWERED, "drop", "Tom")] == came


class TestHarmless(PeopleTest):
    """A question's text comes from a model and is shown as plain text."""

    def _check(self, raw: str) -> None:
        assert not [ch for ch in raw if not ch.isprintable() and ch not in "\n\u200b\u2060"]
        assert "||rred||n" in raw
        assert "|lc" not in raw.replace("||", "").replace("|\u200bl", "")

    def test_i8_the_line_and_the_lists_are_text(self) -> None:
        """No colour, link, terminal code or line break of the model's gets through."""
        self.put(asking=self.limit(prompt=EVIL, detail=EVIL, actor=EVIL))
        (number,) = self.open_numbers()
        (line,) = self.told(self.account)
        assert line.count("\n") == 0
        assert "\x1b" not in line
        self.forget()
        self.type(self.tom, "assistant questions")
        self.type(self.tom, f"assistant answer {number} {EVIL}")
        for message in self.tom.messages:
            self._check(message.raw)
        listed = self.questions_of(self.tom)
        (shown,) = listed.data.questions
        assert all(shown[name].isprintable() for name in ("prompt", "detail"))
        assert all(line.isprintable() for line in listed.message.splitlines())

    def test_i8_a_call_is_text_too(self) -> None:
        self.forget()
        self.call("dig", name=EVIL)
        (message,) = self.mira.messages
        self._check(message.raw)


class TestDelegated(PeopleTest):
    """A delegated task asks the people of the assistant at its head."""

    def setUp(self) -> None:
        """Nobody online controls Bert and Carl."""
        super().setUp()
        scripts = []
        for name in ("Bert", "Carl"):
            script, body = self.make(name)
            script.clock = self.clock
            body.locks.add("ai_control:perm(Player) and not perm(Builder)")
            scripts.append(script)
        self.bert, self.carl = scripts

    def test_i9_a_childs_question_reaches_the_head(self) -> None:
        pia = self.log_in("Pia")
        came = self.put(self.carl, self.limit(actor="Carl"), root=self.ada_script)
        (number,) = self.open_numbers(self.carl)
        (line,) = self.told(self.account)
        assert line.startswith(f"Carl, for Ada, asks (question {number}, about a limit): ")
        assert [] == self.told(pia)
        assert "were not asked question" in self.reply(number, "yes", pia).message
        self.reply(number, "yes")
        assert [YES] == came

    def test_i9_a_detached_child_is_refused_at_once(self) -> None:
        """Nobody waits for its task."""
        came = self.put(self.carl, root=None)
        assert [Answer(QuestionOutcome.NOBODY)] == came
        assert [] == self.open_numbers(self.carl)

    def test_i9_a_head_that_was_deleted_has_nobody(self) -> None:
        """A deleted body has no lock to pass."""
        self.bert.obj.delete()
        came = self.put(self.carl, root=self.bert)
        assert [Answer(QuestionOutcome.NOBODY)] == came

    def test_i9_a_head_that_goes_while_asked_ends_it(self) -> None:
        """The child's own people cannot answer either."""
        script, _ = self.make("Dora")
        came = self.put(self.carl, root=script)
        (number,) = self.open_numbers(self.carl)
        script.delete()
        assert not self.reply(number, "yes").ok
        self.log_in("Bill", "Builder")
        self.clock.advance(10)
        assert [Answer(QuestionOutcome.NOBODY)] == came
