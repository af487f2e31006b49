"""The limit on the length of a message, and its four modes."""

from evennia_ai import approvals, operations
from evennia_ai.core.hearing.decision_traces import MOST_KEPT
from evennia_ai.core.hearing.perception import MOST_OF_ONE
from evennia_ai.core.settings.safety import Size
from evennia_ai.llm.scripted import completion
from tests.game.listening import HearingTest
from tests.game.support import pump
from tests.recorded import record_of

NOOP = completion(None, ("noop", {}))
GIVEN_BACK = 'Ada shakes a weary head. "That is too long for me. Say it in at most 20 characters."'


class SizeTest(HearingTest):
    """Ada takes twenty characters, and what is recorded about limits is kept."""

    def setUp(self) -> None:
        super().setUp()
        self.events = record_of(self)

    @property
    def recorded(self) -> list[str]:
        """The names of the recorded events about limits."""
        return [event for event, *_ in self.events if "limit" in event]

    def limit(self, on_oversize: str, characters: int = 20) -> None:
        size = {"message_characters": characters, "on_oversize": on_oversize}
        self.set(safety_config={"size": size})

    def send(self, length: int, *answers: bytes) -> str:
        """Tom whispers so many characters. Returns the stored text, or ""."""
        self.forget()
        self.model.answers.extend(answers)
        self.tom.execute_cmd(f"whisper Ada = {'x' * length}")
        stored = [event.body for event in self.waiting()]
        pump()
        return stored[-1] if stored else ""


class TestOversize(SizeTest):
    def test_l11_the_cap_passes_whole_in_every_mode(self) -> None:
        for mode in ("cut", "deny", "ask", "allow"):
            with self.subTest(mode=mode):
                self.limit(mode)
                assert "x" * 20 == self.send(20, NOOP)
        assert [] == self.recorded

    def test_l11_one_more_is_cut(self) -> None:
        """The model and the decision trace say so, and the cut is at the end of a sentence."""
        self.limit("cut")
        assert "x" * 19 + "… (cut)" == self.send(21, NOOP)
        assert ["cut", "queued"] == self.steps()[:2]
        self.ask("whisper Ada = It rains. It rains and rains.", NOOP)
        assert "It rains. (cut)" in self.prompt()

    def test_l11_one_more_is_denied(self) -> None:
        self.limit("deny")
        for _ in range(2):
            assert "" == self.send(21)
            assert [GIVEN_BACK] == self.tom.heard_from(self.ada)
        assert (["refused", "told"], ["limit_denied"] * 2) == (self.steps(), self.recorded)
        detail = self.records()[0].steps[0][1]
        assert "21 characters, of 20 in safety_config.size.message_characters" == detail
        assert [] == self.model.bodies

    def test_l11_one_more_is_allowed(self) -> None:
        self.limit("allow")
        assert "x" * 21 == self.send(21, NOOP)
        assert [] == self.recorded

    def test_l11_zero_is_no_limit(self) -> None:
        for mode in ("cut", "deny", "ask", "allow"):
            with self.subTest(mode=mode):
                self.limit(mode, characters=0)
                assert 5000 == len(self.send(5000, NOOP))

    def test_l11_the_default_cuts_at_two_thousand(self) -> None:
        """Two thousand was the fixed limit before there was a setting."""
        assert (2000, "cut") == (Size().message_characters, Size().on_oversize)
        assert "x" * 2000 == self.send(2000, NOOP)
        assert "x" * 1999 + "… (cut)" == self.send(2001, NOOP)

    def test_l11_on_a_channel_and_in_the_room_too(self) -> None:
        self.limit("deny", characters=30)
        public = self.channel()
        public.msg("@ada " + "x" * 26, senders=self.account)
        assert ["refused", "told"] == self.steps()
        self.type(self.tom, "say @ada " + "x" * 26)
        assert ["refused", "told"] == self.steps()

    def test_l11_what_is_only_overheard_is_short_and_no_record_is_long(self) -> None:
        """With mode `allow`, memory use must stay bounded all the same."""
        self.limit("allow")
        self.set(room_messages="context")
        for _ in range(3):
            self.tom.execute_cmd("say " + "x" * 50_000)
        assert {MOST_OF_ONE} == {len(item.body) for item in self.ada_script.work.overheard}
        assert {MOST_KEPT} == {len(record.heard.body) for record in self.records()}


