"""A turn whose limit a person is asked about is set aside: others are answered meanwhile."""

from typing import Any
from unittest import mock

from evennia_ai import approvals, audit, operations
from evennia_ai.approvals import holding
from evennia_ai.budget import ledger
from evennia_ai.core.hearing.inbox import SAVED_TURN, SET_ASIDE
from evennia_ai.core.turn.turn import Turn
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.models import ModelCall
from evennia_ai.operations.conversation import talk
from evennia_ai.runtime import state
from evennia_ai.runtime.turns import aside
from evennia_ai.tools import TOOL_REGISTRY, tool
from tests.game.agent.test_turn_limits import LimitsTest, look
from tests.game.messages.test_waiting import WaitingTest
from tests.game.support import pump, says, whispers

STEPS = [look(number) for number in range(5)]
HI = 'Ada whispers: "Hi."'
PAUSES = outgoing.ASKING_LINE.replace("{name}", "Ada")


class AsideTest(LimitsTest, WaitingTest):
    """Tom's turn reached its limit after five steps, and his question is open."""

    def setUp(self) -> None:
        super().setUp()
        self.ask("whisper Ada = find the secret map", *STEPS)
        (self.question,) = approvals.pending(self.ada_script)

    def hi(self) -> list[str]:
        """Lines that Mira hears from Ada after she whispers to her."""
        self.ask("whisper Ada = hi", whispers("Hi.", "Mira"), person=self.mira)
        return [line for line in self.mira.heard_from(self.ada) if line == HI]


class TestToolCache(LimitsTest):
    def test_what_a_tool_told_the_turn_answers_nobody_elses_call(self) -> None:
        @tool(cache_seconds=60)
        def purse(character: Any, *, turn: Turn) -> str:
            """Look into the purse of whoever asks."""
            return f"the purse of {turn.event.sender_name}"

        self.addCleanup(TOOL_REGISTRY.pop, "purse")
        look_in = completion(None, ("purse", {}))
        self.ask("whisper Ada = what have I got?", look_in, *STEPS[1:])
        assert approvals.pending(self.ada_script)
        answers = look_in, whispers("Hi.", "Mira")
        self.ask("whisper Ada = and I?", *answers, person=self.mira)
        text = str(self.model.bodies[-1]["messages"])
        assert ("the purse of Mira" in text, "the purse of Tom" in text) == (True, False)


