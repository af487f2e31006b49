"""Raising a cap: only people with the right over its account are asked or answer."""

from typing import Any

import evennia
from django.test.utils import override_settings

from evennia_ai import approvals, audit
from evennia_ai.approvals import checkpoints
from evennia_ai.approvals.waits import GRACE_SECONDS, review
from evennia_ai.budget import ledger
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.safety.questions import Question
from evennia_ai.emergency import state_of
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations.settings.changing import set_setting, unset_setting
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.rights.rights_case import RightsTest
from tests.game.support import pump
from tests.online import lines_shown

PLENTY = {"tokens_per_day": 0}
USED = {"prompt_tokens": 3_000, "completion_tokens": 10}
WILD = {"on_limit": {"mode": "auto_extend", "auto_extend_times": 100_000}}


def capped(scope: str, tokens: int = 20_000) -> dict[str, Any]:
    return dict.fromkeys(("game", "assistant", "player"), PLENTY) | {
        scope: {"tokens_per_day": tokens}
    }


class CapsTest(RightsTest, HearingTest):
    """Mira talks with Ada, whose every answer costs 3,000 tokens."""

    def setUp(self) -> None:
        """Nobody is online unless a test logs them in."""
        super().setUp()
        ledger.start_anew()
        self.addCleanup(ledger.start_anew)
        checkpoints._DECIDED.clear()
        self.account.unpuppet_object(self.session)
        evennia.SESSION_HANDLER.pop(self.session.sessid, None)
        self.denied: list[dict[str, Any]] = []
        self.raised: list[dict[str, Any]] = []
        audit.LISTENERS.append(self._note)
        self.addCleanup(audit.LISTENERS.remove, self._note)

    def tearDown(self) -> None:
        """Put the session back, which the test base removes itself."""
        evennia.SESSION_HANDLER.setdefault(self.session.sessid, self.session)
        super().tearDown()

    def _note(self, event: str, _subject: str, facts: dict[str, Any]) -> None:
        if event == "limit_denied":
            self.denied.append(facts)
        elif event == "budget_raised":
            self.raised.append(facts)

    def talk(self, times: int = 12) -> None:
        """Mira whispers again and again, and the model answers with `noop`."""
        for number in range(times):
            self.ask(
                f"whisper Ada = hello {number}",
                completion(None, ("noop", {}), usage=USED),
                person=self.mira,
            )
        self.model.answers.clear()

    def open(self) -> list[Question]:
        return approvals.pending(self.ada_script)

    def told(self, account: Any) -> list[str]:
        return [line for line in lines_shown(account) if "question " in line]