class TestAsking(SizeTest):
    """Tom may answer the questions for Ada's owner."""

    def setUp(self) -> None:
        super().setUp()
        self.ada.locks.add("ai_control:perm(Builder)")
        self.limit("ask")

    def asked(self) -> list[str]:
        return [question.asking.prompt for question in approvals.pending(self.ada_script)]

    def answer(self, text: str) -> None:
        number = approvals.pending(self.ada_script)[0].number
        operations.answer(number, self.account, text, is_staff=True)
        pump()

    def test_l11_a_yes_lets_it_in_whole(self) -> None:
        self.send(50)
        assert ([], ["asked"]) == (self.waiting(), self.steps())
        (prompt,) = self.asked()
        assert "May I have 30 characters more?" in prompt
        self.model.answers.append(NOOP)
        self.answer("yes")
        assert "x" * 50 in self.prompt()
        assert "limit_denied" not in self.recorded

    def test_l11_a_no_gives_it_back(self) -> None:
        """A question that is unanswered, dropped or for nobody counts as a no."""
        for name, end in (
            ("no", lambda: self.answer("no")),
            ("too late", lambda: self.clock.advance(60)),
            ("dropped", lambda: self.answer("drop")),
        ):
            with self.subTest(name):
                self.send(50)
                end()
                assert GIVEN_BACK == self.tom.heard_from(self.ada)[-1]
                assert ([], []) == (self.waiting(), self.asked())
        self.ada.locks.add("ai_control:false()")
        self.account.is_superuser = False
        self.send(50)
        assert [GIVEN_BACK] == self.tom.heard_from(self.ada)
        assert 4 == self.recorded.count("limit_denied")
        assert [] == self.model.bodies

    def test_l11_nobody_is_asked_for_more_than_the_sender_may_send(self) -> None:
        self.set(hearing_config={"calls_per_player": 2, "queued_per_player": 1})
        for _ in range(5):
            self.send(50)
        assert 3 == len(self.asked())

    def test_l11_what_became_of_her_meanwhile_counts(self) -> None:
        for name, change in (
            ("muted", lambda is_on: operations.set_muted(self.ada_script, self.tom, is_on)),
            ("hushed", lambda is_on: is_on and operations.hush(self.ada_script, self.mira)),
        ):
            with self.subTest(name):
                self.type(self.tom, "say @ada " + "x" * 50)
                change(True)
                self.answer("yes")
                assert [] == self.waiting()
                change(False)
        assert [] == self.model.bodies

    def test_l11_a_stop_while_asked(self) -> None:
        self.send(50)
        operations.stop(self.ada_script, "test")
        operations.answer(1, self.account, "yes", is_staff=True)
        operations.clear(self.ada_script)
        pump()
        assert ([], []) == (self.waiting(), self.model.bodies)

    def test_l11_a_restart_while_asked(self) -> None:
        """The question is lost with the process; the sender is told that no answer comes."""
        self.send(50)
        self.restart()
        self.answer("yes")
        assert [] == self.waiting()
        assert "Ada does not seem to hear you." == self.tom.heard_from(self.ada)[-1]

    def test_l11_in_the_other_modes_nobody_is_asked(self) -> None:
        for mode, expected in (("unattended", ""), ("auto_extend", "x" * 50)):
            with self.subTest(mode=mode):
                size = {"message_characters": 20, "on_oversize": "ask"}
                self.set(safety_config={"size": size, "on_limit": {"mode": mode}})
                assert expected == self.send(50, NOOP)
                assert [] == self.asked()
        assert {} == self.ada_script.work.extensions.counts