class TestMeanwhile(AsideTest):
    def test_others_are_answered_and_the_turn_goes_on_after_the_answer(self) -> None:
        assert [HI] == self.hi()
        assert 6 == len(self.model.bodies)
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert ['Ada whispers: "There it is."'] == self.told()
        assert 5 <= str(self.model.bodies[-1]["messages"]).count("thing ")
        assert ([], {}, None) == (
            self.waiting(),
            self.ada_script.work.aside,
            self.stored("current_tool_call"),
        )
        self.beat()
        assert 7 == len(self.model.bodies)

    def test_nothing_of_it_is_in_anybody_elses_prompt(self) -> None:
        self.hi()
        text = str(self.model.bodies[-1])
        assert ("secret map" in text, "thing 1" in text) == (False, False)

    def test_the_yes_waits_for_the_next_free_moment(self) -> None:
        self.type(self.mira, "whisper Ada = hi")
        self.answer("yes")
        assert (6, 1) == (len(self.model.bodies), len(self.model.waiting))
        self.model.answers.append(whispers("There it is."))
        self.model_answers(whispers("Hi.", "Mira"))
        assert [HI] == self.mira.heard_from(self.ada)
        assert ['Ada whispers: "There it is."'] == self.told()

    def test_it_waits_on_while_somebody_else_is_forgotten(self) -> None:
        """Forgetting Mira voided every turn that was set aside, though it knew nothing of her."""
        self.type(self.mira, "whisper Ada = hi")
        waiting = dict(self.ada_script.work.aside)
        assert operations.forget_everything(self.ada_script, self.mira).ok
        assert ([], waiting) == (self.model.waiting, self.ada_script.work.aside)
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert ['Ada whispers: "There it is."'] == self.told()

    def test_the_five_steps_are_no_new_ones(self) -> None:
        """A yes grants five more, and after them a person is asked again."""
        self.hi()
        self.model.answers.extend(look(number) for number in range(5, 12))
        self.answer("yes")
        assert 5 + 1 + 5 == len(self.model.bodies)
        (again,) = approvals.pending(self.ada_script)
        assert again.number != self.question.number

    def test_nobody_answers(self) -> None:
        self.hi()
        self.model.answers.append(whispers("So far nothing."))
        self.advance(60)
        assert 'Ada whispers: "So far nothing."' == self.told()[-1]
        assert [] == self.waiting()

    def test_the_asker_waits_for_that_turn(self) -> None:
        """Tom is told so once and answered after it, with both in one talk."""
        self.type(self.tom, "whisper Ada = are you there?")
        self.type(self.tom, "whisper Ada = hello?")
        later = outgoing.LATER_LINE.replace("{name}", "Ada")
        assert ([later], 5) == (self.told(), len(self.model.bodies))
        assert "it waits until my question" in operations.why(self.ada_script).message
        self.model.answers.extend([whispers("No map."), whispers("Here I am."), whispers("Yes.")])
        self.answer("no")
        lines = ['Ada whispers: "No map."', 'Ada whispers: "Here I am."', 'Ada whispers: "Yes."']
        assert [later, *lines] == self.told()

    def test_two_at_the_same_cap_share_one_question(self) -> None:
        self.model.answers.append(whispers("No map."))
        self.answer("no")
        used = self.ada_script.work.usage.total_tokens
        self.set(budget_config={"assistant": {"tokens_per_day": used + 10}})
        self.type(self.tom, "whisper Ada = again")
        self.type(self.mira, "whisper Ada = hi")
        assert (1, 2) == (len(approvals.pending(self.ada_script)), len(self.ada_script.work.aside))
        operations.stop(self.ada_script, "test")

    def test_with_too_many_set_aside_one_more_is_told_so(self) -> None:
        """It ends at its limit with the reason, and keeps nobody else waiting."""
        denied: list[Any] = []
        audit.LISTENERS.append(lambda name, _, facts: denied.append((name, facts)))
        self.addCleanup(audit.LISTENERS.pop)
        with mock.patch.object(holding, "MOST_ASIDE", 1):
            last = whispers("That is all I have.", "Mira")
            self.ask("whisper Ada = find the atlas", *STEPS, last, person=self.mira)
        assert [self.question.number] == [q.number for q in approvals.pending(self.ada_script)]
        (facts,) = [facts for name, facts in denied if name == "limit_denied"]
        assert "crowded" == facts["reason"]
        assert 'Ada whispers: "That is all I have."' in self.mira.heard_from(self.ada)
        assert [HI] == self.hi()
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert ['Ada whispers: "There it is."'] == self.told()

    def test_the_room_reads_one_line(self) -> None:
        for _ in range(9):
            self.advance(6)
        assert [PAUSES] == self.mira.heard_from(self.ada)
        assert [PAUSES] == self.told()

    def test_each_who_asked_reads_one_line(self) -> None:
        """This includes one who asks while she waits for somebody else's answer."""
        self.clock.advance(2)
        self.ask("whisper Ada = find the atlas", *STEPS, person=self.mira)
        self.advance(2)
        assert [PAUSES, PAUSES] == self.mira.heard_from(self.ada)
        assert [PAUSES] == self.told()

    def test_an_act_of_her_own_waits_too(self) -> None:
        """Others are answered meanwhile, and it begins no second act."""
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        self.set(autonomy_config={"seconds": 10})
        operations.add_goal(self.ada_script, "find the atlas")
        self.beat(1)
        self.model.answers.extend(STEPS)
        self.beat(2)
        assert 10 == len(self.model.bodies)
        assert [HI] == self.hi()
        self.beat(4)
        assert 11 == len(self.model.bodies)
        self.model.answers.append(says("Here it is."))
        self.answer("yes")
        assert 'Ada says, "Here it is."' in self.mira.heard_from(self.ada)