class TestTheGames(CapsTest):
    """A cap of 20,000 tokens a day for the whole game."""

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game"))
    def test_hole_d21_a_builder_is_not_asked_and_his_yes_raises_nothing(self) -> None:
        """An admin is asked instead."""
        self.come_online(self.bea.account)
        refused = self.read(self.bea, "assistant budget game raise tokens_per_day 5000")
        assert "raise budget of the game needs perm(Admin)" in refused
        self.come_online(self.ann.account)
        self.talk()
        (question,) = self.open()
        assert (person_of(self.ann),) == question.people
        (line,) = self.told(self.ann.account)
        assert "The cap on tokens a day of the whole game leaves too little: " in line, line
        assert " of 20,000 tokens of this day are used" in line, line
        assert "May I have " in line
        assert [] == self.told(self.bea.account)
        assert "There are no questions for you." == self.read(self.bea, "assistant questions")
        answered = f"assistant answer {question.number} yes"
        assert "were not asked question" in self.read(self.bea, answered)
        assert ([], 1) == (self.raised, len(self.open()))
        assert "goes on, with your answer: yes" in self.read(self.ann, answered)
        pump()
        assert ["game 1970-01-01"] == [facts["account"] for facts in self.raised]

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game"))
    def test_hole_d21_with_nobody_who_may_it_is_a_no_that_says_so(self) -> None:
        self.come_online(self.bea.account)
        self.talk()
        assert ([], []) == (self.open(), self.raised)
        assert {"no_operator"} == {facts["reason"] for facts in self.denied}
        why = self.read(self.bea, "assistant why ada full")
        assert "nobody who may raise a cap of the whole game is there" in why, why
        assert "EVENNIA_AI_BUDGET_CONFIG.game.tokens_per_day" in why, why
        spent = 'Ada stifles a yawn. "I have said all I can today. Ask me in 24 hours."'
        assert spent in [message.shown for message in self.mira.ndb.messages]

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game"))
    def test_hole_d21_an_assistants_auto_extend_never_loosens_the_games_cap(self) -> None:
        state.write(self.ada_script, safety_config=WILD)
        self.talk(20)
        assert ([], "no_operator") == (self.raised, self.denied[-1]["reason"])
        # The last call that was let through may be longer than its estimate.
        used = ledger.today_of("ada", ledger.config_for({}), 0.0).used
        assert used < 20_000 + 3_010, used

    @override_settings(
        EVENNIA_AI_BUDGET_CONFIG=capped("game"),
        EVENNIA_AI_SAFETY_CONFIG={"on_limit": {"mode": "auto_extend", "auto_extend_times": 2}},
    )
    def test_hole_d21_the_games_own_auto_extend_holds_as_often_as_it_says(self) -> None:
        """The number of extensions is one for all assistants together, and survives a restart."""
        state.write(self.ada_script, safety_config=WILD)
        self.talk(20)
        assert 2 == len(self.raised)
        assert "auto_extend_spent" == self.denied[-1]["reason"]
        checkpoints._DECIDED.clear()
        ledger.start_anew()
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        self.denied.clear()
        self.talk(3)
        assert (2, "auto_extend_spent") == (len(self.raised), self.denied[-1]["reason"])

    @override_settings(
        EVENNIA_AI_BUDGET_CONFIG=capped("game"),
        EVENNIA_AI_SAFETY_CONFIG={"on_limit": {"mode": "auto_extend", "auto_extend_times": 2}},
    )
    def test_hole_d21_what_an_assistant_sets_more_tightly_counts(self) -> None:
        """The assistant is `unattended`, although the game would extend."""
        state.write(self.ada_script, safety_config={"on_limit": {"mode": "unattended"}})
        self.talk()
        assert ([], "unattended") == (self.raised, self.denied[-1]["reason"])


class TestNotices(CapsTest):
    """Staff are told of a used-up cap once an hour, not for each message that it ends."""

    def notices(self) -> list[str]:
        return [line for line in lines_shown(self.ann.account) if "reached the limit of" in line]

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game"))
    def test_staff_are_told_once_an_hour_with_a_count(self) -> None:
        state.write(self.ada_script, safety_config={"on_limit": {"mode": "unattended"}})
        self.come_online(self.ann.account)
        self.talk(20)
        (line,) = self.notices()
        assert "of the whole game. Mira was told. Look: assistant budget game" in line, line
        before = len(self.denied)
        assert before > 5
        self.clock.advance(3600)
        self.talk(1)
        line, again = self.notices()[-1], f"{before} times since the last notice"
        assert f"of the whole game, {again}. Mira was told." in line, line

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("player"))
    def test_the_notice_names_the_command_for_the_player(self) -> None:
        state.write(self.ada_script, safety_config={"on_limit": {"mode": "unattended"}})
        self.come_online(self.ann.account)
        self.talk(20)
        (line,) = self.notices()
        command = f"assistant budget player {self.mira.account.key}"
        assert f"of each player. {self.mira.key} was told. Look: {command}" in line, line
        near = next(each for each in lines_shown(self.ann.account) if "nearly used up" in each)
        assert f"Look: {command}" in near