class TestBrokenOff(LimitsTest):
    """Ada has nodded, and is asked what else she does, when that turn is called off."""

    def nods(self) -> None:
        acts = completion(None, ("emote", {"action": "nods."}), ("look", {}))
        self.model_answers(acts)
        assert 1 == len(self.model.waiting)

    def kept(self) -> tuple[int, object]:
        """How often her nod is in the conversation, and the turn that is stored as under way."""
        pump()
        assert 1 == self.model.cancelled
        return str(self.ada_script.work.history).count("nods."), self.stored("current_tool_call")

    def test_what_was_done_on_an_order_is_remembered(self) -> None:
        deferred = talk.tell(self.ada_script, self.tom, "nod, and tell what you see")
        deferred.addErrback(lambda _: None)
        pump()
        self.nods()
        deferred.cancel()
        assert (1, None) == self.kept()

    def test_what_was_done_before_a_hush_is_remembered(self) -> None:
        self.type(self.tom, "say Ada, nod")
        self.nods()
        operations.hush(self.ada_script, self.mira)
        assert (1, None) == self.kept()
        steps = self.ada_script.work.decisions.find(1).steps
        assert ("cut off", "by whoever asked, or to keep quiet here") in map(tuple, steps)

    def test_what_is_dropped_of_others_leaves_the_turn_under_way(self) -> None:
        """Its checkpoint keeps a crash from repeating what it did."""
        self.type(self.tom, "whisper Ada = nod")
        self.nods()
        self.session.puppet = None
        self.model_answers(look(1))
        (item,) = self.ada_script.work.inbox
        assert item[SAVED_TURN]["effects"]
        self.type(self.mira, "say Ada, nod")
        self.nods()
        aside.forget(self.ada_script, [item])
        assert 1 == self.stored("current_tool_call")["effects"]
        assert 1 == str(self.ada_script.work.history).count("nods.")

    def test_nothing_of_whoever_mutes_her_stays_under_way(self) -> None:
        self.type(self.tom, "whisper Ada = nod, the word is plum")
        self.nods()
        operations.set_muted(self.ada_script, self.tom, True)
        assert (0, None) == self.kept()


class TestEnds(AsideTest):
    def ends(self) -> tuple[int, object, int, int]:
        """Open questions, turns set aside, waiting events and model calls after a late yes."""
        operations.answer(self.question.number, self.tom, "yes", is_staff=True)
        self.beat()
        work = self.ada_script.work
        return (
            len(approvals.pending(self.ada_script)),
            dict(work.aside),
            len(work.inbox),
            len(self.model.bodies),
        )

    def test_an_emergency_stop(self) -> None:
        self.hi()
        operations.stop(self.ada_script, "test")
        assert 1 == len([line for line in self.told() if "break off" in line])
        operations.clear(self.ada_script)
        assert (0, {}, 0, 6) == self.ends()

    def test_an_emergency_stop_during_somebody_elses_turn(self) -> None:
        self.type(self.mira, "whisper Ada = hi")
        dropped = operations.stop(self.ada_script, "test").data
        assert (1, 1, 2) == (dropped.calls, dropped.questions, dropped.messages)
        for person in (self.tom, self.mira):
            assert 1 == len([n for n in person.heard_from(self.ada) if "break off" in n])
        assert 1 == self.model.cancelled

    def test_a_yes_that_comes_just_before_the_stop(self) -> None:
        """The turn was due and had not gone on yet."""
        self.type(self.mira, "whisper Ada = hi")
        self.answer("yes")
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        self.beat()
        assert (6, {}, []) == (len(self.model.bodies), self.ada_script.work.aside, self.waiting())

    def test_a_stop_without_alarm_keeps_it_for_later(self) -> None:
        """`assistant stop` closes the question; after a start the turn goes on where it was."""
        operations.set_enabled(self.ada_script, False)
        assert [] == approvals.pending(self.ada_script)
        assert SAVED_TURN in self.stored("pending_events")[0]
        self.model.answers.append(whispers("There it is."))
        operations.set_enabled(self.ada_script, True)
        pump()
        assert ['Ada whispers: "There it is."'] == self.told()
        assert "thing 4" in str(self.model.bodies[-1]["messages"])

    def test_a_mute(self) -> None:
        state.mute(self.ada_script, self.person(self.tom), is_muted=True)
        pump()
        assert (0, {}, 0, 5) == self.ends()

    def test_the_message_is_taken_away(self) -> None:
        """An errand that is given up does this."""
        state.discard(self.ada_script, list(self.ada_script.work.inbox))
        pump()
        assert [] == approvals.pending(self.ada_script)
        assert (0, {}, 0, 5) == self.ends()

    def test_a_request_that_is_taken_back_is_nobody_elses(self) -> None:
        """Only its own turn is void: Mira's call goes on, and is not paid for again."""
        self.model.answers.append(whispers("No map."))
        self.answer("no")
        self.model.answers.extend(STEPS)
        asked = self.ada.ask("find the atlas")
        asked.addErrback(lambda _: None)
        self.beat()
        assert 1 == len(approvals.pending(self.ada_script))
        self.type(self.mira, "whisper Ada = hi")
        before = len(self.model.bodies)
        asked.cancel()
        self.beat()
        assert ([], {}) == (approvals.pending(self.ada_script), self.ada_script.work.aside)
        self.model_answers(whispers("Hi.", "Mira"))
        assert HI == self.mira.heard_from(self.ada)[-1]
        assert (before, 0, []) == (len(self.model.bodies), self.model.cancelled, self.waiting())

    def goes_on(self) -> None:
        """Tom's question is still open, and his turn ends with the yes to it."""
        self.beat()
        assert [self.question.number] == [q.number for q in approvals.pending(self.ada_script)]
        assert 6 == len(self.model.bodies)
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert 'Ada whispers: "There it is."' == self.told()[-1]
        assert ([], {}) == (self.waiting(), self.ada_script.work.aside)

    def test_a_request_that_is_taken_back_while_it_runs_is_not_toms(self) -> None:
        asked = self.ada.ask("find the atlas")
        asked.addErrback(lambda _: None)
        pump()
        asked.cancel()
        assert 1 == self.model.cancelled
        self.goes_on()

    def test_somebody_else_mutes_her_while_she_answers(self) -> None:
        self.type(self.mira, "whisper Ada = hi")
        state.mute(self.ada_script, self.person(self.mira), is_muted=True)
        assert 1 == self.model.cancelled
        self.goes_on()

    def test_hushed_while_she_answers_somebody_aloud(self) -> None:
        self.type(self.mira, "say Ada, hi")
        operations.hush(self.ada_script, self.mira)
        assert 1 == self.model.cancelled
        self.goes_on()

    def test_the_conversation_begins_anew(self) -> None:
        operations.reset_history(self.ada_script)
        self.model.waiting.clear()
        assert {} == self.ada_script.work.aside
        assert [] == approvals.pending(self.ada_script)

    def test_the_assistant_is_deleted(self) -> None:
        script = self.ada_script
        assert operations.delete_assistant(script).ok
        pump()
        late = operations.answer(self.question.number, self.tom, "yes", is_staff=True)
        pump()
        assert (False, 5) == (late.result.ok, len(self.model.bodies))

    def test_its_asker_leaves(self) -> None:
        """Nothing more is paid for, also after a yes; the turn goes on when Tom is back."""
        self.leave_game()
        self.clock.advance(60)
        self.beat()
        assert 5 == self.calls()
        assert SET_ASIDE in self.stored("pending_events")[0]
        record = self.ada_script.work.decisions.find(self.waiting()[0].number)
        assert "broke off" in [step for step, _ in record.steps]
        self.model.answers.append(whispers("There it is."))
        self.come_back()
        assert ['Ada whispers: "There it is."'] == self.told()[-1:]

    def test_a_reload_in_the_middle(self) -> None:
        self.hi()
        self.model.answers.extend(look(number) for number in range(5, 10))
        self.restart()
        assert [self.question.number] == [
            each.number for each in approvals.pending(self.ada_script)
        ]
        self.model.answers.append(whispers("There it is."))
        self.answer("yes")
        assert ['Ada whispers: "There it is."'] == self.told()
        assert [] == self.waiting()

    def test_a_full_inbox_does_not_push_it_out(self) -> None:
        self.set(max_pending_events=2)
        for number in range(4):
            self.type(self.mira, f"whisper Ada = {number}")
        self.model.answers.append(whispers("There it is."))
        assert self.question.event["id"] in [event.id for event in self.waiting()]

    def test_every_call_is_settled(self) -> None:
        """Nothing is reserved while it waits, and at the end each call has one row."""
        self.hi()
        ledger.store().flush()
        assert 6 == ModelCall.objects.count()
        self.model.answers.append(completion("So far nothing."))
        self.answer("no")
        ledger.store().flush()
        rows = list(ModelCall.objects.order_by("pk").values_list("purpose", flat=True))
        assert ["turn"] * 6 + ["wrap_up"] == rows