class TestOthers(CapsTest):
    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("player"))
    def test_hole_d21_a_players_cap_is_an_owners_to_raise(self) -> None:
        """It counts over all assistants, so running one of them is not enough."""
        self.come_online(self.bea.account)
        self.talk(8)
        assert ([], "no_operator") == (self.raised, self.denied[-1]["reason"])
        why = self.read(self.bea, "assistant why ada full")
        assert "nobody who may raise the cap of a player is there" in why, why

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("assistant"))
    def test_hole_d21_an_assistants_cap_is_for_who_sets_it_up(self) -> None:
        """It needs the lock `ai_configure`, not only `ai_control`."""
        locks = f"ai_control:perm(Builder);ai_configure:pid({self.bob.account.id})"
        self.ada.locks.add(locks)
        for person in (self.bea, self.bob):
            self.come_online(person.account)
        self.talk(8)
        (question,) = self.open()
        assert (person_of(self.bob),) == question.people
        assert "The cap on tokens a day of Ada leaves too little" in question.asking.prompt
        answered = f"assistant answer {question.number} yes"
        assert "were not asked question" in self.read(self.bea, answered)
        assert "goes on, with your answer: yes" in self.read(self.bob, answered)
        assert ["assistant ada 1970-01-01"] == [facts["account"] for facts in self.raised]
        assert State.SAFETY_LOCKOUT is not state_of(self.ada_script)

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("assistant"))
    def test_a_no_holds_until_the_cap_is_raised(self) -> None:
        """Each further message asked staff again."""
        self.come_online(self.ann.account)
        self.talk(8)
        (question,) = self.open()
        self.read(self.ann, f"assistant answer {question.number} no")
        self.clock.advance(20)  # the model gives no last answer
        pump()
        self.talk(2)
        self.advance(20)
        assert ([], "user_refused") == (self.open(), self.denied[-1]["reason"])
        assert 3 == len(self.denied)
        self.read(self.ann, "assistant budget ada raise tokens_per_day 1")
        self.talk(1)
        assert 1 == len(self.open())

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("assistant"))
    def test_everybody_who_may_raise_it_leaves(self) -> None:
        self.ada.locks.add(f"ai_configure:pid({self.bob.account.id})")
        session = self.come_online(self.bob.account)
        self.talk(8)
        evennia.SESSION_HANDLER.pop(session.sessid)
        review()
        for seconds in (GRACE_SECONDS, 20):  # the model gives no last answer either
            self.advance(seconds)
        assert ([], "no_operator") == (self.open(), self.denied[-1]["reason"])
        spent = 'Ada stifles a yawn. "I have said all I can today. Ask me in 24 hours."'
        assert spent == self.mira.heard_from(self.ada)[-1]
        text = self.read(self.bea, "assistant why ada")
        assert "I did not start because a limit was used up." in text.splitlines()[0]
        assert 1 == text.count("I could not answer")

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game", 0))
    def test_a_cap_that_is_changed_withdraws_the_question(self) -> None:
        """Any change of the cap wakes the turn; if it is still too small, a new question is put."""
        own, cap = "budget_config", "budget_config.assistant.tokens_per_day"
        self.come_online(self.ann.account)
        raised = "assistant budget ada raise tokens_per_day "
        for number, (change, is_enough) in enumerate(
            (
                (lambda: set_setting(self.ada_script, cap, 90_000), True),
                (lambda: unset_setting(self.ada_script, cap), True),
                (lambda: set_setting(self.ada_script, cap, 900), None),
                (lambda: state.write(self.ada_script, **{own: {}}), True),
                (lambda: self.read(self.ann, f"{raised}9"), False),
                (lambda: self.read(self.ann, f"{raised}90000"), True),
            )
        ):
            with self.subTest(number=number):
                if not self.open():
                    state.write(self.ada_script, **{own: {"assistant": {"tokens_per_day": 1_000}}})
                    self.type(self.mira, "whisper Ada = hello")
                (before,) = self.open()
                if is_enough:
                    self.model.answers.append(completion(None, ("noop", {}), usage=USED))
                change()
                self.fire_timer()
                left = [question.number for question in self.open()]
                if is_enough:
                    assert ([], {}, []) == (left, self.ada_script.work.aside, self.waiting())
                else:
                    assert (len(left), left == [before.number]) == (1, is_enough is None)
        assert [] == self.denied
        assert "cap_changed" in self.read(self.ann, "assistant why ada full")

    @override_settings(EVENNIA_AI_BUDGET_CONFIG=capped("game", 0))
    def test_hole_d21_her_own_cap_she_extends_as_she_is_set(self) -> None:
        """A cap that only the assistant has follows the assistant's own `on_limit`."""
        state.write(
            self.ada_script,
            budget_config={"assistant": {"tokens_per_day": 20_000}},
            safety_config={"on_limit": {"mode": "auto_extend", "auto_extend_times": 1}},
        )
        self.talk(8)
        assert ["auto_extended"] == [facts["by"] for facts in self.raised]
